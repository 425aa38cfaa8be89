// Data: what the file holds, column by column, and its rows.
import { html, useLayoutEffect, useRef } from "../lib.js";
import { onState } from "../api.js";
import { useAct, useGet } from "../ask.js";
import { Problem, TextField, Waiting } from "../parts/field.js";
import { count, number, percent } from "../format.js";
import { Columns } from "./data/columns.js";
import { Doubts } from "./data/doubts.js";
import { Open } from "../shell/open.js";
import { Rows } from "./data/rows.js";

/** Codes as they are typed, with commas between. */
export const codesOf = (text) => text.split(",").map((code) => code.trim()).filter(Boolean);

/**
 * What changes the spec: change(make) posts make(spec), of the spec as the changes before it left it. Two lists that were
 * both made of the spec on the screen would undo each other.
 */
function useChange(spec, act, api) {
  const now = useRef({});
  if (now.current.seen !== spec) now.current = { seen: spec, spec };
  useLayoutEffect(() => onState((state) => {
    if (state) now.current.spec = state.spec;
  }), []);
  return (make) => act.run(() => api.post("spec", () => ({ changes: make(now.current.spec) })));
}

export default function Data({ state, route, go, api }) {
  const found = useGet(state.table ? "columns" : null, {}, state.revision);
  const act = useAct();
  const change = useChange(state.spec, act, api);
  if (!state.table) {
    return html`<h2>Data</h2>
      <p>${state.title}${state.n_rows ? ` has ${count(state.n_rows, "row")}` : ""}. These data are not a table, so there are no columns to choose and no rows to list here.</p>`;
  }
  const columns = found.answer?.columns;
  const missing = state.spec.missing;
  const without = (codes, code) => codes.filter((one) => one !== code);
  const mark = (code) => change((spec) => ({ missing: [...without(spec.missing, code), code] }));
  const unmark = (code) => change((spec) => ({ missing: without(spec.missing, code) }));
  return html`
    <h2>Columns</h2>
    <${Waiting} found=${found} what="Reading the columns" />
    <${Problem} error=${act.error} />
    ${columns && html`
      <${Summary} columns=${columns} rows=${found.answer.rows} />
      ${(found.answer.notes || []).map((note, at) => html`<p key=${at} class="note">${note}</p>`)}
      <${Doubts} columns=${columns} missing=${missing} mark=${mark} busy=${act.busy} />
      <${Columns} columns=${columns} rows=${found.answer.rows} kinds=${state.kinds} ignore=${state.spec.ignore} change=${change} failed=${act.error} />
      <div class="form">
        <${TextField} wide label="Codes that mean missing" value=${missing.join(", ")} placeholder="such as -99, NA" onChange=${(text) => change(() => ({ missing: codesOf(text) }))} help="With commas between. A cell that is exactly such a code counts as missing." />
      </div>
      ${missing.length > 0 && html`<ul class="chips" aria-label="Codes that mean missing">${missing.map((code) => html`<li key=${code}>${code}<button type="button" class="quiet small" aria-label=${`${code} is a value again`} onClick=${() => unmark(code)}>×</button></li>`)}</ul>`}
      ${state.upload && html`<details><summary>Open another file</summary><${Open} replaces=${true} /></details>`}
      <h2>Rows</h2>
      <${Rows} state=${state} columns=${columns} route=${route} go=${go} api=${api} />`}
  `;
}

function Summary({ columns, rows }) {
  const cells = rows * columns.length;
  const missing = columns.reduce((sum, column) => sum + column.missing, 0);
  const used = columns.filter((column) => !column.left_out).length;
  return html`<p class="lead">${count(rows, "row")}, ${count(columns.length, "column")}${used < columns.length ? ` (${number(used)} used)` : ""}; ${missing ? `${count(missing, "cell")} missing, ${percent(missing / cells)} of all` : "no cell is missing"}.</p>`;
}
