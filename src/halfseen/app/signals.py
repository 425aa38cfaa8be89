"""Ctrl-C and SIGTERM end a command in the same way, with the model so far; the exit code tells them apart.

Only the command line handles SIGTERM; the library installs no handler.
"""

from __future__ import annotations

import signal
from typing import Any

INTERRUPTED, TERMINATED = 130, 143  # 128 and the number of the signal, as shells do

_received: list[int] = []  # SIGTERM, once it has come


def handle() -> None:
    """Let SIGTERM interrupt as Ctrl-C does, and let a command in the background be interrupted."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script's `halfseen fit ... &`: kill -INT ends it too
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # else whoever started this wants it otherwise
        signal.signal(signal.SIGTERM, _terminate)


def _terminate(number: int, frame: Any) -> None:
    _received.append(number)
    interrupt = signal.getsignal(signal.SIGINT)  # that of the moment: a fit may wait for the end of a pass
    if callable(interrupt):
        interrupt(signal.SIGINT, frame)  # and not by raising the signal, which a blocked read would not notice


def exit_code() -> int:
    """Return the exit code of a command that was interrupted."""
    return TERMINATED if _received else INTERRUPTED
