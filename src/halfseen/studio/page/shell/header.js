// The head of the page: what is open, the version of the model, undo and redo, and the tabs.
import { html } from "../lib.js";
import { api } from "../api.js";
import { useAct } from "../ask.js";
import { count, number } from "../format.js";
import { href } from "../route.js";
import { screenOf } from "../session.js";

/** "3: 3 classes, BIC 10,558.1" */
export function versionText(version) {
  const score = typeof version.bic === "number" ? `, BIC ${number(version.bic)}` : typeof version.loglik === "number" ? `, log-likelihood ${number(version.loglik)}` : "";
  return `${version.number}: ${version.title}${score}${version.converged === false ? " (not converged)" : ""}`;
}

function Versions({ state, act }) {
  if (!state.versions.length) return null;
  const show = (event) => act(() => api.post("show", { version: Number(event.target.value) }));
  return html`<label class="version">Version
    <select value=${String(state.version)} onChange=${show}>
      ${state.versions.map((version) => html`<option key=${version.number} value=${String(version.number)}>${versionText(version)}</option>`)}
    </select>
  </label>`;
}

function Step({ name, what, path, act, busy }) {
  const words = what ? `${name}: ${what}` : `Nothing to ${name.toLowerCase()}`;
  return html`<button type="button" class="quiet" disabled=${!what || busy} title=${words} aria-label=${words} onClick=${() => act(() => api.post(path))}>${name}</button>`;
}

export function Header({ state, route, session, help }) {
  const { run, busy } = useAct();
  const act = (work) =>
    run(() =>
      work().catch((error) => {
        session.note(error.message, "bad");
      }),
    );
  const current = screenOf(state, route)?.key;
  return html`<header class="top">
    <div class="head">
      <h1>${state.title}</h1>
      ${state.n_rows !== null && state.n_rows !== undefined && html`<span class="of">${count(state.n_rows, "row")}</span>`}
      ${state.saved && html`<span class="of">saved in ${state.saved}</span>`}
      <div class="tools">
        <${Versions} state=${state} act=${act} />
        <${Step} name="Undo" what=${state.undo} path="undo" act=${act} busy=${busy} />
        <${Step} name="Redo" what=${state.redo} path="redo" act=${act} busy=${busy} />
        <button type="button" class="quiet" onClick=${help} aria-label="Keyboard shortcuts" title="Keyboard shortcuts">?</button>
      </div>
    </div>
    <nav aria-label="Screens"><ul>
      ${state.screens.map((screen) => html`<li key=${screen.key}><a href=${href(screen.key)} aria-current=${screen.key === current ? "page" : undefined}>${screen.title}</a></li>`)}
    </ul></nav>
  </header>`;
}
