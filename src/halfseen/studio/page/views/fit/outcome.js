// How the fit of the current version ended, in words.
import { html } from "../../lib.js";
import { seconds } from "../../format.js";
import { href } from "../../route.js";

export function Outcome({ state }) {
  const version = state.versions.find((one) => one.number === state.version);
  if (!version) return null;
  const has = (key) => state.screens.some((screen) => screen.key === key);
  const took = version.seconds === null || version.seconds === undefined ? "" : ` It took ${seconds(version.seconds)}.`;
  return html`<div class=${version.converged === false ? "outcome unfinished" : "outcome"} role="status">
    <p class="answer"><strong>${version.title}</strong> (${version.model}): ${version.outcome || version.ended}.${took}</p>
    ${version.notes?.length > 0 && html`<ul class="list">${version.notes.map((note, at) => html`<li key=${at}>${note}</li>`)}</ul>`}
    <p>${has("classes") && html`<a href=${href("classes")}>Look at the ${state.component[1]}</a>`} ${has("compare") && html`${has("classes") ? " · " : ""}<a href=${href("compare")}>${state.components.length ? `Numbers of ${state.component[1]} that were tried` : "Compare models"}</a>`}</p>
  </div>`;
}
