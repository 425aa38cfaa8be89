// Sections of the report as the server sends them: every kind of part, as text.
import { html } from "../lib.js";
import { Copy } from "./field.js";
import { Heat } from "./heat.js";
import { Table } from "./table.js";

const LONG = 24; // rows from which on a table scrolls in its own box

/** The list of checks, those to look at first. */
export function Checks({ items }) {
  return html`<ul class="checks">${items.map((check, at) => html`<li key=${at} class=${check.fine ? "fine" : "look"}>
    <span class="mark">${check.fine ? "fine" : "look"}</span>
    <span><strong>${check.name}.</strong> ${check.text}</span>
  </li>`)}</ul>`;
}

function Grid({ part }) {
  return html`<div class=${part.rows.length > LONG ? "vast" : ""}>
    <${Table} head=${part.head} rows=${part.rows} caption=${part.caption} note=${part.note} dense=${part.head.length > 9} text=${part.text} />
  </div>`;
}

const KINDS = {
  text: ({ part }) => html`<p class=${part.copied ? "copied" : ""}>${part.text}</p>${part.copied && html`<div class="tools"><${Copy} text=${part.text} /></div>`}`,
  checks: ({ part }) => html`<${Checks} items=${part.items} />`,
  grid: Grid,
  heat: ({ part }) => html`<${Heat} heat=${part} label=${part.caption} caption />`,
  facts: ({ part }) => html`<dl class="facts">${part.items.map(([value, name], at) => html`<div key=${at}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`,
  steps: ({ part }) => html`<ol class="list">${part.items.map((step, at) => html`<li key=${at}>${step.text} ${step.command && html`<code>${step.command}</code>`}</li>`)}</ol>`,
  cards: ({ part }) => html`<ul class="list">${part.items.map((card, at) => html`<li key=${at}><strong>${card.name}</strong> ${card.shown} ${card.of} ${card.note}</li>`)}</ul>`,
  code: ({ part }) => html`<pre tabindex="0">${part.text}</pre><div class="tools"><${Copy} text=${part.text} /></div>`,
  beside: ({ part }) => html`<div class=${part.stacked ? "" : "beside"}>${part.parts.map((inner, at) => html`<div key=${at}><${Part} part=${inner} /></div>`)}</div>`,
};

/** A part: {kind, title, ...}; one of a kind that is not known is left out. */
export function Part({ part }) {
  const Kind = KINDS[part.kind];
  if (!Kind || (part.kind === "beside" && !part.parts.length)) return null;
  return html`${part.title && html`<h3>${part.title}</h3>`}<${Kind} part=${part} />`;
}

/** Sections that open one by one; opened: keys of those that are open, toggle(key). */
export function Sections({ sections, opened, toggle }) {
  return sections.map((section) => {
    const open = opened.includes(section.key);
    const turned = (event) => event.currentTarget.open !== open && toggle(section.key);
    return html`<details key=${section.key} class="section" open=${open} onToggle=${turned}>
      <summary>${section.title}</summary>
      ${open && html`${section.lead && html`<p class="lead">${section.lead}</p>`}${section.parts.map((part, at) => html`<${Part} key=${at} part=${part} />`)}`}
    </details>`;
  });
}
