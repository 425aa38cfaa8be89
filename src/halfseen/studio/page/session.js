// The session as the server tells it: its state, its events, notes for the user, and whether the connection is there.
import { useEffect, useMemo, useState } from "./lib.js";
import { api, onState } from "./api.js";
import { go, here, parse } from "./route.js";
import { live } from "./live.js";

const MOST_NOTES = 200;

class Session {
  constructor() {
    this.heard = new Set();
    this.state = null;
    this.shut = null; // why nothing can be shown: an ApiError
    this.lost = false;
    this.notes = []; // {id, text, kind: "note" | "good" | "bad", open}
    this.written = 0;
    this.pending = false;
    this.stop = null;
    this.stamp = 0; // 1 + what was asked last; an older answer does not replace a newer one
  }

  async begin() {
    this.ended = false;
    const token = /^#token=(.+)$/.exec(here());
    try {
      if (token) {
        go("", {}, { replace: true }); // the token goes from the address before anything else happens
        await api.enter(decodeURIComponent(token[1]));
      }
    } catch (error) {
      if (error.status !== 401) this.shut = error; // 401: it was used before; the cookie may be there all the same
    }
    this.endStates = onState((state) => (state ? this.adopt(state) : this.refresh()));
    await this.refresh(true);
    if (this.state && !this.ended) this.listen();
  }

  end() {
    this.ended = true;
    this.stop?.();
    this.endStates?.();
  }

  listen() {
    const known = this.state.event ?? 0; // what happened before needs no note
    const after = this.state.job ? (this.state.job.event ?? 0) : known; // the curves of a running fit are wanted whole
    this.stop = api.listen(after, {
      event: (type, data, id) => this.event(type, data, id <= known),
      open: () => {
        if (!this.lost) return;
        this.lost = false;
        this.refresh(true);
      },
      lost: () => {
        this.lost = true;
        this.changed();
        this.refresh(true); // says whether the server is gone, or another one that does not know this page
      },
    });
  }

  event(type, data, old) {
    if (type === "state" || type === "reset") {
      this.refresh(type === "reset");
      return;
    }
    live.hear(type, data);
    const unknown = (type === "progress" || type === "draws") && !old && this.state.job?.number !== data.job;
    if (unknown && this.met !== data.job) {
      this.met = data.job; // a job that another page began
      this.refresh();
    }
    if (type === "done" || type === "failed") this.refresh(false);
    if (old) return;
    if (type === "note") this.note(data.text);
    if (type === "failed") this.note(data.error, "bad", screenOf(this.state)?.key !== "fit"); // Fit shows it itself
  }

  /** Fetch the state; `anew` takes it even where its revision is lower, as after a restart of the server. */
  refresh(anew = false) {
    this.stamp += 1;
    this.newest = this.fetch(this.stamp, anew);
    return this.newest;
  }

  async fetch(asked, anew) {
    try {
      const state = await api.get("state");
      if (asked < this.stamp && !anew) return this.newest; // whoever waits for the state waits for that one
      this.shut = null;
      this.adopt(state, anew);
    } catch (error) {
      if (error.status === 401 || !this.state) this.shut = error;
      else if (error.status) this.note(error.message, "bad");
      this.changed();
    }
    return undefined;
  }

  /** Take a state over, before the next key or click: a button that it disables is not pressed twice. */
  adopt(state, anew = false) {
    if (!anew && this.state && state.revision < this.state.revision) return;
    this.state = state;
    this.heard.forEach((hear) => hear());
  }

  note(text, kind = "note", open = true) {
    if (!text) return;
    this.written += 1;
    const last = this.notes[this.notes.length - 1];
    if (last && last.open && last.text === text) return;
    this.notes = [...this.notes, { id: this.written, text, kind, open }].slice(-MOST_NOTES);
    this.changed();
  }

  /** Put a note away; it stays in the list of notes. */
  close(id) {
    this.notes = this.notes.map((note) => (note.id === id ? { ...note, open: false } : note));
    this.changed();
  }

  changed() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.heard.forEach((hear) => hear());
    });
  }
}

/** The session of this page; the component renders again when something in it changes. */
export function useSession() {
  const session = useMemo(() => new Session(), []);
  const [, show] = useState(0);
  useEffect(() => {
    const hear = () => show((n) => n + 1);
    session.heard.add(hear);
    session.begin();
    return () => {
      session.heard.delete(hear);
      session.end();
    };
  }, [session]);
  return session;
}

/** The screen to show: that of the route, or the first. */
export function screenOf(state, route = parse(here())) {
  return state.screens.find((screen) => screen.key === route.screen) || state.screens[0];
}
