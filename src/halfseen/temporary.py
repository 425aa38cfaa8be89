"""Temporary folders that are removed with their owner, or by the next run if the owner was killed.

Each has a file that its owner keeps locked. The system releases the lock when the owner ends, however it ends: a folder
whose lock can be taken is of a dead process. No process number is compared: numbers are used again, and mean nothing on
other machines that share the disk. Folders without such a file, links and folders of other users are left alone.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from halfseen import locks
from halfseen.disk import enough_space

__all__ = ["ADVICE", "TemporaryFolder"]

PREFIX = "halfseen-"
LOCK = ".halfseen-lock"
ADVICE = "set TMPDIR to a folder with more"

_cleared: set[str] = set()  # places where this process has removed what dead ones left


class TemporaryFolder:
    """A new folder in the one that TMPDIR names; removed at the end of its `with` block, or with this object.

    Attributes
    ----------
    name : str
    """

    def __init__(self) -> None:
        parent = tempfile.gettempdir()
        if parent not in _cleared:
            _cleared.add(parent)
            clear_dead(parent)
        with enough_space(parent, lambda: "a temporary folder needs some kB", ADVICE):
            self.name, lock = _locked_folder()
        self.remove = weakref.finalize(self, _remove, self.name, lock, os.getpid())

    def __enter__(self) -> str:
        return self.name

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def space_used(self) -> int:
        """Return the bytes of all files inside."""
        return sum(path.stat().st_size for path in Path(self.name).rglob("*") if path.is_file())


def _locked_folder() -> tuple[str, int]:
    """Make a folder; return its name and its open, locked file."""
    while True:
        name = tempfile.mkdtemp(prefix=PREFIX)
        path = os.path.join(name, LOCK)
        lock = -1
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            if locks.take_if_possible(lock) and locks.same_file(lock, path):
                return name, lock
        except BaseException:
            _remove(name, lock, os.getpid())
            raise
        _remove(name, lock, os.getpid())  # another process found it before it was locked, and removes it


def _remove(name: str, lock: int, owner: int) -> None:
    if os.getpid() != owner:
        return  # a copy of the owner made by fork
    if sys.platform == "win32" and lock >= 0:  # where open files cannot be removed
        os.close(lock)
    shutil.rmtree(name, ignore_errors=True)
    if sys.platform != "win32" and lock >= 0:
        os.close(lock)


def clear_dead(parent: str) -> None:
    """Remove the folders of dead processes."""
    try:
        with os.scandir(parent) as entries:
            names = [entry.path for entry in entries if entry.name.startswith(PREFIX) and _is_own_folder(entry)]
    except OSError:
        return
    for name in names:
        with suppress(OSError):  # what cannot be looked at is left alone
            _remove_if_dead(name)


def _is_own_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and locks.is_own(entry.stat(follow_symlinks=False))
    except OSError:
        return False


def _remove_if_dead(name: str) -> None:
    lock = os.open(os.path.join(name, LOCK), os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    found = os.fstat(lock)
    if stat.S_ISREG(found.st_mode) and locks.is_own(found) and locks.take(lock):
        _remove(name, lock, os.getpid())
    else:
        os.close(lock)
