// The banner of the running job: what it does, how far it is, and Stop.
import { html, useEffect, useRef, useState } from "../lib.js";
import { api } from "../api.js";
import { useAct } from "../ask.js";
import { count, number, seconds } from "../format.js";
import { useLive } from "../live.js";

const SPOKEN = 5000; // milliseconds between two summaries for screen readers
const WHAT = { fit: "Fitting", refit: "Fitting again with the labels", test: "Testing the number of classes" };

/** "3 classes: 11 of 16 starts running, iteration 40"; without `component`, what follows the colon. */
export function progressText(progress, component) {
  if (!progress) return "starting";
  const { n_components: k, n_starts: all, n_running: running, n_passes: passes, polishing } = progress;
  const what = component && typeof k === "number" ? `${count(k, component)}: ` : "";
  if (polishing) return `${what}the best start goes on to convergence, iteration ${number(passes)}`;
  const starts = all > 1 ? `${running} of ${count(all, "start")} running, ` : "";
  return `${what}${starts}iteration ${number(passes)}`;
}

/** The job in words: of a fit its progress, of a test its draws. */
export function jobText(live, state) {
  if (live.draws) return `${number(live.draws.done)} of ${number(live.draws.wanted)} draws`;
  return progressText(live.progress, state.component);
}

/** Text that changes at most every few seconds, so that a screen reader is not flooded. */
function useSlow(text) {
  const [slow, setSlow] = useState(text);
  const last = useRef(0);
  useEffect(() => {
    const left = last.current + SPOKEN - performance.now();
    const timer = setTimeout(() => {
      last.current = performance.now();
      setSlow(text);
    }, Math.max(0, left));
    return () => clearTimeout(timer);
  }, [text]);
  return slow;
}

export function Job({ state, session }) {
  const live = useLive(250);
  const stop = useAct();
  const running = Boolean(state.job);
  const mine = running && live.job === state.job.number;
  const text = running ? `${WHAT[state.job.what] || state.job.what}: ${mine ? jobText(live, state) : "starting"}` : "";
  const spoken = useSlow(text);
  const press = () =>
    stop.run(() => api.post("stop").catch((error) => session.note(error.message, "bad")));
  const draws = mine ? live.draws : null;
  return html`<div>
    ${running && html`<div class="job">
      <span class="beat" aria-hidden="true"></span>
      <span class="what">${text}</span>
      ${mine && live.progress && html`<span class="of">${seconds(live.progress.elapsed)}</span>`}
      ${draws && html`<progress max=${draws.wanted} value=${draws.done} aria-label="Draws"></progress>`}
      <button type="button" onClick=${press} disabled=${stop.busy}>Stop</button>
    </div>`}
    <div class="unseen" role="status" aria-live="polite">${spoken}</div>
  </div>`;
}
