// Requests and events as messages of a widget: what takes the place of HTTP in a notebook.

const PATIENCE = 3000; // milliseconds after which a kernel is asked whether it is there, and then counts as busy
const LOOK = 500;

/** What the kernel says of itself where it does not answer. */
export const LOST = "The kernel does not answer: it is busy with a cell, or was restarted. After a restart, run the cell of this studio again.";

/** A transport over the messages of a model of anywidget; `end()` stops it. */
export function overMessages(model) {
  const own = crypto.randomUUID?.() ?? String(Math.random());
  const waiting = new Map(); // id -> {resolve, since}
  const listeners = new Set();
  let asked = 0;
  let pinged = 0; // when the kernel was asked whether it is there

  const send = (message) => {
    asked += 1;
    const id = `${own} ${asked}`;
    model.send({ ...message, id });
    return id;
  };
  const answered = (found, buffers) => {
    const question = waiting.get(found.id);
    if (!question) return; // of another view, or no longer wanted
    waiting.delete(found.id);
    question.resolve({ status: found.status, answer: found.text === undefined ? null : JSON.parse(found.text), file: found.file, content: buffers?.[0] });
  };
  const hear = (message, buffers) => {
    pinged = 0;
    listeners.forEach((listener) => listener.alive());
    if (message.events) listeners.forEach((listener) => listener.take(message.id, message.events));
    else if (message.id !== undefined) answered(message, buffers);
  };
  model.on("msg:custom", hear);
  const timer = setInterval(() => {
    const now = performance.now();
    if (pinged && now - pinged > PATIENCE) listeners.forEach((listener) => listener.lost());
    if (pinged || ![...waiting.values()].some(({ since }) => now - since > PATIENCE)) return;
    pinged = now;
    send({ ping: true });
  }, LOOK);

  function request(method, path, body, signal) {
    return new Promise((resolve, reject) => {
      const id = send({ method, path, body });
      waiting.set(id, { resolve, since: performance.now() });
      signal?.addEventListener("abort", () => {
        waiting.delete(id);
        reject(new DOMException("no longer wanted", "AbortError"));
      });
    });
  }

  function listen(after, to) {
    const id = send({ after });
    let ready = false; // the events after `after` come first, as the answer to this message
    let lost = false;
    const listener = {
      take(answered, events) {
        if (answered !== undefined && answered !== id) return; // of another view
        ready ||= answered === id;
        if (ready) events.forEach(([number, type, text]) => to.event(type, JSON.parse(text), number));
      },
      alive() {
        if (lost) {
          lost = false;
          to.open();
        }
      },
      lost() {
        if (!lost) {
          lost = true;
          to.lost();
        }
      },
    };
    listeners.add(listener);
    to.open();
    return () => listeners.delete(listener);
  }

  async function download(path) {
    const { status, answer, file, content } = await request("GET", path);
    if (status >= 400) throw new Error(answer?.error);
    save(file, content);
  }

  const end = () => {
    clearInterval(timer);
    model.off("msg:custom", hear);
    listeners.clear();
    waiting.clear();
  };
  return { request, listen, download, lost: LOST, end };
}

/** Save bytes as a file. */
function save({ name, media }, content) {
  const address = URL.createObjectURL(new Blob([content], { type: media }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
