// EM step by step: the grids of one iteration in the order in which EM makes them, back and forth, and the arithmetic.
import { html, useEffect, useLayoutEffect, useRef } from "../../lib.js";
import { Arithmetic, cellIn } from "./arithmetic.js";
import { byClass, Numbers } from "./numbers.js";
import { stage } from "../../stage.js";
import { useKeys } from "./keys.js";
import { Trace } from "./trace.js";

const PHASES = [
  ["completions", "All rows at once"],
  ["joint", "Joint"],
  ["responsibilities", "E-step"],
  ["counts", "Counts"],
  ["m-step", "M-step"],
  ["distances", "E-step"],
  ["sizes", "Sizes"],
  ["centres", "M-step"],
];
const BEGIN = { data: "Data", parameters: "Parameters", centres: "Centres" };
const ways = (joint) => joint === "completions";

/** The phases of an iteration: [[role, title]], in order; `all` counts the joint table of all rows as one. */
export function phasesOf(found, at = 1, all = false) {
  const roles = (found.sections[at || 1] || found.sections[found.sections.length - 1]).grids.map((grid) => grid.role);
  return PHASES.filter(([role]) => roles.includes(role) && (all || !ways(role)));
}

/** The grids to show at an iteration: [{name, title, grid, phase}]; those before the iteration have no phase. */
export function panelsOf(found, at, all = false) {
  const { sections, names } = found;
  const begin = sections[0].grids;
  const shown = (grid) => (grid.role === "responsibilities" ? byClass(grid, names) : grid);
  const data = { name: "data", title: BEGIN.data, grid: begin[0] };
  if (at === 0) return [data, ...begin.slice(1).map((grid) => ({ name: "before", title: BEGIN[grid.role], grid }))];
  const last = sections[at - 1].grids;
  const caption = at === 1 ? begin[1].caption : `After iteration ${at - 1}.`;
  const before = { name: "before", title: `${BEGIN[begin[1].role]} before`, grid: { ...last[last.length - 1], caption } };
  const own = sections[at].grids.filter((grid) => all || !ways(grid.role));
  const titles = new Map(PHASES);
  return [data, before, ...own.map((grid) => ({ name: grid.role, title: titles.get(grid.role), grid: shown(grid), phase: grid.role }))];
}

/** Where a step leads: {at, phase}; null at an end. `by` is 1 or -1. */
export function stepped(found, at, phase, by, all = false) {
  const rolesAt = (n) => phasesOf(found, n, all).map(([role]) => role);
  const order = rolesAt(at);
  const place = order.indexOf(phase);
  if (place < 0) return at + by < 0 ? null : { at: at + by, phase: null };
  if (at > 0 && place + by >= 0 && place + by < order.length) return { at, phase: order[place + by] };
  if (at === 0 && by < 0) return null;
  const next = rolesAt(at + by);
  return { at: at + by, phase: by > 0 || at + by === 0 ? next[0] : next[next.length - 1] };
}

function Stepper({ found, at, phase, phases, step, jump, can, byPhase, keys }) {
  const last = found.sections.length - 1;
  const title = at ? `Iteration ${at}` : "The start";
  const name = phases.find(([role]) => role === phase)?.[1];
  const button = (text, label, own, act, on) => html`<button type="button" aria-label=${label} aria-keyshortcuts=${own} aria-disabled=${on ? undefined : "true"} onClick=${() => on && act()}>${text}</button>`;
  return html`<div class="stepper" role="group" aria-label="Steps">
    ${button("Start", "To the start", keys ? "Home" : undefined, () => jump(0), at > 0)}
    ${button("‹ Back", "One step back", keys ? "ArrowLeft" : ",", () => step(-1), can(-1))}
    <p class="place" role="status">${title}${at > 0 && name ? html`: <span class="of">${name}</span>` : ""}<span class="of"> of ${last}</span></p>
    ${button("Forth ›", "One step forth", keys ? "ArrowRight" : ".", () => step(1), can(1))}
    ${button("End", "To the last iteration shown", keys ? "End" : undefined, () => jump(last), at < last)}
    <label class="by"><input type="checkbox" checked=${Boolean(phase)} onChange=${(event) => byPhase(event.target.checked)} /> one part at a time</label>
  </div>`;
}

function Phases({ phases, phase, choose }) {
  return html`<ol class="phases" aria-label="The steps of an iteration">
    ${phases.map(([role, title]) => html`<li key=${role}><button type="button" class=${role === phase ? "small now" : "small"} aria-pressed=${role === phase ? "true" : "false"} onClick=${() => choose(role === phase ? null : role)}>${title}</button></li>`)}
  </ol>`;
}

/** Of the panels the one in focus, then what it is made from. */
function inFocus(panels, phase) {
  const at = panels.findIndex((panel) => panel.phase === phase);
  const from = panels[at - 1];
  const first = from.name === "before" || ways(from.phase);
  return [panels[at], ...(first ? [panels[1], panels[0]] : [from])];
}

/** The panels to show: all of them, or those that matter for what is in focus. */
function shown(panels, at, phase, highlighted) {
  if (at === 0) return phase === "data" ? panels.slice(0, 1) : panels;
  return highlighted ? inFocus(panels, highlighted) : panels;
}

/** A caption without the title that is above it. */
export function captionOf(title, caption) {
  const text = caption.startsWith(`${title}: `) ? caption.slice(title.length + 2) : caption;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function Panel({ panel, names, now, later, follow, cell, pick }) {
  const { name, title, grid } = panel;
  const box = useRef(null);
  useEffect(() => {
    if (now && follow) box.current.scrollIntoView({ block: "nearest" });
  }, [now, follow]);
  return html`<section ref=${box} class=${`panel ${now ? "now" : ""} ${later ? "later" : ""}`} aria-current=${now ? "step" : undefined}>
    <h3>${title}</h3>
    ${later ? html`<p class="note">Not yet.</p>` : html`<p class="note">${captionOf(title, grid.caption)}</p><${Numbers} grid=${grid} name=${name} names=${names} cell=${cell} pick=${pick} label=${title} />`}
  </section>`;
}

/** The joint table of all rows at once, where the server sends it: behind a summary, for it is long. */
function Ways({ section, names, cell, pick }) {
  const grid = section.grids.find((one) => ways(one.role));
  if (!grid) return null;
  return html`<details open=${Boolean(cell?.startsWith("completions:"))}>
    <summary>All ways to complete the rows at once</summary>
    <p class="note">${grid.caption}</p>
    <${Numbers} grid=${grid} names=${names} cell=${cell} pick=${pick} label="All ways to complete the rows" />
  </details>`;
}

function Result({ section, cell, pick }) {
  if (!section.result) return null;
  const here = cell === "result:0:0";
  return html`<p class="result answer">${section.result}. <button type="button" class="quiet small" aria-pressed=${here ? "true" : "false"} onClick=${() => pick(here ? null : "result:0:0")}>Show the sum</button></p>`;
}

/** The result as a grid of one cell, so that its arithmetic is found as that of all others. */
const resultOf = (section) => ({ name: "result", title: "Objective", grid: { head: [""], rows: [[section.result]], arithmetic: [[section.arithmetic]], n_labels: 0 } });

/**
 * found: the answer to POST /api/em. at: the iteration, 0 the start. phase: the role that is highlighted, or null. cell:
 * the chosen number. set(changes, replace): new values of these. most: the last iteration that can be asked for. keys:
 * false where the arrows have another meaning; comma and full stop step then. focus: show the highlighted grid and what
 * it is made from, not all of them. extra: other grids whose numbers can be chosen. beside: what stands beside
 * the curve. busy: whether another answer is under way.
 */
export function Steps({ found, at: wanted, phase, cell, set, most, keys = true, trace = true, focus = false, busy, extra = [], beside, children }) {
  const last = found.sections.length - 1;
  const at = Math.min(wanted, last);
  const end = found.stopped ? last : Math.max(last, most ?? last);
  const section = found.sections[at];
  const phases = phasesOf(found, at, focus);
  const order = phases.map(([role]) => role);
  const highlighted = order.includes(phase) ? phase : null;
  const reached = highlighted && at > 0 ? order.indexOf(highlighted) : order.length;
  const every = panelsOf(found, at, focus);
  const panels = focus ? shown(every, at, phase, highlighted) : every;
  const from = highlighted ?? (focus && at === 0 ? order[0] : null);
  const moved = useRef(false); // the first page shows its head, whatever is highlighted
  const target = (by) => {
    const to = stepped(found, at, from, by, focus);
    return to && to.at <= end ? to : null;
  };
  const can = (by) => Boolean(target(by));
  const step = (by, replace = false) => {
    moved.current = !focus;
    const to = target(by);
    if (to) set(to, replace);
  };
  const jump = (to) => set({ at: to, phase: highlighted && (to ? order[order.length - 1] : order[0]) });
  const pick = (name) => set({ cell: name }, true);
  const grids = [...panelsOf(found, at, true), resultOf(section), ...extra];
  const chosen = cellIn(grids, cell);
  const escape = (event) => {
    if (event.key !== "Escape" || !chosen) return;
    event.preventDefault();
    pick(null);
  };
  const arrows = {
    ArrowLeft: (event) => step(-1, event.repeat),
    ArrowRight: (event) => step(1, event.repeat),
    Home: () => jump(0),
    End: () => jump(last),
  };
  const signs = { ",": arrows.ArrowLeft, ".": arrows.ArrowRight };
  useKeys(keys ? arrows : signs);
  useLayoutEffect(() => {
    const { keys: heard } = stage;
    heard.addEventListener("keydown", escape);
    return () => heard.removeEventListener("keydown", escape);
  });
  return html`<div class=${busy ? "steps busy" : "steps"} aria-busy=${busy ? "true" : undefined}>
    <div class="stepbar">
      <${Stepper} found=${found} at=${at} phase=${highlighted} phases=${phases} keys=${keys} step=${step} jump=${jump} can=${can} byPhase=${(on) => set({ phase: on ? order[at ? order.length - 1 : 0] : null }, true)} />
      ${at > 0 && html`<${Phases} phases=${phases} phase=${highlighted} choose=${(role) => set({ phase: role })} />`}
    </div>
    ${found.stopped && at === last && html`<p class="problem" role="alert">It ends here: ${found.stopped}</p>`}
    <div class="panels">
      ${panels.map((panel) => html`<${Panel} key=${panel.name} panel=${panel} names=${found.names} now=${panel.phase && panel.phase === highlighted} follow=${moved.current} later=${panel.phase && order.indexOf(panel.phase) > reached} cell=${cell} pick=${pick} />`)}
    </div>
    ${reached >= order.length - 1 && html`<${Result} section=${section} cell=${cell} pick=${pick} />`}
    ${!focus && html`<${Ways} section=${section} names=${found.names} cell=${cell} pick=${pick} />`}
    <div class="beside">
      ${trace && html`<section aria-label="The objective"><h3>The objective by iteration</h3><${Trace} objective=${found.objective} at=${at} go=${jump} /></section>`}
      ${beside}
    </div>
    ${children}
    <${Arithmetic} found=${chosen} close=${() => pick(null)} />
  </div>`;
}
