"""Labels: what is known about the hidden component of each row: nothing, one, a set of candidates, or soft evidence.

*evidence* is a number for each component of a row that multiplies the model's probability of it: 1 everywhere when
nothing is known, 1 for the candidates and 0 for the others when a set of them is, anything non-negative when it is
soft. It is kept as logs, once per distinct *pattern*; each row points to its pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from halfseen.errors import DataError, ParameterError
from halfseen.kernels import active as kernels

__all__ = ["Evidence", "read_labels", "read_target"]

CLOSE = 1 << 16  # whole-number labels within this range are looked up, not hashed

Label: TypeAlias = str | int | bool
Names: TypeAlias = tuple[Label | None, ...]
Spread: TypeAlias = Callable[[NDArray[np.int32]], NDArray[np.int32]]  # a number for each of few things -> for each row


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known about the component of each row.

    Parameters
    ----------
    patterns : (P, K) float64 array
        Log-evidence of each distinct pattern: 0 for a possible component, -inf for an impossible one, log values for
        soft evidence. Pattern 0 is all zeros: nothing known.
    index : (N,) int32 array
        The pattern of each row.

    Examples
    --------
    >>> evidence, names = read_labels(["cat", None, "dog", {"cat", "dog"}], n_rows=4, n_components=3)
    >>> names
    ('cat', 'dog', None)
    >>> np.exp(evidence.patterns[evidence.index])
    array([[1., 0., 0.],
           [1., 1., 1.],
           [0., 1., 0.],
           [1., 1., 0.]])
    """

    patterns: NDArray[np.float64]
    index: NDArray[np.int32]

    @property
    def n_components(self) -> int:
        """Number of components, K."""
        return int(self.patterns.shape[1])

    @property
    def log_evidence(self) -> NDArray[np.float64]:
        """Log-evidence of each row, (N, K)."""
        return self.patterns[self.index]

    @cached_property
    def complete(self) -> bool:
        """Whether something is known about every row."""
        return bool(self.index.min(initial=1) > 0)

    def take(self, rows: Any) -> Evidence:
        """The evidence of some rows: an index array, a mask or a slice."""
        return Evidence(self.patterns, self.index[rows])

    def repeated(self, times: int) -> Evidence:
        """The same evidence when each component becomes `times` neighbouring ones."""
        return Evidence(np.repeat(self.patterns, times, axis=1), self.index)

    def canonical(self) -> Evidence:
        """The same evidence with patterns in use only, each once, in an order that depends on nothing else."""
        used = np.zeros(len(self.patterns), dtype=bool)
        used[self.index] = True
        patterns, index = _distinct(self.patterns[used])
        place = np.zeros(len(self.patterns), dtype=np.int32)
        place[used] = index
        return Evidence(patterns, place[self.index])


def read_labels(
    labels: Any,
    n_rows: int,
    n_components: int,
    classes: Sequence[Any] | None = None,
    unlabeled: Any = None,
) -> tuple[Evidence | None, Names | None]:
    """Read labels in any of their forms.

    Parameters
    ----------
    labels : sequence of N labels, or (N, C) array, or None
        A label for each row, or a set, tuple or list of the labels it may have, or missing: None, NaN, NA or NaT, and
        -1 among numeric labels with at least two other values. Or soft evidence in an array or data frame with C > 1
        columns: non-negative, not all zero in any row, one column per component (or per class, other components being
        impossible then); it multiplies the model's probabilities and need not sum to 1.
    n_rows, n_components : int
        N and K.
    classes : sequence, optional
        The labels of components 0, 1, ... By default labels that are all in ``range(K)`` are the numbers of components,
        and other labels name the first components in sorted order.
    unlabeled : optional
        The label that means unlabelled, instead of the rule about -1.

    Returns
    -------
    evidence : Evidence or None
        None when nothing is known about any row.
    names : tuple or None
        The label of each component, None for one without; None when labels are the numbers of components.

    Examples
    --------
    >>> evidence, names = read_labels([0, 1, -1, 1], n_rows=4, n_components=2)
    >>> names, evidence.index
    (None, array([1, 2, 0, 2], dtype=int32))
    >>> np.exp(evidence.patterns)
    array([[1., 1.],
           [1., 0.],
           [0., 1.]])
    """
    names = None if classes is None else _check_classes(classes, n_components)
    if labels is None:
        return None, None
    if _is_soft(labels):
        patterns, index = _distinct(_log_soft(labels, n_rows, n_components, names))
        return Evidence(patterns, index), names
    found = _sets(labels, n_rows, unlabeled)
    if not found.seen:
        return None, None
    if names is None:
        names = _names(found.seen, n_components)
    return _evidence(found, names, n_components), names


def read_target(
    y: Any, n_rows: int, classes: Sequence[Any] | None = None, unlabeled: Any = None, may_lack: bool = False
) -> tuple[Evidence, tuple[Label, ...]]:
    """Read the target of a classifier: labels in any form of `read_labels`; they also define the classes.

    Parameters
    ----------
    y : sequence of N labels, or (N, C) array of evidence
    n_rows : int
    classes : sequence, optional
        All classes in their order, also those without a row. By default the labels found, sorted.
    unlabeled : optional
        The label that means unlabelled.
    may_lack : bool
        Whether all rows may be without a label; needs `classes`.

    Returns
    -------
    evidence : Evidence
    classes : tuple

    Examples
    --------
    >>> evidence, classes = read_target(["b", None, "a"], 3)
    >>> classes, evidence.index
    (('a', 'b'), array([2, 0, 1], dtype=int32))
    """
    if _is_soft(y):
        n_classes = y.shape[1]
        names = tuple(range(n_classes)) if classes is None else _check_classes(classes, n_classes)
        if None in names:
            raise DataError(f"y has {n_classes} columns of evidence, but classes= names {len(classes or ())}.")
        patterns, index = _distinct(_log_soft(y, n_rows, n_classes, names))
        return Evidence(patterns, index), names  # type: ignore[return-value]
    found = _sets(y, n_rows, unlabeled)
    if not found.seen and not may_lack:
        raise DataError("y has no label in any row: a classifier needs some. LatentClass needs no labels.")
    listed = _names(found.seen, len(found.seen)) if classes is None else _check_classes(classes, len(classes))
    named = tuple(range(len(found.seen))) if listed is None else listed
    return _evidence(found, named, len(named)), named  # type: ignore[return-value]


def _is_soft(labels: Any) -> bool:
    """Whether labels are an array of evidence."""
    shape: tuple[int, ...] = getattr(labels, "shape", ())
    return len(shape) == 2 and shape[1] != 1


class _Sets(NamedTuple):
    """Distinct candidate sets: their labels and first rows; all labels; and a function from sets to rows."""

    sets: list[frozenset[Label]]
    rows: list[int]
    seen: frozenset[Label]
    spread: Spread


def _sets(labels: Any, n_rows: int, unlabeled: Any) -> _Sets:
    distinct, rows, spread = _factorize_whole(labels, n_rows) or _factorize(_items(labels, n_rows))
    sets = _candidate_sets(distinct, rows, unlabeled)
    return _Sets(sets, rows, frozenset().union(*sets), spread)


def _evidence(found: _Sets, names: Names | None, n_components: int) -> Evidence:
    component = {label: k for k, label in enumerate(range(n_components) if names is None else names)}
    patterns, index = _distinct(_log_sets(found.sets, found.rows, component, n_components))
    return Evidence(patterns, found.spread(index))


# ------------------------------------------------------------------------------------------------ labels and their sets


def _items(labels: Any, n_rows: int) -> list[Any]:
    """The labels as a list, from any container."""
    if isinstance(labels, (str, bytes, dict, set, frozenset)) or not hasattr(labels, "__iter__"):
        raise DataError(f"labels must be a sequence, one entry per row, not a {type(labels).__name__}: {labels!r:.80}")
    series = nw.from_native(labels, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series):
        items = series.to_list()
    else:
        items = list(labels) if isinstance(labels, (list, tuple)) else np.ma.asanyarray(labels).ravel().tolist()
    if len(items) != n_rows:
        raise DataError(f"labels has {len(items)} entries, but X has {n_rows} rows. Give one per row, None if unknown.")
    return items


def _factorize(items: list[Any]) -> tuple[list[Any], list[int], Spread]:
    """The distinct items, the first row of each, and a function that gives each row the number of its item."""
    code_of: dict[Any, int] = {}
    rows: list[int] = []
    place = np.empty(len(items), dtype=np.intp)
    for row, item in enumerate(items):
        if type(item) is float and item != item:
            item = None  # NaNs are not equal to each other, and there may be many
        try:
            key = frozenset(item) if isinstance(item, (set, list, tuple, np.ndarray)) else item
            code = place[row] = code_of.setdefault(key, len(rows))
        except TypeError:
            raise DataError(f"labels: row {row} is {item!r:.80}. Give a label, a set of labels, or None.") from None
        if code == len(rows):
            rows.append(row)
    return list(code_of), rows, lambda numbers: numbers[place]


def _factorize_whole(labels: Any, n_rows: int) -> tuple[list[Any], list[int], Spread] | None:
    """The same for an array of whole numbers in a small range, without a Python loop; None for others."""
    if type(labels) is not np.ndarray or labels.dtype.kind not in "iub" or labels.shape != (n_rows,) or not n_rows:
        return None
    low = int(labels.min())
    size = int(labels.max()) - low + 1
    if size > CLOSE or labels.dtype == np.uint64:
        return None
    whole = np.ascontiguousarray(labels, np.int64)
    first = np.full(size, n_rows, dtype=np.int64)
    kernels.first_rows(whole, low, first)
    offsets = np.argsort(first, kind="stable")[: np.count_nonzero(first < n_rows)]  # in the order they appear in
    rows = first[offsets].tolist()

    def spread(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
        lookup = np.full(size, -1, dtype=np.int32)
        lookup[offsets] = numbers
        return lookup.take(whole - low if low else whole, mode="clip")  # all indices are valid

    return [labels[row].item() for row in rows], rows, spread


def _candidate_sets(distinct: list[Any], rows: list[int], unlabeled: Any) -> list[frozenset[Label]]:
    """The labels that each distinct item allows; an empty set where nothing is known."""
    sets = [_read_item(item, row) for item, row in zip(distinct, rows, strict=True)]
    missing = _missing_label(frozenset().union(*sets), unlabeled)
    for candidates, row in zip(sets, rows, strict=True):
        if missing in candidates and len(candidates) > 1:
            raise DataError(
                f"labels: the candidates of row {row} include {missing!r}, which means unlabelled. "
                "Leave it out, or set unlabeled= to another label."
            )
    return [candidates - {missing} for candidates in sets]


def _read_item(item: Any, row: int) -> frozenset[Label]:
    if not isinstance(item, frozenset):
        label = _read_label(item, f"row {row}")
        return frozenset() if label is None else frozenset({label})
    labels = {_read_label(candidate, f"a candidate of row {row}") for candidate in item}
    if not item or None in labels:
        raise DataError(
            f"labels: row {row} has {'a missing value among its' if item else 'no'} candidates. "
            "Use None in place of the whole set if nothing is known."
        )
    return frozenset(label for label in labels if label is not None)


def _read_label(label: Any, where: str) -> Label | None:
    """A label as a plain Python value; None if it is missing."""
    if isinstance(label, str):
        return str(label)
    if isinstance(label, (bool, np.bool_)):
        return bool(label)
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(label, (int, float, np.integer, np.floating)):
        number = float(label)
        if np.isnan(number):
            return None
        if number.is_integer():
            return int(label)
        raise DataError(
            f"Unknown label type: continuous. labels: {where} is {number!r}, but a label must be text, a whole number "
            "or True/False. Pass soft labels as a 2-D array with one column per component."
        )
    raise DataError(
        f"Unknown label type: {type(label).__name__}. labels: {where} is {label!r:.80}, but a label must be text, "
        "a whole number or True/False."
    )


def _missing_label(seen: frozenset[Label], unlabeled: Any) -> Label | None:
    """The label that means unlabelled, if there is one."""
    if unlabeled is not None:
        return _read_label(unlabeled, "unlabeled")
    numeric = all(isinstance(label, int) for label in seen)
    return -1 if numeric and -1 in seen and len(seen) > 2 else None


# ------------------------------------------------------------------------------------------- components and their names


def _check_classes(classes: Sequence[Any], n_components: int) -> Names:
    labels = [_read_label(label, f"classes[{k}]") for k, label in enumerate(classes)]
    if None in labels or len(set(labels)) < len(labels):
        raise ParameterError(f"classes must be distinct labels, not {list(classes)!r:.200}.")
    return _padded(labels, n_components, "classes")


def _names(seen: frozenset[Label], n_components: int) -> Names | None:
    """The names of the components by the labels seen; None when the labels are the components' numbers."""
    if all(type(label) is int and 0 <= label < n_components for label in seen):
        return None
    try:
        return _padded(sorted(seen), n_components, "labels")
    except TypeError:
        text = min(label for label in seen if isinstance(label, str))
        number = next(label for label in seen if not isinstance(label, str))
        raise DataError(
            f"labels mix text ({text!r}) and numbers ({number!r}), which have no common order. Make them of one type, "
            "or list them in classes=."
        ) from None


def _padded(labels: Sequence[Label | None], n_components: int, what: str) -> Names:
    if len(labels) > n_components:
        few = ", ".join(map(repr, labels[:5])) + (", ..." if len(labels) > 5 else "")
        raise DataError(
            f"{what} has {len(labels)} distinct labels ({few}), but the model has {n_components} components. "
            f"Use n_components={len(labels)} or more, or merge labels."
        )
    return (*labels, *[None] * (n_components - len(labels)))


# --------------------------------------------------------------------------------------------------------- the evidence


def _log_sets(
    sets: list[frozenset[Label]], rows: list[int], component: dict[Any, int], n_components: int
) -> NDArray[np.float64]:
    """Log of the evidence of candidate sets: 1 for a candidate, 0 for the others; 1 everywhere for the empty set."""
    log_values = np.zeros((len(sets), n_components))
    for i, candidates in enumerate(sets):
        if unknown := candidates - component.keys():
            raise DataError(
                f"labels: row {rows[i]} has the unknown label {next(iter(unknown))!r}. "
                f"The classes are {[label for label in component if label is not None]!r:.200}."
            )
        if candidates:
            log_values[i] = -np.inf
            log_values[i, [component[label] for label in candidates]] = 0.0
    return log_values


def _log_soft(labels: Any, n_rows: int, n_components: int, names: Names | None) -> NDArray[np.float64]:
    """Log of soft evidence, (N, K)."""
    try:
        values = np.asarray(labels, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"labels: soft evidence, shape {labels.shape}, must be of numbers: {error}") from None
    n_named = n_components if names is None else sum(name is not None for name in names)
    if values.shape[0] != n_rows:
        raise DataError(f"labels has {values.shape[0]} rows, but X has {n_rows}.")
    if values.shape[1] not in (n_named, n_components):
        raise DataError(
            f"labels has {values.shape[1]} columns of soft evidence, but there are {n_components} components"
            + (f" and {n_named} classes" if names else "")
            + ". Give one column for each."
        )
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row, column = map(int, np.argwhere(bad)[0])
        raise DataError(
            f"labels: row {row}, column {column} is {values[row, column]}, but soft evidence must be finite and not "
            "negative. Use a row of ones where nothing is known."
        )
    impossible = ~values.any(axis=1)
    if impossible.any():
        raise DataError(
            f"labels: row {int(impossible.argmax())} is all zeros, so every component is ruled out "
            f"({impossible.sum()} such rows). Use a row of ones where nothing is known."
        )
    log_values = np.full((n_rows, n_components), -np.inf)
    np.log(values, out=log_values[:, : values.shape[1]], where=values > 0)
    return log_values


def _distinct(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The distinct rows, the one of zeros first and the others in descending order, and the index of each row."""
    rows = np.vstack([np.zeros((1, rows.shape[1])), rows])
    order = np.lexsort([*-rows.T[::-1], rows.any(axis=1)])
    ordered = rows[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    index = np.empty(len(rows), dtype=np.int32)
    index[order] = np.cumsum(new) - 1
    return ordered[new], index[1:]
