// Pages of rows for the grid: fetched when they are needed, a few kept, outdated questions dropped.

export const PAGE = 200; // rows of a page
const KEPT = 12; // pages
const SETTLE = 50; // milliseconds of rest before rows are asked for, so that dragging asks for little

export class Pages {
  /** ask(start, count, signal) -> {total, rows}; changed(): something new can be shown. */
  constructor(ask, changed) {
    this.ask = ask;
    this.changed = changed;
    this.pages = new Map(); // number -> rows, the most recently used last
    this.asked = new Map(); // number -> AbortController
    this.total = null;
    this.error = null;
    this.timer = 0;
    this.wanted = [];
  }

  end() {
    clearTimeout(this.timer);
    this.asked.forEach((controller) => controller.abort());
    this.ended = true;
  }

  /** The row at a place of the view; undefined while it is not there. */
  row(at) {
    return this.pages.get(Math.floor(at / PAGE))?.[at % PAGE];
  }

  /** Say which rows are looked at: their pages are fetched. */
  want(from, to) {
    const last = this.total === null ? from : Math.min(to, Math.max(0, this.total - 1));
    this.wanted = [];
    for (let page = Math.floor(from / PAGE); page <= Math.floor(last / PAGE); page += 1) this.wanted.push(page);
    for (const [page, controller] of this.asked) {
      if (!this.wanted.includes(page)) {
        controller.abort();
        this.asked.delete(page);
      }
    }
    const missing = this.wanted.filter((page) => !this.pages.has(page) && !this.asked.has(page));
    clearTimeout(this.timer);
    if (!missing.length || this.error) return;
    if (this.total === null) this.fetch(missing[0]);
    else this.timer = setTimeout(() => missing.forEach((page) => this.fetch(page)), SETTLE);
  }

  async fetch(page) {
    const controller = new AbortController();
    this.asked.set(page, controller);
    try {
      const { total, rows } = await this.ask(page * PAGE, PAGE, controller.signal);
      if (this.ended || controller.signal.aborted) return;
      this.total = total;
      this.keep(page, rows);
    } catch (error) {
      if (this.ended || controller.signal.aborted) return;
      this.error = error;
    } finally {
      if (this.asked.get(page) === controller) this.asked.delete(page);
    }
    this.changed();
  }

  keep(page, rows) {
    this.pages.delete(page);
    this.pages.set(page, rows);
    for (const old of this.pages.keys()) {
      if (this.pages.size <= KEPT) break;
      if (!this.wanted.includes(old)) this.pages.delete(old);
    }
  }

  /** Ask again after an error. */
  again() {
    this.error = null;
    this.changed();
  }
}
