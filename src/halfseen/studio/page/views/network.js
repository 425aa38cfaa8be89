// A Bayesian network: a click on a state sets it as evidence, and the probabilities of all other states follow.
import { html, useLayoutEffect, useRef, useState } from "../lib.js";
import { usePost } from "../ask.js";
import { count, number, percent } from "../format.js";
import { Choices, Field, Problem, Waiting } from "../parts/field.js";
import { Graph } from "../parts/graph.js";
import { useWidth } from "../parts/measure.js";

const ZOOMS = [0.4, 0.55, 0.7, 0.85, 1, 1.2, 1.5, 2];
const READABLE = 0.7; // a picture is made no smaller than this to fit

/** Evidence of the address, {variable: state}; what cannot be read is none. */
function read(text) {
  try {
    const found = JSON.parse(text ?? "{}");
    const entries = Object.entries(found ?? {}).filter(([, state]) => typeof state === "string");
    return Array.isArray(found) ? {} : Object.fromEntries(entries);
  } catch {
    return {};
  }
}

export default function Network({ state, route, go }) {
  const evidence = read(route.params.evidence);
  const some = Object.keys(evidence).length > 0;
  const graph = usePost("view", { name: "graph", ask: {} }, state.version, 0);
  const prior = usePost("view", { name: "marginals", ask: {} }, state.version, 0);
  const given = usePost("view", some ? { name: "marginals", ask: { evidence } } : null, state.version, 0);
  const change = (changes, how) => go("network", { ...route.params, ...changes }, how);
  const set = (name, value) => {
    const { [name]: before, ...rest } = evidence;
    const next = before === value ? rest : { ...rest, [name]: value };
    change({ evidence: Object.keys(next).length ? next : null });
  };
  const known = some ? given : prior;
  const last = useRef(null);
  if (known.answer) last.current = known.answer;
  if (!graph.answer) return html`<div><h2>Network</h2><${Waiting} found=${graph} what="Drawing the network" /></div>`;
  const shown = known.answer ?? last.current; // while evidence is impossible, the bars stay as they were
  const clear = () => change({ evidence: null });
  const all = { state, graph: graph.answer, marginals: shown?.marginals, prior: some ? prior.answer?.marginals : null, evidence, set };
  return html`<div>
    <h2>Network</h2>
    <p class="lead">${count(graph.answer.variables.length, "variable")} and ${count(graph.answer.edges.length, "edge")}. Press a state to set it as evidence, and again to take it back.</p>
    <${Evidence} evidence=${evidence} found=${some ? given : null} set=${set} clear=${clear} />
    <${Problem} error=${prior.error} />
    <${Picture} ...${all} chosen=${route.params.variable ?? null} choose=${(name) => change({ variable: name }, { replace: true })} />
  </div>`;
}

function Evidence({ evidence, found, set, clear }) {
  const entries = Object.entries(evidence);
  const log = found?.answer?.log_probability;
  return html`<div class="evidence" role="group" aria-label="Evidence">
    ${entries.length === 0
      ? html`<p class="of">No evidence: the bars are the probabilities without any.</p>`
      : html`<ul class="chips" aria-label="What is given">
          ${entries.map(([name, value]) => html`<li key=${name}>${name} = ${value} <button type="button" class="quiet small" aria-label=${`Take back ${name} = ${value}`} onClick=${() => set(name, value)}>×</button></li>`)}
        </ul>
        <button type="button" class="small" onClick=${clear}>Clear evidence</button>
        ${found.answer && html`<span class="of" role="status">Probability of the evidence ${small(log)}, log ${number(log, 3)}. The marks on the bars are the probabilities without it.</span>`}
        <${Problem} error=${found.error} />`}
  </div>`;
}

/** A probability from its log: "29%", or as a power of ten where it is very small. */
function small(log) {
  const share = Math.exp(log);
  if (share >= 0.001) return percent(share);
  const power = Math.floor(log / Math.LN10);
  return `${(10 ** (log / Math.LN10 - power)).toFixed(1)} · 10^${String(power).replace("-", "−")}`;
}

function Picture({ graph, marginals, prior, evidence, set, chosen, choose }) {
  const frame = useRef(null);
  const panel = useRef(null);
  const width = useWidth(frame, 0);
  const [zoom, setZoom] = useState(null);
  const [jump, setJump] = useState(null); // {name} where the focus is to go to the states of a variable
  const fits = Math.min(1, Math.max(READABLE, (width - 2) / (graph.width + 12)));
  const now = zoom ?? fits;
  const larger = ZOOMS.find((one) => one > now + 1e-6);
  const smaller = [...ZOOMS].reverse().find((one) => one < now - 1e-6);
  const variable = graph.variables.find((one) => one.name === chosen) ?? null;
  const open = (name, byKey) => {
    choose(name);
    if (byKey) setJump({ name });
  };
  useLayoutEffect(() => {
    if (jump && variable?.name === jump.name) panel.current?.querySelector(".states button")?.focus();
  }, [jump, variable?.name]);
  const back = () => frame.current?.querySelector(".node.chosen")?.focus();
  return html`<div class="network">
    <div class="drawn">
      <div class="tools">
        <button type="button" class="small" disabled=${!smaller} onClick=${() => setZoom(smaller)} aria-label="Smaller">−</button>
        <button type="button" class="small" disabled=${!larger} onClick=${() => setZoom(larger)} aria-label="Larger">+</button>
        <button type="button" class="small" disabled=${zoom === null} onClick=${() => setZoom(null)}>Fit</button>
      </div>
      <div class="frame" ref=${frame}>
        ${width > 0 && html`<${Graph} graph=${graph} marginals=${marginals} prior=${prior} evidence=${evidence} chosen=${chosen} zoom=${now} onState=${set} onOpen=${open} />`}
      </div>
    </div>
    <aside class="side" aria-label="One variable" ref=${panel} onKeyDown=${(event) => event.key === "Escape" && back()}>
      <${Field} label="Variable">${(own) => html`<${Choices} ...${own} value=${chosen ?? ""} choices=${[{ value: "", text: "choose one" }, ...graph.variables.map((one) => one.name)]} onChange=${(name) => choose(name || null)} />`}<//>
      ${variable && html`<${Variable} variable=${variable} graph=${graph} shares=${marginals?.[variable.name]} prior=${prior?.[variable.name]} given=${Object.hasOwn(evidence, variable.name) ? evidence[variable.name] : undefined} set=${set} choose=${choose} />`}
    </aside>
  </div>`;
}

function Names({ names, choose }) {
  return names.map((name, i) => html`${i > 0 && ", "}<button type="button" class="quiet small" key=${name} onClick=${() => choose(name)}>${name}</button>`);
}

/** One variable with all its states, as buttons. */
function Variable({ variable, graph, shares, prior, given, set, choose }) {
  const children = graph.edges.filter((edge) => edge.from === variable.name).map((edge) => edge.to);
  return html`<div><h3>${variable.name}${variable.hidden && html` <span class="of">hidden</span>`}</h3>
    <p class="of relatives">${variable.parents.length > 0 && html`Parents: <${Names} names=${variable.parents} choose=${choose} />. `}${children.length > 0 && html`Children: <${Names} names=${children} choose=${choose} />.`}</p>
    <ul class="states" aria-label=${`States of ${variable.name}`}>
      ${variable.states.map((name, at) => {
        const share = shares?.[at] ?? 0;
        const set_ = given === name;
        return html`<li key=${name}><button type="button" class=${set_ ? "state set" : "state"} aria-pressed=${set_ ? "true" : "false"} onClick=${() => set(variable.name, name)}>
          <span class="what">${name}</span>
          <span class="value">${percent(share)}${prior && html`<span class="of was">was ${percent(prior[at])}</span>`}</span>
          <svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="rest" width="100" height="6" /><rect width=${100 * share} height="6" /></svg>
        </button></li>`;
      })}
    </ul>
  </div>`;
}
