"""Sequences in files that other processes read: rows are dealt to parts that hold whole sequences.

A part of a file, such as some row groups, begins and ends anywhere. Where a file is sorted by sequence, few sequences
are in two parts: each goes to the part in which it begins, whose reader looks into the next part too. Where sequences
are all over the files, each of a few readers goes through all parts. Rows keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data.files import FilePart
from halfseen.data.sequence_partition import name_hash

Hashes = NDArray[np.uint64]

AGAIN = 2  # times that a part may be read so that sequences stay where they begin
READERS = 8  # where sequences are all over the files


@dataclass(frozen=True)
class Reader:
    """Whole sequences out of parts of files.

    Parameters
    ----------
    parts : sequence of FilePart
    group : str                  the column that names sequences
    chosen : sequence of arrays or None
        For each part hashes of the names that are read; None: those whose hash leaves `number` when divided by `among`.
    number, among : int
    """

    parts: Sequence[FilePart]
    group: str
    chosen: Sequence[Hashes] | None = None
    number: int = 0
    among: int = 1

    def __call__(self) -> Any:
        """Read them, as an Arrow table."""
        import pyarrow as pa

        return pa.concat_tables([self._some(part(), k) for k, part in enumerate(self.parts)])

    def _some(self, table: Any, k: int) -> Any:
        """Return the rows of a part that are read."""
        import pyarrow as pa

        coded = table.column(self.group).combine_chunks().dictionary_encode()
        names = np.array([name_hash(name) for name in coded.dictionary.to_pylist()], dtype=np.uint64)
        used = np.isin(names, self.chosen[k]) if self.chosen else names % np.uint64(self.among) == self.number
        codes = coded.indices.to_numpy(zero_copy_only=False)
        missing = np.isnan(codes) if codes.dtype.kind == "f" else np.zeros(len(codes), dtype=bool)
        rows = missing | used[np.where(missing, 0, codes).astype(np.int64)] if len(names) else missing
        return table.filter(pa.array(rows))


def readers(parts: Sequence[FilePart], group: str, hashes: Sequence[Hashes | None]) -> list[Reader]:
    """Return readers of whole sequences, given hashes of the names in each part; they depend on the files alone."""
    found = [np.zeros(0, dtype=np.uint64) if own is None else np.unique(own) for own in hashes]
    every = np.concatenate(found)
    part = np.repeat(np.arange(len(found)), [len(own) for own in found])
    _, first, inverse = np.unique(every, return_index=True, return_inverse=True)
    owner = part[first][inverse]  # the part in which the sequence of each begins
    needed = np.unique(np.stack([owner, part]), axis=1)
    if needed.shape[1] > AGAIN * len(parts):
        n_readers = min(READERS, len(parts))
        return [Reader(parts, group, None, number, n_readers) for number in range(n_readers)]
    return [
        Reader(
            [parts[k] for k in needed[1, needed[0] == j]],
            group,
            [every[(owner == j) & (part == k)] for k in needed[1, needed[0] == j]],
        )
        for j in np.unique(owner).tolist()
    ]
