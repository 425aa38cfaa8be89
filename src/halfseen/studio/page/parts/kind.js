// The choice of a column's kind, with the number of trials of a binomial one.
import { html, useLayoutEffect, useRef } from "../lib.js";
import { useDraft, useFor } from "./draft.js";
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
  const [asks, setAsks] = useFor(value, false); // binomial was chosen, its n is not known
  const draft = useDraft(TRIALS.exec(value || "")?.[1]);
  const field = useRef(null);
  useLayoutEffect(() => {
    if (asks) field.current?.focus(); // once: whatever has the focus later keeps it
  }, [asks]);
  const listed = choices.map((one) => (typeof one === "string" && one.startsWith(BINOMIAL) ? { value: BINOMIAL, text: "binomial(n)" } : one));
  const picked = (kind) => {
    setAsks(kind === BINOMIAL);
    if (kind !== BINOMIAL) choose(kind);
  };
  const counted = () => {
    const n = Number(draft.text);
    draft.settle();
    if (Number.isInteger(n) && n > 0 && `binomial(${n})` !== value) choose(`binomial(${n})`);
  };
  const binomial = asks || choiceOf(value) === BINOMIAL;
  return html`<span class="kind">
    <${Choices} aria-label=${`Kind of ${name}`} value=${binomial ? BINOMIAL : choiceOf(value)} choices=${listed} onChange=${picked} />
    ${binomial && html`<label>of n = <input type="number" min="1" step="1" inputmode="numeric" aria-label=${`Number of trials of ${name}`} value=${draft.text} ref=${field} onInput=${(event) => draft.type(event.target.value)} onBlur=${() => draft.typing && counted()} onKeyDown=${(event) => event.key === "Enter" && counted()} /></label>`}
  </span>`;
}
