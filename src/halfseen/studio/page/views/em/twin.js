// k-means beside the Gaussian mixture that it is: the same rows, the same assignments.
import { html } from "../../lib.js";
import { Problem } from "../../parts/field.js";
import { Numbers } from "./numbers.js";
import { captionOf, panelsOf } from "./steps.js";

const SHOWN = ["responsibilities", "m-step"];

/** The grids of the mixture at an iteration, as names of their cells know them. */
export function twinPanels(twin, wanted) {
  if (!twin || twin.problem) return [];
  const at = Math.min(wanted, twin.sections.length - 1);
  const panels = panelsOf(twin, at).filter((panel) => (at ? SHOWN.includes(panel.phase) : panel.name === "before"));
  return panels.map((panel) => ({ ...panel, name: `mixture-${panel.name}`, title: `Mixture, ${panel.title}`, short: panel.title }));
}

/** twin: as in POST /api/em of k-means; at: the iteration. */
export function Twin({ twin, at: wanted, cell, pick }) {
  if (twin.problem) return html`<${Problem} error=${twin.problem} />`;
  const at = Math.min(wanted, twin.sections.length - 1);
  const panels = twinPanels(twin, at);
  const same = at ? twin.same[at - 1] : null;
  return html`<section class="twin" aria-label="The same rows as a Gaussian mixture">
    <h3>The same rows as a Gaussian mixture: hard assignment, variances 1, equal shares</h3>
    ${same !== null && html`<p class=${same ? "good" : "bad"} role="status">${same ? `The same assignments as k-means: all ${twin.sections[0].grids[0].rows.length} rows.` : "Not the same assignments as k-means: a centre without rows was moved there, and stays here."}</p>`}
    <div class="panels">
      ${panels.map(({ name, short, grid }) => html`<section class="panel" key=${name}><h4>${short}</h4><p class="note">${captionOf(short, grid.caption)}</p><${Numbers} grid=${grid} name=${name} names=${twin.names} cell=${cell} pick=${pick} label=${`Mixture, ${short}`} /></section>`)}
    </div>
    ${at > 0 && html`<p class="result">${twin.sections[at].result}</p>`}
  </section>`;
}
