"""The missing values of a table: how many, where, in which patterns, and whether they differ by class.

    share[k, d] = sum_n weight[n] proba[n, k] missing[n, d] / sum_n weight[n] proba[n, k]

and Pearson's chi-square of the table (missing or not) x (class) of these expected counts. Posteriors come from the
observed cells. A difference between classes does no harm as long as the class depends on the observed cells alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.special import gammaincc

from halfseen.analysis.scored_table import Mask, Seen, look
from halfseen.data import read
from halfseen.errors import DataTypeError
from halfseen.leaves.leaf import Floats


class Pattern(NamedTuple):
    """Columns that are missing together, and the rows (weighted) in which exactly these are."""

    missing: tuple[str, ...]
    n_rows: float


class MissingValues(NamedTuple):
    """The missing values of a table.

    Attributes
    ----------
    names : tuple of str           the columns
    n_rows, n_missing : float      rows, and cells that are missing (weighted)
    share : (D,) array             share of each column that is missing
    patterns : list of Pattern     the most frequent first; the complete rows are one of them
    """

    names: tuple[str, ...]
    n_rows: float
    n_missing: float
    share: Floats
    patterns: list[Pattern]

    @property
    def total_share(self) -> float:
        """Share of all cells that is missing."""
        return float(self.share.mean())


class MissingByClass(NamedTuple):
    """How often a column is missing in each class.

    Attributes
    ----------
    column : str
    share : (C,) array      expected share of missing values in each class
    chi2 : float            Pearson's chi-square of missing values and classes
    df : int
    p : float               probability of a difference this large by chance
    """

    column: str
    share: Floats
    chi2: float
    df: int
    p: float


def missing_values(X: Any) -> MissingValues:
    """Return which values of a table are missing.

    Examples
    --------
    >>> found = missing_values([["a", 1.5], [None, 2.5], [None, 3.5], ["b", None]])
    >>> found.share
    array([0.5 , 0.25])
    >>> found.patterns[0]
    Pattern(missing=('x0',), n_rows=2.0)
    """
    if issparse(X):
        raise DataTypeError("a sparse matrix is counts, zeros included: it has no missing values.")
    source = read(X)
    missing = np.stack([source.column(j).missing for j in range(len(source.names))], axis=1)
    return count(missing, source.names, np.ones(source.n_rows))


def count(missing: Mask, names: tuple[str, ...], weight: Floats) -> MissingValues:
    """Return the summary of a mask of missing cells, (N, D)."""
    packed = np.ascontiguousarray(np.packbits(missing, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    n_rows = np.bincount(inverse.ravel(), weights=weight)
    order = np.lexsort((missing[first].sum(axis=1), -n_rows))
    patterns = [
        Pattern(tuple(name for name, gone in zip(names, missing[first[i]], strict=True) if gone), float(n_rows[i]))
        for i in order
    ]
    by_column = weight @ missing
    return MissingValues(names, float(weight.sum()), float(by_column.sum()), by_column / weight.sum(), patterns)


def missing_by_class(model: Any, X: Any, sample_weight: ArrayLike | None = None) -> list[MissingByClass]:
    """Return for each column with missing values their share in each class, the largest difference first.

    Parameters
    ----------
    model : fitted LatentClass or NaiveBayes
    X : table
    sample_weight : (N,) array, optional

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"a": [1, 0], "b": [0, 1]}, "y": {0: [1, 1]}})
    >>> X = [["a", 0]] * 30 + [["a", None]] * 10 + [["b", 0]] * 20 + [["b", None]] * 20
    >>> [found] = missing_by_class(model, X)
    >>> found.share, round(found.chi2, 3), found.df
    (array([0.25, 0.5 ]), 5.333, 1)
    """
    return missing_by_class_of(look(model, X, sample_weight))


def missing_by_class_of(seen: Seen | Any) -> list[MissingByClass]:
    """Return the same for a scored table."""
    usage = seen.table.weight[:, None] * seen.proba
    mass = usage.sum(axis=0)
    missing = usage.T @ seen.missing  # (C, D)
    names = seen.table.schema.names
    found = [_compared(names[d], missing[:, d], mass) for d in range(len(names)) if seen.missing[:, d].any()]
    return sorted(found, key=lambda column: (column.p, -column.chi2, column.column))


def _compared(column: str, missing: Floats, mass: Floats) -> MissingByClass:
    whole = missing.sum() / mass.sum()
    share = np.divide(missing, mass, out=np.full_like(mass, whole), where=mass > 0)
    df = int((mass > 0).sum()) - 1
    if df < 1 or whole >= 1:
        return MissingByClass(column, share, 0.0, max(df, 0), 1.0)
    chi2 = float(np.sum(mass * (share - whole) ** 2) / (whole * (1 - whole)))
    return MissingByClass(column, share, chi2, df, float(gammaincc(df / 2, chi2 / 2)))
