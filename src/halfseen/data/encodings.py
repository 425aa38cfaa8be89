"""Text files in unknown encodings: transcripts, captions, dictionaries, TextGrids."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

__all__ = ["read_text"]


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file: UTF-16 if it has its byte order mark, else UTF-8, or Latin-1 if that fails.

    Examples
    --------
    >>> import tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "a.txt")
    >>> for encoding in ("utf-8", "utf-16", "latin-1"):
    ...     _ = Path(path).write_text("écouté", encoding=encoding)
    ...     print(read_text(path))
    écouté
    écouté
    écouté
    """
    raw = Path(path).read_bytes()
    marked = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return raw.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
