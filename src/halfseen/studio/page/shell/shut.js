// The one plain screen where the page cannot be shown: no cookie, or no server.
import { html } from "../lib.js";

export function Shut({ error, again }) {
  const stranger = error.status === 401;
  return html`<main class="shut" id="main">
    <h1>halfseen studio</h1>
    ${stranger
      ? html`<p>This page needs the address that <code>halfseen studio</code> printed in the terminal: it ends in a token that lets this browser in, once. Copy the whole address from there. If it was used before, press Enter in that terminal for a new one.</p>`
      : html`<p role="alert">${error.message}</p><p><button type="button" onClick=${again}>Try again</button></p>`}
  </main>`;
}
