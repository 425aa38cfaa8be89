// The matrix of costs: a row for each decision, a column for each class.
import { html, useState } from "../../lib.js";
import { shade } from "../../format.js";
import { useDraft } from "../../parts/draft.js";
import { Problem } from "../../parts/field.js";

const MOST = 50; // decisions

const zeroOne = (n) => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => Number(i !== j)));

/** A name that no decision has yet. */
function fresh(decisions) {
  let n = decisions.length + 1;
  while (decisions.includes(`decision ${n}`)) n += 1;
  return `decision ${n}`;
}

/** A field that hands over its value when the user is done with it. */
function Cell({ value, label, done, type }) {
  const draft = useDraft(value);
  const finish = () => {
    if (draft.text === String(value) || done(draft.text)) draft.settle();
    else draft.forget();
  };
  const key = (event) => {
    if (event.key === "Enter") finish();
    if (event.key === "Escape") draft.forget();
  };
  return html`<input type=${type} step="any" inputmode=${type === "number" ? "decimal" : undefined} aria-label=${label} value=${draft.text} autocomplete="off" spellcheck="false"
    onInput=${(event) => draft.type(event.target.value)} onBlur=${() => draft.typing && finish()} onKeyDown=${key} />`;
}

export function Costs({ names, given, fits, set, one, several }) {
  const [error, setError] = useState(null);
  const own = given.cost !== null;
  const cost = own && fits ? given.cost : zeroOne(names.length);
  const decisions = own && fits ? given.decisions : names;
  const put = (matrix, words) => {
    setError(null);
    set({ cost: matrix, decisions: words });
    return true;
  };
  const change = (i, j, text) => {
    const value = text.trim() === "" ? NaN : Number(text);
    if (Number.isFinite(value)) return put(cost.map((row, at) => (at === i ? row.map((cell, to) => (to === j ? value : cell)) : row)), decisions);
    setError(`The cost of ${decisions[i]} for ${names[j]} must be a number.`);
    return false;
  };
  const name = (i, text) => {
    const word = text.trim();
    if (word && !decisions.some((other, at) => other === word && at !== i)) return put(cost, decisions.map((other, at) => (at === i ? word : other)));
    setError(word ? `There is a decision ${word} already.` : "Each decision needs a name.");
    return false;
  };
  const add = () => put([...cost, names.map(() => 1)], [...decisions, fresh(decisions)]);
  const remove = (i) => put(cost.filter((_, at) => at !== i), decisions.filter((_, at) => at !== i));
  return html`
    <h3>What each decision costs</h3>
    <div class="table"><div class="scroll" tabindex="0" role="region" aria-label="Costs">
      <table class="costs">
        <thead><tr><th scope="col" class="word">decision</th>${names.map((word, k) => html`<th key=${k} scope="col"><span class=${shade(k)}>${word}</span></th>`)}<td></td></tr></thead>
        <tbody>${cost.map((row, i) => html`<tr key=${i}>
          <th scope="row" class="word"><${Cell} type="text" value=${decisions[i]} label=${`Name of decision ${i + 1}`} done=${(text) => name(i, text)} /></th>
          ${row.map((value, j) => html`<td key=${j}><${Cell} type="number" value=${value} label=${`Cost of ${decisions[i]} when it is ${names[j]}`} done=${(text) => change(i, j, text)} /></td>`)}
          <td>${cost.length > 1 && html`<button type="button" class="quiet small" aria-label=${`Remove ${decisions[i]}`} onClick=${() => remove(i)}>×</button>`}</td>
        </tr>`)}</tbody>
      </table>
    </div></div>
    <p class="note">A cell is the cost of the decision at its left when the ${one} is the one above it; a gain is a negative cost.</p>
    <${Problem} error=${error || (own && !fits ? `The costs in the address are not for these ${several}: set them anew.` : null)} />
    <div class="buttons">
      <button type="button" onClick=${add} disabled=${cost.length >= MOST}>Add a decision</button>
      ${own && html`<button type="button" onClick=${() => put(undefined, undefined)}>Reset to 0 and 1</button>`}
    </div>`;
}
