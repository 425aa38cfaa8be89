"""A widget without a browser: what it sends is kept, and messages are given to it as a page would send them."""

import json
import time
from itertools import count
from threading import Condition

from comm.base_comm import BaseComm


class Comm(BaseComm):
    """A comm that keeps what is sent."""

    def __init__(self, *args, **kwargs):
        self.sent = []
        self.heard = Condition()
        super().__init__(*args, **kwargs)

    def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
        with self.heard:
            self.sent.append((msg_type, json.loads(json.dumps(data)), buffers))
            self.heard.notify_all()


class Page:
    """The page of a widget: asks as `messages.js` does."""

    numbers = count()

    def __init__(self, widget):
        self.widget, self.comm = widget, widget.comm

    def send(self, **message):
        self.widget._handle_msg({"content": {"data": {"method": "custom", "content": message}}, "buffers": []})

    def customs(self):
        return [
            (data["content"], buffers) for _, data, buffers in list(self.comm.sent) if data.get("method") == "custom"
        ]

    def until(self, holds, seconds=30):
        """Wait until something holds for what was sent; return it."""
        end = time.monotonic() + seconds
        with self.comm.heard:
            while not (found := holds()):
                assert self.comm.heard.wait(end - time.monotonic()), "it did not come"
        return found

    def ask(self, **message):
        """Send a message with an id; return the answer and what is beside it."""
        own = f"test {next(self.numbers)}"
        self.send(id=own, **message)
        return self.until(lambda: next(((c, b) for c, b in self.customs() if c.get("id") == own), None))

    def request(self, method, path, body=None):
        """Return status and answer of a request."""
        content, buffers = self.ask(method=method, path=f"/api/{path}", body=body)
        return content["status"], bytes(buffers[0]) if "file" in content else json.loads(content["text"])

    def get(self, path):
        status, found = self.request("GET", path)
        assert status == 200, found
        return found

    def post(self, path, **body):
        status, found = self.request("POST", path, body)
        assert status in (200, 202), found
        return found

    def events(self):
        return [tuple(event) for content, _ in self.customs() for event in content.get("events", ())]

    def fit(self, path="fit"):
        """Fit, and wait for the end; return the last event."""
        if not any("events" in content for content, _ in self.customs()):
            self.ask(after=0)
        job = self.post(path)["job"]
        self.until(lambda: any(self.ends(job)))
        return self.ends(job)[0]

    def ends(self, job):
        found = [(name, json.loads(text)) for _, name, text in self.events() if name in ("done", "failed")]
        return [(name, data) for name, data in found if data["job"] == job]
