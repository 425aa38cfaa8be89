"""Space on disk: an error in words where there is too little, and files that have their space before they are used.

`enough_space`   turns the system's errors about a full disk into a `DiskFullError`, those about its faults into a
                 `DiskError`
`reserve`        takes the space of a file at once, so that a memory map of it cannot fail later
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from halfseen.errors import DiskError, DiskFullError

__all__ = ["disk_full", "enough_space", "is_full", "is_of_disk", "reserve", "size_text"]

REASONS = {
    errno.ENOSPC: "the disk is full",
    getattr(errno, "EDQUOT", errno.ENOSPC + 1000): "your quota of disk space is used up",
    errno.EFBIG: "the file would be larger than is allowed here (see ulimit -f)",
}
FAULTS = {errno.EIO, errno.ENXIO, errno.ENODEV, getattr(errno, "ESTALE", errno.EIO)}  # of a disk, or of the way to it
ZEROS = 1 << 20  # bytes written at a time where space cannot be reserved


@contextmanager
def enough_space(
    folder: str | os.PathLike[str], needed: Callable[[], str], advice: str = "write to another folder"
) -> Iterator[None]:
    """Raise `DiskFullError` where the block finds a disk full, `DiskError` where it finds it faulty.

    Parameters
    ----------
    folder : path                where the block writes
    needed : callable            what needs how much, as "the file needs 3 MB"; called where there is too little
    advice : str                 what to do beside freeing space
    """
    try:
        yield
    except DiskError:
        raise
    except OSError as error:
        if is_full(error):
            raise disk_full(folder, needed(), advice, REASONS[error.errno or 0]) from error
        if error.errno in FAULTS:
            raise DiskError(
                error.errno, f"{os.fspath(folder)}: cannot be written: {error.strerror}. Check the disk, or {advice}."
            ) from error
        raise


def is_full(error: OSError) -> bool:
    """Whether an error says that there is no room for a file."""
    return error.errno in REASONS


def is_of_disk(error: OSError) -> bool:
    """Whether `enough_space` has words for an error."""
    return is_full(error) or error.errno in FAULTS


def disk_full(
    folder: str | os.PathLike[str], needed: str, advice: str, reason: str = REASONS[errno.ENOSPC]
) -> DiskFullError:
    """Return the error that names the folder, the space needed and free, and what to do."""
    try:
        free = f"; {size_text(shutil.disk_usage(folder).free)} is free"
    except OSError:
        free = ""
    return DiskFullError(errno.ENOSPC, f"{os.fspath(folder)}: {reason}: {needed}{free}. Free some space, or {advice}.")


def reserve(descriptor: int, size: int) -> None:
    """Take the space of a new file of `size` bytes.

    Without it a sparse file is mapped, and a process that writes to a page for which the disk has no room is killed
    (SIGBUS).
    """
    allocate = getattr(os, "posix_fallocate", None)
    if allocate is not None:
        try:
            allocate(descriptor, 0, size)
            return
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise  # else the file system cannot reserve space
    left = size
    while left:
        left -= os.write(descriptor, bytes(min(left, ZEROS)))


def size_text(n_bytes: int) -> str:
    """Return a size for people.

    Examples
    --------
    >>> size_text(900), size_text(16 << 20), size_text(3_500_000_000)
    ('900 bytes', '16.8 MB', '3.5 GB')
    """
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    scaled, units = n_bytes / 1000, ["kB", "MB", "GB", "TB"]
    while scaled >= 999.95 and len(units) > 1:
        scaled /= 1000
        units.pop(0)
    return f"{scaled:.1f} {units[0]}"
