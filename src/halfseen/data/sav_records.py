"""Records at the beginning of an SPSS file: its weight variable, and what a reader would take on trust.

ReadStat, which reads these files, does not give the weight variable, and crashes where the records of variables or of
labels contradict each other. So they are checked first.

Vocabulary
----------
record     a block of the file that begins with the number of its type: 2 variable, 3 labels, 4 variables with these
           labels, 6 documents, 7 extensions, 999 end; a text takes a record for every 8 characters
place      the number of a record of a variable, from 1
"""

from __future__ import annotations

import struct
from typing import BinaryIO

from halfseen.errors import DataError

VARIABLE, LABELS, LABELLED, DOCUMENTS, EXTENSION, END = 2, 3, 4, 6, 7, 999
HEADER = 176  # bytes
OF_TEXT = (1, 2)  # formats of text: A and AHEX
NOT_KNOWN = 0  # a format that some programs write
MORE_OF_A_TEXT = -1  # in the place of a width


class Records:
    """The records of an SPSS file, read one after the other.

    Parameters
    ----------
    file : binary file
    title : str         its name in messages
    """

    def __init__(self, file: BinaryIO, title: str) -> None:
        self._file, self._title = file, title
        head = self._read(HEADER)
        if head[:4] not in (b"$FL2", b"$FL3"):
            raise self._damaged("its first bytes are not those of an SPSS file")
        self._order = "<" if head[64:68] in (b"\2\0\0\0", b"\3\0\0\0") else ">"
        [self._weight] = struct.unpack(f"{self._order}i", head[76:80])
        self._widths: list[int] = []  # of each record of a variable: 0 is a number
        self._names: set[bytes] = set()

    def checked(self) -> Records:
        """Read all records up to the data; refuse what cannot be."""
        to_come = 0  # records of the same text
        while (of_type := self._number()) != END:
            if to_come and of_type != VARIABLE:
                raise self._damaged("a text ends within its records")
            if of_type == VARIABLE:
                to_come = self._variable(to_come)
            elif of_type == LABELS:
                self._labels()
            elif of_type == DOCUMENTS:
                self._skip(80 * self._number())
            elif of_type == EXTENSION:
                _, size, count = (self._number() for _ in range(3))
                self._skip(size * count)
            else:
                raise self._damaged(f"{of_type} is no type of a record")
        return self

    def weight_among_numbers(self) -> int | None:
        """Return which of the columns of numbers, from 0, is the weight variable; None where there is none."""
        if not 0 < self._weight <= len(self._widths) or self._widths[self._weight - 1] != 0:
            return None
        return self._widths[: self._weight].count(0) - 1

    def _variable(self, to_come: int) -> int:
        """Read a record of a variable; return how many more belong to the same text."""
        width, labelled, n_missing, shown, written = (self._number() for _ in range(5))
        name = self._read(8)
        self._widths.append(width)
        if (width == MORE_OF_A_TEXT) != (to_come > 0):
            raise self._damaged("a text is longer or shorter than its records")
        if labelled:
            self._skip(-(-self._number() // 4) * 4)
        self._skip(8 * abs(n_missing))
        if width == MORE_OF_A_TEXT:
            return to_come - 1
        if name in self._names:
            raise self._damaged(f"two variables are called {name.decode('latin-1').strip()!r}")
        self._names.add(name)
        formats = {(each >> 16) & 0xFF for each in (shown, written)} - {NOT_KNOWN}
        contradicts = any((each in OF_TEXT) != (width > 0) for each in formats)
        if not 0 <= width <= 255 or not -3 <= n_missing <= 3 or contradicts:
            raise self._damaged(f"the type of variable {len(self._widths)} contradicts its format")
        return -(-width // 8) - 1 if width else 0

    def _labels(self) -> None:
        """Read labels of values and the places of the variables that have them."""
        for _ in range(self._number()):
            self._skip(8)
            [length] = self._read(1)
            self._skip(-(-(length + 1) // 8) * 8 - 1)
        if self._number() != LABELLED:
            raise self._damaged("labels of values belong to no variable")
        places = [self._number() for _ in range(self._number())]
        known = [self._widths[place - 1] for place in places if 0 < place <= len(self._widths)]
        if len(known) < len(places) or MORE_OF_A_TEXT in known or len({width > 0 for width in known}) > 1:
            raise self._damaged("labels of values belong to a variable that is not there, or to texts and numbers")

    def _number(self) -> int:
        [found] = struct.unpack(f"{self._order}i", self._read(4))
        return int(found)

    def _read(self, size: int) -> bytes:
        found = self._file.read(size)
        if len(found) < size:
            raise self._damaged("it ends before its data")
        return found

    def _skip(self, size: int) -> None:
        if size < 0:
            raise self._damaged("the length of a record is negative")
        self._file.seek(size, 1)

    def _damaged(self, why: str) -> DataError:
        return DataError(
            f"{self._title} cannot be read as a .sav file: {why}. It may be damaged, or of another format than its "
            "extension says. Save it again, or export it as CSV."
        )
