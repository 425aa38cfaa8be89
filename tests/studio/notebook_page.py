"""A page that plays a notebook's part for widgets: it loads their module as anywidget does, and passes messages on.

There is no server and no kernel: the page asks Python by functions that Playwright lends it. `problems` is what went
wrong on it; a widget that asks for anything over the network fails its test.
"""

import base64
import json

from tests.studio.browser import slow_down

ORIGIN = "http://127.0.0.1:1"
HOST = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A notebook</title><style>
body { background: white; color: black; font: 13px monospace; }
body.night { background: #111; color: #eee; }
h1, h2, button, a, table { color: rgb(255, 0, 0); font-family: serif; }
button { background: rgb(0, 255, 0); padding: 40px; }
</style></head><body><h1 id="own">A notebook</h1><button id="run">Run</button><div id="cells"></div></body></html>"""
SCRIPT = """
const events = () => {
  const heard = new Map();
  return {
    on: (name, hear) => heard.set(name, [...(heard.get(name) || []), hear]),
    off: (name, hear) => heard.set(name, (heard.get(name) || []).filter((one) => one !== hear)),
    fire: (name, ...given) => (heard.get(name) || []).forEach((hear) => hear(...given)),
    count: () => [...heard.values()].flat().length,
  };
};
window.notebook = { models: new Map(), keys: [], interrupts: 0, deaf: false };
document.addEventListener("keydown", (event) => notebook.keys.push(event.key));
notebook.open = async (id, state, manager) => {
  const bus = events();
  const send = (data) => notebook.deaf || window.toKernel(id, JSON.stringify(data));
  const model = {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: () => send({ method: "update", state: { revision: state.revision } }),
    send: (content) => send({ method: "custom", content }),
    on: bus.on,
    off: bus.off,
    widget_manager: manager ? { kernel: { interrupt: () => { notebook.interrupts += 1; } } } : undefined,
  };
  const url = URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" }));
  const widget = (await import(url)).default;
  const known = { model, bus, state, widget, ends: [] };
  notebook.models.set(id, known);
  await notebook.show(id);
};
notebook.show = async (id) => {
  const known = notebook.models.get(id);
  const el = document.createElement("div");
  el.id = `${id}-${known.ends.length}`;
  document.getElementById("cells").append(el);
  const end = await known.widget.render({ model: known.model, el });
  known.ends.push(async () => { await end(); el.remove(); });
};
const bytes = (text) => new DataView(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)).buffer);
setInterval(async () => {
  if (notebook.asking) return;
  notebook.asking = true;
  for (const [id, data, buffers] of JSON.parse(await window.fromKernel())) {
    const known = notebook.models.get(id);
    if (!known || notebook.deaf) continue;
    if (data.method === "custom") known.bus.fire("msg:custom", data.content, buffers.map(bytes));
    else if (data.state) {
      Object.assign(known.state, data.state);
      Object.keys(data.state).forEach((name) => known.bus.fire(`change:${name}`));
    }
  }
  notebook.asking = false;
}, 20);
"""


class Notebook:
    """The page, and the widgets that it shows."""

    def __init__(self, context):
        self.problems, self.widgets, self._read, self.asked = [], {}, {}, 0
        self.page = page = context.new_page()
        slow_down(page)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.problems.append(f"exception: {error}"))
        page.on("request", self._asked)
        page.route(f"{ORIGIN}/**", lambda route: route.fulfill(body=HOST, content_type="text/html"))
        page.expose_function("toKernel", self._to_kernel)
        page.expose_function("fromKernel", self._from_kernel)
        page.goto(f"{ORIGIN}/")
        page.evaluate(SCRIPT)

    def _heard(self, message):
        if message.type in ("error", "warning", "assert"):
            self.problems.append(f"{message.type}: {message.text}")

    def _asked(self, request):
        if not request.url.startswith((f"{ORIGIN}/", "blob:", "data:")):
            self.problems.append(f"request: {request.url[:200]}")

    def check(self):
        assert self.problems == [], self.problems

    def _to_kernel(self, name, text):
        data = json.loads(text)
        self.asked += 1
        self.widgets[name]._handle_msg({"content": {"data": data}, "buffers": []})

    def _from_kernel(self):
        found = []
        for name, widget in list(self.widgets.items()):
            sent = list(widget.comm.sent) if widget.comm is not None else []
            for _, data, buffers in sent[self._read.get(name, 0) :]:
                found.append((name, data, [base64.b64encode(bytes(one)).decode() for one in buffers or ()]))
            self._read[name] = len(sent)
        return json.dumps(found)

    def add(self, name, widget, interrupts=False):
        """Show a widget; return what is on the page of it."""
        self.widgets[name] = widget
        state = {key: value for key, value in widget.get_state().items() if isinstance(value, str | int | dict | list)}
        self.page.evaluate("([id, state, manager]) => notebook.open(id, state, manager)", [name, state, interrupts])
        return self.page.locator(f"#{name}-0")

    def end(self, name, view=0):
        """Take a view away, as a notebook does where a cell is run again."""
        self.page.evaluate("([id, view]) => notebook.models.get(id).ends[view]()", [name, view])

    def show(self, name, view):
        """Show another view of a widget."""
        self.page.evaluate("(id) => notebook.show(id)", name)
        return self.page.locator(f"#{name}-{view}")
