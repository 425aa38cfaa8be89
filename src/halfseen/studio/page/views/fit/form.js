// The choices of a fit: model, number of components, starts, seed and prior; all others under More options.
import { html, useRef, useState } from "../../lib.js";
import { OptionField, Problem, Select, TextField } from "../../parts/field.js";
import { stage } from "../../stage.js";

const FIRST = ["restarts", "seed", "prior"]; // options that are always in sight

export function Form({ state, options, range, columns, change, refused, fit, stop, busy }) {
  const [last, setLast] = useState(null); // the field that was changed last: a refusal is shown there
  const form = useRef(null);
  const set = (name, changes) => {
    setLast(name);
    return change(changes);
  };
  const wrong = (name) => (last === name && refused ? refused.message : undefined);
  const first = FIRST.map((name) => options.find((option) => option.name === name)).filter(Boolean);
  const rest = options.filter((option) => !FIRST.includes(option.name));
  const changed = rest.filter(({ value, default: usual }) => value && String(value) !== String(usual ?? "")).length;
  const field = (option) => html`<${OptionField} key=${option.name} option=${option} columns=${option.choices?.length ? option.choices : columns} error=${wrong(option.name)} onChange=${(value) => set(option.name, { options: { [option.name]: value } })} />`;
  const key = (event) => {
    if (event.key !== "Enter" || !event.ctrlKey || state.job) return;
    event.preventDefault();
    stage.root.activeElement?.blur(); // the field that is being typed in is taken over first
    setTimeout(fit, 0);
  };
  const word = state.component[1];
  const numbered = range.classes !== false && state.spec.classes !== "" && state.spec.classes !== null;
  const help = range.one_number ? "A whole number such as 3." : "A number such as 3, a range such as 2..6, or auto.";
  return html`<div ref=${form} onKeyDown=${key}>
    <div class="form even">
      ${state.models.length > 0 && html`<${Select} label="Model" value=${state.spec.model} choices=${state.models.map((model) => ({ value: model.word, text: model.title || model.word }))} onChange=${(model) => set("model", { model })} error=${wrong("model")} />`}
      ${numbered && html`<${TextField} label=${`Number of ${word}`} value=${state.spec.classes} onChange=${(classes) => set("classes", { classes: classes.trim() || "auto" })} help=${help} error=${wrong("classes")} />`}
      ${first.map(field)}
    </div>
    ${rest.length > 0 && html`<details>
      <summary>More options${changed ? ` (${changed} changed)` : ""}</summary>
      <div class="form even">${rest.map(field)}</div>
    </details>`}
    ${refused && last === null && html`<${Problem} error=${refused} />`}
    <div class="buttons">
      <button type="button" class="main" disabled=${Boolean(state.job) || busy} onClick=${fit} title="Ctrl+Enter">Fit</button>
      <button type="button" disabled=${!state.job} onClick=${stop}>Stop</button>
      ${state.job && html`<span class="of">The best so far is kept.</span>`}
    </div>
  </div>`;
}
