// What is wrong or doubtful in the columns, in words, with a button where one press settles it.
import { html, useState } from "../../lib.js";
import { number } from "../../format.js";

const SHORT = 8; // lines that are shown at once

export function Doubts({ columns, missing, mark, busy }) {
  const [all, setAll] = useState(false);
  const lines = columns.flatMap((column) => [
    ...(column.problem ? [{ column: column.name, text: column.problem, word: "wrong" }] : []),
    ...column.doubts.map((text, at) => ({ column: column.name, text, word: "look", codes: at === 0 ? open(column, missing) : [] })),
    ...(column.doubts.length ? [] : open(column, missing).map((code) => ({ column: column.name, text: `${code} may mean missing.`, word: "look", codes: [code] }))),
  ]);
  if (!lines.length) return null;
  const shown = all ? lines : lines.slice(0, SHORT);
  return html`<ul class="checks look-at" aria-label="Doubts">
    ${shown.map((line, at) => html`<li key=${at} class="look">
      <span class="mark">${line.word}</span>
      <span class="what"><strong>${line.column}</strong> ${line.text}</span>
      ${(line.codes || []).map((code) => html`<button key=${code} type="button" class="small" disabled=${busy} onClick=${() => mark(code)}>Mark ${code} as missing</button>`)}
    </li>`)}
    ${lines.length > shown.length && html`<li><button type="button" class="quiet" onClick=${() => setAll(true)}>Show all ${number(lines.length)}</button></li>`}
  </ul>`;
}

const open = (column, missing) => (column.codes || []).filter((code) => !missing.includes(code));
