// Fit: the choices of a fit, the fit as it runs, and how it ended.
import { html, useEffect } from "../lib.js";
import { useAct, useGet } from "../ask.js";
import { here, parse } from "../route.js";
import { Problem, Waiting } from "../parts/field.js";
import { Form } from "./fit/form.js";
import { Running } from "./fit/running.js";
import { Outcome } from "./fit/outcome.js";
import { useLive } from "../live.js";
import { useStill } from "../parts/measure.js";

const FRAME = 100; // milliseconds between two pictures
const STILL = 1500; // where the user wants less motion

export default function Fit({ state, route, go, api }) {
  const options = useGet("fit/options", {}, state.revision);
  const setting = useAct();
  const starting = useAct();
  const live = useLive(useStill() ? STILL : FRAME);
  const { model, classes } = route.params;
  useEffect(() => {
    // a reload, a link or Back brings the settings of the address
    const changes = {};
    if (model !== undefined && model !== state.spec.model) changes.model = model;
    if (classes !== undefined && classes !== state.spec.classes) changes.classes = classes;
    if (Object.keys(changes).length) setting.run(() => api.post("spec", { changes }));
  }, [model, classes]);
  const change = async (changes) => {
    const done = await setting.run(() => api.post("spec", { changes }));
    if (!done) return false;
    const { model: word, classes: range } = done.spec;
    const stays = ["", "fit"].includes(parse(here()).screen); // the user may have gone to another screen meanwhile
    if (stays && ("model" in changes || "classes" in changes)) go("fit", { model: word, classes: range });
    return true;
  };
  const asked = options.answer?.options || [];
  const needsColumns = asked.some((option) => option.kind === "column" && !option.choices?.length);
  const columns = useGet(needsColumns && state.table ? "columns" : null).answer?.columns || [];
  const fit = () => starting.run(() => api.post("fit"));
  const stop = () => starting.run(() => api.post("stop"));
  const shows = live.progress && (!state.job || live.job === state.job.number);
  return html`
    <h2>Fit</h2>
    <${Waiting} found=${options} what="Reading the options" />
    <${Form} state=${state} options=${asked} range=${options.answer || {}} columns=${columns.map((column) => column.name)} change=${change} refused=${setting.error} fit=${fit} stop=${stop} busy=${starting.busy} />
    <${Problem} error=${starting.error} />
    ${live.ended === "failed" && !state.job && html`<${Problem} error=${live.error} />`}
    ${!state.job && html`<${Outcome} state=${state} />`}
    ${shows && html`<${Running} live=${live} state=${state} numbered=${options.answer?.classes !== false} />`}
    ${!shows && state.version === null && !state.job && html`<p class="lead">Nothing is fitted yet. While a fit runs, its starts and ${state.component[1]} appear here.</p>`}
  `;
}
