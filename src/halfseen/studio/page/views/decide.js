// Decide: what costs make of the probabilities, what not deciding costs, and the decisions as a file.
import { html } from "../lib.js";
import { useAct, usePost } from "../ask.js";
import { count, number, percent } from "../format.js";
import { Problem } from "../parts/field.js";
import { Another, NoModel, versionOf } from "../parts/model.js";
import { Bars } from "../parts/svg.js";
import { Costs } from "./decide/costs.js";
import { Curves } from "./decide/curves.js";
import { Reject } from "./decide/reject.js";

const QUICK = 60; // milliseconds of rest before a question is asked

/** The costs in the address: {cost, decisions, reject}; what cannot be read counts as none. */
export function asked(params) {
  const read = (text) => {
    try {
      return text === undefined ? null : JSON.parse(text);
    } catch {
      return null;
    }
  };
  const [cost, decisions, reject] = [read(params.cost), read(params.decisions), read(params.reject)];
  const whole = Array.isArray(cost) && Array.isArray(decisions);
  return { cost: whole ? cost : null, decisions: whole ? decisions : null, reject: typeof reject === "number" ? reject : null };
}

export default function Decide({ state, route, go, api }) {
  const of = versionOf(state, route);
  const there = of.number !== null && of.number !== undefined;
  const given = asked(route.params);
  const fits = there && (given.cost === null || given.cost.every((row) => Array.isArray(row) && row.length === of.version.names.length));
  const found = usePost("decide", fits ? { ...given, version: of.number } : null, state.spec.missing.join("\n"), QUICK);
  const act = useAct();
  const [one, several] = state.component;
  if (!there) return html`<h2>Decide</h2><${NoModel} state=${state} what=${`What to do about each row, given how probable its ${several} are and what mistakes cost.`} />`;
  const set = (changes, how) => go("decide", { ...route.params, ...changes }, how);
  const answer = fits ? found.answer : null;
  const names = of.version.names;
  return html`
    <h2>Decide</h2>
    <${Another} of=${of} state=${state} route=${route} go=${go} act=${act} api=${api} />
    <p class="lead">Each row gets the decision that costs least in expectation, by the probabilities of its ${several}.</p>
    ${fits && found.busy && !answer && !found.error && html`<p class="waiting" role="status">Working out the probabilities …</p>`}
    <${Problem} error=${found.error} />
    <${Costs} names=${names} given=${given} fits=${fits} set=${set} one=${one} several=${several} />
    ${answer && html`
      <${Reject} given=${given} most=${answer.most} set=${set} />
      <h2>What it does</h2>
      <${Outcome} answer=${answer} reject=${given.reject} names=${names} />
      <p><button type="button" class="main" onClick=${() => api.download("decisions", { ...given, version: of.number })}>Download the decisions as CSV</button></p>
      <p class="note">The rows, their ${several}, the decision for each and what it is expected to cost, as <code>halfseen predict --cost --reject</code> writes them.${given.reject === null ? "" : html` A row that is not decided has the decision <code>reject</code>.`}</p>
      <${Curves} answer=${answer} reject=${given.reject} />`}
  `;
}

/** The counts, shares and costs of the decisions. */
function Outcome({ answer, reject, names }) {
  const { decisions, counts, shares, risk, risk_without: without, rows } = answer;
  const items = decisions.map((label, i) => ({
    label: i === decisions.length - 1 ? "not decided" : label,
    value: shares[i],
    k: i < decisions.length - 1 && names.includes(label) ? names.indexOf(label) : undefined,
    text: `${number(counts[i])} · ${percent(shares[i])}`,
  })).slice(0, reject === null ? -1 : undefined);
  const left = counts[counts.length - 1];
  return html`
    <p class="answer">${reject === null
      ? html`All ${count(rows, "row")} are decided, at an expected cost of <strong>${number(risk)}</strong> per row.`
      : html`${number(rows - left)} of ${count(rows, "row")} are decided and ${number(left)} are not (${percent(left / rows)}). The expected cost is <strong>${number(risk)}</strong> per row, ${number(without)} if all had to be decided.`}</p>
    <div class="wide-bars"><${Bars} items=${items} most=${1} label="Decisions" /></div>
    <p class="note">${answer.note}</p>`;
}
