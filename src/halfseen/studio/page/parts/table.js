// A small table: words left, numbers right, copied as CSV; scrolls inside its own box.
import { html } from "../lib.js";
import { number, shade } from "../format.js";
import { Copy } from "./field.js";

const NUMERIC = /^\s*[<>≈]?\s*[−+-]?[\d.,]+(e[−+-]?\d+)?\s*%?(\s*±\s*[\d.,]+)?\s*$/i;
const RISKY = /^[=+\-@\t\r]/; // spreadsheets run what begins so

/** The words of a cell: a value, or {text, note, k, strong, class}. */
export function words(cell) {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "object") return "text" in cell ? words(cell.text) : "";
  return typeof cell === "number" ? number(cell) : typeof cell === "boolean" ? (cell ? "yes" : "no") : String(cell);
}

const isNumeric = (cell) => typeof cell === "number" || words(cell) === "" || NUMERIC.test(words(cell));

function raw(cell) {
  const value = cell !== null && typeof cell === "object" && "text" in cell ? cell.text : cell;
  return value === null || value === undefined || typeof value === "object" ? "" : String(value);
}

/** CSV of a table; text that a spreadsheet would run gets an apostrophe. */
export function csv(head, rows) {
  const field = (value) => {
    const text = RISKY.test(value) && !NUMERIC.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return [head, ...rows].map((row) => row.map((cell) => field(raw(cell))).join(",")).join("\r\n") + "\r\n";
}

function Cell({ cell, word, head }) {
  const given = cell !== null && typeof cell === "object" && "text" in cell ? cell : {};
  const vnode = cell !== null && typeof cell === "object" && !("text" in cell);
  const text = vnode ? cell : words(cell);
  const own = [word ? "word" : "", given.class || ""].filter(Boolean).join(" ") || undefined;
  const inside = given.k !== undefined && given.k !== null ? html`<span class=${shade(given.k)}>${text}</span>` : text;
  const shown = given.strong ? html`<strong>${inside}</strong>` : inside;
  return head
    ? html`<th scope="row" class=${own} title=${given.note}>${shown}</th>`
    : html`<td class=${own} title=${given.note}>${shown}</td>`;
}

/**
 * head: words of the columns. rows: lists of cells; a cell is text, a number, null, {text, note, k (colour of a component),
 * strong, class} or html`...`. caption, note: words above and below. rowHead: the first column names the row (default).
 * copy: false hides Copy. current: index of a row to mark. label: name for screen readers where there is no caption.
 * text: numbers of columns that are words even where every cell looks like a number.
 */
export function Table({ head, rows, caption, note, rowHead = true, copy = true, current, label, dense, text = [] }) {
  const word = head.map((_, at) => (rowHead && at === 0) || text.includes(at) || !rows.every((row) => isNumeric(row[at])));
  return html`<div class="table">
    <div class="scroll" tabindex="0" role="region" aria-label=${label || caption || "Table"}>
      <table class=${dense ? "dense" : undefined}>
        ${caption && html`<caption>${caption}</caption>`}
        <thead><tr>${head.map((cell, at) => html`<th key=${at} scope="col" class=${word[at] ? "word" : undefined}>${given(cell)}</th>`)}</tr></thead>
        <tbody>${rows.map(
          (row, n) => html`<tr key=${n} class=${current === n ? "current" : undefined} aria-current=${current === n ? "true" : undefined}>
            ${row.map((cell, at) => html`<${Cell} key=${at} cell=${cell} word=${word[at]} head=${rowHead && at === 0} />`)}
          </tr>`,
        )}</tbody>
      </table>
    </div>
    ${copy && rows.length > 0 && html`<div class="tools"><${Copy} label="Copy as CSV" text=${() => csv(head, rows)} /></div>`}
    ${note && html`<p class="note">${note}</p>`}
  </div>`;
}

function given(cell) {
  if (cell !== null && typeof cell === "object" && "text" in cell) {
    return cell.k === undefined ? words(cell) : html`<span class=${shade(cell.k)}>${words(cell)}</span>`;
  }
  return cell;
}
