// A grid of numbers of an iteration: every number with its arithmetic is a button; classes have their colours.
import { html, useRef } from "../../lib.js";
import { shade } from "../../format.js";

const ARROWS = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
const FEW = 3; // columns of data that stand before the classes; more stand behind them
const BY_ROW = ["sizes", "centres"]; // grids with a row for each class; others have a column

/** "joint:0:1": the name of a cell in the address. */
export const cellName = (name, i, j) => `${name}:${i}:${j}`;

/** The augmented data, a line for each row and class, as one line for each row with a column for each class. */
export function byClass(grid, names) {
  const [n, K] = [grid.n_labels - 1, names.length];
  const few = n - 1 <= FEW;
  const arranged = (row, weights) => (few ? [...row.slice(0, n), ...weights] : [row[0], ...weights, ...row.slice(1, n)]);
  const rows = [];
  const arithmetic = [];
  const last = (lines, at) => lines.slice(at, at + K).map((line) => line[line.length - 1]);
  for (let at = 0; at < grid.rows.length; at += K) {
    rows.push(arranged(grid.rows[at], last(grid.rows, at)));
    arithmetic.push(arranged(grid.arithmetic[at], last(grid.arithmetic, at)));
  }
  return { ...grid, head: arranged(grid.head, names), rows, arithmetic, n_labels: few ? n : 1, words: few ? null : 1 + K };
}

/** The class that a cell is about: the number of its colour, or null. */
function classOf(grid, names, i, j) {
  if (BY_ROW.includes(grid.role)) return i;
  if (grid.role === "data" || grid.role === "completions") return null;
  const k = j - grid.n_labels;
  return k >= 0 && k < names.length ? k : null;
}

/** The next cell with arithmetic in a direction; null at the edge. */
function neighbour(grid, [i, j], [di, dj]) {
  for (let [a, b] = [i + di, j + dj]; grid.arithmetic[a]?.[b] !== undefined; a += di, b += dj) {
    if (grid.arithmetic[a][b]) return [a, b];
  }
  return null;
}

function first(grid) {
  for (let i = 0; i < grid.rows.length; i += 1) {
    const j = grid.arithmetic[i].findIndex(Boolean);
    if (j >= 0) return [i, j];
  }
  return null;
}

/** How much of its tint a share gets, 0 to 10. */
function weight(grid, text) {
  if (grid.role !== "responsibilities") return "";
  return ` w${Math.max(0, Math.min(10, Math.round(10 * Number(text) || 0)))}`;
}

function Label({ text, head, names, scope }) {
  const k = names.indexOf(text);
  const shown = text === "·" ? html`<span aria-label="missing">·</span>` : k >= 0 ? html`<span class=${shade(k)}>${text}</span>` : text;
  return head ? html`<th scope=${scope}>${shown}</th>` : html`<td class="label">${shown}</td>`;
}

/**
 * grid: as in POST /api/em, the responsibilities already `byClass`. name: of the grid, in the names of its cells. names:
 * of the classes. cell: the name of the chosen cell. pick(name or null, text): a number was chosen.
 */
export function Numbers({ grid, name = grid.role, names, cell, pick, label }) {
  const table = useRef(null);
  const chosen = cell?.startsWith(`${name}:`) ? cell.split(":").slice(1).map(Number) : null;
  const stop = chosen && grid.arithmetic[chosen[0]]?.[chosen[1]] ? chosen : first(grid);
  const press = (event) => {
    const button = event.target.closest("button[data-at]");
    const move = ARROWS[event.key];
    if (!button || !move || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const next = neighbour(grid, button.dataset.at.split(":").map(Number), move);
    if (!next) return;
    table.current.querySelector(`button[data-at="${next.join(":")}"]`)?.focus();
    if (cell) pick(cellName(name, ...next));
  };
  return html`<div class="scroll" tabindex=${stop ? "-1" : "0"} role="region" aria-label=${label}>
    <table class="numbers dense" ref=${table} data-keys onKeyDown=${press}>
      <thead><tr>${grid.head.map((text, j) => {
        const k = BY_ROW.includes(grid.role) ? null : classOf(grid, names, 0, j);
        return html`<th key=${j} scope="col" class=${j < grid.n_labels || (grid.words && j >= grid.words) ? "label" : undefined}>${k === null ? text : html`<span class=${shade(k)}>${text}</span>`}</th>`;
      })}</tr></thead>
      <tbody>${grid.rows.map((row, i) => html`<tr key=${i}>${row.map((text, j) => {
        if (j < grid.n_labels || (grid.words && j >= grid.words)) return html`<${Label} key=${j} text=${text} head=${j === 0} names=${names} scope="row" />`;
        const k = classOf(grid, names, i, j);
        const own = k === null ? "v" : `v k${k % 8} own${weight(grid, text)}`;
        if (!grid.arithmetic[i][j]) return html`<td key=${j} class=${own}>${text}</td>`;
        const here = chosen && chosen[0] === i && chosen[1] === j;
        const shown = names.includes(text) ? html`<span class=${shade(names.indexOf(text))}>${text}</span>` : text;
        return html`<td key=${j} class=${own}><button type="button" class="num" data-at=${`${i}:${j}`} tabindex=${stop && stop[0] === i && stop[1] === j ? "0" : "-1"}
          aria-pressed=${here ? "true" : "false"} onClick=${() => pick(here ? null : cellName(name, i, j))}>${shown}</button></td>`;
      })}</tr>`)}</tbody>
    </table>
  </div>`;
}
