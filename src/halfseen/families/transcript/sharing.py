"""How the states of a model share densities: the codebook of each state, and the streams of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from halfseen.errors import ParameterError
from halfseen.estimators import options
from halfseen.leaves.codebooks import Codebooks
from halfseen.leaves.leaf import Leaf


class Sharing(NamedTuple):
    """Which densities states share; see `leaves.codebooks`.

    Attributes
    ----------
    books : tuple of int      codebook of each state
    streams : tuple of int    number of columns of each stream
    width : int               densities of a codebook
    """

    books: tuple[int, ...]
    streams: tuple[int, ...]
    width: int

    @property
    def n_densities(self) -> int:
        """Number of densities of all codebooks."""
        return (max(self.books) + 1) * self.width

    def leaf(self, densities: Leaf) -> Codebooks:
        """Return the emission of all states over a leaf that has the densities as its components."""
        return Codebooks.of(self.books, self.streams, densities)

    def record(self) -> dict[str, Any]:
        """Return plain values: what a model file holds."""
        return {"books": list(self.books), "streams": list(self.streams), "width": self.width}

    @classmethod
    def read(cls, record: Any, n_states: int, n_columns: int) -> Self:
        """Return what `record` wrote, checked against the sizes of a model."""
        if not isinstance(record, Mapping) or set(record) != {"books", "streams", "width"}:
            raise ParameterError("sharing: expected books, streams and width.")
        books, streams = (tuple(options.whole(name, each, 0) for each in record[name]) for name in ("books", "streams"))
        found = cls(books, streams, options.whole("width", record["width"]))
        found.check(n_states, n_columns)
        return found

    def check(self, n_states: int, n_columns: int) -> None:
        """Refuse what does not fit the sizes of a model."""
        if len(self.books) != n_states or min(self.books, default=-1) < 0 or self.width < 1:
            raise ParameterError(f"codebooks: {len(self.books)} for {n_states} states; each has the number of one.")
        if len(set(self.books)) != max(self.books) + 1:
            raise ParameterError(f"codebooks: {max(self.books) + 1} of them, of which some are not used.")
        if sum(self.streams) != n_columns or min(self.streams, default=0) < 1:
            raise ParameterError(f"streams: {self.streams} columns, but there are {n_columns}.")
