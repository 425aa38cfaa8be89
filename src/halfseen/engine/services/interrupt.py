"""Ctrl-C, or a stop from another thread, deferred to the end of a pass: half of one leaves no usable parameters."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from halfseen.stop_request import StopRequest, deferred

log = logging.getLogger("halfseen")


class Interrupts:
    """Interrupts so far: from the keyboard, and a stop that another thread asked for."""

    def __init__(self, request: StopRequest | None = None) -> None:
        self.from_keyboard = self._stops = 0
        self._request = request

    @property
    def times(self) -> int:
        """Their number."""
        if self._request is not None and self._request.take():
            self._stops += 1
        return self.from_keyboard + self._stops


@contextmanager
def deferred_interrupt(wanted: bool = True) -> Iterator[Interrupts]:
    """Count the first keyboard interrupt instead of raising it; the second one is raised.

    Python delivers interrupts to the main thread only. A handler that the program has installed itself is kept. A stop
    that another thread asks for (`stop_request`) is counted too.

    Examples
    --------
    >>> with deferred_interrupt() as asked:
    ...     signal.raise_signal(signal.SIGINT)
    ...     print("still running")
    still running
    >>> asked.times
    1
    """
    if not wanted:
        yield Interrupts()
        return
    with deferred() as request:
        asked = Interrupts(request)
        with _handled(asked):
            yield asked


@contextmanager
def _handled(asked: Interrupts) -> Iterator[None]:
    """Count interrupts from the keyboard, where this thread gets them."""

    def handle(number: int, frame: Any) -> None:
        asked.from_keyboard += 1
        if asked.times > 1:
            raise KeyboardInterrupt
        log.warning("interrupted: stopping after this iteration; interrupt again to stop at once")

    mine = threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
