// The rows of the file in the virtual grid: sorted by a press on a heading, filtered; the view is in the address.
import { html, useMemo, useState } from "../../lib.js";
import { number, percent, shade } from "../../format.js";
import { Choices, Problem } from "../../parts/field.js";
import { Grid } from "../../parts/grid.js";

const CLASS = "(class)";
const CERTAINTY = "(certainty)";
const WORDS = { is: "is", "is not": "is not", contains: "contains", below: "is below", above: "is above", missing: "is missing", present: "is present" };
const BARE = ["missing", "present"]; // operations without a value

/** The view in the address: {filters, sort}; what cannot be read counts as no view. */
export function viewOf(params) {
  try {
    const { filters = [], sort = null, class: own = null, labelled = false } = JSON.parse(params.view || "{}");
    return { filters: Array.isArray(filters) ? filters : [], sort, class: own, labelled };
  } catch {
    return { filters: [], sort: null, class: null, labelled: false };
  }
}

function compact({ filters, sort, class: own, labelled }) {
  const kept = { ...(filters.length ? { filters } : {}), ...(sort ? { sort } : {}), ...(own ? { class: own } : {}), ...(labelled ? { labelled } : {}) };
  return Object.keys(kept).length ? JSON.stringify(kept) : undefined;
}

/** A value as the server compares it: a number for a column of numbers. */
function valueOf(text, type) {
  const trimmed = text.trim();
  return type === "number" && trimmed !== "" && Number.isFinite(Number(trimmed)) ? Number(trimmed) : text;
}

function AddFilter({ columns, add }) {
  const [column, setColumn] = useState(columns[0]?.name ?? "");
  const [op, setOp] = useState("is");
  const [value, setValue] = useState("");
  const type = columns.find((one) => one.name === column)?.type;
  const bare = BARE.includes(op);
  const submit = (event) => {
    event.preventDefault();
    if (!bare && value === "") return;
    add(bare ? { column, op } : { column, op, value: valueOf(value, type) });
    setValue("");
  };
  return html`<form class="tools" onSubmit=${submit} aria-label="Filter rows">
    <span>Rows where</span>
    <${Choices} aria-label="Column" value=${column} choices=${columns.map(({ name }) => ({ value: name, text: name }))} onChange=${setColumn} />
    <${Choices} aria-label="Comparison" value=${op} choices=${Object.entries(WORDS).map(([own, text]) => ({ value: own, text }))} onChange=${setOp} />
    ${!bare && html`<input aria-label="Value" value=${value} size="10" autocomplete="off" onInput=${(event) => setValue(event.target.value)} />`}
    <button type="submit" disabled=${!bare && value === ""}>Add filter</button>
  </form>`;
}

function columnsOf(columns, state) {
  const own = columns.map((column, at) => ({
    key: column.name,
    title: column.name,
    number: column.type === "number",
    text: (row) => {
      const cell = row.cells[at];
      return cell === null || cell === undefined ? "missing" : typeof cell === "number" ? String(cell).replace("-", "−") : String(cell);
    },
    class: (row) => (row.cells[at] === null || row.cells[at] === undefined ? "missing" : ""),
  }));
  const first = { key: "(row)", title: "row", number: true, width: 84, text: (row) => number(row.row) };
  if (state.version === null || state.version === undefined) return [first, ...own];
  const places = new Map(state.components.map((name, k) => [name, k]));
  const answer = [
    { key: CLASS, title: state.component[0], width: 110, text: (row) => row.class ?? "", show: (row) => row.class !== null && html`<span class=${shade(places.get(row.class) ?? 0)}>${row.class}</span>` },
    { key: CERTAINTY, title: "certainty", number: true, width: 100, text: (row) => (row.certainty === null ? "" : percent(row.certainty)) },
  ];
  const labels = Object.keys(state.labels).length ? [{ key: "(label)", title: "label", width: 110, sortable: false, text: (row) => row.label ?? "" }] : [];
  return [first, ...answer, ...labels, ...own];
}

export function Rows({ state, columns, route, go, api }) {
  const view = viewOf(route.params);
  const set = (changes) => go("data", { ...route.params, view: compact({ ...view, ...changes }) });
  const given = compact(view) || "";
  const shown = useMemo(() => columnsOf(columns, state), [columns, state.version, state.components, state.labels]);
  const fitted = state.version !== null && state.version !== undefined;
  const fields = [...columns, ...(fitted ? [{ name: CLASS, type: "text" }, { name: CERTAINTY, type: "number" }] : [])];
  const sort = (key) => {
    const same = view.sort?.column === key;
    set({ sort: same && view.sort.descending ? null : { column: key, descending: same } });
  };
  const ask = (start, n, signal) => api.get("rows", { start, count: n, view: given || undefined }, signal);
  const stamp = JSON.stringify([state.version, state.labels, state.spec.missing, state.components]);
  const unknown = view.filters.find((one) => !fields.some(({ name }) => name === one.column));
  return html`
    <${AddFilter} columns=${fields} add=${(one) => set({ filters: [...view.filters, one] })} />
    ${unknown && html`<${Problem} error=${`There is no column ${unknown.column}: remove its filter.`} />`}
    ${(view.filters.length > 0 || view.sort || view.class || view.labelled) && html`<ul class="chips" aria-label="Filters and sorting">
      ${view.filters.map((one, at) => html`<${Chip} key=${`${at}${one.column}`} text=${`${one.column} ${WORDS[one.op] ?? one.op}${BARE.includes(one.op) ? "" : ` ${one.value}`}`} remove=${() => set({ filters: view.filters.filter((_, i) => i !== at) })} />`)}
      ${view.class && html`<${Chip} text=${`${state.component[0]} is ${view.class}`} remove=${() => set({ class: null })} />`}
      ${view.labelled && html`<${Chip} text="labelled" remove=${() => set({ labelled: false })} />`}
      ${view.sort && html`<${Chip} text=${`sorted by ${view.sort.column}${view.sort.descending ? ", largest first" : ""}`} remove=${() => set({ sort: null })} />`}
    </ul>`}
    <${Grid} label="Rows" ask=${ask} view=${given} stamp=${stamp} columns=${shown} sort=${view.sort} onSort=${sort} describedby="rows-help" />
    <p class="unseen" id="rows-help">Arrow keys move, Page Up and Page Down by a page, Home and End to the first and last row. Enter on a heading sorts by its column.</p>
  `;
}

function Chip({ text, remove }) {
  return html`<li>${text}<button type="button" class="quiet small" aria-label=${`Remove: ${text}`} onClick=${remove}>×</button></li>`;
}
