// The choice of a column's kind, with the number of trials of a binomial one.
import { html, useEffect, useState } from "../lib.js";
import { Choices } from "./field.js";

const BINOMIAL = "binomial"; // its number of trials follows in brackets, and is asked for
const TRIALS = /^binomial\((\d+)\)$/;

/** "binomial(5)" is of the choice "binomial". */
const choiceOf = (kind) => (TRIALS.test(kind || "") ? BINOMIAL : kind || "");

/**
 * name: of the column. value: its kind, "binomial(5)" too, or another of the choices. choices: kinds, and others as
 * {value, text}. choose(kind): the choice; that of binomial once its number of trials is known.
 */
export function KindChoice({ name, value, choices, choose }) {
  const [asks, setAsks] = useState(false); // binomial was chosen, its n is not known
  useEffect(() => setAsks(false), [value]);
  const listed = choices.map((one) => (typeof one === "string" && one.startsWith(BINOMIAL) ? { value: BINOMIAL, text: "binomial(n)" } : one));
  const picked = (kind) => {
    setAsks(kind === BINOMIAL);
    if (kind !== BINOMIAL) choose(kind);
  };
  const counted = (event) => {
    const n = Number(event.target.value);
    if (Number.isInteger(n) && n > 0) choose(`binomial(${n})`);
  };
  const binomial = asks || choiceOf(value) === BINOMIAL;
  return html`<span class="kind">
    <${Choices} aria-label=${`Kind of ${name}`} value=${binomial ? BINOMIAL : choiceOf(value)} choices=${listed} onChange=${picked} />
    ${binomial && html`<label>of n = <input type="number" min="1" step="1" inputmode="numeric" aria-label=${`Number of trials of ${name}`} value=${TRIALS.exec(value || "")?.[1] ?? ""} onChange=${counted} ref=${(element) => asks && element?.focus()} /></label>`}
  </span>`;
}
