"""The status line: one line on a terminal that says what a command is doing while it runs.

It is begun before anything heavy is imported, and leaves nothing behind: what prints hides it first (`hidden`), and
the end of the command removes it. Nothing is written where standard error is no terminal. A thread keeps it moving, so
that a long step is seen to run; after some seconds it also shows how many have passed. Where the output is collected,
what is said goes there.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic

from halfseen.app import collected

__all__ = ["begin", "end", "fitted", "hidden", "say", "width"]

SIGNS = "|/-\\"
TICK = 0.2  # seconds between two signs
LONG = 5.0  # seconds after which they are counted
CLEAR = "\r\x1b[2K"
NUMBER = re.compile(r"[-+]?[\d.,:%]*\d[\d.,:%]*")
SHORTEST = 4  # characters of a word that was cut


class _Line:
    """The line of this process; `text` is None while no command runs."""

    def __init__(self) -> None:
        self.parts: tuple[str, ...] | None = None
        self.began = 0.0
        self.n_drawn = 0
        self.on_screen = False
        self.lock = threading.RLock()
        self.stop = threading.Event()

    def draw(self) -> None:
        with self.lock:
            if self.parts is None:
                return
            seconds, most = monotonic() - self.began, width() - 3
            text, passed = fitted(self.parts, most), f", {seconds:,.0f} s"
            if seconds > LONG and len(text + passed) <= most:
                text += passed
            sys.stderr.write(f"{CLEAR}{SIGNS[self.n_drawn % len(SIGNS)]} {text}")
            sys.stderr.flush()
            self.n_drawn += 1
            self.on_screen = True

    def clear(self) -> None:
        if self.on_screen:
            sys.stderr.write(CLEAR)
            sys.stderr.flush()
            self.on_screen = False

    def keep_moving(self, stop: threading.Event) -> None:
        while not stop.wait(TICK):
            self.draw()


_line = _Line()


def begin(*parts: str) -> None:
    """Show the line from now on, if standard error is a terminal."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return
    end()
    with _line.lock:
        _line.parts, _line.began, _line.stop = parts, monotonic(), threading.Event()
        _line.draw()
    threading.Thread(target=_line.keep_moving, args=(_line.stop,), daemon=True).start()


def say(*parts: str) -> None:
    """Change what the line says, if there is one; parts are separated by commas."""
    kept = collected.current()
    if kept is not None:
        kept.status = parts
        return
    with _line.lock:
        if _line.parts is not None:
            _line.parts = parts


def end() -> None:
    """Remove the line."""
    with _line.lock:
        _line.stop.set()
        _line.clear()
        _line.parts = None


@contextmanager
def hidden() -> Iterator[None]:
    """Remove the line while something is printed; it comes back with the next sign."""
    with _line.lock:
        _line.clear()
        yield


def width() -> int:
    """Return the number of columns of the terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def fitted(parts: Sequence[str], width: int) -> str:
    """Return parts as one line of at most so many characters.

    Parts between the first and the last are left out first; then words are cut in the middle, the longest first. A
    number is shown whole or not at all.

    Examples
    --------
    >>> parts = ["6 classes", "13 of 16 starts finished", "log-likelihood -5,420.2"]
    >>> fitted(parts, 80)
    '6 classes, 13 of 16 starts finished, log-likelihood -5,420.2'
    >>> fitted(parts, 40)
    '6 classes, log-likelihood -5,420.2'
    >>> fitted(parts, 20)
    'log-lik…ood -5,420.2'
    """
    left = [part for part in parts if part]
    while len(left) > 1 and len(", ".join(left)) > width:
        del left[1 if len(left) > 2 else 0]
    words = ", ".join(left).split(" ")
    while (over := len(" ".join(words)) - width) > 0:
        longest = max(range(len(words)), key=lambda i: 0 if NUMBER.fullmatch(words[i]) else len(words[i]))
        word = words[longest]
        if NUMBER.fullmatch(word) or len(word) <= SHORTEST:
            if len(words) == 1:
                return ""
            del words[min(range(len(words)), key=lambda i: bool(NUMBER.fullmatch(words[i])))]
        else:
            kept = max(SHORTEST, len(word) - over) - 1
            words[longest] = f"{word[: (2 * kept + 2) // 3]}…{word[len(word) - kept + (2 * kept + 2) // 3 :]}"
    return " ".join(words)
