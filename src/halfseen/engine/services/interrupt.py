"""Ctrl-C that waits for the end of a pass, where half a pass is worth nothing."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

log = logging.getLogger("halfseen")


class Asked:
    """How often an end was asked for."""

    times = 0


@contextmanager
def patience(wanted: bool = True) -> Iterator[Asked]:
    """Hold a first keyboard interrupt back, and count it; a second one comes through.

    Interrupts come to the main thread alone, and a program that handles them in its own way keeps doing so.

    Examples
    --------
    >>> with patience() as asked:
    ...     signal.raise_signal(signal.SIGINT)
    ...     print("to the end")
    to the end
    >>> asked.times
    1
    """
    asked = Asked()

    def handle(number: int, frame: Any) -> None:
        asked.times += 1
        if asked.times > 1:
            raise KeyboardInterrupt
        log.warning("interrupted: the pass is made to its end; once more ends it at once")

    mine = wanted and threading.current_thread() is threading.main_thread()
    if not mine or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield asked
        return
    before = signal.signal(signal.SIGINT, handle)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
