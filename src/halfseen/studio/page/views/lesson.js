// A guided tour, for a lecture hall: one page at a time, by the keyboard, with the same steps as on the screen EM.
import { html, useEffect, useRef } from "../lib.js";
import { useGet, usePost } from "../ask.js";
import { href } from "../route.js";
import { Problem, Waiting } from "../parts/field.js";
import { stage } from "../stage.js";
import { Bound } from "./em/bound.js";
import { useKeys } from "./em/keys.js";
import { Steps } from "./em/steps.js";
import { Twin, twinPanels } from "./em/twin.js";

/** The number of the page in the address, from 0. */
function pageOf(params, n) {
  const at = Math.floor(Number(params.page)) - 1;
  return Number.isFinite(at) ? Math.max(0, Math.min(n - 1, at)) : 0;
}

function Contents({ title, pages, at }) {
  const list = useRef(null);
  const go = () => {
    list.current.open = false;
  };
  return html`<details class="contents" ref=${list}>
    <summary>Contents</summary>
    <nav aria-label=${title}><ol>${pages.map((page, i) => html`<li key=${i}><a href=${href("lesson", { page: i + 1 })} aria-current=${i === at ? "page" : undefined} onClick=${go}>${page.title}</a></li>`)}</ol></nav>
  </details>`;
}

/** What a page shows: a bound, or an iteration with one of its grids in focus. */
function Piece({ found, params, set }) {
  const { answer } = found;
  if (!answer) return html`<${Waiting} found=${found} what="Computing" />`;
  if (answer.kind === "bound") return html`<${Bound} found=${found} height=${400} />`;
  const at = params.at === undefined ? answer.section : Math.max(0, Math.floor(Number(params.at)) || 0);
  const phase = params.phase ?? answer.grid;
  const cell = params.cell || null;
  return html`<${Steps} found=${answer} at=${at} phase=${phase === "all" ? null : phase} cell=${cell} set=${(changes, replace) => set({ at, phase, ...changes }, replace)} keys=${false} focus=${true} trace=${at > 0 && answer.sections.length > 2} busy=${found.busy} extra=${twinPanels(answer.twin, at)}>
    ${answer.twin && html`<${Twin} twin=${answer.twin} at=${at} cell=${cell} pick=${(name) => set({ at, phase, cell: name }, true)} />`}
  <//>`;
}

function Lesson({ name, lesson, params, go, alone }) {
  const { title, pages } = lesson;
  const at = pageOf(params, pages.length);
  const page = pages[at];
  const found = usePost("lesson", { name, page: at }, 0, 0);
  const turn = (to) => to >= 0 && to < pages.length && to !== at && go("lesson", { page: to + 1 });
  const [back, forth] = [() => turn(at - 1), () => turn(at + 1)];
  useKeys({
    ArrowLeft: back,
    ArrowRight: forth,
    PageUp: back,
    PageDown: forth,
    " ": (event) => (event.shiftKey ? back() : forth()),
    Home: () => turn(0),
    End: () => turn(pages.length - 1),
  });
  useEffect(() => {
    scrollTo(0, 0);
    stage.title(`${at + 1}. ${page.title} · ${title}`);
  }, [at]);
  const set = (changes, replace = false) => {
    const next = { page: at + 1, at: params.at, phase: params.phase, cell: params.cell, ...changes };
    go("lesson", { ...next, phase: next.phase === null ? "all" : next.phase }, { replace });
  };
  const fresh = found.answer && found.answer.page === at;
  return html`<article class=${alone ? "lesson alone" : "lesson"} aria-label=${title}>
    <div class="lesson-bar">
      <button type="button" onClick=${back} aria-disabled=${at === 0 ? "true" : undefined} aria-keyshortcuts="ArrowLeft PageUp">‹ Previous</button>
      <p class="progress" role="status"><span class="unseen">${page.title}: </span>Page ${at + 1} of ${pages.length}</p>
      <button type="button" class="main" onClick=${forth} aria-disabled=${at === pages.length - 1 ? "true" : undefined} aria-keyshortcuts="ArrowRight PageDown Space">Next ›</button>
      <progress max=${pages.length} value=${at + 1} aria-hidden="true"></progress>
      <${Contents} title=${title} pages=${pages} at=${at} />
    </div>
    <div class="lesson-page wide">
      <div class="words"><h2>${page.title}</h2>${page.text.map((text, i) => html`<p key=${i}>${text}</p>`)}</div>
      ${page.show && html`<div class="piece">${found.error ? html`<${Problem} error=${found.error} />` : html`<${Piece} key=${at} found=${fresh ? found : { ...found, answer: null, busy: true }} params=${params} set=${set} />`}</div>`}
    </div>
    <p class="note keys-note">Keys: <kbd>←</kbd> <kbd>→</kbd>, <kbd>Page Up</kbd> <kbd>Page Down</kbd> or <kbd>Space</kbd> turn pages; <kbd>,</kbd> <kbd>.</kbd> step through the numbers; <kbd>Tab</kbd> and <kbd>Enter</kbd> show how a number is computed, <kbd>Esc</kbd> closes it.</p>
  </article>`;
}

export default function View({ state, route, go }) {
  const found = useGet("lesson", { name: state.lesson });
  if (!found.answer) return html`<${Waiting} found=${found} what="Opening the lesson" />`;
  return html`<${Lesson} name=${state.lesson} lesson=${found.answer} params=${route.params} go=${go} alone=${state.screens.length === 1} />`;
}
