// The name of a component in its colour: text, or {text, k} as the server sends it.
import { html } from "../lib.js";
import { shade } from "../format.js";

/** cell: text or {text, k}; k: its number, where the text does not bring one. */
export function Named({ cell, k }) {
  const own = cell !== null && typeof cell === "object" ? cell : { text: cell };
  const number = own.k ?? k;
  return number === undefined || number === null ? own.text : html`<span class=${shade(number)}>${own.text}</span>`;
}
