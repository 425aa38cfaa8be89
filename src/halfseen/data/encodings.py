"""Text files in unknown encodings: transcripts, captions, dictionaries, TextGrids."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

__all__ = ["encoding_of", "read_text"]

PIECE = 1 << 20  # bytes that are looked at together


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
    return Path(path).read_bytes().decode(encoding_of(path))


def encoding_of(path: str | os.PathLike[str]) -> str:
    """Return the encoding of a text file, which is read to its end."""
    with open(path, "rb") as file:
        first = file.read(3)
        if first and len(first) < 3 and codecs.BOM_UTF8.startswith(first):
            return "latin-1"  # the decoder below would take the beginning of a mark for no text
        marked = first[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        file.seek(0)
        found = "utf-16" if marked else "utf-8-sig"
        decoder = codecs.getincrementaldecoder(found)()
        try:
            while piece := file.read(PIECE):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "latin-1"
    return found
