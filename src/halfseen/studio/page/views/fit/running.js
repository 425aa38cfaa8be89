// A fit as it runs: the curve of every start, the shares, and the classes forming over the rows.
import { html, useState } from "../../lib.js";
import { count } from "../../format.js";
import { Chart } from "../../parts/chart.js";
import { Bars, Scatter } from "../../parts/svg.js";
import { Table } from "../../parts/table.js";
import { progressText } from "../../shell/job.js";

const COLOURS = { running: "--c5", converged: "--c2", best: "--blue", dropped: "--soft" };
const SETTLED = 2; // iterations that do not set the scale: a random start begins far below
const MOST = 60; // curves drawn
const POINTS = 30_000; // drawn of all curves together, ten times a second

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;
const last = (curve) => curve.values[curve.values.length - 1];

/** The start that is best, or has the highest objective so far. */
export function bestOf(curves) {
  let best = null;
  for (const [start, curve] of curves) {
    if (!curve.values.length) continue;
    if (curve.state === "best") return start;
    if (best === null || last(curve) > last(curves.get(best))) best = start;
  }
  return best;
}

function linesOf(curves, best) {
  const others = [...curves].filter(([start, curve]) => start !== best && curve.values.length).slice(0, MOST);
  const every = Math.ceil(others.reduce((sum, [, curve]) => sum + curve.values.length, 0) / POINTS);
  const some = (values) => (every > 1 ? values.filter((_, i) => i % every === 0 || i === values.length - 1) : values);
  const line = (start, { iterations, values }, colour, more) => ({ x: some(iterations), y: some(values), name: `start ${start}`, colour, ...more });
  return [
    ...others.map(([start, curve]) => line(start, curve, COLOURS[curve.state] || COLOURS.running, { pale: true })),
    ...(best === null ? [] : [line(best, curves.get(best), COLOURS.best, { width: 2.5 })]),
  ];
}

/** What the objective's axis spans: all but the first iterations of a start. */
function rangeOf(lines) {
  let low = Infinity;
  let high = -Infinity;
  let any = false;
  for (const { x, y } of lines) {
    for (let i = 0; i < y.length; i += 1) {
      const early = x[i] < SETTLED && y.length > SETTLED;
      if (!Number.isFinite(y[i]) || early) continue;
      any = true;
      if (y[i] < low) low = y[i];
      if (y[i] > high) high = y[i];
    }
  }
  if (!any) return undefined;
  const room = (high - low || Math.abs(high) * 0.01 || 1) * 0.06;
  return [low - room, high + room];
}

function namesOf(state, n) {
  const same = state.components.length === n && !state.job;
  return Array.from({ length: n }, (_, k) => (same ? state.components[k] : `${state.component[0]} ${k}`));
}

function Seen({ seen, state }) {
  const names = namesOf(state, seen.shares.length);
  const { points, ellipses } = seen;
  const outlines = ellipses?.classes || [];
  const classes = names.map((name, k) => ({ name, ellipses: outlines.filter((one) => one.class === k).flatMap((one) => one.paths) }));
  const dots = (points?.values || []).map(([x, y], i) => [x, y, points.classes ? points.classes[i] : null, i]);
  const axes = points?.columns || ellipses?.columns;
  return html`
    ${axes && axes.length === 2 && html`<${Scatter} points=${dots} classes=${classes} names=${axes} label=${`Rows over ${axes[0]} and ${axes[1]}, with the ${state.component[1]} as they are now`} height=${320} />`}
    <h3>Shares</h3>
    <${Bars} label="Shares" most=${1} items=${seen.shares.map((value, k) => ({ label: names[k], value, k }))} />
    ${!axes && seen.means?.length > 0 && html`<${Table} copy=${false} head=${["mean", ...names]} rows=${seen.means.map(({ column, values }) => [column, ...values])} label="Means" />`}
  `;
}

/** Which run is shown: the one that was chosen, or while the fit runs the present one, and afterwards that of the version. */
function shownOf(live, state, chosen) {
  const version = state.versions.find((one) => one.number === state.version);
  const asked = live.runs.find((run) => run.progress.search === chosen);
  const fitted = live.ended && live.runs.findLast((run) => run.progress.n_components === version?.n_components);
  return asked || fitted || live.run;
}

/** The starts of a fit as they run. `numbered`: its number of components is chosen, as that of rules or words is not. */
export function Running({ live, state, numbered = true }) {
  const [chosen, setChosen] = useState(null);
  const run = shownOf(live, state, chosen);
  const { progress, curves, seen } = run;
  const now = run === live.run && !live.ended;
  const sized = numbered && typeof progress.n_components === "number";
  const best = bestOf(curves);
  const lines = linesOf(curves, best);
  const states = new Set([...curves.values()].map((curve) => curve.state));
  const shown = ["best", "running", "converged", "dropped"].filter((one) => one === "best" || states.has(one));
  const left = curves.size - lines.length;
  const starts = count(progress.n_starts || curves.size, "start");
  return html`<div class="live">
    <h3>${sized ? count(progress.n_components, state.component) : "The starts"}</h3>
    ${live.runs.length > 1 && html`<div class="tools" role="group" aria-label=${sized ? `Number of ${state.component[1]} shown` : "Fit shown"}>
      ${live.runs.map((one, at) => html`<button key=${one.progress.search} type="button" class="small" aria-pressed=${one === run ? "true" : "false"} onClick=${() => setChosen(one.progress.search)}>${sized ? one.progress.n_components : at + 1}</button>`)}
      ${chosen !== null && !live.ended && html`<button type="button" class="quiet small" onClick=${() => setChosen(null)}>Follow the fit</button>`}
    </div>`}
    <p class="lead">${now ? sentence(progressText(progress)) : `${starts}, ${count(progress.n_passes, "iteration")}.`}</p>
    <div class="beside">
      <div>
        ${lines.length > 0 && html`
        <${Chart} lines=${lines} x="iteration" y="objective" whole=${true} label=${`Objective of ${count(curves.size, "start")} by iteration; the best is ${last(curves.get(best)).toFixed(2)}`} rangeY=${rangeOf(lines)} height=${300} />
        <ul class="legend">${shown.map((one) => html`<li key=${one}><span class=${`key ${one}`}></span>${one}</li>`)}</ul>
        <p class="note">The objective of each start. The first iterations may lie below the picture.${left > 0 ? ` ${count(left, "start")} more are not drawn.` : ""}</p>`}
      </div>
      ${seen && html`<div><${Seen} seen=${seen} state=${state} /></div>`}
    </div>
  </div>`;
}
