// Transcripts: the words and units of an utterance over time, with how certain their places are.
import { html, useRef } from "../lib.js";
import { usePost } from "../ask.js";
import { count, number } from "../format.js";
import { useFor } from "../parts/draft.js";
import { Problem, TextField, Waiting } from "../parts/field.js";
import { useWidth } from "../parts/measure.js";
import { Segments, segmentWords, timeOf } from "../parts/segments.js";
import { Table } from "../parts/table.js";

const COUNT = 12; // utterances on a page
const ODD = 5; // surprise above which a transcript is probably wrong

const whole = (text) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : null);

export default function Utterances({ state, route, go }) {
  const { find = "" } = route.params;
  const start = whole(route.params.start) ?? 0;
  const list = usePost("view", { name: "utterances", ask: { start, count: COUNT, find } }, state.version, 0);
  const chosen = whole(route.params.number) ?? list.answer?.utterances[0]?.number ?? null;
  const found = usePost("view", chosen === null ? null : { name: "utterance", ask: { number: chosen } }, state.version, 0);
  const change = (changes, how) => go("utterances", { ...route.params, ...changes }, how);
  return html`<div>
    <h2>Utterances</h2>
    <${Waiting} found=${found} what="Aligning" />
    ${found.answer && html`<${Shown} key=${found.answer.number} found=${found.answer} />`}
    <${List} list=${list} start=${start} find=${find} chosen=${chosen} change=${change} />
  </div>`;
}

function Shown({ found }) {
  const box = useRef(null);
  const width = useWidth(box, 0);
  const [active, point] = useFor(found, null);
  const { words, seconds, surprise } = found;
  return html`<section aria-label="Words over time">
    <h3>${found.name}</h3>
    <p>${found.text}</p>
    ${words
      ? html`<p class="of">${timeOf(found.duration, seconds)}${seconds ? "" : " frames"}, log-likelihood ${number(found.loglik, 2)}.</p>
          ${surprise > ODD && html`<${Problem} error=${`It fits far worse than the utterances of the fit (surprise ${number(surprise, 1)}): check its transcript.`} />`}
          <div class="picture" ref=${box}><div class="scroll" tabindex="0" role="region" aria-label="Picture of the words">${width > 0 && html`<${Segments} found=${found} width=${width} active=${active} point=${point} />`}</div></div>
          <p class="readout" role="status">${active ? segmentWords(active.part, seconds) : html`<span class="of">Words above, units below; the paler, the less certain their place. Point at one, or move to it, to read it.</span>`}</p>
          <details><summary>As a table</summary><${Table} label="Words" head=${["word", "start", "end", "confidence"]} rows=${words.map((part) => [part.name, { text: timeOf(part.start, seconds) }, { text: timeOf(part.end, seconds) }, { text: number(part.confidence, 3) }])} /></details>`
      : html`<${Problem} error=${`No words: ${found.why}`} />`}
  </section>`;
}

function List({ list, start, find, chosen, change }) {
  const answer = list.answer;
  return html`<section aria-label="Utterances">
    <div class="form"><${TextField} wide label="Find" value=${find} onChange=${(text) => change({ find: text.trim(), start: null })} placeholder="part of a name or a transcript" /></div>
    <${Waiting} found=${list} what="Reading the utterances" />
    ${answer && html`
      <ul class="sentences">
        ${answer.utterances.map((one) => html`<li key=${one.number}><button type="button" class=${one.number === chosen ? "sentence current" : "sentence"} aria-current=${one.number === chosen ? "true" : undefined} onClick=${() => change({ number: one.number })}>
          <span class="of">${number(one.number)}</span><span class="what">${one.text}</span><span class="of">${one.name}</span>
        </button></li>`)}
      </ul>
      <div class="buttons">
        <button type="button" disabled=${start === 0} onClick=${() => change({ start: Math.max(0, start - COUNT) || null })}>Previous</button>
        <button type="button" disabled=${start + COUNT >= answer.matching} onClick=${() => change({ start: start + COUNT })}>Next</button>
        <span class="of" role="status">${answer.matching ? `${number(start + 1)} to ${number(start + answer.utterances.length)} of ${count(answer.matching, "utterance")}.` : "No utterance has it."}</span>
      </div>`}
  </section>`;
}
