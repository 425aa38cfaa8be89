// Small pictures as SVG: scatter with ellipses, bars of shares, and the sketch of a column.
import { html, useRef } from "../lib.js";
import { number, percent } from "../format.js";
import { extent, scale, ticks, tickText } from "./axis.js";
import { useWidth } from "./measure.js";

const JITTER = 0.28; // how far points of a category lie apart, in distances between categories
const LEVEL = 12; // letters of a category at an axis
const NAME = 24; // letters of a name within the picture
const LETTER = 6.6; // pixels, about
const NEAR = 14; // pixels within which a click finds a point
const line = (path, x, y) => `M${path.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("L")}Z`;

/** One path for all points of a class: thousands of points stay light. */
function dots(points, x, y) {
  return points.map(([a, b]) => `M${x(a).toFixed(1)} ${y(b).toFixed(1)}h0`).join("");
}

/** Ticks of an axis: round numbers, or some of the categories, with their texts. */
function marks(range, levels, most) {
  if (!levels) return ticks(...range, Math.max(2, most)).map((at) => ({ at, text: tickText(at) }));
  const step = Math.max(1, Math.ceil(levels.length / most));
  return levels.map((text, at) => ({ at, text: cut(text, LEVEL) })).filter(({ at }) => at % step === 0);
}

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function Axes({ x, y, across, up, width, height, left, bottom, names }) {
  const floor = height - bottom;
  const most = Math.max(8, Math.floor((width - left) / 8));
  return html`<g class="axes">
    ${up.map(({ at, text }) => html`<g key=${at}><line class="grid" x1=${left} x2=${width - 4} y1=${y(at)} y2=${y(at)} /><text x=${left - 6} y=${y(at)} dy=".32em" text-anchor="end">${text}</text></g>`)}
    <line class="floor" x1=${left} x2=${width - 4} y1=${floor} y2=${floor} />
    ${across.map(({ at, text }) => html`<text key=${at} x=${x(at)} y=${floor + 16} text-anchor="middle">${text}</text>`)}
    <text class="name" x=${(left + width) / 2} y=${height - 4} text-anchor="middle">${cut(names[0], most)}</text>
    <text class="name" x="2" y="12">${cut(names[1], most)}</text>
  </g>`;
}

/** A number between -1 and 1 that looks random, the same for the same whole number. */
function noise(n) {
  let bits = Math.imul(n + 1, 0x9e3779b1);
  bits = Math.imul(bits ^ (bits >>> 15), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 31 - 1;
}

/** Points of categories apart from each other, at the same places each time. */
function spread(points, levels) {
  if (!levels?.some(Boolean)) return points;
  return points.map(([a, b, k, row = 0]) => [a + (levels[0] ? JITTER * noise(2 * row) : 0), b + (levels[1] ? JITTER * noise(2 * row + 1) : 0), k, row]);
}

/**
 * points: [[x, y, k or null, row]]. classes: [{name, ellipses: [[[x, y], ..], ..]}]. names: [of x, of y]. label: what it
 * shows, in words. onPick(row): a click near a point. picked: row to ring. height: pixels. levels: [of x, of y], the
 * categories of an axis, null for numbers. centres: [{at: [x, y], k, name}], drawn as crosses.
 */
export function Scatter({ points: given, classes = [], names, label, onPick, picked, height = 360, levels, centres = [] }) {
  const box = useRef(null);
  const width = useWidth(box);
  const points = spread(given, levels);
  const outlines = [...classes.flatMap((one) => (one.ellipses || []).flat()), ...centres.map(({ at }) => at)];
  const rangeX = extent([...points, ...outlines].map(([a]) => a));
  const rangeY = extent([...points, ...outlines].map(([, b]) => b));
  const across = marks(rangeX, levels?.[0], Math.round(width / 90));
  const up = marks(rangeY, levels?.[1], Math.round(height / (levels?.[1] ? 24 : 60)));
  const left = Math.max(46, 12 + LETTER * Math.max(...up.map(({ text }) => text.length)));
  const bottom = 36;
  const x = scale(rangeX, [left + 8, width - 12]);
  const y = scale(rangeY, [height - bottom - 8, 22]);
  const groups = new Map();
  for (const point of points) {
    const k = point[2] ?? null;
    if (!groups.has(k)) groups.set(k, []);
    groups.get(k).push(point);
  }
  const ring = picked === undefined || picked === null ? null : points.find((point) => point[3] === picked);
  const press = (event) => {
    const at = event.currentTarget.getBoundingClientRect();
    let best = null;
    let least = NEAR ** 2;
    for (const point of points) {
      const far = (x(point[0]) - (event.clientX - at.left)) ** 2 + (y(point[1]) - (event.clientY - at.top)) ** 2;
      if (far < least) [best, least] = [point, far];
    }
    if (best) onPick(best[3]);
  };
  return html`<div class="picture" ref=${box}>
    <svg width=${width} height=${height} role="img" aria-label=${label} class=${onPick ? "picks" : undefined} onClick=${onPick ? press : undefined}>
      <${Axes} x=${x} y=${y} across=${across} up=${up} width=${width} height=${height} left=${left} bottom=${bottom} names=${names} />
      ${[...groups].map(([k, own]) => html`<path key=${k} class=${k === null ? "dots none" : `dots k${k % 8}`} d=${dots(own, x, y)} />`)}
      ${classes.map((one, k) => (one.ellipses || []).filter((path) => path && path.length > 2).map((path, i) => html`<path key=${`${k}-${i}`} class=${`ellipse k${k % 8}`} d=${line(path, x, y)} />`))}
      ${classes.map((one, k) => {
        const path = (one.ellipses || []).find((found) => found && found.length > 2);
        if (!path) return null;
        const centre = [0, 1].map((i) => path.reduce((sum, point) => sum + point[i], 0) / path.length);
        return html`<text key=${k} class="within" x=${x(centre[0])} y=${y(centre[1])} text-anchor="middle" dy=".32em">${cut(one.name, NAME)}</text>`;
      })}
      ${centres.map(({ at, k, name }, i) => html`<g key=${i}><path class=${`cross k${k % 8}`} d=${`M${x(at[0]) - 7} ${y(at[1])}h14m-7 -7v14`} /><text class="within" x=${x(at[0])} y=${y(at[1]) - 12} text-anchor="middle">${cut(name, NAME)}</text></g>`)}
      ${ring && html`<circle class="ring" cx=${x(ring[0])} cy=${y(ring[1])} r="7" />`}
    </svg>
  </div>`;
}

/** Shares or counts as horizontal bars: items [{label, value, k, text}]; `most` is the length of the longest (1 for shares). */
export function Bars({ items, most, label }) {
  const top = most ?? Math.max(...items.map((item) => item.value), 1e-300);
  return html`<ul class="bars" aria-label=${label}>
    ${items.map(({ label: name, value, k, text }, at) => html`<li key=${at} class=${k === undefined ? "" : `k${k % 8}`}>
      <span class="what" title=${name}>${name}</span>
      <svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" width="100" height="6" /><rect width=${Math.max(0, Math.min(100, (100 * value) / top)) || 0} height="6" /></svg>
      <span class="value">${text ?? percent(value)}</span>
    </li>`)}
  </ul>`;
}

/** The sketch of a column: counts of its values or ranges, missing cells as a last pale bar. */
export function Sketch({ sketch, name, width = 132, height = 30 }) {
  const bars = sketch?.bars || [];
  if (!bars.length) return html`<span class="of">no values</span>`;
  const missing = sketch.missing || 0;
  const most = Math.max(...bars.map((bar) => bar.count), missing, 1);
  const slots = bars.length + (missing ? 1 : 0);
  const step = width / slots;
  const solid = sketch.bars[0].low !== null && sketch.bars[0].low !== undefined;
  const gap = solid ? 0.5 : Math.min(3, step * 0.25);
  const told = bars.slice(0, 6).map((bar) => `${bar.label}: ${number(bar.count)}`).join(", ");
  const rect = (count, at, own, text) => {
    const tall = count ? Math.max(1, (count / most) * height) : 0;
    return html`<rect key=${at} class=${own} x=${at * step + gap / 2} y=${height - tall} width=${Math.max(0.5, step - gap)} height=${tall}><title>${text}: ${number(count)}</title></rect>`;
  };
  return html`<svg class="sketch" width=${width} height=${height} role="img" aria-label=${`${name}: ${told}${bars.length > 6 ? ", …" : ""}`}>
    ${bars.map((bar, at) => rect(bar.count, at, "", bar.label))}
    ${missing > 0 && rect(missing, bars.length, "missing", "missing")}
  </svg>`;
}
