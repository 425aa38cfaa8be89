"""k-means number by number: distances, the nearest centre of each row, and the means that become the new centres."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from halfseen.analysis.worked_numbers import Grid, Objective, Section, Worked
from halfseen.data import check_weight, read
from halfseen.data.matrix import as_matrix
from halfseen.engine.tables.lloyd import Rows
from halfseen.engine.tables.seeding import STARTS
from halfseen.errors import DataError, ParameterError
from halfseen.estimators import options
from halfseen.families.kmeans.centers import names_of
from halfseen.families.kmeans.estimator import KMeans
from halfseen.families.kmeans.workings import Workings
from halfseen.leaves.leaf import Floats
from halfseen.seeds import generator

MOST_ROWS = 30  # more are too many to read


@dataclass(frozen=True)
class Sweep:
    """One iteration of k-means.

    Attributes
    ----------
    number : int                counted from 1
    before, after : (K, D)      the centres
    squares : (N, K) array      squared distance of each row to each centre; with missing cells scaled to all columns
    cluster : (N,) array        the nearest centre
    sizes : (K,) array          rows of each cluster, by their weights
    inertia : float             sum of the squared distances to the nearest centre, before the step
    reached : float             the same after it
    squares_after : (N, K) array        squared distances after the step
    """

    number: int
    before: Floats
    squares: Floats
    cluster: NDArray[np.int32]
    sizes: Floats
    inertia: float
    after: Floats
    reached: float
    squares_after: Floats


@dataclass(frozen=True, repr=False)
class ClusterExplanation(Worked):
    """k-means number by number: `print` it, show it in a notebook, or `save` it as a page.

    Attributes
    ----------
    steps : list of Sweep
    columns : list of str
    values : (N, D) array       the rows; NaN where missing
    row_weight : (N,) array
    class_names : list of str
    """

    steps: list[Sweep]
    columns: list[str]
    values: Floats
    row_weight: Floats
    class_names: list[str]

    @property
    def heading(self) -> str:
        """How many rows and clusters."""
        return f"{len(self.values)} rows, {len(self.class_names)} clusters, hard assignment (k-means)"

    @property
    def objective(self) -> Objective:
        """The inertia."""
        before, after = [step.inertia for step in self.steps], [step.reached for step in self.steps]
        return Objective("inertia, the sum of squared distances", list(map(float, before)), list(map(float, after)))

    def sections(self) -> list[Section]:
        """What text and page show."""
        weighted = not np.all(self.row_weight == 1)
        rows = [
            [str(n), *map(_cell, row), *([f"{self.row_weight[n]:g}"] if weighted else [])]
            for n, row in enumerate(self.values.tolist())
        ]
        head = ["row", *self.columns, *(["weight"] if weighted else [])]
        begin = [Grid("data", "The rows; their clusters are hidden.", head, rows)]
        begin.append(self._centres("The initial centres.", self.steps[0].before))
        return [Section("Data and initial centres", begin, ""), *map(self._section, self.steps)]

    @property
    def _worked(self) -> Workings:
        return Workings(self.values, self.row_weight, self.class_names)

    def _section(self, step: Sweep) -> Section:
        caption = "M-step: each centre becomes the mean of its rows."
        grids = [self._distances(step), self._sizes(step), self._centres(caption, step.after, step)]
        result = f"{self.objective.name}: {step.inertia:.7f} before, {step.reached:.7f} after"
        before, after = (self._worked.inertia(squares) for squares in (step.squares, step.squares_after))
        return Section(f"Iteration {step.number}", grids, result, f"before: {before}; after: {after}")

    def _distances(self, step: Sweep) -> Grid:
        rows, arithmetic = [], []
        for n, k in enumerate(step.cluster.tolist()):
            squares = step.squares[n].tolist()
            rows.append([str(n), *map(_number, squares), self.class_names[k]])
            arithmetic.append(["", *self._worked.distances(n, step.before, squares), self._worked.nearest(squares, k)])
        caption = "E-step: squared distances to the centres; each row counts in full in the cluster of the nearest one."
        return Grid("distances", caption, ["row", *self.class_names, "nearest"], rows, 1, arithmetic)

    def _sizes(self, step: Sweep) -> Grid:
        rows = [[name, f"{size:g}"] for name, size in zip(self.class_names, step.sizes.tolist(), strict=True)]
        arithmetic = [["", self._worked.size(step.cluster == k)] for k in range(len(rows))]
        return Grid("sizes", "Counting: the rows of each cluster.", ["", "rows"], rows, 1, arithmetic)

    def _centres(self, caption: str, centres: Floats, step: Sweep | None = None) -> Grid:
        rows = [[name, *map(_number, row)] for name, row in zip(self.class_names, centres.tolist(), strict=True)]
        arithmetic: list[list[str]] = []
        if step is not None:
            arithmetic = [["", *self._worked.centre(step.cluster == k, row)] for k, row in enumerate(centres)]
        return Grid("centres", caption, ["", *self.columns], rows, 1, arithmetic)


def explain(
    model: KMeans, X: Any, n_iter: int = 3, sample_weight: Any = None, labels: Any = None
) -> ClusterExplanation:
    """Show k-means at work on a few rows, number by number; see `halfseen.explain`.

    Examples
    --------
    >>> import halfseen as hs
    >>> found = explain(hs.KMeans.from_params([[0.0], [4.0]]), [[1.0], [2.5], [6.0]], n_iter=1)
    >>> found.steps[0].squares.tolist(), found.steps[0].after.ravel().tolist()
    ([[1.0, 9.0], [6.25, 2.25], [36.0, 4.0]], [1.0, 4.25])
    """
    options.whole("n_iter", n_iter)
    if labels is not None:
        raise ParameterError("labels= has no meaning for KMeans, which has no labels to learn from.")
    source = read(X)
    if source.n_rows > MOST_ROWS:
        raise DataError(
            f"X has {source.n_rows} rows; at most {MOST_ROWS} are readable number by number. Pass a few rows."
        )
    weight, values = check_weight(sample_weight, source.n_rows), as_matrix(source).astype(np.float64)
    blank = np.flatnonzero(np.isnan(values).all(axis=0))
    if len(blank):
        raise DataError(
            f"column {source.names[blank[0]]!r} has no observed cell: no mean can be learned in it. Drop it."
        )
    fitted = hasattr(model, "_centred")
    centres = np.asarray(model.cluster_centers_ if fitted else _start(model, values, weight), dtype=np.float64)
    if centres.shape[1] != values.shape[1]:
        raise DataError(f"X has {values.shape[1]} columns, but the centres have {centres.shape[1]}.")
    names = names_of(model if fitted else KMeans.from_params(centres))
    steps = list(_sweeps(centres, values, weight, n_iter))
    return ClusterExplanation(steps, list(source.names), values, weight, names)


def _start(model: KMeans, values: Floats, weight: Floats) -> Floats:
    """Return centres to begin with: those given, or some drawn as a fit draws them."""
    model._check_options()
    given = model._given(values.shape[1])
    if given is not None:
        return given
    pivot = np.nan_to_num(np.nanmean(values, axis=0))
    return STARTS[str(model.init)](Rows(values, weight, pivot), model.n_clusters, generator(model.random_state)) + pivot


def _sweeps(centres: Floats, values: Floats, weight: Floats, n_iter: int) -> Iterator[Sweep]:
    for number in range(1, n_iter + 1):
        here = KMeans.from_params(centres)
        cluster, inertia = here._assigned(values, weight)
        fit = KMeans(len(centres), init=centres, n_init=1, max_iter=1, tol=0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            after = np.asarray(fit.fit(values, sample_weight=weight).cluster_centers_, dtype=np.float64)
        there = KMeans.from_params(after)
        reached = there._assigned(values, weight)[1]
        sizes = np.bincount(cluster, weight, minlength=len(centres)).astype(np.float64)
        squares, moved = (model.transform(values) ** 2 for model in (here, there))
        yield Sweep(number, centres, squares, cluster, sizes, inertia, after, reached, moved)
        centres = after


def _cell(value: float) -> str:
    return "·" if np.isnan(value) else f"{value:g}"


def _number(value: float) -> str:
    return f"{value:.6f}"
