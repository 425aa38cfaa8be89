// Standard errors of the parameters, computed when they are asked for.
import { html } from "../../lib.js";
import { useGet } from "../../ask.js";
import { Waiting } from "../../parts/field.js";
import { Table } from "../../parts/table.js";

export function Errors({ state, route, set, of }) {
  const open = route.params.errors === "1";
  const found = useGet(open ? "errors" : null, { version: of.number }, state.spec.missing.join("\n"));
  const turned = (event) => event.currentTarget.open !== open && set({ errors: event.currentTarget.open ? "1" : undefined });
  return html`<details class="section" open=${open} onToggle=${turned}>
    <summary>Standard errors</summary>
    ${open && html`<${Waiting} found=${found} what="Computing standard errors" />`}
    ${open && found.answer && html`
      <p class="lead">Estimates with standard errors and 95% intervals, by the curvature of the log-likelihood (${found.answer.kind}).</p>
      <div class="vast"><${Table} head=${found.answer.head} rows=${found.answer.rows} label="Standard errors" text=${[1, 2]} note=${found.answer.notes.join(" ")} /></div>`}
  </details>`;
}
