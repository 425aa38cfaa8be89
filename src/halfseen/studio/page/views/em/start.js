// The parameters that EM starts from: drawn by the seed, or typed here.
import { html } from "../../lib.js";
import { shade } from "../../format.js";
import { useDraft } from "../../parts/draft.js";

function read(text) {
  try {
    return JSON.parse(text) || {};
  } catch {
    return {};
  }
}

/** A number in a table: onChange(number or null) when the user is done; what is drawn shows while nothing is typed. */
function Cell({ label, typed, drawn, fixed, onChange }) {
  const draft = useDraft(typed);
  const done = () => {
    const value = draft.text.trim() === "" || Number.isNaN(Number(draft.text)) ? null : Number(draft.text);
    draft.settle();
    if (value !== (typed ?? null)) onChange(value);
  };
  const key = (event) => event.key === "Enter" && done();
  return html`<input type="number" step="any" inputmode="decimal" aria-label=${label} disabled=${fixed} placeholder=${Number(drawn.toPrecision(5))} value=${draft.text} onInput=${(event) => draft.type(event.target.value)} onBlur=${done} onKeyDown=${key} />`;
}

/** The numbers of an entry that were typed; null where it is as drawn. */
function typedIn(params, entry) {
  const found = entry.column === null ? read(params.shares) : read(params.start)[entry.column]?.[entry.name];
  return entry.values.map((_, k) => (Array.isArray(found) ? found[k] ?? null : null));
}

/** The address with one number of the start changed. */
function changed(params, entry, k, value) {
  const numbers = typedIn(params, entry).map((one, i) => (i === k ? value : one));
  const some = numbers.some((one) => one !== null);
  if (entry.column === null) return { shares: some ? JSON.stringify(numbers) : null };
  const start = read(params.start);
  const own = { ...start[entry.column], [entry.name]: numbers };
  if (!some) delete own[entry.name];
  const next = { ...start, [entry.column]: own };
  if (!Object.keys(own).length) delete next[entry.column];
  return { start: Object.keys(next).length ? JSON.stringify(next) : null };
}

/** start: [{column, name, label, values, fixed}] of POST /api/em; set(changes): of the address. */
export function StartTable({ start, names, params, set }) {
  const typed = start.map((entry) => typedIn(params, entry));
  const any = typed.flat().some((one) => one !== null);
  return html`<div class="start">
    <h3>Start</h3>
    <p class="note">Type a number to start there. The pale ones are drawn by the seed.</p>
    <div class="scroll" tabindex="-1" role="region" aria-label="Start">
      <table class="dense">
        <thead><tr><th scope="col" class="word"><span class="unseen">Parameter</span></th>${names.map((name, k) => html`<th key=${k} scope="col"><span class=${shade(k)}>${name}</span></th>`)}</tr></thead>
        <tbody>${start.map((entry, at) => html`<tr key=${`${entry.column}:${entry.name}`}>
          <th scope="row" class="word">${entry.label}</th>
          ${entry.values.map((value, k) => html`<td key=${k}><${Cell} label=${`${entry.label}, ${names[k]}`} typed=${typed[at][k]} drawn=${value} fixed=${entry.fixed} onChange=${(given) => set(changed(params, entry, k, given))} /></td>`)}
        </tr>`)}</tbody>
      </table>
    </div>
    ${any && html`<p><button type="button" class="quiet" onClick=${() => set({ start: null, shares: params.shares === "equal" ? "equal" : null })}>Forget what was typed</button></p>`}
  </div>`;
}
