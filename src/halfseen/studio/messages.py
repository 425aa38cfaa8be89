"""Requests and events of pages as messages: what takes the place of HTTP where there is no server, as in a notebook.

From a page:

- ``{"id", "method", "path", "body"}``   a request, with the path of HTTP: "/api/rows?start=0"
- ``{"id", "after"}``                    events with a number above this one, and all to come
- ``{"id", "ping"}``                     whether anyone is there

To pages:

- ``{"id", "status", "text"}``           an answer in JSON, or the words of an error
- ``{"id", "status", "file"}``           a file: {"name", "media"}, its content beside the message
- ``{"id", "events"}``, ``{"events"}``   the events that were asked for, and those that come: [number, name, JSON]
- ``{"id"}``                             the answer to a ping

Answers are computed in threads, so that the kernel is free for cells, and sent by one: messages leave in order. What
changes the session is done by one thread, in the order in which it was asked for.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from halfseen.studio import routes
from halfseen.studio.events import Event
from halfseen.studio.routes import Ask, Download
from halfseen.studio.session import Session

ANSWERING = 2  # threads that answer questions: a long computation does not hold up the rows of a grid
QUESTIONS = ("view", "em", "bound", "decide", "lesson", "download/decisions")  # that are posted, and change nothing
API = "/api/"

log = logging.getLogger("halfseen")

Message = dict[str, Any]
Send = Callable[[Message, list[bytes]], object]


class Correspondence:
    """Answers the messages of the pages that show a session.

    Parameters
    ----------
    session : Session
    send : callable      sends a message with what is beside it, from a thread of this object
    """

    def __init__(self, session: Session, send: Send) -> None:
        self._session, self._send = session, send
        self._asked: SimpleQueue[Message | None] = SimpleQueue()
        self._to_do: SimpleQueue[Message | None] = SimpleQueue()
        self._said: SimpleQueue[tuple[Message, list[bytes]] | None] = SimpleQueue()
        queues = [self._to_do, *[self._asked] * ANSWERING]
        self._threads = [
            Thread(target=self._answering, args=(queue,), name="halfseen studio", daemon=True) for queue in queues
        ]
        self._threads.append(Thread(target=self._sending, name="halfseen studio messages", daemon=True))
        self._end_events: Callable[[], None] | None = None
        for thread in self._threads:
            thread.start()

    def hear(self, content: Any) -> None:
        """Take a message of a page; the answer comes later."""
        if not isinstance(content, Mapping) or not isinstance(content.get("id"), str):
            log.warning("studio: a message that is none: %.80r", content)
            return
        message = dict(content)
        if "ping" in message:
            self._say({"id": message["id"]})
        elif "after" in message:
            self._replay(message)
        else:
            changes = message.get("method") == "POST" and str(message.get("path")).removeprefix(API) not in QUESTIONS
            (self._to_do if changes else self._asked).put(message)

    def close(self) -> None:
        """End the threads, when they have sent what there is."""
        if self._end_events is not None:
            self._end_events()
        for queue in (self._to_do, *[self._asked] * ANSWERING):
            queue.put(None)
        for thread in self._threads[:-1]:
            thread.join(5)
        self._said.put(None)
        self._threads[-1].join(5)

    def _say(self, message: Message, *beside: bytes) -> None:
        self._said.put((message, list(beside)))

    # ---- events --------------------------------------------------------------------------------------------------

    def _replay(self, message: Message) -> None:
        """Send the events after one, and from now on all others."""
        after = message["after"]
        number = after if isinstance(after, int) and not isinstance(after, bool) and after >= 0 else 0
        if self._end_events is None:
            self._end_events = self._session.events.listen(lambda event: self._say({"events": [self._event(event)]}))
        self._session.events.replay(
            number, lambda found: self._say({"id": message["id"], "events": [self._event(event) for event in found]})
        )

    def _event(self, event: Event) -> list[Any]:
        return [event.number, event.name, self._named(event.data)]

    def _named(self, text: str) -> str:
        """Return JSON in which a table in memory has its own name."""
        held = self._session.held
        return text if held is None else held.renamed(text)

    # ---- answers -------------------------------------------------------------------------------------------------

    def _answering(self, asked: SimpleQueue[Message | None]) -> None:
        while (message := asked.get()) is not None:
            found, beside = self._answer(message)
            self._say({"id": message["id"], **found}, *beside)

    def _answer(self, message: Message) -> tuple[Message, list[bytes]]:
        """Return the answer to a request, and the content of a file."""
        method, path, body = message.get("method"), message.get("path"), message.get("body")
        if method not in ("GET", "POST") or not isinstance(path, str) or not path.startswith(API):
            return {"status": 422, "text": json.dumps({"error": "This is not a request that can be answered."})}, []
        address = urlsplit(path)
        ask = Ask(self._session, dict(parse_qsl(address.query)), body if isinstance(body, dict) else {})
        status, found = routes.answered(method, address.path.removeprefix(API), ask)
        if isinstance(found, Download):
            return {"status": status, "file": {"name": found.name, "media": found.media}}, [found.content]
        try:
            text = json.dumps(found, allow_nan=False)
        except ValueError:
            log.exception("studio: %s", path)
            return {"status": 500, "text": json.dumps({"error": "An answer has a number that is none. Report it."})}, []
        return {"status": status, "text": self._named(text)}, []

    def _sending(self) -> None:
        while (found := self._said.get()) is not None:
            try:
                self._send(*found)
            except Exception:  # the page is gone, or the kernel is about to end
                log.debug("studio: a message was not sent", exc_info=True)
