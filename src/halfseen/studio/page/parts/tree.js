// A tree above a sentence, drawn where the server places it; a label that is pointed at marks its words.
import { html } from "../lib.js";
import { percent } from "../format.js";

const PAD = 22;
const LETTER = 8.6; // width of a letter of 14 px, about

/** drawing: as the view `tree` answers. text: the tree in brackets. active, point(node): what is pointed at. open(symbol). */
export function TreePicture({ drawing, text, unknown, active, point, open }) {
  const { width, height, nodes, branches } = drawing;
  const ordered = [...nodes].sort((a, b) => a.start - b.start || a.y - b.y); // each before what is below it, from left to right
  const inside = (node) => active && node.start >= active.start && node.end <= active.end;
  const label = (node, at) => {
    const wide = LETTER * node.text.length + 10;
    const box = html`<rect class="hit" x=${node.x - wide / 2} y=${node.y - 15} width=${wide} height="22" rx="4" />`;
    if (node.word) {
      const own = `word${inside(node) ? " near" : ""}${unknown.includes(node.text) ? " unseen-word" : ""}`;
      return html`<g key=${at} class=${own} onPointerEnter=${() => point(node)} onPointerLeave=${() => point(null)}>${box}<text x=${node.x} y=${node.y} text-anchor="middle">${node.text}</text></g>`;
    }
    const press = (event) => {
      if (event.type === "keydown" && event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      open(node.text);
    };
    const told = `${node.text}, words ${node.start + 1} to ${node.end}${node.rule ? `: ${node.rule}, ${percent(node.probability)}` : ""}. Enter opens its rules.`;
    return html`<g key=${at} class=${`symbol${node === active ? " near" : ""}`} tabindex="0" role="button" aria-label=${told} onClick=${press} onKeyDown=${press} onPointerEnter=${() => point(node)} onPointerLeave=${() => point(null)} onFocus=${() => point(node)} onBlur=${() => point(null)}>${box}<text x=${node.x} y=${node.y} text-anchor="middle">${node.text}</text></g>`;
  };
  return html`<svg class="tree" width=${width + 2 * PAD} height=${height + 36} viewBox=${`${-PAD} -22 ${width + 2 * PAD} ${height + 36}`} role="group" aria-label=${`Tree: ${text}`}>
    <g aria-hidden="true">${branches.map(([x1, y1, x2, y2], at) => html`<line key=${at} x1=${x1} y1=${y1} x2=${x2} y2=${y2} />`)}</g>
    ${ordered.map((node, at) => label(node, at))}
  </svg>`;
}
