// Controls of forms, each with its label, help and error; and what a view says when a question failed or waits.
import { html, useEffect, useRef, useState } from "../lib.js";
import { useDraft } from "./draft.js";

let made = 0;
const useId = () => useRef(`field-${++made}`).current;

/** An error in words: `error` is an Error, a sentence or null. */
export function Problem({ error }) {
  if (!error) return null;
  return html`<p class="problem" role="alert">${typeof error === "string" ? error : error.message}</p>`;
}

/** What an answer of useGet or usePost shows while it waits or failed; nothing once it is there. */
export function Waiting({ found, what = "Asking" }) {
  if (found.error) return html`<${Problem} error=${found.error} />`;
  return found.busy && !found.answer ? html`<p class="waiting" role="status">${what} …</p>` : null;
}

/** A label above a control, help below: control({id, "aria-describedby"}) draws the control. */
export function Field({ label, help, error, wide, children: control }) {
  const id = useId();
  const note = help || error ? `${id}-note` : undefined;
  return html`<div class=${wide ? "field wide" : "field"}>
    <label for=${id}>${label}</label>
    ${control({ id, "aria-describedby": note, "aria-invalid": error ? "true" : undefined })}
    ${note && html`<span class=${error ? "help bad" : "help"} id=${note}>${error || help}</span>`}
  </div>`;
}

/** A field of text; onChange(value) when the user is done (Enter, or the focus leaves), onInput at every key. */
export function TextField({ label, value, onChange, onInput, help, error, wide, type = "text", ...rest }) {
  const draft = useDraft(value);
  const done = () => {
    draft.settle();
    if (onChange && draft.text !== String(value ?? "")) onChange(draft.text);
  };
  const typed = (event) => {
    draft.type(event.target.value);
    onInput?.(event.target.value);
  };
  const key = (event) => {
    if (event.key === "Enter") done();
    if (event.key === "Escape") draft.forget();
  };
  return html`<${Field} label=${label} help=${help} error=${error} wide=${wide}>
    ${(own) => html`<input ...${own} ...${rest} type=${type} value=${draft.text} onInput=${typed} onBlur=${() => draft.typing && done()} onKeyDown=${key} autocomplete="off" spellcheck=${false} />`}
  <//>`;
}

/** A field of a number; onChange gets a number, or null where it is empty. */
export function NumberField({ label, value, onChange, help, error, step = "any", ...rest }) {
  const change = (text) => onChange(text === "" || Number.isNaN(Number(text)) ? null : Number(text));
  return html`<${TextField} label=${label} value=${value} onChange=${change} help=${help} error=${error} type="number" inputmode="decimal" step=${step} ...${rest} />`;
}

/** A list of choices: values, or {value, text}. */
export function Select({ label, value, choices, onChange, help, error, ...rest }) {
  return html`<${Field} label=${label} help=${help} error=${error}>
    ${(own) => html`<${Choices} ...${own} ...${rest} value=${value} choices=${choices} onChange=${onChange} />`}
  <//>`;
}

/** The <select> alone, where a table's head labels it: give it aria-label. */
export function Choices({ value, choices, onChange, ...rest }) {
  const options = choices.map((one) => (typeof one === "object" && one !== null ? one : { value: one, text: one }));
  return html`<select ...${rest} value=${value ?? ""} onChange=${(event) => onChange(event.target.value)}>
    ${options.map(({ value: own, text }) => html`<option key=${own} value=${own} selected=${own === value}>${text}</option>`)}
  </select>`;
}

/** A switch: onChange(true or false). */
export function Switch({ label, value, onChange, help, ...rest }) {
  const id = useId();
  return html`<div class="field switch">
    <label for=${id}><input ...${rest} id=${id} type="checkbox" checked=${Boolean(value)} onChange=${(event) => onChange(event.target.checked)} aria-describedby=${help ? `${id}-note` : undefined} /> ${label}</label>
    ${help && html`<span class="help" id=${`${id}-note`}>${help}</span>`}
  </div>`;
}

/** A slider with its value in words: onChange at every move. */
export function Slider({ label, value, min = 0, max = 1, step = 0.01, onChange, help, shown = String }) {
  return html`<${Field} label=${html`${label} <output>${shown(value)}</output>`} help=${help}>
    ${(own) => html`<input ...${own} type="range" min=${min} max=${max} step=${step} value=${value} aria-valuetext=${shown(value)} onInput=${(event) => onChange(Number(event.target.value))} />`}
  <//>`;
}

/** The field of an option as GET /api/fit/options describes it; onChange(value), null for its default. */
export function OptionField({ option, columns = [], onChange, error }) {
  const { title, help, value, default: usual, kind, choices = [] } = option;
  const change = (given) => onChange(given === "" ? null : given);
  const told = usual === null || usual === undefined || usual === "" || kind === "switch" ? help : `${help} Default: ${usual}.`;
  if (kind === "switch") return html`<${Switch} label=${title} value=${value} onChange=${onChange} help=${help} />`;
  if (kind === "choice" || kind === "column") {
    const own = (kind === "column" ? columns : choices).map((one) => ({ value: one, text: one }));
    const empty = own.some((one) => one.value === "") || (usual && kind === "choice" && choices.includes(usual)) ? [] : [{ value: "", text: kind === "column" ? "none" : "default" }];
    return html`<${Select} label=${title} value=${value ?? usual ?? ""} choices=${[...empty, ...own]} onChange=${change} help=${help} error=${error} />`;
  }
  return html`<${TextField} label=${title} value=${value ?? ""} placeholder=${usual ?? ""} onChange=${change} help=${told} error=${error} inputmode=${kind === "number" ? "decimal" : undefined} />`;
}

/** A button that copies text, and says that it did. */
export function Copy({ text, label = "Copy" }) {
  const [said, setSaid] = useState("");
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const press = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
      setSaid("Copied");
    } catch {
      setSaid("Not allowed by the browser");
    }
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setSaid(""), 1800);
  };
  return html`<button type="button" class="quiet copy" onClick=${press}>${said || label}</button>`;
}
