// The other sections of the report, which open one by one.
import { html } from "../../lib.js";
import { useGet } from "../../ask.js";
import { Waiting } from "../../parts/field.js";
import { Sections } from "../../parts/report.js";

export function More({ state, route, set, of }) {
  const found = useGet("sections", { version: of.number }, state.spec.missing.join("\n"));
  const { answer } = found;
  const alone = answer?.sections.length === 1 ? answer.sections[0].key : ""; // a section that is alone is open at first
  const opened = (route.params.open ?? alone).split(",").filter(Boolean);
  const toggle = (key) => {
    const next = opened.includes(key) ? opened.filter((one) => one !== key) : [...opened, key];
    set({ open: next.join(",") || (alone ? "none" : undefined) }, { replace: true });
  };
  return html`
    <${Waiting} found=${found} what="Looking at missing values, rows and what else the report has" />
    ${answer && html`<${Sections} sections=${answer.sections} opened=${opened} toggle=${toggle} />`}`;
}
