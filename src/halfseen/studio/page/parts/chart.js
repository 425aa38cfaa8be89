// Lines over a number (iterations, costs): a thin wrapper of uPlot that follows the style sheet, dark mode and its width.
import { html, useLayoutEffect, useRef } from "../lib.js";
import uPlot from "../vendor/uplot.js";
import { number } from "../format.js";
import { tickText } from "./axis.js";
import { colour, useDark, useWidth } from "./measure.js";

const PALE = 0.4; // opacity of a line that is pale

/** Lines with their own x, as uPlot wants them: one x for all, null where a line has no value. */
export function aligned(lines) {
  const first = lines[0]?.x || [];
  if (lines.every((line) => line.x === first)) return [first, ...lines.map((line) => line.y)];
  const xs = [...new Set(lines.flatMap((line) => line.x))].sort((a, b) => a - b);
  const places = new Map(xs.map((x, i) => [x, i]));
  const columns = lines.map((line) => {
    const ys = new Array(xs.length).fill(undefined);
    line.x.forEach((x, i) => {
      ys[places.get(x)] = line.y[i];
    });
    return ys;
  });
  return [xs, ...columns];
}

const paint = (line) => colour(line?.colour || "--blue");

const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6];

function axis(name, size, whole) {
  const font = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  return {
    label: name || undefined,
    labelSize: name ? 20 : 0,
    labelFont: font,
    labelGap: 2,
    font,
    size,
    gap: 4,
    stroke: () => colour("--soft"),
    ...(whole ? { incrs: WHOLE } : {}),
    grid: { stroke: () => colour("--line"), width: 1 },
    ticks: { show: false },
    values: (_, splits) => splits.map((value) => (value === null ? "" : tickText(value))),
  };
}

function options(now, width, height, read) {
  const { lines, x, y, rangeX, rangeY, dots, whole } = now.current;
  const space = Math.max(...[rangeY, ...lines.map((line) => line.y)].flat().filter(Number.isFinite).slice(0, 500).map((value) => tickText(Math.round(value)).length), 4);
  return {
    width,
    height,
    legend: { show: false },
    cursor: { points: { size: 6 }, drag: { x: false, y: false }, y: false },
    scales: {
      x: { time: false, ...(rangeX ? { range: () => now.current.rangeX } : {}) },
      y: rangeY ? { range: () => now.current.rangeY || rangeY } : {},
    },
    axes: [axis(x, x ? 30 : 26, whole), axis("", Math.min(90, 18 + 7 * space))],
    series: [
      {},
      ...lines.map((line, i) => ({
        label: line.name || "",
        stroke: () => paint(now.current.lines[i]),
        width: line.width ?? (line.pale ? 1 : 2),
        alpha: line.pale ? PALE : 1,
        dash: line.dash,
        spanGaps: true,
        points: { show: Boolean(dots || line.dots), size: 5, fill: () => paint(now.current.lines[i]) },
      })),
    ],
    hooks: { setCursor: [read] },
    padding: [y ? 18 : 8, 10, 0, 0],
  };
}

/**
 * lines: [{x: [..], y: [..], name, colour: "--c0", pale, dash, width, dots}]; x, y: names of the axes; label: what the
 * chart shows, in words; whole: ticks of x at whole numbers; dots: mark the points; rangeX, rangeY: [low, high] to fix a scale; mark: [{x, text}] to draw vertical lines.
 */
export function Chart({ lines, x = "", y = "", label, height = 260, rangeX, rangeY, dots, whole, marks = [] }) {
  const box = useRef(null);
  const words = useRef(null);
  const plot = useRef(null);
  const now = useRef({});
  now.current = { lines, x, y, rangeX, rangeY, dots, whole, marks };
  const width = useWidth(box);
  const dark = useDark();
  const shape = JSON.stringify([lines.map((line) => [line.name, line.pale, line.dash, line.width, line.dots]), x, y, dots, Boolean(rangeX), Boolean(rangeY)]);
  useLayoutEffect(() => {
    const read = (u) => {
      if (words.current) words.current.textContent = readout(u, now.current);
    };
    const made = options(now, width, height, read);
    made.hooks.draw = [(u) => draw(u, now.current.marks)];
    plot.current = new uPlot(made, aligned(now.current.lines), box.current);
    return () => {
      plot.current.destroy();
      plot.current = null;
    };
  }, [shape, height]);
  useLayoutEffect(() => plot.current?.setSize({ width, height }), [width, height]);
  useLayoutEffect(() => plot.current?.setData(aligned(lines)), [lines, rangeX?.join(), rangeY?.join()]);
  useLayoutEffect(() => plot.current?.redraw(false, true), [dark, JSON.stringify(marks), lines.map((line) => line.colour).join()]);
  return html`<div class="chart">
    ${y && html`<span class="axis" aria-hidden="true">${y}</span>`}
    <div class="picture" ref=${box} role="img" aria-label=${label}></div>
    <p class="readout" ref=${words} aria-hidden="true"></p>
  </div>`;
}

/** What is under the pointer, in words: "iteration 40: start 3 −123.4". */
function readout(u, { lines, x }) {
  const at = u.cursor.idx;
  if (at === null || at === undefined || u.cursor.left < 0) return "";
  const found = lines.map((line, i) => [line.name, u.data[i + 1][at]]).filter(([, value]) => Number.isFinite(value));
  return found.length ? `${x ? `${x} ` : ""}${number(u.data[0][at])}: ${found.slice(-4).map(([name, value]) => `${name ? `${name} ` : ""}${number(value)}`).join(", ")}` : "";
}

function draw(u, marks) {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.strokeStyle = colour("--soft");
  ctx.fillStyle = colour("--soft");
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "alphabetic";
  ctx.setLineDash([3 * ratio, 3 * ratio]);
  for (const { x, text } of marks) {
    const left = Math.round(u.valToPos(x, "x", true));
    if (left < bbox.left || left > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
    ctx.stroke();
    const right = left > bbox.left + 0.8 * bbox.width; // the text stands on the other side of its line
    ctx.textAlign = right ? "right" : "left";
    if (text) ctx.fillText(text, left + (right ? -4 : 4) * ratio, bbox.top + 12 * ratio);
  }
  ctx.restore();
}
