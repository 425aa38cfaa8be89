"""Neighbouring columns of categories taken together, so that kernels look up one cell for several columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.kernels import active as kernels


class Groups:
    """Columns of categories in groups of at most `most` combinations, or of one column.

    Attributes
    ----------
    n_rows, n_cells : int          rows of all tables of groups; categories of all columns
    starts : (G + 1,) array        the first row of the table of each group, and the end
    rows, of_cells : (M,) arrays   which category (`of_cells`) is part of which combination (`rows`)
    """

    def __init__(self, sizes: Sequence[int], missing: Sequence[bool], most: int) -> None:
        # Digit 0 is 'missing' where cells are missing, and in a column without categories.
        first_digit = [int(absent or size == 0) for size, absent in zip(sizes, missing, strict=True)]
        digits = [size + first for size, first in zip(sizes, first_digit, strict=True)]
        self.members = _greedy(digits, most)
        self.strides = np.ones(len(sizes), dtype=np.int64)
        self.firsts = np.zeros(len(self.members), dtype=np.int64)
        self.stops = np.array([members[-1] + 1 for members in self.members], dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.starts = np.zeros(len(self.members) + 1, dtype=np.int64)
        rows, cells, first = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
        for g, members in enumerate(self.members):
            n_rows = 1
            for d in members:
                self.strides[d] = n_rows
                n_rows *= digits[d]
            for d in members:
                code = np.arange(n_rows) // self.strides[d] % digits[d] - first_digit[d]
                rows.append(first + np.flatnonzero(code >= 0))
                cells.append(offsets[d] + code[code >= 0])
            self.firsts[g] = first + sum(self.strides[d] * first_digit[d] for d in members)
            first += n_rows
            self.starts[g + 1] = first
        self.n_rows, self.n_cells = first, int(offsets[-1])
        self.rows, self.of_cells = np.concatenate(rows), np.concatenate(cells)

    def cells(self, codes: NDArray[Any]) -> NDArray[np.uint16]:
        """Return the row of the groups' tables for each row of data, (N, G)."""
        out = np.empty((len(codes), len(self.members)), dtype=np.uint16)
        kernels.group_codes(codes, self.strides, self.stops, self.firsts, out)
        return out


def _greedy(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Put neighbouring columns together while their combinations fit."""
    groups: list[list[int]] = []
    product = most + 1
    for d, size in enumerate(sizes):
        if product * size > most:
            groups.append([])
            product = 1
        groups[-1].append(d)
        product *= size
    return groups
