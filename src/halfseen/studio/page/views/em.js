// The screen EM: a few iterations on a few rows, number by number. All of it is in the address.
import { html, useRef } from "../lib.js";
import { useGet, usePost } from "../ask.js";
import { Problem, Switch, Waiting } from "../parts/field.js";
import { consistent, iterationOf, MOST, requestOf } from "./em/ask.js";
import { Bound } from "./em/bound.js";
import { SetUp } from "./em/setup.js";
import { Steps } from "./em/steps.js";
import { Twin, twinPanels } from "./em/twin.js";

const ASSIGN = [
  ["soft", "soft", "Every row counts in every class, by its probability."],
  ["hard", "hard", "Every row counts in full in its most probable class."],
  ["sample", "sampled", "Every row counts in full in a class that is drawn."],
];

/** What is asked now: the last answer says what the server took where the address says nothing. */
function asking(body, before) {
  if (!body) return before;
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  return { ...before, ...given, kinds: { ...before.kinds, ...body.kinds }, prior: body.prior, shares: body.shares };
}

/** What is taken before the first answer. */
function first(state) {
  const word = state.spec.model;
  return {
    rows: [],
    columns: [],
    kinds: {},
    model: ["classes", "gaussian", "kmeans"].includes(word) ? word : "classes",
    classes: 2,
    assign: "soft",
    covariance: "full",
    shares: null,
    seed: 0,
    prior: null,
  };
}

/** Whether two set-ups have the same parameters. */
function alike(one, other) {
  const own = ({ columns, kinds, model, classes, covariance, rows }) => JSON.stringify([columns, columns.map((name) => kinds[name]), model, classes, covariance, rows]);
  return own(one) === own(other);
}

function Assignment({ value, choose }) {
  return html`<fieldset class="assign"><legend>Assignment of rows</legend>
    ${ASSIGN.map(([own, text, help]) => html`<label key=${own} title=${help}><input type="radio" name="assign" checked=${value === own} onChange=${() => choose(own)} /> ${text}</label>`)}
  </fieldset>`;
}

export default function View({ state, route, go }) {
  const { params } = route;
  const { body, problem } = requestOf(params);
  const running = params.at !== undefined;
  const at = iterationOf(params);
  const stamp = JSON.stringify([state.spec.data, state.spec.columns, state.spec.ignore, state.spec.missing]);
  const columns = useGet("columns", {}, stamp);
  const found = usePost("em", body, stamp);
  const last = useRef(null);
  if (found.answer) last.current = found.answer;
  const asked = asking(body, last.current?.asked || first(state));
  const answer = found.answer && !found.answer.problem ? found.answer : null;
  const good = useRef(null);
  if (answer) good.current = answer;
  const fits = good.current && alike(good.current.asked, asked) ? good.current : null; // whose start can be typed while it has a problem
  const opened = useRef(false); // a set-up with a problem is opened, and stays so while it is put right
  if (running && (problem || found.error || found.answer?.problem)) opened.current = true;
  const given = body?.kinds || {};
  const set = (changes, replace = false) => go("em", { ...params, ...consistent(params, changes) }, { replace });
  const bounded = running && at > 0 && asked.model !== "kmeans" && asked.assign === "soft" && answer && at < answer.sections.length;
  const bound = usePost(bounded ? "bound" : null, bounded ? { ...body, iteration: at } : null, stamp);
  const beside = bounded && html`<section aria-label="The bound"><h3>The bound that this iteration raises</h3><${Bound} found=${bound} /></section>`;
  const setUp = columns.answer && html`<${SetUp} state=${state} columns=${columns.answer.columns} asked=${{ ...asked, given }} start=${fits?.start} names=${fits?.names || []} params=${params} set=${(changes) => set(changes, true)} />`;
  return html`<div class="em">
    <h2>EM, number by number</h2>
    <p class="lead">${running && answer ? `${answer.heading}.` : "A few rows, and every number that EM computes from them. Choose rows, columns and a start; then step through the iterations."}</p>
    ${running ? html`<details class="again" open=${opened.current}><summary>Rows, columns, model and start</summary>${setUp}</details>` : setUp}
    <${Problem} error=${problem || found.error || found.answer?.problem} />
    <${Waiting} found=${columns} what="Reading the columns" />
    ${!found.error && html`<${Waiting} found=${found} what="Computing" />`}
    ${!running && html`<p><button type="button" class="main" disabled=${!answer} onClick=${() => set({ at: 0 })}>Step through it</button></p>`}
    ${running && answer && html`<div class="switches">
      ${asked.model !== "kmeans" && html`<${Assignment} value=${asked.assign} choose=${(value) => set({ assign: value })} />`}
      ${asked.model === "kmeans" && html`<${Switch} label="Beside it: the Gaussian mixture that k-means is" value=${params.compare === "1"} onChange=${(on) => set({ compare: on ? "1" : null }, true)} />`}
    </div>
    <${Steps} found=${answer} at=${at} phase=${params.phase || null} cell=${params.cell || null} set=${set} most=${MOST} busy=${found.busy} extra=${twinPanels(answer.twin, at)} beside=${beside}>
      ${answer.twin && html`<${Twin} twin=${answer.twin} at=${at} cell=${params.cell || null} pick=${(cell) => set({ cell }, true)} />`}
    <//>`}
  </div>`;
}
