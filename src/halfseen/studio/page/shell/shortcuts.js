// Keys that work anywhere outside of fields, and the dialog that lists them.
import { html, useLayoutEffect, useRef, useState } from "../lib.js";
import { api } from "../api.js";
import { go, here, parse } from "../route.js";
import { find, stage } from "../stage.js";
import { Dialog } from "../parts/dialog.js";
import { Switch } from "../parts/field.js";

const KEPT = "halfseen.shortcuts"; // where the browser remembers that they are off
const TYPING = 1500; // milliseconds between two letters of a text, at most

function isOn() {
  try {
    return localStorage.getItem(KEPT) !== "off";
  } catch {
    return true;
  }
}

function remember(on) {
  try {
    localStorage.setItem(KEPT, on ? "on" : "off");
  } catch {
    // no storage: they are on again at the next visit
  }
}

/** Whether keys belong to what has the focus: a field, a dialog. */
function isTaken(target) {
  return Boolean(target.closest?.("input, select, textarea, dialog, [contenteditable], [data-keys]"));
}

let starting = false; // a fit was asked for, and the answer is not there
let typed = { field: null, at: 0 }; // where the last letter went

/** Whether a key goes on with a text whose field the page took away meanwhile, as where its model is replaced. */
function goesOn({ key, timeStamp }) {
  const on = key.length === 1 && typed.field !== null && !typed.field.isConnected && timeStamp - typed.at < TYPING;
  typed = on ? { ...typed, at: timeStamp } : { field: null, at: 0 };
  return on;
}

/** Start a fit and show it; `note` is told why where it cannot start. */
export async function startFit(session) {
  if (starting) return;
  starting = true;
  const { screen, params } = parse(here());
  go("fit", screen === "fit" ? params : {});
  await api.post("fit").catch((error) => session.note(error.message, "bad"));
  starting = false;
}

/** Listen for the keys of the page. */
export function useShortcuts({ session, help }) {
  const now = useRef({});
  now.current = { session, help };
  useLayoutEffect(() => {
    const press = (event) => {
      const { session: at, help: show } = now.current;
      if (event.defaultPrevented || event.altKey || event.metaKey || event.repeat || !at.state) return;
      const fits = at.state.screens.some((screen) => screen.key === "fit");
      if (event.ctrlKey) {
        if (event.key === "Enter" && fits && !at.state.job) startFit(at);
        return;
      }
      if (isTaken(event.target)) {
        typed = { field: event.key.length === 1 ? event.target : null, at: event.timeStamp };
        return;
      }
      if (goesOn(event) || !isOn()) return;
      const act = (path) => api.post(path).catch((error) => at.note(error.message, "bad"));
      const screen = /^[1-9]$/.test(event.key) && at.state.screens[Number(event.key) - 1];
      if (screen) {
        go(screen.key);
        find("main")?.focus();
      } else if (event.key === "?") show();
      else if (event.key === "u" && at.state.undo) act("undo");
      else if (event.key === "r" && at.state.redo) act("redo");
      else if (event.key === "f" && fits && !at.state.job) startFit(at);
      else if (event.key === "s" && at.state.job) act("stop");
    };
    const { keys } = stage;
    keys.addEventListener("keydown", press);
    return () => keys.removeEventListener("keydown", press);
  }, []);
}

export function Shortcuts({ open, close, state }) {
  const [on, setOn] = useState(isOn());
  const change = (value) => {
    remember(value);
    setOn(value);
  };
  const tabs = state.screens.slice(0, 9).map((screen, i) => [String(i + 1), screen.title]);
  const keys = [
    ...tabs,
    ["f", "Fit with the present settings"],
    ["s", "Stop the running fit; the best so far is kept"],
    ["u", "Undo"],
    ["r", "Redo"],
    ["?", "This list"],
  ];
  return html`<${Dialog} open=${open} close=${close} title="Keyboard shortcuts">
    <dl class="keys">${keys.map(([key, what]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}
      <div><dt><kbd>Ctrl</kbd> <kbd>Enter</kbd></dt><dd>Fit, also from a field</dd></div>
    </dl>
    <p class="note">Keys work when no field has the focus. In the grid of rows the arrow keys, Page Up, Page Down, Home and End move; Enter on a heading sorts. On the screen EM the left and right arrow keys step, Home and End go to the ends; within a grid of numbers the arrow keys move, and Enter shows the arithmetic.</p>
    <${Switch} label="Shortcuts of one key" value=${on} onChange=${change} />
  <//>`;
}
