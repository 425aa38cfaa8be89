// Why a row has its class: the probability of each class, and what each column adds to the log-odds.
import { html } from "../../lib.js";
import { useGet } from "../../ask.js";
import { number } from "../../format.js";
import { Choices, Waiting } from "../../parts/field.js";
import { Bars } from "../../parts/svg.js";
import { LabelSelect, probability } from "./label.js";

const SMALL = 0.005; // parts that round to nothing
const WORDS = 6; // of a text that are listed

const signed = (value) => (value > 0 ? `+${number(value, 2)}` : number(value, 2));

/** A bar from the middle: to the right for the class, to the left against it. */
function Part({ name, value, part, most, note }) {
  const wide = Math.min(50, (50 * Math.abs(part)) / most);
  return html`<li>
    <span class="what">${name}${value !== null && html` <span class="all">= ${value}</span>`}</span>
    <svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" width="100" height="6" /><rect class=${part > 0 ? "for" : "against"} x=${part > 0 ? 50 : 50 - wide} width=${wide} height="6" /><rect class="middle" x="49.75" width=".5" height="6" /></svg>
    <span class="value">${signed(part)}</span>
    ${note && html`<span class="more">${note}</span>`}
  </li>`;
}

const wordsOf = (parts) => parts.slice(0, WORDS).map(([word, part]) => `${word} ${signed(part)}`).join(", ") + (parts.length > WORDS ? ", …" : "");

function Odds({ found }) {
  const all = [...found.parts, ...(Math.abs(found.together) >= SMALL ? [{ column: "columns together", value: null, part: found.together }] : [])];
  const parts = all.filter(({ part }) => Math.abs(part) >= SMALL);
  const most = Math.max(...parts.map(({ part }) => Math.abs(part)), 1e-9);
  const hidden = all.length - parts.length;
  return html`
    <p class="note">Log-odds of ${found.target} against ${found.against}: ${signed(found.log_odds)}. To the right: for ${found.target}; to the left: for ${found.against}.</p>
    <ul class="bars odds" aria-label="What each column adds">
      ${parts.map(({ column, value, part }) => html`<${Part} key=${column} name=${column === "(share)" ? "share of the classes" : column} value=${column === "(share)" ? null : value} part=${part} most=${most} note=${found.words[column] && wordsOf(found.words[column])} />`)}
    </ul>
    ${hidden > 0 && html`<p class="note">${hidden} more ${hidden === 1 ? "adds" : "add"} next to nothing.</p>`}
    ${found.missing.length > 0 && html`<p class="note">Missing in this row: ${found.missing.join(", ")}.</p>`}`;
}

export function Why({ state, route, set, answer, row, label, focus, one, closed }) {
  const { names, can_say_why: why, labels: takes } = answer;
  const { against } = route.params;
  const found = useGet(why ? "why" : null, { row, against }, state.version);
  const own = found.answer?.row === row ? found.answer : null;
  const told = state.labels[String(row)];
  const close = () => {
    set({ row: undefined, against: undefined });
    closed();
  };
  const key = (event) => event.key === "Escape" && close();
  const others = own ? own.proba.map(({ name }) => name).filter((name) => name !== own.target) : [];
  return html`<aside class="why" tabindex="-1" ref=${focus} aria-label=${`Row ${row}`} onKeyDown=${key}>
    <div class="title"><h3>Row ${number(row)}</h3><button type="button" class="quiet" onClick=${close} aria-label="Close this row">×</button></div>
    ${takes && html`<div class="label-of"><label for="label-of-row">Label</label> <${LabelSelect} id="label-of-row" row=${row} names=${names} value=${told} label=${label} />
      ${told !== undefined && html`<span class="of">You set it: p = 1.</span>`}</div>`}
    <${Waiting} found=${found} what="Asking why" />
    ${own && html`
      <h4>Probability of each ${one}</h4>
      <${Bars} label=${`Probability of each ${one}`} most=${1} items=${own.proba.map(({ name, p }, k) => ({ label: name, value: p, k, text: probability(p) }))} />
      ${told !== undefined && html`<p class="note">By its cells alone; your label stands above them.</p>`}
      <h4>Why</h4>
      ${others.length > 1 && html`<p class="label-of"><label for="against">${own.target} against</label> <${Choices} id="against" value=${own.against} choices=${others} onChange=${(name) => set({ against: name })} /></p>`}
      <${Odds} found=${own} />`}
  </aside>`;
}
