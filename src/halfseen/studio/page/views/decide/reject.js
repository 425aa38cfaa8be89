// What it costs not to decide: a switch, a slider and a number, from 0 to the largest cost.
import { html } from "../../lib.js";
import { number } from "../../format.js";
import { NumberField, Slider, Switch } from "../../parts/field.js";

const STEPS = 200; // of the slider

export function Reject({ given, most, set }) {
  const top = most > 0 ? most : 1;
  const { reject } = given;
  const change = (value, how) => set({ reject: value === null ? undefined : value }, how);
  const typed = (value) => {
    if (value !== null) change(Math.max(0, value));
  };
  return html`
    <h3>Not deciding</h3>
    <div class="form">
      <${Switch} label="A row may be left undecided" value=${reject !== null} onChange=${(on) => change(on ? top / 2 : null)} help="It then goes to someone who looks, at this cost." />
      ${reject !== null && html`
        <div class="reject"><${Slider} label="Cost of not deciding" value=${Math.min(reject, top)} min=${0} max=${top} step=${top / STEPS} shown=${() => number(reject)} onChange=${(value) => change(Number(value.toPrecision(12)), { replace: true })} /></div>
        <${NumberField} label="as a number" value=${reject} min="0" onChange=${typed} />`}
    </div>`;
}
