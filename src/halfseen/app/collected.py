"""What a command would print, kept for a caller in the same process.

    with collected() as said:
        fitted(request)
    said.notes

Inside, nothing of this thread is printed and its status line is not drawn; other threads print as ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

__all__ = ["Collected", "collected", "current"]


@dataclass
class Collected:
    """What was said so far; another thread may read it meanwhile.

    Attributes
    ----------
    notes : list of str        lines of standard error: notes, warnings, tables of columns
    results : list of str      lines of standard output
    status : tuple of str      parts of the status line: what is being done
    """

    notes: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)
    status: tuple[str, ...] = ()


_current: ContextVar[Collected | None] = ContextVar("halfseen_collected", default=None)


def current() -> Collected | None:
    """Return what keeps the output of this thread, or None where it is printed."""
    return _current.get()


@contextmanager
def collected() -> Iterator[Collected]:
    """Keep what commands in this thread would print; the innermost context alone gets it.

    Examples
    --------
    >>> from halfseen.app import console
    >>> with collected() as said:
    ...     console.note("note: two rows are alike")
    ...     console.show("class 0 (100%)")
    >>> said.notes, said.results
    (['note: two rows are alike'], ['class 0 (100%)'])
    """
    found = Collected()
    token = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(token)
