"""Atomic writing: a file is replaced as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from halfseen.disk import enough_space, size_text


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write bytes to; it replaces `path` when the block ends without an error.

    Until then the bytes are in a temporary file in the same folder, which an error removes: readers see the old file
    or the new one, never a part. If `path` is a symbolic link, the file that it points to is replaced. A full disk is
    a `DiskFullError`.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(21, "this is a folder", str(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    written = 0

    def needed() -> str:
        return f"{target.name} needs more than {size_text(written)}"

    with enough_space(target.parent, needed):
        try:
            with open(temporary, "xb") as file:
                try:
                    yield file
                    file.flush()
                    os.fsync(file.fileno())
                finally:
                    written = 0 if file.closed else file.tell()
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)  # before the free space is measured
