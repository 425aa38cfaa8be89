// A grammar: sentences with their best trees, a sentence of one's own, and the rules of a symbol.
import { html } from "../lib.js";
import { usePost } from "../ask.js";
import { count, listed, number, percent } from "../format.js";
import { useFor } from "../parts/draft.js";
import { Choices, Copy, Field, Problem, TextField, Waiting } from "../parts/field.js";
import { Table } from "../parts/table.js";
import { TreePicture } from "../parts/tree.js";

const COUNT = 12; // sentences on a page
const RULES = 30;

const whole = (text) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : null);

export default function Trees({ state, route, go }) {
  const { text = "", find = "", symbol = "" } = route.params;
  const start = whole(route.params.start) ?? 0;
  const hasData = state.spec.data.length > 0;
  const page = usePost("view", hasData ? { name: "sentences", ask: { start, count: COUNT, find } } : null, state.version, 0);
  const chosen = text ? null : whole(route.params.number) ?? page.answer?.sentences[0]?.number ?? null;
  const wanted = text ? { text } : chosen === null ? null : { number: chosen };
  const tree = usePost("view", wanted ? { name: "tree", ask: wanted } : null, state.version, 0);
  const change = (changes, how) => go("trees", { ...route.params, ...changes }, how);
  return html`<div>
    <h2>Trees</h2>
    <${Own} text=${text} parse=${(own) => change({ text: own, number: null })} />
    <${Waiting} found=${tree} what="Parsing" />
    ${wanted && tree.answer && html`<${Parsed} found=${tree.answer} open=${(name) => change({ symbol: name, rules: null })} />`}
    ${hasData && html`<${Sentences} page=${page} start=${start} find=${find} chosen=${chosen} change=${change} />`}
    <${Rules} state=${state} symbol=${symbol} start=${whole(route.params.rules) ?? 0} change=${change} />
  </div>`;
}

function Own({ text, parse }) {
  const [draft, setDraft] = useFor(text, text);
  const send = (event) => {
    event.preventDefault();
    if (draft.trim()) parse(draft.trim());
  };
  return html`<form class="form" onSubmit=${send}>
    <${Field} wide label="A sentence of your own" help="Words are separated by blanks.">${(own) => html`<input ...${own} class="sentence" value=${draft} onInput=${(event) => setDraft(event.target.value)} autocomplete="off" spellcheck="false" />`}<//>
    <div class="buttons pair lower"><button type="submit" class="main" disabled=${!draft.trim()}>Parse</button></div>
  </form>`;
}

function Parsed({ found, open }) {
  const [active, point] = useFor(found, null);
  const { words, unknown, tree, why, drawing, n_trees: many } = found;
  const share = found.loglik === null ? null : Math.exp(found.log_probability - found.loglik);
  const told = many === "1" ? "its only tree" : `the best of ${many === "infinitely many" ? "all its" : many} trees, with ${percent(share)} of their probability`;
  return html`<section class="parsed" aria-label="Tree">
    <h3>${found.number === null ? "" : html`<span class="of">Sentence ${number(found.number)}: </span>`}${words.map((word) => word ?? "_").join(" ")}</h3>
    ${tree
      ? html`<p class="of">Log-probability ${number(found.log_probability, 3)}, ${told}; of the sentence ${number(found.loglik, 3)}.</p>
          ${unknown.length > 0 && html`<p class="of">Not in the grammar: ${listed(unknown)}.</p>`}
          <div class="scroll tree-box" tabindex="0" role="region" aria-label="Picture of the tree"><${TreePicture} drawing=${drawing} text=${found.brackets} unknown=${unknown} active=${active} point=${point} open=${open} /></div>
          <p class="readout" role="status">${active?.rule ? html`<code>${active.rule}</code> ${percent(active.probability)}` : active ? words.slice(active.start, active.end).join(" ") : ""}</p>
          <div class="tools"><${Copy} label="Copy in brackets" text=${found.brackets} /></div>`
      : html`<${Problem} error=${upper(why)} />${found.brackets && html`<pre>${found.brackets}</pre>`}`}
  </section>`;
}

const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function Sentences({ page, start, find, chosen, change }) {
  const answer = page.answer;
  return html`<section aria-label="Sentences"><h3>Sentences</h3>
    <div class="form"><${TextField} label="Find" value=${find} onChange=${(text) => change({ find: text.trim(), start: null })} placeholder="part of a sentence" /></div>
    <${Waiting} found=${page} what="Reading the sentences" />
    ${answer && html`
      <ul class="sentences">
        ${answer.sentences.map((one) => html`<li key=${one.number}><button type="button" class=${one.number === chosen ? "sentence current" : "sentence"} aria-current=${one.number === chosen ? "true" : undefined} onClick=${() => change({ number: one.number, text: null })}>
          <span class="of">${number(one.number)}</span><span class="what">${one.text}</span><span class=${one.parsed === false ? "bad" : "of"}>${one.parsed === false ? "no tree" : one.parsed === null ? "long" : number(one.log_probability, 2)}</span>
        </button></li>`)}
      </ul>
      <div class="buttons">
        <button type="button" disabled=${start === 0} onClick=${() => change({ start: Math.max(0, start - COUNT) || null })}>Previous</button>
        <button type="button" disabled=${start + COUNT >= answer.matching} onClick=${() => change({ start: start + COUNT })}>Next</button>
        <span class="of" role="status">${answer.matching ? `${number(start + 1)} to ${number(start + answer.sentences.length)} of ${count(answer.matching, "sentence")}${find ? ` with “${find}”` : ""}; on the right their log-probability.` : "No sentence has it."}</span>
      </div>`}
  </section>`;
}

function Rules({ state, symbol, start, change }) {
  const found = usePost("view", { name: "rules", ask: { symbol, start, count: RULES } }, state.version, 0);
  const answer = found.answer;
  return html`<section aria-label="Rules"><h3>Rules</h3>
    <${Waiting} found=${found} what="Reading the rules" />
    ${answer && html`
      <div class="form"><${Field} label="Symbol">${(own) => html`<${Choices} ...${own} value=${answer.symbol} choices=${answer.symbols.map(([name, n]) => ({ value: name, text: `${name} (${count(n, "rule")})` }))} onChange=${(name) => change({ symbol: name, rules: null })} />`}<//></div>
      <${Table} label=${`Rules of ${answer.symbol}`} head=${["rule", "probability", ...(answer.rules.some((rule) => rule.count !== null) ? ["uses"] : [])]} rows=${answer.rules.map((rule) => [rule.rule, { text: rule.probability }, ...(rule.count === null ? [] : [{ text: number(rule.count, 1) }])])} />
      ${answer.total > RULES && html`<div class="buttons">
        <button type="button" disabled=${start === 0} onClick=${() => change({ rules: Math.max(0, start - RULES) || null })}>Previous</button>
        <button type="button" disabled=${start + RULES >= answer.total} onClick=${() => change({ rules: start + RULES })}>Next</button>
        <span class="of">${number(start + 1)} to ${number(start + answer.rules.length)} of ${count(answer.total, "rule")}, the most probable first.</span>
      </div>`}`}
  </section>`;
}
