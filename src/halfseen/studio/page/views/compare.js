// Compare: models side by side, the numbers of classes that were tried, how far versions agree, and the bootstrap test.
import { html } from "../lib.js";
import { useAct, useGet } from "../ask.js";
import { Problem, Waiting } from "../parts/field.js";
import { NoModel } from "../parts/model.js";
import { Agreement } from "./compare/agreement.js";
import { Chosen, Side } from "./compare/side.js";
import { Test } from "./compare/test.js";
import { Tried } from "./compare/tried.js";

const USUAL = 6; // versions that are compared where none are chosen: the newest

export default function Compare({ state, route, go, api }) {
  const there = state.version !== null && state.version !== undefined;
  const numbers = state.versions.map((version) => version.number);
  const wanted = (route.params.versions || "").split(",").map(Number).filter((number) => numbers.includes(number));
  const chosen = wanted.length ? wanted : numbers.slice(-USUAL);
  const found = useGet(there ? "compare" : null, { versions: chosen.join(",") }, `${state.version} ${state.revision} ${state.job?.number ?? ""}`);
  const act = useAct();
  const [, several] = state.component;
  if (!there) return html`<h2>Compare</h2><${NoModel} state=${state} what=${`Models side by side, and the numbers of ${several} that were tried.`} />`;
  const set = (params, how) => go("compare", { ...route.params, ...params }, how);
  const answer = found.answer;
  const show = (number) => act.run(() => api.post("show", { version: number }));
  const use = (size) => act.run(() => api.post("use", { n_components: size }));
  const fit = (size) => act.run(async () => {
    await api.post("spec", { changes: { classes: String(size) } });
    await api.post("fit");
  });
  return html`
    <h2>Models side by side</h2>
    <${Chosen} state=${state} chosen=${chosen} set=${set} />
    <${Waiting} found=${found} what="Comparing" />
    <${Problem} error=${act.error} />
    ${answer && html`
      <${Side} answer=${answer} state=${state} show=${show} busy=${act.busy} />
      <${Tried} answer=${answer} state=${state} use=${use} fit=${fit} busy=${act.busy} />
      ${answer.can_test && html`<${Test} answer=${answer} state=${state} api=${api} route=${route} set=${set} />`}
      <${Agreement} answer=${answer} state=${state} />
      ${answer.notes.length > 0 && html`<h2>Notes on version ${answer.version}</h2><ul class="list">${answer.notes.map((note, at) => html`<li key=${at}>${note}</li>`)}</ul>`}`}
  `;
}
