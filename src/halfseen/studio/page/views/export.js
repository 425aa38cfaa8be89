// Export: the files to take home, and the code that makes the model that is shown.
import { html } from "../lib.js";
import { useAct, useGet } from "../ask.js";
import { href } from "../route.js";
import { Waiting } from "../parts/field.js";
import { Another, NoModel, versionOf } from "../parts/model.js";
import { Code } from "./export/code.js";

function File({ title, text, button, press, link }) {
  return html`<li><div><strong>${title}</strong><p class="note">${text}</p></div>
    ${link ? html`<a class="button" href=${link}>${button}</a>` : html`<button type="button" onClick=${press}>${button}</button>`}</li>`;
}

export default function Export({ state, route, go, api }) {
  const of = versionOf(state, route);
  const there = of.number !== null && of.number !== undefined;
  const code = useGet(there ? "code" : null, { version: of.number });
  const act = useAct();
  const [, several] = state.component;
  const has = (key) => state.screens.some((screen) => screen.key === key);
  const file = (what, params = { version: of.number }) => () => api.download(what, params);
  const session = html`<${File} title="The session" text=${`Settings, models, labels and the way back, without the rows. halfseen studio DATA --session FILE opens it again.`} button="Download the session" press=${file("session", {})} />`;
  if (!there) {
    return html`<h2>Files</h2><${NoModel} state=${state} what="Report, model, rows and code." /><ul class="files">${session}</ul>`;
  }
  return html`
    <${Another} of=${of} state=${state} route=${route} go=${go} act=${act} api=${api} />
    <h2>Files</h2>
    <ul class="files">
      ${has("data") && html`<${File} title="The report" text="One page that stands alone: what this studio shows, with pictures, for people who were not here." button="Download the report" press=${file("report")} />`}
      <${File} title="The model" text="For halfseen on the command line and in Python: hs.load. It holds no rows." button="Download the model" press=${file("model")} />
      ${state.table && html`<${File} title=${`The rows with their ${several}`} text="CSV, as halfseen predict writes it; text that a spreadsheet would run as a formula is guarded." button="Download the rows" press=${file("rows")} />`}
      ${has("decide") && html`<${File} title="Decisions" text="What to do about each row, given what mistakes cost." button="Set the costs" link=${href("decide", route.params.version ? { version: route.params.version } : {})} />`}
      ${session}
    </ul>
    <h2>Show me the code</h2>
    <${Waiting} found=${code} what="Writing the code" />
    ${code.answer && html`<${Code} code=${code.answer} number=${of.number} api=${api} />`}
  `;
}
