// Sequences over time: probabilities of hidden states, the best path, values, and what is forecast after the last step.
import { html, useEffect, useMemo, useRef } from "../lib.js";
import { usePost } from "../ask.js";
import { count, listed, number, percent, shade } from "../format.js";
import { Brush, keyed, LEAST, within, zoomed } from "../parts/brush.js";
import { placesOf, timeText } from "../parts/clock.js";
import { useFor } from "../parts/draft.js";
import { Choices, Field, NumberField, Problem, TextField, Waiting } from "../parts/field.js";
import { edgesOf, stacked } from "../parts/lanes.js";
import { useWidth } from "../parts/measure.js";
import { layoutOf, Panels, rangeOf } from "../parts/panels.js";
import { scale } from "../parts/axis.js";

const LISTED = 200; // sequences in the list of choices
const POINTS = 500; // of the strip that shows all
const [LEAST_POINTS, MOST_POINTS] = [300, 1500];
const MOST_AHEAD = 500;
const SHOWN = 3; // columns that are drawn where none are chosen
const RIGHT = 14;
const SETTLE = 160; // milliseconds after which a moved window goes into the address

const whole = (text, otherwise) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : otherwise);

/** What the address says: every part may be wrong, and is then as if it were not there. */
function read(params) {
  const from = whole(params.from, null);
  const to = whole(params.to, null);
  return {
    sequence: whole(params.sequence, 0),
    window: from !== null && to !== null && from < to ? [from, to] : null,
    ahead: Math.min(MOST_AHEAD, whole(params.ahead, 0)),
    columns: params.columns === undefined ? null : params.columns.split(",").filter(Boolean).map((text) => whole(text, -1)),
    find: params.find ?? "",
  };
}

/** An answer of a timeline with its places on the axis. */
function placed(answer) {
  if (!answer) return null;
  const { axis, times, steps, last_time: last, from, to, thinned } = answer;
  const places = placesOf(axis, times, steps);
  const ending = placesOf(axis, last === null ? null : [last], [to - 1])[0];
  const gap = to - 1 > from ? (ending - places[0]) / (to - 1 - from) : 1;
  const edges = to - 1 > from ? edgesOf(places, ending + gap, thinned) : [places[0] - 0.5, places[0] + 0.5];
  return { ...answer, places, edges, gap: gap || 1, ending };
}

/** What is forecast, after the last step; nothing where that is not in sight. */
function afterwards(answer, detail) {
  if (!answer || !detail || detail.to < detail.length || answer.sequence !== detail.sequence) return { places: [], edges: [], answer: null };
  const known = answer.times && detail.axis !== "text" && detail.axis !== "step";
  const steps = answer.probabilities.map((_, i) => i);
  const places = known ? placesOf(detail.axis, answer.times, steps) : steps.map((i) => detail.ending + (i + 1) * detail.gap);
  const first = detail.edges[detail.edges.length - 1];
  const inner = places.slice(1).map((place, i) => (place + places[i]) / 2);
  const last = places[places.length - 1];
  return { places, edges: [first, ...inner, last + (last - (inner[inner.length - 1] ?? first))], answer };
}

export default function Timeline({ state, route, go, api }) {
  const asked = read(route.params);
  const list = usePost("view", { name: "sequences", ask: { count: LISTED, find: asked.find } }, state.version);
  const change = (changes, how) => go("timeline", { ...route.params, ...changes }, how);
  if (!list.answer) return html`<div><h2>Timeline</h2><${Waiting} found=${list} what="Reading the sequences" /></div>`;
  const known = list.answer;
  const number = Math.min(asked.sequence, known.total - 1);
  return html`<div>
    <h2>Timeline</h2>
    <${Choose} known=${known} chosen=${number} find=${asked.find} change=${change} />
    <${Sequence} key=${`${number} ${state.version}`} state=${state} known=${known} asked=${{ ...asked, sequence: number }} change=${change} />
  </div>`;
}

function nameOf({ number: own, name }) {
  return name ?? `sequence ${own}`;
}

function Choose({ known, chosen, find, change }) {
  if (known.total === 1) return null;
  const to = (next) => change({ sequence: next, from: null, to: null });
  const here = known.sequences.some((one) => one.number === chosen);
  const choices = known.sequences.map((one) => ({ value: String(one.number), text: `${nameOf(one)} (${count(one.steps, "step")})` }));
  const shown = here ? choices : [{ value: String(chosen), text: `number ${chosen}` }, ...choices];
  const more = known.matching > known.sequences.length;
  return html`<div class="form chooser">
    <${Field} wide label=${known.group ?? "Sequence"} help=${more ? `The first ${number(LISTED)} of ${number(known.matching)}: find others by name.` : ""}>
      ${(own) => html`<${Choices} ...${own} value=${String(chosen)} choices=${shown} onChange=${(value) => to(Number(value))} />`}
    <//>
    <div class="buttons pair">
      <button type="button" disabled=${chosen === 0} onClick=${() => to(chosen - 1)}>Previous</button>
      <button type="button" disabled=${chosen >= known.total - 1} onClick=${() => to(chosen + 1)}>Next</button>
    </div>
    ${(known.total > 12 || find) && html`<${TextField} label="Find" value=${find} onChange=${(text) => change({ find: text })} placeholder="part of a name" />`}
  </div>`;
}

/** A window that follows the hand at once, and the address when the hand rests. */
function useWindow(asked, length, change) {
  const [draft, setDraft] = useFor(asked.window?.join(), null);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const own = draft ?? (asked.window ? within(asked.window, length) : [0, length]);
  const keep = (next) => {
    setDraft(next);
    clearTimeout(timer.current);
    const whole = next[0] === 0 && next[1] === length;
    timer.current = setTimeout(() => change({ from: whole ? null : next[0], to: whole ? null : next[1] }, { replace: true }), SETTLE);
  };
  return [own, keep, setDraft];
}

function Sequence({ state, known, asked, change }) {
  const columns = known.columns.map((column) => column.name);
  const chosen = (asked.columns ?? columns.slice(0, SHOWN).map((_, i) => i)).filter((i) => i in columns);
  const names = chosen.map((i) => columns[i]);
  const base = { sequence: asked.sequence, columns: names };
  const overall = usePost("view", { name: "timeline", ask: { ...base, points: POINTS } }, state.version, 0);
  const strip = useMemo(() => placed(overall.answer), [overall.answer]);
  if (!strip) return html`<${Waiting} found=${overall} what="Inferring the states" />`;
  return html`<${Shown} state=${state} known=${known} asked=${asked} chosen=${chosen} base=${base} strip=${strip} change=${change} />`;
}

function Shown({ state, known, asked, chosen, base, strip, change }) {
  const box = useRef(null);
  const width = useWidth(box, 0);
  const left = width < 520 ? 46 : 64;
  const [own, keep, follow] = useWindow(asked, strip.length, change);
  const points = Math.min(MOST_POINTS, Math.max(LEAST_POINTS, 300 * Math.ceil(width / 300)));
  const detailed = usePost("view", width ? { name: "timeline", ask: { ...base, from: own[0], to: own[1], points } } : null, state.version, 60);
  const forecast = usePost("view", asked.ahead ? { name: "forecast", ask: { ...base, steps: asked.ahead } } : null, state.version);
  const detail = useMemo(() => placed(detailed.answer) ?? strip, [detailed.answer, strip]);
  const after = useMemo(() => afterwards(asked.ahead ? forecast.answer : null, detail), [forecast.answer, asked.ahead, detail]);
  const layout = useMemo(() => layoutOf({ detail, edges: detail.edges, after, width, columns: detail.columns, left, right: RIGHT }), [detail, after, width, left]);
  const ranges = useMemo(() => detail.columns.map((column) => (column.levels ? null : rangeOf(column, strip.columns.find((one) => one.name === column.name), after.answer?.columns.find((one) => one.name === column.name)))), [detail, strip, after]);
  const names = state.components.length ? state.components : detail.states.map((one) => one.name);
  const words = windowWords(own, strip);
  const label = `${nameOf({ number: detail.sequence, name: detail.name })}, ${words}: probabilities of ${listed(names)}, the best path${detail.columns.length ? `, ${listed(detail.columns.map((column) => column.name))}` : ""}${after.answer ? `, and a forecast of ${count(asked.ahead, "step")}` : ""}.`;
  const set = (next) => keep(within(next, strip.length));
  return html`<div>
    <p class="lead">${count(strip.length, "step")}${strip.times ? `, ${timeText(strip.times[0], 0)} to ${timeText(strip.last_time, strip.length - 1)}` : ""}. Log-likelihood ${number(strip.loglik, 2)}.</p>
    <${Legend} states=${detail.states} />
    <${Controls} own=${own} length=${strip.length} words=${words} set=${set} asked=${asked} chosen=${chosen} known=${known} change=${change} />
    <${Problem} error=${detailed.error || forecast.error} />
    <div class="picture timeline" ref=${box}>
      ${width > 0 && html`<${Chart} layout=${layout} ranges=${ranges} names=${names} detail=${detail} after=${after} label=${label} own=${own} length=${strip.length} set=${set} />
        <${Overview} strip=${strip} own=${own} width=${width} left=${left} words=${words} follow=${follow} keep=${keep} />`}
    </div>
    <${Told} detail=${detail} after=${after} ahead=${asked.ahead} />
  </div>`;
}

/** How to read the picture. */
function Told({ detail, after, ahead }) {
  return html`<p class="note">
    ${detail.thinned > 1 && `Each point stands for ${number(detail.thinned)} steps: probabilities are their means, numbers reach from the lowest to the highest, path and categories are the most frequent; a line below the path marks points with several states. Zoom in for single steps. `}
    ${detail.columns.some((column) => column.means) && "Steps of colour in a column of numbers are the mean of the state on the best path. "}
    ${ahead > 0 && (after.answer ? "After the last step: the expected value, with one and two standard deviations around it. " : "The forecast begins after the last step, which is not in sight. ")}
  </p>`;
}

function windowWords([from, to], strip) {
  if (from === 0 && to === strip.length) return "all steps";
  return `steps ${number(from)} to ${number(to - 1)} of ${number(strip.length)}`;
}

function Legend({ states }) {
  return html`<ul class="legend" aria-label="States">
    ${states.map((one, k) => html`<li key=${k}><span class=${shade(k)}>${one.name}</span> <span class="of">${percent(one.share)} of the steps, ${one.dwell === null ? "never left" : `${number(one.dwell, one.dwell < 10 ? 1 : 0)} at a time`}</span></li>`)}
  </ul>`;
}

function Controls({ own, length, words, set, asked, chosen, known, change }) {
  const all = own[0] === 0 && own[1] === length;
  const toEnd = (ahead) => {
    const size = own[1] - own[0];
    const window = ahead && own[1] < length ? { from: length - size, to: length } : {};
    change({ ahead: ahead || null, ...window });
  };
  const pick = (i, on) => {
    const next = on ? [...chosen, i].sort((a, b) => a - b) : chosen.filter((other) => other !== i);
    change({ columns: next.length ? next.join(",") : "," });
  };
  return html`<div class="form controls">
    <div class="buttons pair" role="group" aria-label="Part that is shown">
      <button type="button" onClick=${() => set(keyed("ArrowLeft", own, length))} disabled=${own[0] === 0} aria-label="Earlier" title="Earlier">←</button>
      <button type="button" onClick=${() => set(keyed("ArrowRight", own, length))} disabled=${own[1] === length} aria-label="Later" title="Later">→</button>
      <button type="button" onClick=${() => set(zoomed(own, 1 / 1.5, length))} disabled=${own[1] - own[0] <= LEAST} aria-label="Zoom in" title="Zoom in">+</button>
      <button type="button" onClick=${() => set(zoomed(own, 1.5, length))} disabled=${all} aria-label="Zoom out" title="Zoom out">−</button>
      <button type="button" onClick=${() => set([0, length])} disabled=${all}>All</button>
      <span class="of">${words}</span>
    </div>
    <${NumberField} label="Forecast, steps" value=${asked.ahead || ""} min="0" max=${MOST_AHEAD} step="1" placeholder="none" onChange=${(n) => toEnd(Math.min(MOST_AHEAD, Math.max(0, Math.round(n ?? 0))))} />
    ${known.columns.length > 1 && html`<fieldset class="columns"><legend>Columns</legend>
      ${known.columns.map((column, i) => html`<label key=${column.name}><input type="checkbox" checked=${chosen.includes(i)} onChange=${(event) => pick(i, event.target.checked)} /> ${column.name}</label>`)}
    </fieldset>`}
  </div>`;
}

// ---- the picture -----------------------------------------------------------------------------------------------------

/** The point at a place: an index of the window, or beyond it of the forecast. */
function pointAt(place, edges, after) {
  const beyond = after.edges.length && place >= after.edges[0];
  const own = beyond ? after.edges : edges;
  let [low, high] = [0, own.length - 2];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (own[middle] <= place) low = middle;
    else high = middle - 1;
  }
  return beyond ? edges.length - 1 + low : low;
}

function Chart({ layout, ranges, names, detail, after, label, own, length, set }) {
  const [at, setAt] = useFor(detail, null);
  const n = detail.steps.length;
  const last = n + after.places.length - 1;
  const { x, width, height } = layout;
  const hover = (event) => {
    const place = event.clientX - event.currentTarget.getBoundingClientRect().left;
    setAt(place < layout.left || place > width - RIGHT ? null : pointAt(x.invert(place), detail.edges, after));
  };
  const key = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = by && Math.min(last, Math.max(0, at === null ? (by > 0 ? 0 : last) : at + by));
    const other = by ? null : keyed(event.key, own, length);
    if (!by && !other) return;
    event.preventDefault();
    if (by) setAt(next);
    else set(other);
  };
  const found = at !== null && at <= last ? at : null;
  const place = found === null ? null : x(found < n ? middleOf(detail, found) : after.places[found - n]);
  return html`
    <p class="readout" role="status">${found === null ? html`<span class="of">Point at the picture, or move along it with the arrow keys, to read its values.</span>` : html`<${Values} at=${found} detail=${detail} after=${after} names=${names} />`}</p>
    <svg class="chart" width=${width} height=${height} tabindex="0" role="group" aria-label="Timeline: the arrow keys read single points" data-keys="true" onPointerMove=${hover} onPointerLeave=${() => setAt(null)} onKeyDown=${key}>
      <${Panels} layout=${layout} ranges=${ranges} names=${names} axis=${detail.axis} label=${label} />
      ${place !== null && html`<line class="cursor" x1=${place} x2=${place} y1=${layout.states.top} y2=${layout.floor - 10} />`}
    </svg>
  `;
}

const middleOf = (detail, i) => (detail.thinned > 1 ? (detail.edges[i] + detail.edges[i + 1]) / 2 : detail.places[i]);

function Values({ at, detail, after, names }) {
  const n = detail.steps.length;
  const ahead = at >= n;
  const answer = ahead ? after.answer : detail;
  const i = ahead ? at - n : at;
  const when = ahead ? (answer.times ? timeText(answer.times[i]) : `${count(i + 1, "step")} ahead`) : pointText(detail, i);
  const shares = answer.probabilities[i].map((share, k) => [share, k]).sort((a, b) => b[0] - a[0]).filter(([share], rank) => rank === 0 || share >= 0.01);
  return html`<strong>${when}</strong>
    ${shares.slice(0, 4).map(([share, k]) => html` <span key=${k} class=${shade(k)}>${names[k]} ${percent(share)}</span>`)}
    ${answer.columns.map((column) => html` <span key=${column.name}><span class="of">${column.name}</span> ${valueText(column, i)}</span>`)}`;
}

function pointText({ steps, times, to, thinned }, i) {
  const end = (steps[i + 1] ?? to) - 1;
  const from = timeText(times?.[i], steps[i]);
  return thinned > 1 && end > steps[i] ? `${from} and ${count(end - steps[i], "step")} after` : from;
}

function valueText(column, i) {
  if (column.codes) return column.codes[i] === null ? "missing" : `${column.levels[column.codes[i]]}${column.different?.[i] > 1 ? ` and ${column.different[i] - 1} more` : ""}`;
  if (column.shares) return column.shares[i].map((share, code) => [share, code]).sort((a, b) => b[0] - a[0]).slice(0, 2).map(([share, code]) => `${column.levels[code]} ${percent(share)}`).join(", ");
  if (column.mean) return `${number(column.mean[i])} ± ${number(column.sd[i])}`;
  if (column.values) return column.values[i] === null ? "missing" : number(column.values[i]);
  if (column.low[i] === null) return "missing";
  return column.low[i] === column.high[i] ? number(column.low[i]) : `${number(column.low[i])} to ${number(column.high[i])}`;
}

function Overview({ strip, own, width, left, words, follow, keep }) {
  const { steps, edges, length } = strip;
  const all = scale([edges[0], edges[edges.length - 1]], [0, 1]);
  const shareAt = (step) => {
    if (step >= length) return 1;
    let i = steps.findIndex((first) => first > step) - 1;
    if (i < 0) i = steps.length - 1;
    const size = (steps[i + 1] ?? length) - steps[i];
    return all(edges[i] + ((step - steps[i]) / size) * (edges[i + 1] - edges[i]));
  };
  const stepAt = (share) => {
    const place = all.invert(share);
    if (place >= edges[edges.length - 1]) return length;
    const i = pointAt(place, edges, { edges: [] });
    const size = (steps[i + 1] ?? length) - steps[i];
    return Math.round(steps[i] + ((place - edges[i]) / (edges[i + 1] - edges[i])) * size);
  };
  const drawn = useMemo(() => {
    const x = scale([edges[0], edges[edges.length - 1]], [left, Math.max(left + 1, width - RIGHT)]);
    const y = scale([0, 1], [50, 4]);
    return stacked(strip.probabilities, edges, x, y).map(([path, most], k) => (most < 0.002 ? null : html`<path key=${k} class=${`area k${k % 8}`} d=${path} />`));
  }, [strip, width, left]);
  return html`<${Brush} length=${length} window=${own} stepAt=${stepAt} shareAt=${shareAt} words=${words} onMove=${follow} onDone=${keep} draw=${() => drawn} left=${left} right=${RIGHT} />
    <p class="note">The whole sequence: drag the window or its edges, or draw a new one. Keys: arrows move it, + and − zoom, 0 shows all.</p>`;
}
