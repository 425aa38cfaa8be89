"""Parts of a file of sentences, which the workers of a cluster read: bytes from one end of a line to another."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from halfseen.data.encodings import encoding_of
from halfseen.families.grammar.sentence_file import read_line

PART = 16 << 20  # bytes of a part
MOST_PARTS = 1024


@dataclass(frozen=True)
class LinePart:
    """The lines of a file that begin in a range of its bytes.

    Parameters
    ----------
    path, encoding : str
    begin, end : int        bytes
    brackets : bool         whether round brackets enclose known phrases
    """

    path: str
    encoding: str
    begin: int
    end: int
    brackets: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return ("sentence", "brackets") if self.brackets else ("sentence",)

    @property
    def title(self) -> str:
        """What the file is called in messages."""
        return self.path

    @property
    def files(self) -> tuple[str, ...]:
        """The file."""
        return (self.path,)

    def __call__(self) -> Any:
        """Read them, as an Arrow table."""
        import pyarrow as pa

        text = b"".join(self._lines()).decode(self.encoding)
        found = [read_line(line, self.brackets, self.path) for line in text.splitlines() if line.strip()]
        columns = {"sentence": pa.array([words for words, _ in found], pa.list_(pa.string()))}
        if self.brackets:
            columns["brackets"] = pa.array([spans for _, spans in found], pa.list_(pa.list_(pa.int32())))
        return pa.table(columns)

    def _lines(self) -> list[bytes]:
        found = []
        with open(self.path, "rb") as file:
            if self.begin:
                file.seek(self.begin - 1)
                file.readline()  # to the end of a line that begins before, or to the end just before
            while file.tell() < self.end and (line := file.readline()):
                found.append(line)
        return found


def parts_of(path: str, brackets: bool) -> list[LinePart]:
    """Return the parts of a file; they depend on the file alone."""
    size, encoding = os.path.getsize(path), encoding_of(path)
    width = size if encoding == "utf-16" else max(PART, -(-size // MOST_PARTS))  # whose line ends are two bytes
    return [
        LinePart(path, encoding, begin, min(begin + width, size), brackets) for begin in range(0, max(size, 1), width)
    ]
