// The bootstrap likelihood ratio test of the number of classes against one more.
import { html } from "../../lib.js";
import { useAct } from "../../ask.js";
import { count, number } from "../../format.js";
import { NumberField, Problem } from "../../parts/field.js";

const LEVEL = 0.05; // p up to it speaks for one more
const USUAL = 99; // tables that are drawn
const [FEWEST, MOST] = [2, 10000];

/** What a result means, in one sentence. */
export function meaning({ lr, p, draws }, n, component) {
  const now = count(n, component);
  const more = count(n + 1, component);
  const found = `The likelihood ratio is ${number(lr, 2)}; by ${count(draws, "table")} drawn from the model with ${now}, one as large has p = ${number(p, 3)}`;
  if (1 / (draws + 1) > LEVEL) return `${found}. So few tables cannot tell: draw 19 or more.`;
  return p <= LEVEL ? `${found}: ${now} ${n === 1 ? "is" : "are"} too few for these rows.` : `${found}: chance alone explains what ${more} would gain, so that ${now} ${n === 1 ? "is" : "are"} enough.`;
}

export function Test({ answer, state, api, route, set }) {
  const act = useAct();
  const version = state.versions.find((one) => one.number === answer.version);
  const n = version.n_components;
  const draws = Number(route.params.draws) || USUAL;
  const fine = Number.isInteger(draws) && draws >= FEWEST && draws <= MOST;
  const start = () => act.run(() => api.post("test", { draws }));
  const running = state.job?.what === "test";
  return html`<section aria-label="Bootstrap test">
    <h2>Is one more justified?</h2>
    <p>The bootstrap likelihood ratio test of ${count(n, state.component)} against ${number(n + 1)}: both are fitted to tables drawn from the model with ${number(n)}. It may take a while.</p>
    ${answer.test && html`<p class="answer" role="status">${meaning(answer.test, n, state.component)}</p>`}
    <div class="form">
      <${NumberField} label="Tables drawn" value=${draws} min=${FEWEST} max=${MOST} step="1" onChange=${(value) => set({ draws: value ?? undefined }, { replace: true })} error=${fine ? null : `A whole number from ${number(FEWEST)} to ${number(MOST)}.`} />
    </div>
    <div class="buttons"><button type="button" onClick=${start} disabled=${!fine || act.busy || Boolean(state.job)}>${answer.test ? "Test again" : "Test"}</button>${running && html`<span class="of">The test is running: its progress is above.</span>`}</div>
    <${Problem} error=${act.error} />
  </section>`;
}
