// A fit that a cell of a notebook runs, as it runs: its curves, its progress in words, and Stop.
import { html, render, useEffect, useState } from "../lib.js";
import { seconds } from "../format.js";
import { live, useLive } from "../live.js";
import { useStill } from "../parts/measure.js";
import { setStage } from "../stage.js";
import { jobText } from "../shell/job.js";
import { Running } from "../views/fit/running.js";
import { hostIn } from "./host.js";

const PATIENCE = 700; // milliseconds until a kernel that took no notice of Stop is interrupted
const [FRAME, STILL] = [100, 1500]; // milliseconds between two pictures

/** Take over what the kernel has told of the fit so far. */
function take(model) {
  const told = model.get("told");
  const kept = model.get("earlier");
  if (live.job !== 1) live.clear(1);
  live.draws = told.draws ?? null;
  live.ended = told.ended ?? null;
  live.error = told.error ?? null;
  live.runs = [...kept, ...(told.run ? [told.run] : [])].map(({ progress, curves, seen }) => ({
    progress,
    seen,
    curves: new Map(Object.entries(curves).map(([start, { at, values, state }]) => [start, { iterations: at, values, state }])),
  }));
  live.changed();
}

function Stop({ model, stopping }) {
  const [pressed, setPressed] = useState(0);
  const [deaf, setDeaf] = useState(false);
  useEffect(() => {
    if (!pressed || stopping) return undefined;
    const timer = setTimeout(() => {
      // most kernels read no messages while a cell runs; an interrupt keeps the best model too
      const kernel = model.widget_manager?.kernel; // of JupyterLab and Notebook
      if (kernel?.interrupt) kernel.interrupt();
      else setDeaf(true);
    }, PATIENCE);
    return () => clearTimeout(timer);
  }, [pressed, stopping]);
  const press = () => {
    setPressed(pressed + 1);
    model.send({ stop: true });
  };
  return html`<button type="button" onClick=${press} disabled=${stopping}>${stopping ? "Stopping" : "Stop"}</button>
    ${deaf && !stopping && html`<span class="of">This notebook passes nothing on while a cell runs. Interrupt the cell (■) instead: that keeps the best so far too.</span>`}`;
}

function Watched({ model }) {
  useLive(useStill() ? STILL : FRAME);
  const told = model.get("told");
  const state = { component: told.component, components: [], job: told.ended ? null : {}, versions: [], version: null, screens: [] };
  return html`<div class="watched">
    <div class="job" role="status">
      ${told.ended
        ? html`<span class="what">${told.outcome}</span>`
        : html`<span class="beat" aria-hidden="true"></span><span class="what">${told.what}: ${jobText(live, state)}</span>`}
      <span class="of">${seconds(told.elapsed)}</span>
      ${!told.ended && html`<${Stop} model=${model} stopping=${told.stopping} />`}
    </div>
    ${live.progress && html`<${Running} live=${live} state=${state} />`}
  </div>`;
}

/** Show the fit in an element; returns what removes it. */
export function show({ model, el, style }) {
  const { stage, root, end } = hostIn(el, style, () => {});
  setStage(stage);
  const hear = () => take(model);
  model.on("change:told", hear);
  hear();
  render(html`<${Watched} model=${model} />`, root);
  return () => {
    model.off("change:told", hear);
    render(null, root);
    end();
  };
}
