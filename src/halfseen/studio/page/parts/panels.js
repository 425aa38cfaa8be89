// The panels of a timeline over one axis of time: states, numbers, categories, and what is forecast after the last step.
import { html, useMemo } from "../lib.js";
import { extent, scale, ticks, tickText } from "./axis.js";
import { timeTicks } from "./clock.js";
import { band, dots, line, ribbon, runs, stacked } from "./lanes.js";

const TITLE = 20; // height of the name above a panel
const GAP = 14; // between panels
const [STATES, STRIP, NUMBERS, LANE] = [84, 12, 92, 17]; // heights
const MOST_LANES = 10; // categories of a column that have a lane of their own
const FEW = 160; // points up to which each has a dot
const TONES = 10; // of the shares of categories that are forecast

const short = (name, letters) => (name.length <= letters ? name : `${name.slice(0, letters - 1)}…`);

/** The lowest and highest number of a column over the whole sequence, its means and its forecast. */
export function rangeOf(column, whole, ahead) {
  const own = whole ?? column;
  const around = ahead ? ahead.mean.flatMap((mean, i) => [mean - 2 * ahead.sd[i], mean + 2 * ahead.sd[i]]) : [];
  return extent([...(own.values ?? [...own.low, ...own.high]), ...around].filter((value) => value !== null), 0.06);
}

/** Where everything is: scales of x and y, and the top of each panel. */
export function layoutOf({ detail, edges, after, width, columns, left, right }) {
  const end = after.edges.length ? after.edges[after.edges.length - 1] : edges[edges.length - 1];
  const x = scale([edges[0], end], [left, Math.max(left + 40, width - right)]);
  let top = TITLE;
  const states = { top, height: STATES, strip: top + STATES + 4 };
  top = states.strip + STRIP + GAP;
  const panels = columns.map((column) => {
    const lanes = column.levels ? lanesOf(column) : null;
    const height = lanes ? lanes.length * LANE : NUMBERS;
    const panel = { column, lanes, top: top + TITLE, height };
    top += TITLE + height + GAP;
    return panel;
  });
  return { x, states, panels, floor: top, height: top + 26, width, left, right, detail, edges, after };
}

/** The categories that have a lane, the most frequent ones where there are many; null stands for the others. */
function lanesOf({ levels, codes }) {
  if (levels.length <= MOST_LANES) return levels.map((_, code) => code);
  const counts = new Array(levels.length).fill(0);
  for (const code of codes) if (code !== null) counts[code] += 1;
  const chosen = levels.map((_, code) => code).sort((a, b) => counts[b] - counts[a]).slice(0, MOST_LANES - 1);
  return [...chosen.sort((a, b) => a - b), null];
}

function Frame({ top, height, layout, title, marks }) {
  const { left, width, right } = layout;
  return html`<g class="axes">
    <text class="title" x=${left} y=${top - 7}>${title}</text>
    ${marks.map(([y, text]) => html`<g key=${y}><line class="grid" x1=${left} x2=${width - right} y1=${y} y2=${y} /><text x=${left - 6} y=${y} dy=".32em" text-anchor="end">${text}</text></g>`)}
  </g>`;
}

/** One path for all runs of each state, as bars between top and floor. */
function stateBars(path, edges, x, top, floor) {
  const found = new Map();
  for (const [from, to, k] of runs(path)) {
    const [a, b] = [x(edges[from]).toFixed(1), x(edges[to]).toFixed(1)];
    found.set(k, `${found.get(k) ?? ""}M${a} ${top}H${b}V${floor}H${a}Z`);
  }
  return [...found];
}

function States({ layout, names }) {
  const { x, states, detail, edges, after } = layout;
  const y = scale([0, 1], [states.top + states.height, states.top]);
  const several = (detail.path_states ?? []).map((n) => n > 1);
  const areas = (shares, own) => stacked(shares, own, x, y).map(([path, most], k) => (most < 0.002 ? null : html`<path key=${k} class=${`area k${k % 8}`} d=${path}><title>${names[k]}</title></path>`));
  return html`<g>
    <${Frame} top=${states.top} height=${states.height} layout=${layout} title="probability of each state" marks=${[[y(0.5), "50%"], [y(1), "100%"]]} />
    ${areas(detail.probabilities, edges)}
    ${after.edges.length > 0 && areas(after.answer.probabilities, after.edges)}
    ${stateBars(detail.path, edges, x, states.strip, states.strip + STRIP).map(([k, path]) => html`<path key=${k} class=${`best k${k % 8}`} d=${path}><title>best path: ${names[k]}</title></path>`)}
    <path class="several" d=${runs(several).filter(([, , more]) => more).map(([a, b]) => `M${x(edges[a]).toFixed(1)} ${states.strip + STRIP + 2.5}H${x(edges[b]).toFixed(1)}`).join("")} />
    <text x=${layout.left - 6} y=${states.strip + STRIP / 2} dy=".32em" text-anchor="end">path</text>
  </g>`;
}

/** The mean of the state on the best path, as steps of its colour. */
function meanSteps({ path }, column, edges, x, y) {
  const found = new Map();
  for (const [from, to, k] of runs(path)) {
    if (column.means[k] === null) continue;
    found.set(k, `${found.get(k) ?? ""}M${x(edges[from]).toFixed(1)} ${y(column.means[k]).toFixed(1)}H${x(edges[to]).toFixed(1)}`);
  }
  return [...found];
}

function Numbers({ panel, layout, range, names }) {
  const { x, detail, edges, after } = layout;
  const { column, top, height } = panel;
  const y = scale(range, [top + height, top]);
  const marks = ticks(...range, 3).map((at) => [y(at), tickText(at)]);
  const places = detail.places;
  const ahead = after.answer?.columns.find((one) => one.name === column.name);
  const values = column.values;
  return html`<g>
    <${Frame} top=${top} height=${height} layout=${layout} title=${column.name} marks=${marks} />
    <g clip-path="url(#timeline-inside)">
      ${!values && html`<path class="values-band" d=${band(column.low, column.high, edges, x, y)} />`}
      ${meanSteps(detail, column, edges, x, y).map(([k, path]) => html`<path key=${k} class=${`mean k${k % 8}`} d=${path}><title>mean in ${names[k]}: ${tickText(column.means[k])}</title></path>`)}
      ${values && html`<path class="values" d=${line(values, places, x, y)} /><path class="value-dots" d=${dots(values, places, x, y, values.length > FEW)} />`}
      ${ahead && after.edges.length > 0 && html`<${Fan} ahead=${ahead} places=${after.places} x=${x} y=${y} />`}
    </g>
  </g>`;
}

function Fan({ ahead, places, x, y }) {
  const around = (sds) => ribbon(ahead.mean.map((mean, i) => mean - sds * ahead.sd[i]), ahead.mean.map((mean, i) => mean + sds * ahead.sd[i]), places, x, y);
  return html`<path class="fan" d=${around(2)} /><path class="fan" d=${around(1)} /><path class="values ahead" d=${line(ahead.mean, places, x, y)} />`;
}

function Categories({ panel, layout }) {
  const { x, edges, after, left } = layout;
  const { column, lanes, top, height } = panel;
  const at = new Map(lanes.map((code, row) => [code, top + LANE * (row + 0.5)]));
  const lane = (code) => (code === null ? null : at.get(code) ?? at.get(null));
  const paths = runs(column.codes.map(lane)).map(([from, to, y]) => (y === null ? "" : `M${x(edges[from]).toFixed(1)} ${y}H${x(edges[to]).toFixed(1)}`));
  const marks = lanes.map((code) => [at.get(code), short(code === null ? "others" : column.levels[code], Math.floor((left - 8) / 6))]);
  const ahead = after.answer?.columns.find((one) => one.name === column.name);
  return html`<g>
    <${Frame} top=${top} height=${height} layout=${layout} title=${column.name} marks=${marks} />
    <path class="category" d=${paths.join("")} />
    ${ahead && after.edges.length > 0 && tones(ahead, after, lane, x).map((path, tone) => path && html`<path key=${tone} class="category" opacity=${(tone + 1) / (TONES + 1)} d=${path} />`)}
  </g>`;
}

/** Categories that are forecast: a path for each tone, darker where they are more probable. */
function tones(ahead, after, lane, x) {
  const found = new Array(TONES).fill("");
  ahead.shares.forEach((shares, i) => {
    const lanes = new Map();
    shares.forEach((share, code) => lanes.set(lane(code), (lanes.get(lane(code)) ?? 0) + share));
    for (const [y, share] of lanes) {
      if (share < 0.02) continue;
      found[Math.min(TONES - 1, Math.floor(share * TONES))] += `M${x(after.edges[i]).toFixed(1)} ${y}H${x(after.edges[i + 1]).toFixed(1)}`;
    }
  });
  return found;
}

function Times({ layout, axis, texts }) {
  const { x, edges, after, floor, left, right, width } = layout;
  const wanted = Math.max(3, (width - left - right) / 95);
  const end = after.edges.length ? after.edges[after.edges.length - 1] : edges[edges.length - 1];
  const marks = axis === "text" ? textTicks(texts, wanted) : timeTicks(axis, edges[0], end, wanted);
  return html`<g class="axes">
    <line class="floor" x1=${left} x2=${width - right} y1=${floor - GAP + 4} y2=${floor - GAP + 4} />
    ${marks.map(([at, text]) => html`<g key=${at}><line class="tick" x1=${x(at)} x2=${x(at)} y1=${floor - GAP + 4} y2=${floor - GAP + 9} /><text x=${x(at)} y=${floor + 11} text-anchor=${anchor(x(at), left, width - right)}>${text}</text></g>`)}
  </g>`;
}

function anchor(at, left, right) {
  if (at < left + 24) return "start";
  return at > right - 24 ? "end" : "middle";
}

function textTicks({ places, times }, wanted) {
  const every = Math.max(1, Math.ceil(places.length / wanted));
  return places.filter((_, i) => i % every === 0).map((place, i) => [place, short(times[i * every], 14)]);
}

/** All panels, drawn again only where what they show changes. */
export function Panels({ layout, ranges, names, axis, label }) {
  return useMemo(() => {
    const { detail, after, x, floor, left, right, width } = layout;
    const from = after.edges.length ? x(after.edges[0]) : null;
    return html`<g role="img" aria-label=${label}>
      <clipPath id="timeline-inside"><rect x=${left} y="0" width=${Math.max(1, width - left - right)} height=${floor} /></clipPath>
      ${from !== null && html`<rect class="future" x=${from} y=${TITLE} width=${Math.max(1, width - right - from)} height=${floor - GAP + 4 - TITLE} />`}
      <${States} layout=${layout} names=${names} />
      ${layout.panels.map((panel, i) => (panel.lanes ? html`<${Categories} key=${panel.column.name} panel=${panel} layout=${layout} />` : html`<${Numbers} key=${panel.column.name} panel=${panel} layout=${layout} range=${ranges[i]} names=${names} />`))}
      ${from !== null && html`<line class="now" x1=${from} x2=${from} y1=${TITLE} y2=${floor - GAP + 4} /><text class="title" x=${Math.min(from + 5, width - right)} y=${TITLE - 7} text-anchor=${from > width - 90 ? "end" : "start"}>forecast</text>`}
      <${Times} layout=${layout} axis=${axis} texts=${{ places: detail.places, times: detail.times }} />
    </g>`;
  }, [layout, ranges, names, axis, label]);
}
