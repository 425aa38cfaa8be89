// The virtual grid of rows: a million rows with only those in sight in the page. One focus, moved with the keyboard.
//
// Browsers limit how tall an element can be, so the box that scrolls is at most TALLEST pixels tall: beyond that, its
// position is a share of all rows, and the wheel moves by rows instead.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib.js";
import { number } from "../format.js";
import { Problem } from "./field.js";
import { useWidth } from "./measure.js";
import { Pages } from "./pages.js";

const ROW = 28; // pixels, as in style.css
const TALLEST = 8_000_000;
const BAR = 18; // pixels, room for a scroll bar below
const AROUND = 6; // rows drawn above and below those in sight
const PADDING = 24; // pixels of a cell beside its text
const SORTED = "  ▼";
const [NARROW, WIDE] = [56, 280];

/** Widths of columns after their heads and the first rows. */
function widthsOf(columns, rows, box) {
  const pen = document.createElement("canvas").getContext("2d");
  const font = box ? getComputedStyle(box) : null;
  const size = font ? `${font.fontSize} ${font.fontFamily}` : "14px sans-serif";
  return columns.map((column) => {
    pen.font = `600 ${size}`;
    let widest = pen.measureText(column.title + SORTED).width;
    pen.font = size;
    for (const row of rows) widest = Math.max(widest, pen.measureText(String(column.text?.(row) ?? "")).width);
    return Math.ceil(Math.min(WIDE, Math.max(NARROW, widest + PADDING, column.width ?? 0)));
  });
}

/** Place in the view of the first row in sight, and back: a position of the scroll bar. */
function scrolling(total, room) {
  const height = Math.min(total * ROW, TALLEST);
  const scaled = height < total * ROW;
  const most = Math.max(0, total - room / ROW); // the first row in sight when the last row is in sight
  const range = Math.max(1, height - room);
  return {
    height,
    scaled,
    most,
    top: (at) => (scaled ? Math.min(most, (at / range) * most) : at / ROW),
    at: (top) => (scaled ? (top / Math.max(1e-9, most)) * range : top * ROW),
  };
}

/**
 * ask(start, count, signal) -> {total, rows}. view: text, which rows in which order: when it changes the grid begins at
 * the top; stamp: text, what the cells depend on besides: when it changes they are asked for anew, in place.
 * columns: [{key, title, text(row) -> string, show(row) -> html (default: the text), class(row), number: true for right,
 * width, sortable}]. name(row): name of a row for screen readers, such as its number. sort: {column, descending} or null,
 * onSort(key). onPick(row, "key" or "click"): Enter or a click. picked(row): whether to mark it. height: pixels. label: what the rows are.
 */
export function Grid({ ask, view = "", stamp = "", columns, label, sort, onSort, onPick, picked, height = 448, onTotal, describedby }) {
  const box = useRef(null);
  const width = useWidth(box, 800);
  const [, draw] = useState(0);
  const asking = useRef(ask);
  asking.current = ask;
  const pages = useMemo(() => new Pages((...given) => asking.current(...given), () => draw((n) => n + 1)), [view, stamp]);
  useEffect(() => () => pages.end(), [pages]);
  const there = useRef(pages); // what is shown: the former rows until the new ones are there
  if (pages.total !== null || pages.error) there.current = pages;
  const shown = there.current;
  const top = useRef(0); // the first row in sight, with its fraction
  const own = useRef(null); // the scroll position that we set: its event is not the user's
  const [focus, setFocus] = useState({ row: 0, column: 0 }); // row -1: the heads
  const total = shown.total ?? 0;
  const tall = shown.total === null ? height : Math.min(height, (total + 1) * ROW + BAR);
  const room = Math.min(tall, box.current?.clientHeight || tall) - ROW; // below the heads, above a scroll bar
  const bar = scrolling(total, room);
  const first = shown.pages.values().next().value;
  const widths = useMemo(() => widthsOf(columns, (first || []).slice(0, 60), box.current), [Boolean(first), columns.map((column) => column.key).join("\n")]);
  useEffect(() => {
    if (pages.total !== null) onTotal?.(pages.total);
  }, [pages, pages.total]);
  useLayoutEffect(() => {
    top.current = 0;
    own.current = 0;
    if (box.current) box.current.scrollTop = 0;
    setFocus((last) => ({ ...last, row: Math.min(last.row, 0) }));
  }, [view]);

  const show = (row) => {
    top.current = Math.min(bar.most, Math.max(0, row));
    const at = Math.round(bar.at(top.current));
    if (box.current && Math.abs(box.current.scrollTop - at) >= 1) {
      own.current = at;
      box.current.scrollTop = at;
    }
    draw((n) => n + 1);
  };
  const scrolled = () => {
    const at = box.current.scrollTop;
    if (own.current !== null && Math.abs(at - own.current) < 2) own.current = null;
    else top.current = Math.max(0, bar.top(at));
    draw((n) => n + 1);
  };
  const turn = useRef(null);
  turn.current = (event) => {
    if (!bar.scaled || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    const rows = event.deltaMode === 1 ? event.deltaY : event.deltaMode === 2 ? (event.deltaY * room) / ROW : event.deltaY / ROW;
    const next = top.current + rows;
    if ((rows < 0 && top.current <= 0) || (rows > 0 && top.current >= bar.most)) return;
    event.preventDefault();
    show(next);
  };
  useEffect(() => {
    const element = box.current;
    const wheel = (event) => turn.current(event);
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, []);

  const from = Math.max(0, Math.floor(top.current) - AROUND);
  const to = Math.min(total - 1, Math.ceil(top.current + room / ROW) + AROUND);
  useEffect(() => pages.want(from, Math.max(to, 0)));

  const starts = useMemo(() => widths.reduce((sums, one) => [...sums, sums[sums.length - 1] + one], [0]), [widths]);
  const left = box.current?.scrollLeft ?? 0;
  const inSight = columns.map((column, at) => ({ column, at })).filter(({ at }) => at === 0 || (starts[at + 1] > left - 200 && starts[at] < left + width + 200));

  const move = (row, column) => {
    const next = { row: Math.max(-1, Math.min(total - 1, row)), column: Math.max(0, Math.min(columns.length - 1, column)) };
    setFocus(next);
    if (next.row >= 0) {
      const visible = Math.floor(room / ROW);
      if (next.row < top.current) show(next.row);
      else if (next.row > top.current + visible - 1) show(next.row - room / ROW + 1);
    }
    const pinned = next.column === 0 ? 0 : widths[0];
    if (starts[next.column] - pinned < left) box.current.scrollLeft = starts[next.column] - pinned;
    else if (starts[next.column + 1] > left + width) box.current.scrollLeft = starts[next.column + 1] - width;
  };
  const key = (event) => {
    const { row, column } = focus;
    const page = Math.max(1, Math.floor(room / ROW) - 1);
    const moves = {
      ArrowDown: [row + 1, column],
      ArrowUp: [row - 1, column],
      ArrowRight: [row, column + 1],
      ArrowLeft: [row, column - 1],
      PageDown: [row + page, column],
      PageUp: [Math.max(0, row - page), column],
      Home: event.ctrlKey ? [0, 0] : [0, column],
      End: event.ctrlKey ? [total - 1, columns.length - 1] : [total - 1, column],
    };
    if (moves[event.key]) move(...moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") {
      if (row < 0) columns[column].sortable !== false && onSort?.(columns[column].key);
      else if (shown.row(row)) onPick?.(shown.row(row), "key");
    } else return;
    event.preventDefault();
  };
  const id = (row, column) => `${label.replace(/\W+/g, "-")}-${row}-${column}`;
  const template = useRef(null);
  template.current = widths.map((one) => `${one}px`).join(" ");
  const sized = (element) => {
    if (element) {
      element.style.gridTemplateColumns = template.current;
      element.style.width = `${starts[starts.length - 1]}px`;
    }
  };
  const placed = (at) => (element) => {
    if (element) element.style.gridColumn = String(at + 1);
  };
  const shift = (element) => {
    if (element) element.style.transform = `translateY(${(from - top.current) * ROW}px)`;
  };
  const rows = [];
  for (let at = from; at <= to; at += 1) rows.push(at);
  return html`<div class="grid-part">
    <${Problem} error=${pages.error} />
    ${pages.error && html`<p><button type="button" onClick=${() => pages.again()}>Try again</button></p>`}
    <div class=${`grid${shown === pages ? "" : " stale"}`} ref=${(element) => {
      box.current = element;
      if (element) element.style.height = `${tall}px`;
    }} role="grid" tabindex="0" aria-label=${label} aria-describedby=${describedby} aria-rowcount=${total + 1} aria-colcount=${columns.length} aria-activedescendant=${id(focus.row, focus.column)} aria-busy=${pages.asked.size ? "true" : "false"} onScroll=${scrolled} onKeyDown=${key}>
      <div class="space" ref=${(element) => {
        if (element) {
          element.style.height = `${bar.height + ROW}px`;
          element.style.width = `${starts[starts.length - 1]}px`;
        }
      }}>
        <div class="sheet" ref=${(element) => {
          if (element) element.style.height = `${Math.min(room + ROW, bar.height + ROW)}px`;
        }}>
          <div class="line heads" role="row" aria-rowindex="1" ref=${sized}>
            ${inSight.map(({ column, at }) => {
              const sorted = sort?.column === column.key ? (sort.descending ? "descending" : "ascending") : undefined;
              return html`<div key=${column.key} id=${id(-1, at)} role="columnheader" aria-colindex=${at + 1} aria-sort=${sorted} ref=${placed(at)} class=${`cell${column.number ? " right" : ""}${at === 0 ? " pinned" : ""}${focus.row === -1 && focus.column === at ? " focus" : ""}`}>
                ${onSort && column.sortable !== false
                  ? html`<button type="button" tabindex="-1" title=${`${column.title}: sort`} onClick=${() => onSort(column.key)}>${column.title}</button>`
                  : html`<span>${column.title}</span>`}
              </div>`;
            })}
          </div>
          <div class="lines"><div class="moved" ref=${shift}>
            ${rows.map((at) => {
              const row = shown.row(at);
              const marked = row && picked?.(row);
              return html`<div key=${at} class=${`line${marked ? " picked" : ""}${at % 2 ? " odd" : ""}`} role="row" aria-rowindex=${at + 2} aria-selected=${picked ? String(Boolean(marked)) : undefined} ref=${sized} onClick=${row && onPick ? () => { setFocus({ ...focus, row: at }); onPick(row, "click"); } : undefined}>
                ${inSight.map(({ column, at: place }) => html`<div key=${column.key} id=${id(at, place)} role="gridcell" aria-colindex=${place + 1} ref=${placed(place)} class=${`cell${column.number ? " right" : ""}${place === 0 ? " pinned" : ""}${focus.row === at && focus.column === place ? " focus" : ""}${row ? ` ${column.class?.(row) ?? ""}` : " waits"}`}>${row ? (column.show ? column.show(row) : (column.text?.(row) ?? "")) : "…"}</div>`)}
              </div>`;
            })}
          </div></div>
        </div>
      </div>
    </div>
    ${shown.total === 0 && html`<p class="note">No rows.</p>`}
    ${total > 0 && html`<p class="note count">${number(Math.min(total, Math.floor(top.current) + 1))} to ${number(Math.min(total, Math.floor(top.current + room / ROW)))} of ${number(total)}</p>`}
  </div>`;
}
