"""Compare what was found: with what is true, and two models with each other.

Classes have no order of their own. Before anything is compared, those of one side are matched one to one with those
of the other they have most in common with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from halfseen.errors import DataError, ParameterError
from halfseen.estimators.table.components import Move
from halfseen.leaves.leaf import Floats

SHOWN = 12  # moves that a person reads


@dataclass(frozen=True)
class Agreement:
    """Classes against a column of truth.

    Attributes
    ----------
    classes, labels : list of str        the classes found, and the values of the truth
    counts : (K, L) array                rows of each class with each value
    n_rows : int                         rows whose truth is known
    n_unknown : int                      rows whose truth is missing; they are left out
    majority : float                     share of rows with the most frequent value of their class
    matched : float                      share of rows correct when each class stands for one value
    rand : float                         adjusted Rand index: 1 for the same partition, about 0 by chance
    """

    classes: list[str]
    labels: list[str]
    counts: NDArray[np.int64]
    n_rows: int
    n_unknown: int
    majority: float
    matched: float
    rand: float

    def sentence(self, truth: str, word: str = "class") -> str:
        """Return the figures in words; `word` is what the model calls a class."""
        n_right = round(self.majority * self.n_rows)
        left_out = f" ({self.n_unknown} rows without {truth} left out)" if self.n_unknown else ""
        right, rand = (
            f"{n_right:,} of {self.n_rows:,} rows ({self.majority:.1%})",
            f"Adjusted Rand index: {self.rand:.3f}.",
        )
        if len(self.classes) == len(self.labels) and self.matched == self.majority:
            return f"One {word} for each {truth}: {right} are in the {word} of their {truth}{left_out}. {rand}"
        matched = (
            f" With one {word} for each {truth}: {self.matched:.1%}." if len(self.classes) <= len(self.labels) else ""
        )
        return f"{right} have the most frequent {truth} of their {word}{left_out}.{matched} {rand}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"counts": self.counts.tolist()}


def with_truth(classes: Sequence[Any], truth: Sequence[Any]) -> Agreement:
    """Compare the class of each row with what is true; None and NaN are unknown.

    Examples
    --------
    >>> found = with_truth(["a", "a", "b", "b"], ["x", "x", "x", None])
    >>> found.counts.tolist(), found.n_unknown, found.majority
    ([[2], [1]], 1, 1.0)
    """
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics import adjusted_rand_score

    known = [value is not None and value == value for value in truth]
    if not any(known):
        raise DataError("the column of truth has no value in any row.")
    pairs = [(str(k), str(v)) for k, v, seen in zip(classes, truth, known, strict=True) if seen]
    found = sorted({k for k, _ in pairs} | {str(k) for k in classes}, key=_natural)
    labels = sorted({v for _, v in pairs}, key=_natural)
    counts = np.zeros((len(found), len(labels)), dtype=np.int64)
    place = {name: i for i, name in enumerate(found)}, {name: j for j, name in enumerate(labels)}
    np.add.at(counts, ([place[0][k] for k, _ in pairs], [place[1][v] for _, v in pairs]), 1)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return Agreement(
        found,
        labels,
        counts,
        len(pairs),
        len(known) - len(pairs),
        float(counts.max(axis=1).sum() / len(pairs)),
        float(counts[rows, columns].sum() / len(pairs)),
        float(adjusted_rand_score([v for _, v in pairs], [k for k, _ in pairs])),
    )


def _natural(name: str) -> tuple[Any, ...]:
    """Sort 'class 10' after 'class 9'."""
    head, _, tail = name.rpartition(" ")
    return (head, int(tail), "") if tail.isdigit() else (name, -1, "")


class Pair(NamedTuple):
    """A class of the first model, the one it resembles in the second, their shares and their overlap (1: the same)."""

    first: str
    second: str
    share: tuple[float, float]
    overlap: float


class Moved(NamedTuple):
    """What differs between two models.

    Attributes
    ----------
    pairs : list of Pair
    alone : names of the classes without a partner, of the first and of the second model
    moves : list of Move        largest first
    """

    pairs: list[Pair]
    alone: tuple[list[str], list[str]]
    moves: list[Move]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        alone = {"first": self.alone[0], "second": self.alone[1]}
        moves = [move._asdict() for move in self.moves]
        return {"pairs": [pair._asdict() for pair in self.pairs], "alone": alone, "moves": moves}


def models(first: Any, second: Any) -> Moved:
    """Match the classes, or states, of two models over the same columns, and say what moved.

    Of two `KMeans` the overlap is that of the mixtures that they stand for: normal, with one variance for all.

    Examples
    --------
    >>> import halfseen as hs
    >>> one = hs.LatentClass.from_params([0.6, 0.4], {"x": {"a": [0.9, 0.2], "b": [0.1, 0.8]}})
    >>> two = hs.LatentClass.from_params([0.5, 0.5], {"x": {"a": [0.2, 0.7], "b": [0.8, 0.3]}})
    >>> found = models(one, two)
    >>> [(pair.first, pair.second) for pair in found.pairs]
    [('class 0', 'class 1'), ('class 1', 'class 0')]
    >>> found.moves[0].column, found.moves[0].value, round(found.moves[0].size, 2)
    ('x', 'a', 0.2)
    """
    from scipy.optimize import linear_sum_assignment

    one, two = _components(first), _components(second)
    if one.kind != two.kind:
        raise ParameterError(f"a {type(first).__name__} and a {type(second).__name__} have no classes of one kind.")
    if first._schema.columns != second._schema.columns or _texts(first) != _texts(second):
        raise ParameterError(f"the models differ in their columns: {_differing(first, second)}.")
    overlap, resemblance = one.overlap(two)
    rows, columns = linear_sum_assignment(resemblance, maximize=True)
    pairs = [
        Pair(one.names[i], two.names[j], (float(one.shares[i]), float(two.shares[j])), float(overlap[i, j]))
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    alone = [
        [name for k, name in enumerate(own.names) if k not in used]
        for own, used in ((one, set(rows.tolist())), (two, set(columns.tolist())))
    ]
    return Moved(pairs, (alone[0], alone[1]), sorted(one.moves(two, rows, columns), key=lambda move: -move.size))


class Compared(Protocol):
    """The components of a model: what `models` asks of it, by its method ``_components()``.

    Attributes
    ----------
    kind : str                  "distributions" or "centres": those of one kind can be compared
    names : sequence of str
    shares : (K,) array
    """

    @property
    def kind(self) -> str: ...
    @property
    def names(self) -> Sequence[str]: ...
    @property
    def shares(self) -> Floats: ...

    def overlap(self, other: Any) -> tuple[Floats, Floats]:
        """Return the overlap with each of the other model's components, (K, L), and what is maximal for those matched.

        An overlap of 1 is that of a component with itself.
        """
        ...

    def moves(self, other: Any, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> list[Move]:
        """Return how component columns[i] of the other model differs from component rows[i]."""
        ...


def _components(model: Any) -> Compared:
    if not hasattr(model, "_components"):
        raise ParameterError(f"a {type(model).__name__} has no classes to compare.")
    check_is_fitted(model)
    found: Compared = model._components()
    return found


def _differing(first: Any, second: Any) -> str:
    mine = {column.name: column for column in first._schema.columns}
    its = {column.name: column for column in second._schema.columns}
    odd = [name for name in {**mine, **its} if mine.get(name) != its.get(name)]
    texts = [name for name in odd if all(name in of and of[name].kind.of_words for of in (mine, its))]
    if texts:
        return _other_words(mine[texts[0]], its[texts[0]])
    if not odd and _texts(first) != _texts(second):
        return f"text is taken as {_texts(first)} in the first and as {_texts(second)} in the second"
    return ", ".join(odd[:5]) + (f" and {len(odd) - 5} more" if len(odd) > 5 else "") if odd else "their order"


def _texts(model: Any) -> str:
    """Return how a model takes text."""
    return ", ".join(b.treatment or "multinomial" for b in model._schema.each_block() if b.kind.of_words)


def _other_words(one: Any, two: Any) -> str:
    """Say how two columns of text differ, and what to do."""
    mine, its = set(one.categories or ()), set(two.categories or ())
    if mine == its:
        return f"text of {one.name} is cut or scaled by other options"
    return (
        f"{one.name} has {len(mine - its):,} words only in the first and {len(its - mine):,} only in the second. Fit "
        "both to counts of one CountVectorizer, or compare each with what is true (--truth)"
    )
