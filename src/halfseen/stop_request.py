"""A request to stop, made in another thread: a fit then ends as it does with Ctrl-C.

    with stopping_when(event):
        model.fit(X)                  # elsewhere: event.set()

Work that is done piece by piece (chunks of a pass, batches of a file, draws of a bootstrap) calls `check` before each
piece. It raises `KeyboardInterrupt` in the thread of the fit, once for each request: what is done then to keep the best
model so far is not interrupted again.

Vocabulary
----------
check      raise if a stop is asked for
deferred   inside, a stop is not raised but counted: for work of which half would leave nothing usable
shared     inside, a thread that works for another one stops with it
calling    inside, a function is called when a stop is asked for: for a library that is busy and can be interrupted
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event as Done
from threading import Thread
from typing import Protocol, TypeVar

__all__ = ["Event", "StopRequest", "calling", "check", "current", "deferred", "shared", "stoppable", "stopping_when"]

Item = TypeVar("Item")

LOOK = 0.05  # seconds between two looks at a request while a library is busy


class Event(Protocol):
    """What a request is read from: a `threading.Event`, for example."""

    def is_set(self) -> bool:
        """Whether a stop is asked for."""


class StopRequest:
    """A request that may come at any time, and is taken once by the thread that it is for."""

    def __init__(self, event: Event) -> None:
        self._event = event
        self._asked = self._taken = False

    def is_set(self) -> bool:
        """Whether a stop is asked for and was not taken; it stays so if the event is cleared."""
        if not self._asked and self._event.is_set():
            self._asked = True
        return self._asked and not self._taken

    def take(self) -> bool:
        """Return whether a stop is asked for; then it is not any more."""
        found = self.is_set()
        self._taken = self._taken or found
        return found


_request: ContextVar[StopRequest | None] = ContextVar("halfseen_stop_request", default=None)


@contextmanager
def stopping_when(event: Event) -> Iterator[None]:
    """Stop the fits of this thread inside when the event is set; the innermost event alone counts.

    The fit keeps the best model so far, which is marked as interrupted. It raises `KeyboardInterrupt` where there is no
    model yet: while the data are read, and until the first pass is complete.

    Parameters
    ----------
    event : object with `is_set()`, such as a `threading.Event`

    Examples
    --------
    >>> import threading
    >>> import halfseen as hs
    >>> event = threading.Event()
    >>> event.set()
    >>> with stopping_when(event):
    ...     try:
    ...         hs.LatentClass(2).fit([["a", 1]] * 5 + [["b", 0]] * 4)
    ...     except KeyboardInterrupt:
    ...         print("stopped before there was a model")
    stopped before there was a model
    """
    token = _request.set(StopRequest(event))
    try:
        yield
    finally:
        _request.reset(token)


def check() -> None:
    """Raise `KeyboardInterrupt` if a stop is asked for; the first time only."""
    request = _request.get()
    if request is not None and request.take():
        raise KeyboardInterrupt


def stoppable(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items, and raise a stop before the next one."""
    for item in items:
        check()
        yield item


def current() -> StopRequest | None:
    """Return the request that this thread would obey, or None if there can be none."""
    return _request.get()


@contextmanager
def deferred() -> Iterator[StopRequest | None]:
    """Raise no stop inside; yields the request, which is to be taken by its caller, or None if there can be none."""
    request = _request.get()
    token = _request.set(None)
    try:
        yield request
    finally:
        _request.reset(token)


@contextmanager
def shared(request: StopRequest | None) -> Iterator[None]:
    """Let a thread that works for another one leave its work when that is to stop; only the other one raises."""
    if request is None:
        yield
        return
    token = _request.set(StopRequest(request))
    try:
        yield
    except KeyboardInterrupt:
        if not request.is_set():
            raise
    finally:
        _request.reset(token)


@contextmanager
def calling(interrupt: Callable[[], object]) -> Iterator[None]:
    """Call a function, from another thread, if a stop is asked for inside; `check` then raises as ever."""
    request = _request.get()
    if request is None:
        yield
        return
    done = Done()

    def look() -> None:
        while not done.wait(LOOK):
            if request.is_set():
                interrupt()
                return

    looking = Thread(target=look, name="halfseen stop", daemon=True)
    looking.start()
    try:
        yield
    finally:
        done.set()
        looking.join()
