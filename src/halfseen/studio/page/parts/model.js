// Which model a view is about: the one that is shown, or another one named in the address.
import { html } from "../lib.js";
import { href } from "../route.js";
import { Problem } from "./field.js";

/** {number, shown}: the version of ?version=2, by default the one that is shown; number null where there is none. */
export function versionOf(state, route) {
  const wanted = Number(route.params.version || state.version);
  const there = state.versions.find((version) => version.number === wanted);
  const number = there ? wanted : state.version;
  return { number, shown: number === state.version, version: there || state.versions.find((one) => one.number === number) };
}

/** What a view says where nothing was fitted yet. */
export function NoModel({ state, what }) {
  return html`<p class="lead">${what} There is no model yet: <a href=${href("fit")}>fit one first</a>${state.job ? "; a fit is running" : ""}.</p>`;
}

/** The notice that another model is looked at than the one that is shown, and what makes it the one. */
export function Another({ of, state, route, go, act, api }) {
  if (of.shown) return null;
  const { version, ...others } = route.params;
  const show = () => act.run(async () => {
    await api.post("show", { version: of.number });
    go(route.screen, others, { replace: true });
  });
  return html`<div class="another" role="status">
    <p>This is version ${of.number}, ${of.version.title}. The studio shows version ${state.version}.
      <button type="button" onClick=${show} disabled=${act.busy}>Show version ${of.number}</button>
      <a href=${href(route.screen, others)}>Back to version ${state.version}</a></p>
    <${Problem} error=${act.error} />
  </div>`;
}
