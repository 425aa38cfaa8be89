// The arithmetic of the chosen number, at the foot of the grids.
import { html } from "../../lib.js";

/** What the names of a cell say of it: {grid, number, of, line}; null where there is no such cell. */
export function cellIn(grids, cell) {
  if (!cell) return null;
  const [name, i, j] = cell.split(":");
  const found = grids.find((one) => one.name === name);
  const line = found?.grid.arithmetic[i]?.[j];
  if (!line) return null;
  const { head, rows, n_labels: labels } = found.grid;
  const row = head[0] === "row" ? `row ${rows[i][0]}` : labels ? rows[i][0] : "";
  return { title: found.title, of: [row, head[j]].filter(Boolean).join(", "), number: rows[i][j], line };
}

/** found: {title, of, number, line}, or null. */
export function Arithmetic({ found, close }) {
  const line = found ? found.line.replaceAll("^2", "²") : "";
  const at = line.lastIndexOf(" = ");
  return html`<div class="arithmetic" role="region" aria-label="Arithmetic" aria-live="polite">
    ${found && html`<div class="inside">
      <p class="what"><strong>${found.title}</strong>${found.of ? `: ${found.of}` : ""} <button type="button" class="quiet small" onClick=${close} aria-label="Close the arithmetic">×</button></p>
      <p class="line">${at < 0 ? line : html`${line.slice(0, at)} = <strong>${line.slice(at + 3)}</strong>`}</p>
    </div>`}
  </div>`;
}
