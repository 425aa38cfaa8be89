// A table of tones: cells above the overall value in one colour, those below it in the other, with arrows for both.
import { html } from "../lib.js";
import { csv, words } from "./table.js";
import { Named } from "./named.js";
import { Copy } from "./field.js";

const FAR = 0.16; // tone from which on a cell has an arrow, as in the report
const FAINT = 0.02; // up to which it has no colour
const BEFORE = 3; // columns before those of the components
const MANY = 9; // columns from which on the table is dense

/** The CSS class of a tone between -1 and 1: "up1" to "up10", "down1" to "down10". */
export function tone(value) {
  const size = Math.abs(value || 0);
  if (!(size > FAINT)) return "";
  return `${value > 0 ? "up" : "down"}${Math.min(10, Math.ceil(10 * size))}`;
}

function arrow(value) {
  return value > FAR ? " ↑" : value < -FAR ? " ↓" : "";
}

function Cell({ cell, arrows }) {
  const way = arrows ? arrow(cell.tone) : "";
  return html`<td class=${`v ${tone(cell.tone)}`} title=${cell.note || undefined}>${cell.text}${way && html`<span class="way" aria-hidden="true">${way}</span>`}</td>`;
}

/** heat: {caption, head, rows: [{group, label, overall, cells: [{text, tone, note}]}], lead, note, arrows}. */
export function Heat({ heat, label = "Profiles", caption = false }) {
  if (!heat) return null;
  const { head, rows, arrows = true } = heat;
  const labelled = rows.some((row) => row.label);
  const shown = head.map((cell, at) => ({ cell, at })).filter(({ at }) => labelled || at !== 1);
  const lines = rows.map((row) => [row.group, row.label, row.overall, ...row.cells]);
  return html`<div class="table">
    ${heat.lead && html`<p class="lead">${heat.lead}</p>`}
    <div class="scroll" tabindex="0" role="region" aria-label=${label}>
      <table class=${`heat${head.length > MANY ? " dense" : ""}`}>
        ${caption && heat.caption && html`<caption>${heat.caption}</caption>`}
        <thead><tr>${shown.map(({ cell, at }) => html`<th key=${at} scope="col" class=${at < BEFORE - 1 ? "word" : undefined}><${Named} cell=${cell} k=${at < BEFORE ? undefined : at - BEFORE} /></th>`)}</tr></thead>
        <tbody>${rows.map((row, n) => {
          const first = n === 0 || words(rows[n - 1].group) !== words(row.group);
          return html`<tr key=${n} class=${first ? "first" : undefined}>
            <th scope="row" class="word">${first ? html`<${Named} cell=${row.group} />` : html`<span class="unseen">${words(row.group)}</span>`}</th>
            ${labelled && html`<td class="word">${row.label}</td>`}
            <td class="all">${row.overall}</td>
            ${row.cells.map((cell, at) => html`<${Cell} key=${at} cell=${cell} arrows=${arrows} />`)}
          </tr>`;
        })}</tbody>
      </table>
    </div>
    <div class="tools"><${Copy} label="Copy as CSV" text=${() => csv(head, lines)} /></div>
    ${heat.note && html`<p class="note">${heat.note}</p>`}
  </div>`;
}
