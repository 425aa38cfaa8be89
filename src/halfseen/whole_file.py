"""Atomic writing: a file is replaced as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from halfseen import locks
from halfseen.disk import enough_space, size_text

PREFIX, SUFFIX = ".halfseen-", ".tmp"  # of a file that is being written

_cleared: set[Path] = set()  # folders in which this process has removed what dead ones left


@contextmanager
def whole_file(path: str | os.PathLike[str], lasting: bool = True) -> Iterator[BinaryIO]:
    """Open a file to write bytes to; it replaces `path` when the block ends without an error.

    Until then the bytes are in a temporary file in the same folder, which an error removes: readers see the old file
    or the new one, never a part. If `path` is a symbolic link, the file that it points to is replaced. A full disk is
    a `DiskFullError`. What a killed process left is removed by the next one that writes into the folder. A file that
    need not outlast the machine (`lasting=False`) is not forced to the disk.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(21, "this is a folder", str(path))
    if target.parent not in _cleared:
        _cleared.add(target.parent)
        _clear_dead(target.parent)
    written = 0

    def needed() -> str:
        return f"{target.name} needs more than {size_text(written)}"

    with enough_space(target.parent, needed):
        temporary, opened = _new_file(target.parent)
        try:
            with opened as file:
                try:
                    yield file
                    file.flush()
                    if lasting:
                        os.fsync(file.fileno())
                finally:
                    written = 0 if file.closed else file.tell()
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)  # before the free space is measured


def _new_file(folder: Path) -> tuple[Path, BinaryIO]:
    """Open a new file that is locked as long as it is open, where there are locks."""
    while True:
        path = folder / f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}"
        file = open(path, "xb")  # noqa: SIM115
        if locks.take_if_possible(file.fileno()) and locks.same_file(file.fileno(), path):
            return path, file
        file.close()  # another process found it before it was locked, and removes it
        path.unlink(missing_ok=True)


def _clear_dead(folder: Path) -> None:
    """Remove the unfinished files of dead processes: those of this user that nobody has locked."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX):
                with suppress(OSError):
                    _remove_if_dead(entry)


def _remove_if_dead(entry: os.DirEntry[str]) -> None:
    if not entry.is_file(follow_symlinks=False) or not locks.is_own(entry.stat(follow_symlinks=False)):
        return
    with open(entry.path, "rb") as file:
        dead = locks.take(file.fileno())
    if dead:
        os.unlink(entry.path)
