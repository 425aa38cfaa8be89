"""What a mixture leaves unexplained: pairs of columns that are related within the classes.

Given the class, columns are taken to be independent. For each pair of columns, over the rows where both are observed:

    two categories   X2 = sum_ij (O[i, j] - E[i, j])^2 / E[i, j],  E[i, j] = sum_k mass[k] p[k, i] q[k, j],
                     mass[k] = sum_n weight[n] resp[n, k];  df = (I - 1) (J - 1)
    two numbers      r = sum_nk weight[n] resp[n, k] z[n, k] u[n, k] / mass,  X2 = mass r^2;  df = 1
    one of each      S[i] = sum_nk weight[n] resp[n, k] (1[x[n] = i] - p[k, i]) u[n, k],
                     X2 = S C^+ S,  C = sum_k mass[k] (diag p[k] - p[k] p[k]');  df = rank C

z and u are standardised within the class: (x - mean[k]) / sd[k]. A word of a text is a number, how often it occurs: of
the L words of a text L p[k] on average, with the variance L p[k] (1 - p[k]). It is standardised by what this is in all
classes together, so that a chance meeting of two words in a class that hardly has them counts little; X2 is divided by
its own variance. Two words of one text leave each other less room, and only what goes beyond that is left.

value = X2 / df is the usual bivariate residual of latent class analysis and is near 1 or below when nothing is left. It
is not chi-square by chance alone, because the parameters were estimated from the same rows: p-values need a bootstrap
(`hs.diagnostics(model, X, bootstrap=99)`). It grows with the number of rows; `strength`, between 0 and 1, does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from halfseen.analysis.scored_table import Seen, look
from halfseen.data import Table
from halfseen.estimators.table.profile import fitted_blocks
from halfseen.kinds.records import Feature
from halfseen.kinds.wording import cut
from halfseen.leaves import NormalParams
from halfseen.leaves.leaf import Floats

LARGE = 4.0  # a residual to look at, by rule of thumb: no test
LEAST_ROWS = 5.0  # rows in which both columns are observed; below, a residual is meaningless
PIECE = 4096  # rows at a time, so that their standardised cells stay small


class Residual(NamedTuple):
    """What is left between two columns.

    Attributes
    ----------
    first, second : str      the columns; of a text its words one by one, 'column: word'
    value : float            X2 / df
    df : int
    strength : float         size of the relation, 0 to 1: |r|, or sqrt(X2 / (n_rows min(I - 1, J - 1)))
    n_rows : float           rows in which both are observed, weighted
    detail : str             where the two differ most from what the model expects
    p : float or None        share of tables drawn from the model with a residual as large; None: not tested
    """

    first: str
    second: str
    value: float
    df: int
    strength: float
    n_rows: float
    detail: str
    p: float | None = None


def residuals(
    model: Any,
    X: Any,
    sample_weight: ArrayLike | None = None,
    *,
    columns: Sequence[str] | None = None,
    max_rows: int | None = None,
    names: Sequence[str] | None = None,
) -> list[Residual]:
    """Return the residual of each pair of columns within the classes, the largest first.

    Parameters
    ----------
    model : fitted LatentClass or NaiveBayes
    X : table
    sample_weight : (N,) array, optional
    columns : sequence of str, optional
        Columns to pair; all by default. A text stands for the 20 words that set the classes apart most.
    max_rows : int, optional
        Use a random sample of this many rows if there are more.
    names : sequence of str, optional
        The words of a sparse matrix, such as `CountVectorizer.get_feature_names_out()`.

    Examples
    --------
    One class knows nothing of the relation between two columns: 36 = 4 * (40 - 25)^2 / 25.

    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([1.0], {"a": {0: [0.5], 1: [0.5]}, "b": {0: [0.5], 1: [0.5]}})
    >>> [pair] = residuals(model, [[0, 0]] * 40 + [[0, 1]] * 10 + [[1, 0]] * 10 + [[1, 1]] * 40)
    >>> pair.value, pair.df, pair.strength
    (36.0, 1, 0.6)
    >>> print(pair.detail)
    a = 0 with b = 0: 40 rows, 25 expected
    """
    return residuals_of(look(model, X, sample_weight, most=max_rows, names=names), columns)


def residuals_of(seen: Seen, columns: Sequence[str] | None = None) -> list[Residual]:
    """Return the residuals of a scored table."""
    seen.model._check_probable("residual")
    parts = _parts(seen, columns)
    if not parts:
        return []
    sums = _gather(seen, parts)
    joint = {block for block, params in seen.model._params["emit"].items() if isinstance(params, NormalParams)}
    pairs = [(a, b) for a, b in combinations(parts, 2) if not (a.block.name == b.block.name and a.block.name in joint)]
    found = [_pair(sums, a, b) for a, b in pairs]  # columns that are jointly normal may be related: the model says how
    return sorted((pair for pair in found if pair is not None), key=lambda pair: (-pair.value, pair.first, pair.second))


class _Sums(NamedTuple):
    """What is summed over rows.

    Attributes
    ----------
    together : (F, F) array      rows in which two categories meet
    mass : (K, P, P) array       expected rows of each component in which two columns are both observed
    cross : (F, F) array         products of deviations from the component's own mean, summed over components
    """

    together: Floats
    mass: Floats
    cross: Floats


def _parts(seen: Seen, columns: Sequence[str] | None) -> list[Feature]:
    """Return the columns to pair that vary at all."""
    found: list[Feature] = []
    start = 0
    for fitted in fitted_blocks(seen.model):
        for d, column in enumerate(fitted.block.columns):
            if columns is not None and column.name not in columns:
                continue
            for feature in fitted.block.kind.features(fitted, d, seen.names):
                stop = start + feature.mean.shape[1]
                found.append(feature._replace(place=len(found), span=slice(start, stop)))
                start = stop
    return found


def _gather(seen: Seen, parts: Sequence[Feature]) -> _Sums:
    """Sum over rows, some at a time."""
    n_features = parts[-1].span.stop if parts else 0
    n_components = seen.resp.shape[1]
    together = np.zeros((n_features, n_features))
    mass = np.zeros((n_components, len(parts), len(parts)))
    cross = np.zeros((n_features, n_features))
    numbers = np.array([part.span.start for part in parts if part.sd is not None], dtype=np.intp)
    for start in range(0, seen.table.n_rows, PIECE):
        rows = slice(start, start + PIECE)
        piece, resp = seen.table.take(rows), seen.resp[rows]
        observed, lengths = _observed(piece, parts)
        cells = _cells(piece, parts, n_features)
        together += cells.T @ (cells * piece.weight[:, None])
        for k in range(n_components):
            usage = (piece.weight * resp[:, k])[:, None]
            mass[k] += observed.T @ (observed * usage)
            away = _deviations(cells, observed, lengths, parts, k)
            cross[:, numbers] += away.T @ (away[:, numbers] * usage)
    cross[numbers] = cross[:, numbers].T
    return _Sums(together, mass, cross)


def _observed(piece: Table, parts: Sequence[Feature]) -> tuple[Floats, Floats]:
    """Return whether each part was observed, and how many words its text has, (N, P) each; 1 for what is no word."""
    places = {column.name: j for j, column in enumerate(piece.schema.columns)}
    amount = piece.observed[:, [places[part.column.name] for part in parts]]
    crowded = np.array([part.crowded for part in parts])
    return (amount > 0).astype(np.float64), np.where(crowded, amount, 1.0)


def _cells(piece: Table, parts: Sequence[Feature], n_features: int) -> Floats:
    """Return categories as indicators and numbers as they are; 0 where missing."""
    found = np.zeros((piece.n_rows, n_features))
    for part in parts:
        cells = piece.blocks[part.block.name]
        found[:, part.span] = part.block.kind.feature_cells(cells, part)
    return found


def _deviations(cells: Floats, observed: Floats, lengths: Floats, parts: Sequence[Feature], k: int) -> Floats:
    """Return how far each cell is from what component k expects, numbers in its own sd; 0 where missing.

    Of a text of L words a word's mean is L times its share, and its variance L times that of one word.
    """
    mean = np.concatenate([part.mean[k] for part in parts])
    sd = np.concatenate([np.ones(len(part.mean[k])) if part.sd is None else part.sd[k] for part in parts])
    owner = np.concatenate([np.full(len(part.mean[k]), part.place) for part in parts])
    long = lengths[:, owner]
    return (cells - long * mean) / np.where(sd * long > 0, sd * np.sqrt(long), np.inf) * observed[:, owner]


def _pair(sums: _Sums, a: Feature, b: Feature) -> Residual | None:
    mass = sums.mass[:, a.place, b.place]
    if mass.sum() < LEAST_ROWS:
        return None
    if a.sd is None and b.sd is None:
        return _two_categories(sums.together[a.span, b.span], mass, a, b)
    if a.sd is not None and b.sd is not None:
        cross = float(sums.cross[a.span.start, b.span.start]) - float(mass @ _crowded(a, b))
        return _two_numbers(cross, mass, a, b, _spread(sums, mass, a) * _spread(sums, mass, b))
    category, number = (a, b) if a.sd is None else (b, a)
    return _mixed(sums.cross[category.span, number.span.start], mass, category, number)


def _two_categories(observed: Floats, mass: Floats, a: Feature, b: Feature) -> Residual | None:
    expected = np.einsum("k,ki,kj->ij", mass, a.mean, b.mean)
    possible = expected > 0
    parts = np.divide((observed - expected) ** 2, expected, out=np.zeros_like(expected), where=possible)
    n_rows, shape = float(mass.sum()), expected.shape
    i, j = np.unravel_index(int(parts.argmax()), shape)
    df = (shape[0] - 1) * (shape[1] - 1)
    strength = min(1.0, float(np.sqrt(parts.sum() / (n_rows * (min(shape) - 1)))))
    detail = (
        f"{cut(a.name)} = {_category(a, i)} with {cut(b.name)} = {_category(b, j)}: {observed[i, j]:,.0f} rows, "
        f"{expected[i, j]:,.0f} expected"
    )
    return Residual(a.name, b.name, float(parts.sum() / df), df, strength, n_rows, detail)


def _crowded(a: Feature, b: Feature) -> Floats:
    """Return the covariance of two words of one text in each component, as one takes the place of the other, (K,)."""
    if not (a.crowded and b.crowded) or a.column.name != b.column.name:
        return np.zeros(len(a.mean))
    assert a.sd is not None
    assert b.sd is not None
    return -np.divide(a.mean * b.mean, a.sd * b.sd, out=np.zeros_like(a.mean), where=a.sd * b.sd > 0)[:, 0]


def _spread(sums: _Sums, mass: Floats, part: Feature) -> float:
    """Return the root of the summed squares of a column; of a word those seen, as words come in bursts."""
    expected = float(mass @ part.own)
    seen = float(sums.cross[part.span.start, part.span.start]) if part.word is not None else 0.0
    return float(np.sqrt(max(expected, seen)))


def _two_numbers(cross: float, mass: Floats, a: Feature, b: Feature, spread: float) -> Residual | None:
    var = float(mass @ (a.own * b.own))
    if not var > 0:
        return None
    r = cross / spread
    together = "rise together" if r > 0 else "one rises as the other falls"
    detail = f"{together} within classes, r = {r:+.2f}"
    return Residual(a.name, b.name, cross**2 / var, 1, min(1.0, abs(r)), float(mass.sum()), detail)


def _mixed(cross: Floats, mass: Floats, category: Feature, number: Feature) -> Residual | None:
    used = mass * number.own
    spread = np.einsum("k,ki,ij->ij", used, category.mean, np.eye(len(cross)))
    spread -= np.einsum("k,ki,kj->ij", used, category.mean, category.mean)
    df = int(np.linalg.matrix_rank(spread, hermitian=True))
    if df == 0:
        return None
    total = float(cross @ np.linalg.pinv(spread, hermitian=True) @ cross)
    own = np.sqrt(np.maximum(np.diag(spread), 1e-12))
    i = int(np.argmax(np.abs(cross) / own))
    n_rows = float(mass.sum())
    size = cross[i] / max(float(mass @ category.mean[:, i]), 1e-12)
    word = "higher" if size > 0 else "lower"
    detail = (
        f"{cut(number.name)} is {word} where {cut(category.name)} = {_category(category, i)}, by {abs(size):.2g} "
        "standard deviations of the class"
    )
    strength = min(1.0, float(np.sqrt(total / n_rows)))
    return Residual(category.name, number.name, total / df, df, strength, n_rows, detail)


def _category(part: Feature, i: Any) -> str:
    categories = part.column.categories
    assert categories is not None
    return cut(str(categories[int(i)]))


def telling(found: Sequence[Residual], least_strength: float = 0.1) -> Iterator[Residual]:
    """Yield the pairs that are large and not too weak to matter."""
    return (pair for pair in found if pair.value > LARGE and pair.strength >= least_strength)
