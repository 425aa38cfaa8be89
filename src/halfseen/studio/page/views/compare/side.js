// The versions to compare, and their figures side by side.
import { html } from "../../lib.js";
import { number, seconds } from "../../format.js";
import { versionText } from "../../shell/header.js";

const SAME = 0.05; // criteria that are shown alike
const MOST = 6; // versions at a time

/** The choice of versions, by checkboxes. */
export function Chosen({ state, chosen, set }) {
  if (state.versions.length < 2) return null;
  const turn = (one, on) => {
    const next = on ? [...chosen, one] : chosen.filter((other) => other !== one);
    set({ versions: next.sort((a, b) => a - b).join(",") });
  };
  return html`<fieldset class="choice">
    <legend>Versions to compare, at most ${MOST}</legend>
    ${state.versions.map((version) => {
      const on = chosen.includes(version.number);
      return html`<label key=${version.number}><input type="checkbox" checked=${on} disabled=${on ? chosen.length === 1 : chosen.length >= MOST} onChange=${(event) => turn(version.number, event.target.checked)} /> ${versionText(version)}</label>`;
    })}
  </fieldset>`;
}

function shown(title, cell) {
  if (cell === null || cell === undefined) return "";
  if (title === "Seconds") return seconds(cell);
  return typeof cell === "number" ? number(cell, Number.isInteger(cell) ? undefined : 1) : String(cell);
}

/** A column for each version; criteria whose least value is best have it in bold. */
export function Side({ answer, state, show, busy }) {
  const { head, rows, versions } = answer;
  const best = (title, cells) => {
    const values = cells.filter((cell) => typeof cell === "number");
    return ["BIC", "AIC"].includes(title) && values.length > 1 && sameData(rows) ? Math.min(...values) : null;
  };
  return html`<div class="table"><div class="scroll" tabindex="0" role="region" aria-label="Models side by side">
    <table class="side">
      <thead><tr><td></td>${versions.map((version, at) => html`<th key=${version} scope="col" class="word">${head[at + 1]}${version === state.version && html` <span class="of">shown</span>`}</th>`)}</tr></thead>
      <tbody>
        ${rows.filter(([title, ...cells]) => title !== "Labels" || cells.some(Boolean)).map(([title, ...cells]) => {
          const least = best(title, cells);
          return html`<tr key=${title}><th scope="row" class="word">${title}</th>${cells.map((cell, at) => html`<td key=${at} class="word">${cell !== null && least !== null && cell < least + SAME ? html`<strong>${shown(title, cell)}</strong>` : shown(title, cell)}</td>`)}</tr>`;
        })}
        ${versions.length > 1 && html`<tr><th scope="row" class="word"><span class="unseen">Show it</span></th>${versions.map((version) => html`<td key=${version} class="word">${version !== state.version && html`<button type="button" class="small" disabled=${busy} onClick=${() => show(version)}>Show version ${version}</button>`}</td>`)}</tr>`}
      </tbody>
    </table>
  </div></div>
  ${versions.length > 1 && html`<p class="note">${sameData(rows) ? "Lower BIC and AIC are better; the lowest is bold." : "N differs, so that likelihoods and criteria cannot be compared."}</p>`}`;
}

/** Whether all versions are of as many rows: criteria of others cannot be compared. */
function sameData(rows) {
  const found = rows.find(([title]) => title === "N");
  return !found || new Set(found.slice(1).filter((cell) => cell !== null)).size < 2;
}
