// The rows of a class in the grid, the least certain first, with a label for each; one that is picked says why.
import { html, useEffect, useLayoutEffect, useMemo, useRef } from "../../lib.js";
import { useGet } from "../../ask.js";
import { number, shade } from "../../format.js";
import { Choices, Waiting } from "../../parts/field.js";
import { Grid } from "../../parts/grid.js";
import { LabelSelect, probability } from "./label.js";
import { Why } from "./why.js";

const CLASS = "(class)";
const CERTAINTY = "(certainty)";
const ROW = "(row)";

/** Which rows: those of class number k, all, or those with a label. */
function viewOf(params, names, certain) {
  const { class: own, sort, down } = params;
  const usual = certain ? { column: CERTAINTY, descending: false } : null;
  const view = { sort: sort ? { column: sort, descending: down === "1" } : usual };
  if (own === "labelled") return { ...view, labelled: true };
  return names[Number(own)] !== undefined && own !== "all" ? { ...view, class: names[Number(own)] } : view;
}

const isMissing = (cell) => cell === null || cell === undefined;
const cellText = (cell) => (isMissing(cell) ? "missing" : typeof cell === "number" ? String(cell).replace("-", "−") : String(cell));

function columnsOf(fields, { names, labels, takes, label, one, certain }) {
  const of = (row) => labels[String(row.row)] ?? row.class;
  const stop = (event) => event.stopPropagation();
  const own = (row) => labels[String(row.row)] !== undefined;
  return [
    { key: ROW, title: "row", number: true, width: 70, text: (row) => number(row.row) },
    { key: CLASS, title: one, width: 110, text: (row) => of(row) ?? "", show: (row) => of(row) !== null && html`<span class=${shade(Math.max(0, names.indexOf(of(row))))}>${of(row)}</span>` },
    ...(certain ? [{ key: CERTAINTY, title: "p", number: true, width: 84, text: (row) => (own(row) ? "1 ✓" : probability(row.certainty)), class: (row) => (own(row) ? "told" : "") }] : []),
    ...(takes ? [{ key: "(label)", title: "label", width: 136, sortable: false, text: (row) => labels[String(row.row)] ?? "no label", show: (row) => html`<span class=${own(row) ? "" : "none"} onClick=${stop}><${LabelSelect} tabindex="-1" row=${row.row} names=${names} value=${labels[String(row.row)]} label=${label} /></span>` }] : []),
    ...fields.names.map((name, at) => ({
      key: name,
      title: name,
      number: fields.types[at] === "number",
      text: (row) => cellText(row.cells[at]),
      class: (row) => (isMissing(row.cells[at]) ? "missing" : ""),
    })),
  ];
}

function headingOf(own, names, one, several) {
  if (own === "labelled") return "Rows with a label";
  return names[Number(own)] !== undefined && own !== "all" ? `Rows of ${names[Number(own)]}` : `Rows of all ${several}`;
}

export function Rows({ state, route, set, api, answer, one, several, label }) {
  const { names, can_say_why: why, labels: takes } = answer;
  const { class: own, row: picked, sort } = route.params;
  const panel = useRef(null);
  const moves = useRef(false); // the focus, to what is said of a row
  const box = useRef(null);
  const certain = state.screens.some((screen) => screen.key === "decide");
  const view = viewOf(route.params, names, certain);
  const head = useGet("rows", { start: 0, count: 0 }, JSON.stringify([state.version, state.spec.missing]));
  const fields = head.answer;
  const shown = useMemo(() => fields && columnsOf(fields, { names, labels: state.labels, takes, label, one, certain }), [fields, names, state.labels, takes, one, certain]);
  useEffect(() => box.current?.scrollIntoView({ block: "nearest" }), [own]);
  const ask = (start, n, signal) => api.get("rows", { start, count: n, view }, signal);
  const turn = (key) => {
    const same = view.sort?.column === key;
    set(same && view.sort.descending ? { sort: undefined, down: undefined } : { sort: key, down: same ? "1" : undefined });
  };
  const pick = (row, by) => {
    set({ row: String(row.row), against: undefined });
    moves.current = by === "key" && String(row.row) !== picked;
    if (by === "key" && !moves.current) panel.current?.focus(); // it is there
  };
  useLayoutEffect(() => {
    if (!moves.current || picked === undefined) return;
    moves.current = false;
    panel.current?.focus();
  }, [picked]);
  const choices = [{ value: "all", text: `all ${several}` }, ...names.map((name, k) => ({ value: String(k), text: name })), ...(Object.keys(state.labels).length || own === "labelled" ? [{ value: "labelled", text: "rows with a label" }] : [])];
  const stamp = JSON.stringify([state.version, state.spec.missing]);
  const asks = picked !== undefined && (why || takes);
  return html`<section class="rows" ref=${box} aria-label="Rows">
    <div class="bar-of"><h2>${headingOf(own, names, one, several)}</h2>
      <${Choices} aria-label="Which rows" value=${own} choices=${choices} onChange=${(value) => set({ class: value, row: undefined })} />
      <button type="button" class="quiet" onClick=${() => set({ class: undefined, row: undefined, sort: undefined, down: undefined })}>Close</button>
    </div>
    <${Waiting} found=${head} what="Asking for the rows" />
    ${shown && html`<div class=${asks ? "split" : ""}>
      <${Grid} label="Rows" ask=${ask} view=${JSON.stringify(view)} stamp=${stamp} columns=${shown} sort=${sort ? view.sort : certain ? view.sort : null} onSort=${turn} height=${420}
        onPick=${why || takes ? pick : undefined} picked=${why || takes ? (row) => String(row.row) === picked : undefined} describedby="rows-of-help" />
      ${asks && html`<${Why} state=${state} route=${route} set=${set} answer=${answer} row=${Number(picked)} label=${label} focus=${panel} one=${one} closed=${() => box.current?.querySelector("[role=grid]")?.focus()} />`}
    </div>`}
    <p class="note" id="rows-of-help">${certain ? `p is the probability of the ${one}. ` : ""}${takes ? `✓ marks a row whose ${one} you set. ` : ""}${why || takes ? "Enter or a click on a row says more of it." : ""}</p>
  </section>`;
}
