// The commands and the Python that reproduce a model, to be copied.
import { html } from "../../lib.js";
import { Copy } from "../../parts/field.js";

function Block({ title, text }) {
  return html`<section aria-label=${title}>
    <div class="bar-of"><h3>${title}</h3><${Copy} text=${text} label="Copy" /></div>
    <pre tabindex="0">${text}</pre>
  </section>`;
}

export function Code({ code, number, api }) {
  return html`
    <p class="lead">These fit the model of version ${number} again, number for number, from the same data.</p>
    ${code.notes.map((note, at) => html`<p key=${at} class="note">${note}</p>`)}
    ${code.files.map((file) => html`<p key=${file.name}>The commands read <code>${file.name}</code>, the rows with the labels that you set: <button type="button" class="small" onClick=${() => api.download(file.what, { version: file.version })}>Download it</button></p>`)}
    ${code.command && html`<${Block} title="At the command line" text=${code.command} />`}
    <${Block} title="In Python" text=${code.python} />`;
}
