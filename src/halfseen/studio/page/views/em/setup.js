// The set-up of the screen EM: rows, columns with their kinds, the model, and where it starts.
import { html } from "../../lib.js";
import { NumberField, Select, TextField } from "../../parts/field.js";
import { KindChoice } from "../../parts/kind.js";
import { rowsText } from "./ask.js";
import { StartTable } from "./start.js";

const MODELS = [
  { value: "classes", text: "Latent classes" },
  { value: "gaussian", text: "Gaussian mixture" },
  { value: "kmeans", text: "k-means" },
];
const COVARIANCES = [
  { value: "full", text: "full" },
  { value: "diag", text: "diagonal" },
  { value: "spherical", text: "spherical" },
  { value: "tied", text: "the same in all classes" },
  { value: "identity", text: "variances of 1" },
];
const PRIORS = [
  { value: "", text: "none" },
  { value: "row", text: "one pseudo-row" },
];

/** The columns: which of them, and of which kind. */
function Columns({ columns, asked, kinds, numbersOnly, set }) {
  const chosen = asked.columns;
  const toggle = (name, on) => {
    const names = columns.map((one) => one.name).filter((one) => (one === name ? on : chosen.includes(one)));
    set({ columns: JSON.stringify(names) });
  };
  const change = (name, kind) => set({ kinds: JSON.stringify({ ...asked.given, [name]: kind }), columns: JSON.stringify(chosen.includes(name) ? chosen : columns.map((one) => one.name).filter((one) => one === name || chosen.includes(one))) });
  return html`<fieldset class="em-columns">
    <legend>Columns</legend>
    <ul class="choices">
      ${columns.map((one) => {
        const on = chosen.includes(one.name);
        const kind = asked.given[one.name] || asked.kinds[one.name] || one.kind || "categorical";
        return html`<li key=${one.name} class=${on ? "" : "off"}>
          <label><input type="checkbox" checked=${on} onChange=${(event) => toggle(one.name, event.target.checked)} /> ${one.name}</label>
          ${!numbersOnly && html`<${KindChoice} name=${one.name} value=${kind} choices=${kinds} choose=${(value) => change(one.name, value)} />`}
        </li>`;
      })}
    </ul>
  </fieldset>`;
}

/**
 * columns: of GET /api/columns. asked: what the last answer was asked, with `given` (kinds that were chosen here). set(changes): of the address. start: of the last answer.
 */
export function SetUp({ state, columns, asked, start, names, params, set }) {
  const models = MODELS.filter((one) => state.models.some((model) => model.word === one.value));
  const kmeans = asked.model === "kmeans";
  const rows = params.rows || rowsText(asked.rows);
  return html`<div class="set-up">
    <div class="form">
      <${TextField} label="Rows" value=${rows} onChange=${(value) => set({ rows: value.trim() })} help=${`Numbers or ranges, from 0 to ${(state.n_rows ?? 1) - 1}; at most 30.`} />
      <${Select} label="Model" value=${asked.model} choices=${models} onChange=${(value) => set({ model: value })} />
      <${NumberField} label=${kmeans ? "Clusters" : "Classes"} value=${asked.classes} min="1" max="8" step="1" onChange=${(value) => set({ classes: value })} />
      ${asked.model === "gaussian" && html`<${Select} label="Covariances" value=${asked.covariance} choices=${COVARIANCES} onChange=${(value) => set({ covariance: value })} />`}
      ${!kmeans && html`<${Select} label="Shares of the classes" value=${asked.shares === "equal" ? "equal" : "free"} choices=${[{ value: "free", text: "estimated" }, { value: "equal", text: "held equal" }]} onChange=${(value) => set({ shares: value === "equal" ? "equal" : null })} />`}
      ${!kmeans && html`<${Select} label="Prior" value=${asked.prior || ""} choices=${PRIORS} onChange=${(value) => set({ prior: value })} />`}
      <${NumberField} label="Seed" value=${asked.seed} min="0" step="1" onChange=${(value) => set({ seed: value })} help="Draws what is not typed below, and sampled classes." />
    </div>
    <${Columns} columns=${columns} asked=${asked} kinds=${state.kinds} numbersOnly=${asked.model !== "classes"} set=${set} />
    ${start && html`<${StartTable} start=${start} names=${names} params=${params} set=${set} />`}
  </div>`;
}
