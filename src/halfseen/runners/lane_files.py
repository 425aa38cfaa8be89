"""Files that hold a value with its arrays: written whole, mapped when read.

Workers that keep no memory between two tasks keep lanes in such files. Reading one takes a millisecond for any size:
its arrays are pages of the file, which all processes of a machine share, and which the system may drop and read again.
"""

from __future__ import annotations

import mmap
import os
import pickle
import shutil
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from halfseen import locks
from halfseen.whole_file import whole_file

PREFIX = "halfseen-lanes-"  # of the folder of a fit
STALE = 24 * 3600.0  # seconds without a pass after which a fit is held for dead; a living one encodes its lanes again
ALIGNED = 64  # bytes; arrays begin at multiples


def write(path: Path, value: Any) -> None:
    """Write a value; its arrays are kept apart, so that they can be mapped."""
    found: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=found.append)
    buffers = [buffer.raw() for buffer in found]
    sizes = [buffer.nbytes for buffer in buffers]
    with whole_file(path, lasting=False) as file:
        file.write(struct.pack(f"<{2 + len(sizes)}Q", len(sizes), len(head), *sizes))
        file.write(head)
        for buffer in buffers:
            file.write(bytes(-file.tell() % ALIGNED))
            file.write(buffer)


def read(path: Path) -> Any:
    """Return a value; its arrays are mapped, and writing to them changes a private copy."""
    with open(path, "rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    n_buffers, n_head = struct.unpack_from("<2Q", mapped)
    sizes = struct.unpack_from(f"<{n_buffers}Q", mapped, 16)
    at = 16 + 8 * n_buffers
    head = mapped[at : at + n_head]
    at += n_head
    buffers = []
    for size in sizes:
        at += -at % ALIGNED
        buffers.append(mapped[at : at + size])
        at += size
    return pickle.loads(head, buffers=buffers)


def folder_of(parent: str, fit: str) -> Path:
    """Return the folder of a fit."""
    return Path(parent, PREFIX + fit)


def make_folder(folder: Path) -> None:
    """Make the folder of a fit if it is not there; a new one removes those of dead fits."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if folder.is_symlink() or not locks.is_own(folder.stat()):
            raise
    else:
        clear_stale(folder.parent)


def in_use(folder: Path) -> None:
    """Note that a fit goes on."""
    with suppress(OSError):
        os.utime(folder)


def clear_stale(parent: Path) -> None:
    """Remove the folders of fits that have made no pass for a day."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                found = entry.stat(follow_symlinks=False)
                if locks.is_own(found) and found.st_mtime < time.time() - STALE:
                    shutil.rmtree(entry.path, ignore_errors=True)
