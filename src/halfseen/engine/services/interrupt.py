"""Ctrl-C deferred to the end of a pass, where half a pass would leave no usable parameters."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

log = logging.getLogger("halfseen")


class Interrupts:
    """Number of keyboard interrupts so far."""

    times = 0


@contextmanager
def deferred_interrupt(wanted: bool = True) -> Iterator[Interrupts]:
    """Count the first keyboard interrupt instead of raising it; the second one is raised.

    Python delivers interrupts to the main thread only. A handler that the program has installed itself is kept.

    Examples
    --------
    >>> with deferred_interrupt() as asked:
    ...     signal.raise_signal(signal.SIGINT)
    ...     print("still running")
    still running
    >>> asked.times
    1
    """
    asked = Interrupts()

    def handle(number: int, frame: Any) -> None:
        asked.times += 1
        if asked.times > 1:
            raise KeyboardInterrupt
        log.warning("interrupted: stopping after this iteration; interrupt again to stop at once")

    mine = wanted and threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield asked
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
