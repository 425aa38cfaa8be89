// Word alignment: pairs of sentences with the links between their words, and the translations of a word.
import { html } from "../lib.js";
import { usePost } from "../ask.js";
import { count, number, percent } from "../format.js";
import { Problem, TextField, Waiting } from "../parts/field.js";
import { Bars } from "../parts/svg.js";
import { Pair } from "../parts/tokens.js";

const COUNT = 8; // pairs on a page

export default function Links({ state, route, go }) {
  const { find = "", word = "" } = route.params;
  const start = /^\d{1,9}$/.test(route.params.start ?? "") ? Number(route.params.start) : 0;
  const pairs = usePost("view", { name: "pairs", ask: { start, count: COUNT, find } }, state.version, 0);
  const change = (changes, how) => go("links", { ...route.params, ...changes }, how);
  const open = (own) => change({ word: own });
  return html`<div>
    <h2>Links</h2>
    <p class="lead">Lines are links, thicker where they are more probable; pale ones are possible links that the best alignment does not have. Point at a word, or move to it, for its links; press it for its translations.</p>
    <div class="form">
      <${TextField} wide label="Find in either language" value=${find} onChange=${(text) => change({ find: text.trim(), start: null })} placeholder="a word, or part of a sentence" />
      <${TextField} label="Translations of" value=${word} onChange=${(text) => change({ word: text.trim() })} placeholder="a word" />
    </div>
    <${Word} word=${word} state=${state} close=${() => change({ word: null })} />
    <${Waiting} found=${pairs} what="Aligning" />
    ${pairs.answer && html`<${Listed} answer=${pairs.answer} find=${find} open=${open} change=${change} busy=${pairs.busy} />`}
  </div>`;
}

function Word({ word, state, close }) {
  const found = usePost("view", word ? { name: "word", ask: { word } } : null, state.version, 0);
  if (!word) return null;
  const sides = found.error ? [] : found.answer?.sides ?? [];
  return html`<section class="word-of" aria-label=${`Translations of ${word}`}>
    <div class="tools"><h3>${word}</h3><button type="button" class="quiet small" onClick=${close} aria-label="Close the translations">×</button></div>
    <${Problem} error=${found.error} />
    <div class="beside">${sides.map(({ side, translations }) => html`<div key=${side}>
      <p class="of">${side === "source" ? "as a source word, becomes" : "as a target word, comes from"}</p>
      <${Bars} items=${translations.map(([text, share]) => ({ label: text, value: share, text: percent(share) }))} most=${1} label=${`Translations of ${word}`} />
    </div>`)}</div>
  </section>`;
}

function Listed({ answer, find, open, change, busy }) {
  const { pairs, start, next, searched, total } = answer;
  const from = pairs.length ? pairs[0].number + 1 : start + 1;
  const to = pairs.length ? pairs[pairs.length - 1].number + 1 : start;
  const where = !pairs.length ? (find ? `Not found in ${count(searched, "pair")} from number ${number(start + 1)} on.` : "There are no more pairs.") : `Pairs ${number(from)} to ${number(to)}${total ? ` of ${number(total)}` : ""}${find ? " that have it" : ""}.`;
  return html`<div aria-busy=${busy ? "true" : "false"}>
    ${pairs.map((pair) => html`<article class="pair-card" key=${pair.number}>
      <h3 class="of">Pair ${number(pair.number + 1)}</h3>
      ${pair.links ? html`<${Pair} pair=${pair} open=${open} />` : html`<p>${pair.source.join(" ")}</p><p>${pair.target.join(" ")}</p><p class="of">Without links: ${pair.why}</p>`}
    </article>`)}
    <div class="buttons">
      <button type="button" disabled=${start === 0} onClick=${() => change({ start: find ? null : Math.max(0, start - COUNT) || null })}>${find ? "From the beginning" : "Previous"}</button>
      <button type="button" disabled=${next === null} onClick=${() => change({ start: next })}>${find && !pairs.length ? "Look further" : "Next"}</button>
      <span class="of" role="status">${where}</span>
    </div>
  </div>`;
}
