// The page: header, tabs, the running job, notes, and the view of the route. Started by start.js or by a notebook.
import { html, render, useEffect, useErrorBoundary, useState } from "./lib.js";
import { api, lostText } from "./api.js";
import { go, useRoute } from "./route.js";
import { screenOf, useSession } from "./session.js";
import { find, stage } from "./stage.js";
import { Header } from "./shell/header.js";
import { Job } from "./shell/job.js";
import { Nothing } from "./shell/open.js";
import { Notes } from "./shell/notes.js";
import { Shortcuts, useShortcuts } from "./shell/shortcuts.js";
import { Shut } from "./shell/shut.js";
import { Problem } from "./parts/field.js";
import { NoModel } from "./parts/model.js";
import { views } from "./views/index.js";

const OF_MODEL = ["links", "network", "timeline", "trees", "utterances"]; // screens that show nothing but a model

/** What stands in the place of a view where nothing was fitted yet. */
function Unfitted({ screen, state }) {
  return html`<h2>${screen.title}</h2><${NoModel} state=${state} />`;
}

/** A view that fails says so in words; the rest of the page stays. */
function Guarded({ view: View, ...props }) {
  const [error, again] = useErrorBoundary((found) => console.error(found));
  if (error) {
    return html`<div class="failed" role="alert">
      <h2>This view failed</h2>
      <p>The page made a mistake while it drew this view; the session on the server is not affected. It says: <code>${error.message || String(error)}</code></p>
      <p><button type="button" onClick=${again}>Try again</button></p>
    </div>`;
  }
  return html`<${View} ...${props} />`;
}

function Main({ state, route, session }) {
  const screen = screenOf(state, route);
  const View = views[screen.key];
  const unfitted = OF_MODEL.includes(screen.key) && (state.version === null || state.version === undefined);
  useEffect(() => {
    stage.title(`${screen.title}: ${state.title} · halfseen studio`);
  }, [screen.title, state.title]);
  return html`<main id="main" tabindex="-1">
    ${route.screen && route.screen !== screen.key && html`<${Problem} error=${`There is no screen ${route.screen} for this data; this is ${screen.title}.`} />`}
    ${unfitted
      ? html`<${Unfitted} screen=${screen} state=${state} />`
      : View
      ? html`<${Guarded} key=${screen.key} view=${View} state=${state} route=${{ ...route, screen: screen.key }} go=${go} api=${api} note=${(text, kind) => session.note(text, kind)} />`
      : html`<p>This page has no view for ${screen.title}.</p>`}
  </main>`;
}

function App() {
  const session = useSession();
  const route = useRoute();
  const [help, setHelp] = useState(false);
  useShortcuts({ session, help: () => setHelp(true) });
  const { state, shut, lost } = session;
  if (shut) return html`<${Shut} error=${shut} again=${() => stage.again()} />`;
  if (!state) return html`<p class="loading" role="status">Opening …</p>`;
  const skip = (event) => {
    event.preventDefault();
    find("main").focus();
  };
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <${Header} state=${state} route=${route} session=${session} help=${() => setHelp(true)} />
    ${lost && html`<p class="lost" role="alert">${lostText()}</p>`}
    <${Job} state=${state} session=${session} />
    ${state.screens.length ? html`<${Main} state=${state} route=${route} session=${session} />` : html`<${Nothing} state=${state} />`}
    <${Notes} session=${session} />
    <${Shortcuts} open=${help} close=${() => setHelp(false)} state=${state} />
  `;
}

/** Show the page in an element; returns what removes it. */
export function mount(root) {
  render(html`<${App} />`, root);
  return () => render(null, root);
}
