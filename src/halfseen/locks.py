"""Locks on open files, released by the system when the process that holds one ends, however it ends."""

from __future__ import annotations

import errno
import os
import sys

__all__ = ["is_own", "same_file", "take", "take_if_possible"]

BEYOND = (1 << 31) - 2  # byte that is locked on Windows, where others cannot read what is locked: the last possible


def take(descriptor: int) -> bool:
    """Lock an open file until it is closed; False if it is locked already, by this process or another.

    Raises OSError where the file system has no locks.
    """
    try:
        _lock(descriptor)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True


def take_if_possible(descriptor: int) -> bool:
    """Lock an open file; True also where the file system has no locks: then nobody can take it."""
    try:
        return take(descriptor)
    except OSError:
        return True


def same_file(descriptor: int, path: str | os.PathLike[str]) -> bool:
    """Whether a path still leads to the file that was opened: it may have been removed or replaced since."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def is_own(found: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user."""
    return not hasattr(os, "getuid") or found.st_uid == os.getuid()


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        where = os.lseek(descriptor, 0, os.SEEK_CUR)
        try:
            os.lseek(descriptor, BEYOND, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(descriptor, where, os.SEEK_SET)

else:

    def _lock(descriptor: int) -> None:
        try:
            import fcntl
        except ImportError:
            raise OSError(errno.ENOTSUP, "this system has no locks") from None
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
