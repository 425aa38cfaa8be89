// Notes at the foot of the page, and the list of all of them. Errors stay until they are closed.
import { html, useEffect, useState } from "../lib.js";
import { Dialog } from "../parts/dialog.js";

const SHOWN = 8000; // milliseconds that a note stays
const AT_ONCE = 4;

function Note({ note, close }) {
  useEffect(() => {
    if (note.kind === "bad") return undefined;
    const timer = setTimeout(close, SHOWN);
    return () => clearTimeout(timer);
  }, []);
  return html`<li class=${note.kind}>
    <span>${note.text}</span>
    <button type="button" class="quiet" onClick=${close} aria-label="Close this note">×</button>
  </li>`;
}

export function Notes({ session }) {
  const [all, setAll] = useState(false);
  const open = session.notes.filter((note) => note.open).slice(-AT_ONCE);
  return html`<footer class="foot">
    ${session.notes.length > 0 && html`<button type="button" class="quiet" onClick=${() => setAll(true)}>Notes (${session.notes.length})</button>`}
    <ul class="notes" role="log" aria-live="polite" aria-label="Notes">
      ${open.map((note) => html`<${Note} key=${note.id} note=${note} close=${() => session.close(note.id)} />`)}
    </ul>
    <${Dialog} open=${all} close=${() => setAll(false)} title="Notes">
      <ul class="list">${[...session.notes].reverse().map((note) => html`<li key=${note.id} class=${note.kind}>${note.text}</li>`)}</ul>
    <//>
  </footer>`;
}
