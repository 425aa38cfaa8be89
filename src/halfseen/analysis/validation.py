"""How good a classifier is on rows not used for fitting: cross-validation, confusion, calibration, cost and rejection.

Every figure comes from *out-of-fold* probabilities: each labelled row is predicted by a model fitted without it. Rows
without a label of their own take part in every fit, as they did in the model's.

Vocabulary
----------
confusion      rows of each true class by what was decided
calibration    are predictions with a probability of 80 % correct in 80 % of cases?
coverage       share of rows that are decided, if a row may be rejected
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halfseen.analysis.decisions import decide
from halfseen.analysis.scored_table import check_mixture
from halfseen.data import Source, check_weight
from halfseen.errors import DataError, ParameterError
from halfseen.estimators import options
from halfseen.leaves.leaf import Floats

Ints = NDArray[np.int64]

GRADES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # of certainty; finer where most rows are


@dataclass(frozen=True, eq=False)
class Validated:
    """Out-of-fold predictions of the labelled rows.

    Attributes
    ----------
    class_names : tuple of str
    truth : (M,) array         index of the true class
    proba : (M, C) array       predicted by a model that did not see the row
    weight : (M,) array
    rows : (M,) array          where the rows stand in the table given
    folds : int
    n_labelled : int           labelled rows in the table given; more than M where a sample was taken
    """

    class_names: tuple[str, ...]
    truth: Ints
    proba: Floats
    weight: Floats
    rows: Ints
    folds: int
    n_labelled: int

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which rows were predicted correctly."""
        return np.asarray(decide(self.proba) == self.truth)

    @property
    def accuracy(self) -> float:
        """Share of rows predicted correctly."""
        return float(np.average(self.right, weights=self.weight))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the accuracy on new rows (Wilson), by the effective number of weighted rows."""
        return wilson(self.accuracy, float(self.weight.sum() ** 2 / (self.weight**2).sum()))

    @property
    def baseline(self) -> float:
        """Accuracy of always predicting the most frequent class."""
        return float(np.bincount(self.truth, self.weight).max() / self.weight.sum())

    @property
    def log_loss(self) -> float:
        """Mean of -log of the probability given to the true class."""
        own = self.proba[np.arange(len(self.truth)), self.truth]
        return float(np.average(-np.log(np.maximum(own, 1e-300)), weights=self.weight))

    def cost(self, cost: ArrayLike, reject: float | None = None) -> float:
        """Mean cost per row of deciding by the least expected cost: what was paid, not what the model expected.

        Parameters
        ----------
        cost, reject : as in `decide`; one table of costs for all rows

        Examples
        --------
        >>> proba = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4]])
        >>> found = Validated(("a", "b"), np.array([0, 1, 1]), proba, np.ones(3), np.arange(3), 2, 3)
        >>> found.cost([[0, 6], [1, 0]]), round(found.cost([[0, 6], [1, 0]], reject=0.3), 3)
        (2.0, 0.3)
        """
        table = _one_table(cost)
        decided = decide(self.proba, table, reject)
        spent = table[np.maximum(decided, 0), self.truth]
        return float(np.average(np.where(decided < 0, reject or 0.0, spent), weights=self.weight))


def wilson(share: float, n_rows: float) -> tuple[float, float]:
    """Return the 95 % interval of a share seen in so many rows (Wilson); it stays within 0 and 1.

    Examples
    --------
    >>> low, high = wilson(0.95, 60)
    >>> round(low, 3), round(high, 3)
    (0.863, 0.983)
    """
    z2 = 1.96**2
    centre = (share + z2 / (2 * n_rows)) / (1 + z2 / n_rows)
    half = float(np.sqrt(share * (1 - share) * z2 / n_rows + z2**2 / (4 * n_rows**2))) / (1 + z2 / n_rows)
    return min(centre - half, share), max(centre + half, share)


def cross_validate(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    *,
    folds: int = 5,
    max_rows: int | None = None,
    random_state: int = 0,
) -> Validated:
    """Predict each labelled row by a model fitted without it: estimates of accuracy and cost on new rows.

    A classifier has a method ``_out_of_fold(source, weight, evidence, train, test)`` for it: the posteriors of rows
    `test` by a copy fitted to rows `train`.

    Parameters
    ----------
    model : fitted NaiveBayes or GaussianClassifier
    X : table
    y : labels, as in `fit`; rows with no label, or several, are used in every fit and not evaluated
    sample_weight : (N,) array, optional
    folds : int, default 5
        Fewer where a class has fewer labelled rows.
    max_rows : int, optional
        Use a random sample of this many rows if there are more.
    random_state : int
        Seed of folds and sample.

    Examples
    --------
    >>> import halfseen as hs
    >>> X, y = [["a"], ["a"], ["b"], ["b"]] * 5, ["no", "no", "yes", "yes"] * 5
    >>> cross_validate(hs.NaiveBayes().fit(X, y), X, y).accuracy
    1.0
    """
    from sklearn.model_selection import StratifiedKFold

    check_mixture(model)
    if not hasattr(model, "_out_of_fold"):
        raise ParameterError(f"cross_validate is for classifiers; {type(model).__name__} has no labels to predict.")
    options.whole("folds", folds)
    source: Source = model._read(X, reset=False)
    weight = check_weight(sample_weight, source.n_rows)
    evidence = model._evidence(source.target if y is None else y, source.n_rows)
    single = (evidence.patterns != -np.inf).sum(axis=1) == 1
    n_labelled = int(single[evidence.index].sum())
    place = np.arange(source.n_rows)
    if max_rows is not None and source.n_rows > max_rows:
        place = np.sort(np.random.default_rng(random_state).choice(source.n_rows, max_rows, replace=False))
        source, weight, evidence = source.take(place), weight[place], evidence.take(place)
    source = model._worded(source)  # once, and not in every fold
    labelled = np.flatnonzero(single[evidence.index] & (weight > 0))
    truth = evidence.patterns[evidence.index[labelled]].argmax(axis=1)
    counts = np.bincount(truth, minlength=len(model.classes_))
    folds = int(min(folds, counts[counts > 0].min(initial=folds)))
    if folds < 2 or (counts > 0).sum() < 2:
        raise DataError(
            "cross-validation needs at least two classes with at least two labelled rows each; the labelled rows by "
            f"class are {dict(zip(map(str, model.classes_), counts.tolist(), strict=True))}."
        )
    weight = np.where(evidence.index == 0, model.unlabeled_weight_ * weight, weight)
    others = np.flatnonzero((weight > 0) & ~single[evidence.index])
    proba = np.zeros((len(labelled), len(model.classes_)))
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=random_state).split(labelled, truth):
        rows = np.sort(np.append(labelled[train], others))
        proba[test] = model._out_of_fold(source, weight, evidence, rows, labelled[test])
    names = tuple(map(str, model.classes_))
    return Validated(names, truth, proba, weight[labelled], place[labelled], folds, n_labelled)


def confusion(found: Validated, decided: Ints | None = None) -> Floats:
    """Return how many rows of each true class (row) were decided as each class (column), weighted, (C, C).

    Examples
    --------
    >>> confusion(Validated(("a", "b"), np.array([0, 0, 1]), np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]),
    ...                     np.ones(3), np.arange(3), 2, 3))
    array([[1., 1.],
           [0., 1.]])
    """
    decided = decide(found.proba) if decided is None else decided
    table = np.zeros((len(found.class_names), len(found.class_names)))
    np.add.at(table, (found.truth, decided), found.weight)
    return table


class Bin(NamedTuple):
    """Rows predicted with about the same probability: its mean, the share predicted correctly, and how many."""

    sure: float
    right: float
    n_rows: int


def calibration(found: Validated) -> list[Bin]:
    """Return the share of correct predictions by their probability; grades without rows are left out.

    Examples
    --------
    >>> proba = np.array([[0.55, 0.45], [0.45, 0.55], [0.96, 0.04]])
    >>> calibration(Validated(("a", "b"), np.array([0, 0, 0]), proba, np.ones(3), np.arange(3), 2, 3))
    [Bin(sure=0.55, right=0.5, n_rows=2), Bin(sure=0.96, right=1.0, n_rows=1)]
    """
    sure = found.proba.max(axis=1)
    grade = np.searchsorted(GRADES, sure, side="right")
    counts = np.bincount(grade, minlength=len(GRADES) + 1)
    mass = np.bincount(grade, found.weight, minlength=len(counts))
    sums = [np.bincount(grade, found.weight * part, minlength=len(counts)) for part in (sure, found.right)]
    return [Bin(float(sums[0][i] / mass[i]), float(sums[1][i] / mass[i]), int(counts[i])) for i in np.flatnonzero(mass)]


def calibration_error(found: Validated) -> float:
    """Return the mean distance between probability and share correct over the grades, weighted by their rows."""
    parts = calibration(found)
    return float(np.average([abs(part.sure - part.right) for part in parts], weights=[part.n_rows for part in parts]))


class RejectPoint(NamedTuple):
    """The effect of one cost of rejecting: share of rows decided, and accuracy (or cost) of those."""

    reject: float
    coverage: float
    accuracy: float
    cost: float


def reject_curve(found: Validated, cost: ArrayLike | None = None, points: int = 50) -> list[RejectPoint]:
    """Return coverage, accuracy of decided rows and mean cost of all, as rejecting becomes more expensive.

    Its cost runs over the risks that occur: below the smallest nothing is decided, at the largest everything is.
    """
    table = np.asarray(_zero_one(len(found.class_names)) if cost is None else cost, dtype=np.float64)
    risk = decide(found.proba, table, return_risk=True)[1]
    prices = np.unique(np.quantile(risk, np.linspace(0, 1, points)))
    curve = []
    for price in prices.tolist():
        decided = decide(found.proba, table, reject=price)
        kept = decided >= 0
        mass = found.weight * kept
        spent = np.where(kept, table[np.maximum(decided, 0), found.truth], price)
        right = (found.proba.argmax(axis=1) == found.truth) if cost is not None else (decided == found.truth)
        accuracy = float(mass @ right / mass.sum()) if mass.any() else float("nan")
        share = float(mass.sum() / found.weight.sum())
        curve.append(RejectPoint(price, share, accuracy, float(np.average(spent, weights=found.weight))))
    return curve


class Costs(NamedTuple):
    """Mean cost per row of deciding by least expected cost, by the most probable class, and always the same."""

    decided: float
    most_probable: float
    always: float


def costs(found: Validated, cost: ArrayLike) -> Costs:
    """Return the cost of decisions on rows not used for fitting, for three ways to decide.

    Examples
    --------
    >>> proba = np.array([[0.9, 0.1], [0.6, 0.4]])
    >>> found = Validated(("a", "b"), np.array([0, 1]), proba, np.ones(2), np.arange(2), 2, 2)
    >>> costs(found, [[0, 5], [1, 0]])
    Costs(decided=0.0, most_probable=2.5, always=0.5)
    """
    table = _one_table(cost)
    weight = found.weight / found.weight.sum()

    def mean(decision: Any) -> float:
        return float(weight @ table[decision, found.truth])

    always = min(float(weight @ row[found.truth]) for row in table)
    most_probable = mean(decide(found.proba)) if table.shape[0] == table.shape[1] else float("nan")
    return Costs(found.cost(table), most_probable, always)


def _one_table(cost: ArrayLike) -> Floats:
    """Return one table of costs for all rows; `decide` checks what is in it."""
    table = np.asarray(cost, dtype=np.float64)
    if table.ndim != 2:
        raise ParameterError(f"cost has shape {table.shape}; here one table (decisions, classes) is for all rows.")
    return table


class CostPoint(NamedTuple):
    """How many times as expensive one mistake is, and the mean cost of deciding with and without knowing it."""

    ratio: float
    decided: float
    most_probable: float
    always: float


def cost_curve(found: Validated, points: int = 41) -> list[CostPoint]:
    """Return mean costs of two classes as missing the second becomes more expensive: 1/20 to 20 times the other.

    cost[0, 1] = ratio, cost[1, 0] = 1, over 1 + ratio, so that costs at different ratios compare.
    """
    if len(found.class_names) != 2:
        raise ParameterError(f"cost_curve is for two classes; there are {len(found.class_names)}. Use costs instead.")
    ratios = np.geomspace(1 / 20, 20, points).tolist()
    return [CostPoint(ratio, *costs(found, np.array([[0, ratio], [1, 0]]) / (1 + ratio))) for ratio in ratios]


def _zero_one(n_classes: int) -> Floats:
    return 1.0 - np.eye(n_classes)
