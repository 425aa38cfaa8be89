// The fit that runs: curves of its starts and its shares, as the events tell; bounded, and shown at most once a frame.
import { useEffect, useState } from "./lib.js";

const KEPT = 12; // searches
const MOST = 2000; // points kept of a curve; beyond, every other one goes

class Curve {
  constructor() {
    this.iterations = [];
    this.values = [];
    this.state = "running";
    this.every = 1;
    this.length = 0; // iterations heard of
  }

  append(from, values) {
    values.forEach((value, i) => {
      const at = from + i;
      if (at < this.length) return; // heard before: the connection was lost in between
      const n = this.iterations.length;
      if (n && this.iterations[n - 1] % this.every) {
        this.iterations.length = n - 1; // the newest is shown whatever its number
        this.values.length = n - 1;
      }
      this.iterations.push(at);
      this.values.push(value);
      this.length = at + 1;
    });
    while (this.iterations.length > MOST) this.thin();
  }

  thin() {
    this.every *= 2;
    const last = this.iterations.length - 1;
    const kept = (_, i) => i === last || this.iterations[i] % this.every === 0;
    this.values = this.values.filter(kept);
    this.iterations = this.iterations.filter(kept);
  }
}

class Live {
  constructor() {
    this.heard = new Set();
    this.pending = false;
    this.changes = 0;
    this.clear(null);
  }

  /** Forget all of the last job. */
  clear(job) {
    this.job = job;
    this.runs = []; // one for each search: each number of components that was tried, the last KEPT of them
    this.draws = null; // {what, done, wanted} of a bootstrap test
    this.ended = null; // "done", "stopped" or "failed"
    this.error = null;
  }

  hear(type, data) {
    if (data.job !== undefined && data.job !== this.job) this.clear(data.job);
    if (type === "progress") this.progressed(data);
    else if (type === "draws") this.draws = data;
    else if (type === "done") this.ended = data.stopped ? "stopped" : "done";
    else if (type === "failed") {
      this.ended = "failed";
      this.error = data.error;
    } else return;
    this.changed();
  }

  /** The run that the last progress event is of. */
  get run() {
    return this.runs[this.runs.length - 1] || null;
  }

  /** The last progress event, without its curves. */
  get progress() {
    return this.run && this.run.progress;
  }

  progressed({ curves, seen, ...rest }) {
    if (!this.run || this.run.progress.search !== rest.search) {
      this.runs = [...this.runs, { progress: rest, curves: new Map(), seen: null }].slice(-KEPT);
    }
    const { run } = this;
    run.progress = rest;
    for (const [start, { from, values, state }] of Object.entries(curves || {})) {
      if (!run.curves.has(start)) run.curves.set(start, new Curve());
      const curve = run.curves.get(start);
      curve.append(from, values || []);
      curve.state = state || curve.state;
    }
    if (seen) run.seen = seen;
  }

  changed() {
    this.changes += 1;
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.heard.forEach((hear) => hear(this.changes));
    });
  }
}

export const live = new Live();

/** The fit that runs, or the last one; renders again at most once in `wait` milliseconds. */
export function useLive(wait = 0) {
  const [, show] = useState(0);
  useEffect(() => {
    let last = 0;
    let timer = 0;
    const hear = () => {
      const left = last + wait - performance.now();
      clearTimeout(timer);
      if (left > 0) {
        timer = setTimeout(hear, left);
        return;
      }
      last = performance.now();
      show(live.changes);
    };
    live.heard.add(hear);
    hear();
    return () => {
      clearTimeout(timer);
      live.heard.delete(hear);
    };
  }, [wait]);
  return live;
}
