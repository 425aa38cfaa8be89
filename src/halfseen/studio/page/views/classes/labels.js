// Labels that were set by hand, and the fit that takes them into account.
import { html, useState } from "../../lib.js";
import { useAct } from "../../ask.js";
import { count } from "../../format.js";
import { href } from "../../route.js";
import { Problem } from "../../parts/field.js";

const SHORT = 12; // labels that are listed at once

export function Labels({ state, route, api, label, busy, one }) {
  const act = useAct();
  const [all, setAll] = useState(false);
  const labels = Object.entries(state.labels).map(([row, name]) => [Number(row), name]).sort((a, b) => a[0] - b[0]);
  if (!labels.length && !state.pending) return null;
  const shown = all ? labels : labels.slice(0, SHORT);
  const refit = () => act.run(() => api.post("refit"));
  return html`<section class="labels" aria-label="Labels">
    <h3>Labels</h3>
    <p>${labels.length ? `You set the ${one} of ${count(labels.length, "row")}.` : "You took all labels away."} ${state.pending ? "The model does not know it yet." : "The model was fitted with it."}</p>
    ${labels.length > 0 && html`<ul class="chips">
      ${shown.map(([row, name]) => html`<li key=${row}>
        <a href=${href("classes", { ...route.params, class: route.params.class ?? "all", row: String(row), against: undefined })}>row ${row}</a>: ${name}
        <button type="button" class="quiet small" disabled=${busy} aria-label=${`Take the label of row ${row} away`} onClick=${() => label(row, null)}>×</button>
      </li>`)}
      ${labels.length > shown.length && html`<li><button type="button" class="quiet small" onClick=${() => setAll(true)}>${labels.length - shown.length} more</button></li>`}
    </ul>`}
    ${state.pending && html`<div class="buttons"><button type="button" class="main" onClick=${refit} disabled=${act.busy || Boolean(state.job)}>Refit with labels</button>
      <span class="of">From the present model, with the rows that have a label in their ${one}.</span></div>`}
    <${Problem} error=${act.error} />
  </section>`;
}
