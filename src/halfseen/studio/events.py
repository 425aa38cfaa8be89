"""Events for pages: numbered, in a ring, so that a page that lost its connection goes on where it stopped."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from threading import Lock
from typing import Any, NamedTuple

KEPT = 2000  # events; a page that missed more reads the whole state anew
BEAT = 15.0  # seconds without an event after which a line is sent: a lost connection is noticed


class Event(NamedTuple):
    """A numbered event: `data` is JSON."""

    number: int
    name: str
    data: str

    @property
    def text(self) -> str:
        """The event as it is sent."""
        return f"id: {self.number}\nevent: {self.name}\ndata: {self.data}\n\n"


class Events:
    """The last events, and who waits for the next.

    Examples
    --------
    >>> events = Events()
    >>> events.publish("note", {"text": "first"}), events.publish("note", {"text": "second"})
    (1, 2)
    >>> [event.data for event in events.after(1)]
    ['{"text": "second"}']
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept: deque[Event] = deque(maxlen=kept)
        self._number = 0
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._hearers: list[Callable[[Event], object]] = []
        self._lock = Lock()
        self.closed = False

    def publish(self, name: str, data: Any) -> int:
        """Add an event, from any thread; return its number."""
        text = json.dumps(data, allow_nan=False, separators=(", ", ": "))
        with self._lock:
            self._number += 1
            self._kept.append(Event(self._number, name, text))
            self._wake()
            for hear in self._hearers:
                hear(self._kept[-1])
            return self._number

    def listen(self, hear: Callable[[Event], object]) -> Callable[[], None]:
        """Call a function with every event to come, in the thread that publishes it; it must be quick.

        Returns what ends this.
        """
        with self._lock:
            self._hearers.append(hear)

        def end() -> None:
            with self._lock:
                if hear in self._hearers:
                    self._hearers.remove(hear)

        return end

    def close(self) -> None:
        """End all streams: the server ends."""
        with self._lock:
            self.closed = True
            self._wake()

    def _wake(self) -> None:
        for loop, waiting in self._waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(waiting.set)

    @property
    def newest(self) -> int:
        """The number of the last event."""
        return self._number

    def after(self, number: int) -> list[Event]:
        """Return the events after one; where some of them are gone, or it is not of this server, a reset."""
        with self._lock:
            return self._after(number)

    def replay(self, number: int, take: Callable[[list[Event]], object]) -> None:
        """Hand over the events after one, before those who listen hear of any other."""
        with self._lock:
            take(self._after(number))

    def _after(self, number: int) -> list[Event]:
        first = self._number - len(self._kept) + 1
        if number > self._number or number < first - 1:
            return [Event(self._number, "reset", "{}")]
        return [event for event in self._kept if event.number > number]

    async def stream(self, number: int) -> AsyncIterator[str]:
        """Yield the events after one as they come, as text to send."""
        loop, waiting = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            self._waiting.add((loop, waiting))
        try:
            yield "retry: 1000\n\n"
            while not self.closed:
                waiting.clear()
                for event in self.after(number):
                    number = event.number
                    yield event.text
                try:
                    await asyncio.wait_for(waiting.wait(), BEAT)
                except TimeoutError:
                    yield ": still here\n\n"
        finally:
            with self._lock:
                self._waiting.discard((loop, waiting))
