// Classes: what marks them, their names, their rows and why, labels set by hand, and what the report says besides.
import { html } from "../lib.js";
import { useAct, useGet } from "../ask.js";
import { Problem, Waiting } from "../parts/field.js";
import { Heat } from "../parts/heat.js";
import { Another, NoModel, versionOf } from "../parts/model.js";
import { Checks } from "../parts/report.js";
import { Cards } from "./classes/cards.js";
import { Errors } from "./classes/errors.js";
import { Labels } from "./classes/labels.js";
import { More } from "./classes/more.js";
import { Points } from "./classes/points.js";
import { Rows } from "./classes/rows.js";

export default function Classes({ state, route, go, api }) {
  const of = versionOf(state, route);
  const asked = of.number !== null && of.number !== undefined;
  const found = useGet(asked ? "classes" : null, { version: of.number }, stampOf(state));
  const labelling = useAct();
  const showing = useAct();
  const [one, several] = state.component;
  if (!asked) return html`<h2>${title(several)}</h2><${NoModel} state=${state} what=${`What marks the ${several}, which rows are in them, and why.`} />`;
  const set = (params, how) => go("classes", { ...route.params, ...params }, how);
  const label = (row, name) => labelling.run(() => api.post("labels", { row, label: name }));
  const answer = found.answer; // that of the last version stays until the next one is there
  const rows = answer && of.shown && state.table && route.params.class !== undefined;
  const given = { state, route, set, api, answer, one, several, of };
  return html`
    <h2>${title(several)}</h2>
    <${Another} of=${of} state=${state} route=${route} go=${go} act=${showing} api=${api} />
    <${Waiting} found=${found} what=${`Describing the ${several}`} />
    ${answer && answer.version !== of.number && !found.error && html`<p class="waiting" role="status">Describing the ${several} of version ${of.number} …</p>`}
    ${answer && html`
      <p class="answer">${answer.summary}</p>
      <${Cards} ...${given} />
      <${Problem} error=${labelling.error} />
      ${of.shown && answer.labels && html`<${Labels} ...${given} label=${label} busy=${labelling.busy} />`}
      ${rows && html`<${Rows} ...${given} label=${label} />`}
      ${answer.checks.length > 0 && html`<h2>Before you rely on it</h2><${Checks} items=${answer.checks} />`}
      ${answer.heat && html`<h2>Profiles</h2><${Heat} heat=${answer.heat} label=${`Profile of each ${one}`} />`}
      ${state.table && html`<${Points} ...${given} />`}
      <h2>More about the ${several}</h2>
      ${answer.has_errors && html`<${Errors} ...${given} />`}
      <${More} ...${given} />`}
  `;
}

const title = (word) => word[0].toUpperCase() + word.slice(1);

/** What the answers depend on beside the version: the codes for missing values. */
export const stampOf = (state) => state.spec.missing.join("\n");
