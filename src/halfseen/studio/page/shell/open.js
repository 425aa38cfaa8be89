// Opening a file from the page, where the command line allows it.
import { html, useState } from "../lib.js";
import { api } from "../api.js";
import { useAct } from "../ask.js";
import { Field, Problem } from "../parts/field.js";

export function Open({ replaces }) {
  const [file, setFile] = useState(null);
  const act = useAct();
  const send = (event) => {
    event.preventDefault();
    if (file) act.run(() => api.upload(file));
  };
  return html`<form class="form" onSubmit=${send}>
    <${Field} wide label="A file of this computer" help=${`CSV, Parquet, Excel and others, up to 200 MB; it goes to the studio on this machine only.${replaces ? " It takes the place of the present data and models." : ""}`}>
      ${(own) => html`<input ...${own} type="file" onChange=${(event) => setFile(event.target.files[0] || null)} />`}
    <//>
    <div class="buttons"><button type="submit" disabled=${!file || act.busy}>${act.busy ? "Opening …" : "Open"}</button></div>
    <${Problem} error=${act.error} />
  </form>`;
}

/** The page of a studio without data. */
export function Nothing({ state }) {
  return html`<main id="main" tabindex="-1">
    <h2>Nothing is open</h2>
    ${state.upload
      ? html`<${Open} />`
      : html`<p>Name a file on the command line, such as <code>halfseen studio data.csv</code>, or start with <code>halfseen studio --upload</code> to send one from this page.</p>`}
  </main>`;
}
