"""Find out by cross-validation how much rows without a label should count in a classifier, if at all.

Fits with several weights are made on the same folds of the labelled rows and compared on the rows left out. Unlabelled
rows hurt when the classes are not the clusters of the table, or when columns depend on each other within a class; so
labelled rows alone are the rule, and another weight has to be clearly better.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from halfseen.data import Evidence, Source, Table
from halfseen.errors import DataError, UnlabeledWarning, warn
from halfseen.estimators.convergence import unfinished
from halfseen.leaves.leaf import Floats

if TYPE_CHECKING:
    from halfseen.families.mixture.supervised import MixtureClassifier

FOLDS = 5
WEIGHTS = (0.0, 0.03, 0.3, 1.0)  # of unlabelled rows; see benchmarks/few_labels.py for these figures
CLEAR = 2.0  # standard errors by which a weight must be better than 0
COARSE = 1e-2  # tolerance of these fits: what is still to gain moves no prediction


class Choice(NamedTuple):
    """The weight of unlabelled rows, and what was found about it.

    Attributes
    ----------
    weight : float
    scores : dict or None     cross-validated accuracy and squared error; None where nothing was compared
    note : str or None        why not
    worse : bool              whether unlabelled rows, with the best weight for them, are clearly worse than none
    """

    weight: float
    scores: dict[str, float] | None = None
    note: str | None = None
    worse: bool = False


def choose(
    model: MixtureClassifier,
    source: Source,
    weight: Floats,
    evidence: Evidence,
    candidates: Sequence[float] = WEIGHTS,
) -> Choice:
    """Return the weight of unlabelled rows that predicts labelled rows best in cross-validation.

    A weight above 0 is taken if its squared error is lower than that of labelled rows alone by more than two standard
    errors of the difference, and its accuracy is not lower; of several the one with the lowest squared error. Where
    labelled rows alone are too few to be compared, unlabelled rows count in full.
    """
    if evidence.complete:
        return Choice(1.0)
    folds = _folds(model, source, weight, evidence)
    if folds is None:
        return Choice(1.0, note="too few labelled rows to find out whether the unlabelled ones help: these are used")
    found: dict[float, Errors] = {}
    for share in candidates:
        try:
            if not share:  # what will be fitted if nothing else is better
                known = folds.labelled
                fitted_to(model, source.take(known), weight[known], evidence.take(known), COARSE)._check_seen()
            proba = _out_of_fold(model, source, weight, evidence, folds, share)
        except DataError as error:  # a column that was seen in other rows only
            return Choice(1.0, note=f"some labelled rows cannot be fitted alone, so unlabelled ones are used: {error}")
        found[share] = Errors.of(proba, folds, weight)
    return _best(found, folds)


class Errors(NamedTuple):
    """How well labelled rows are predicted: squared error of each, (M,), their weights, and the accuracy."""

    squared: Floats
    weight: Floats
    accuracy: float

    @classmethod
    def of(cls, proba: Floats, folds: Folds, weight: Floats) -> Errors:
        """Return the errors of predicted probabilities, (M, C)."""
        own = weight[folds.labelled]
        squared = ((proba - np.eye(proba.shape[1])[folds.truth]) ** 2).sum(axis=1)
        right = float(own @ (proba.argmax(axis=1) == folds.truth))
        return cls(squared, own / own.sum(), right / float(own.sum()))

    @property
    def mean(self) -> float:
        """Mean squared error."""
        return float(self.weight @ self.squared)

    def clearly_below(self, other: Errors) -> bool:
        """Whether the squared error is lower by more than `CLEAR` standard errors of the difference."""
        change, count = self.squared - other.squared, len(self.squared)
        mean = float(self.weight @ change)
        variance = float(self.weight**2 @ (change - mean) ** 2) * count / (count - 1)
        return mean < -CLEAR * variance**0.5


def _best(found: dict[float, Errors], folds: Folds) -> Choice:
    """Return the choice among weights."""
    alone = found[0.0]
    others = sorted((share for share in found if share), key=lambda share: found[share].mean)
    better = [e for e in others if found[e].clearly_below(alone) and found[e].accuracy >= alone.accuracy]
    kept, first = (better or [0.0])[0], found[(better or others)[0]]
    scores = {
        "accuracy": found[kept].accuracy,
        "labelled_only": alone.accuracy,
        "with_unlabeled": first.accuracy,
        "squared_error": found[kept].mean,
        "squared_error_labelled_only": alone.mean,
        "n_labelled": len(folds.labelled),
        "folds": len(folds.split),
    }
    return Choice(kept, scores, worse=alone.clearly_below(first))


def warn_worse(scores: dict[str, float], weight: float) -> None:
    """Warn that a weight that the user chose makes the classifier worse."""
    warn(
        f"unlabeled_weight={weight:g} makes the classifier worse: accuracy {scores['with_unlabeled']:.3f} with the "
        f"unlabelled rows, {scores['labelled_only']:.3f} without ({scores['folds']}-fold cross-validation on "
        f"{scores['n_labelled']} labelled rows). unlabeled_weight='auto' leaves them out where they do harm.",
        UnlabeledWarning,
    )


class Folds(NamedTuple):
    """The labelled rows, their classes, and how they are cut: training and test rows of each fold."""

    labelled: NDArray[np.int64]
    truth: NDArray[np.int64]
    split: list[tuple[NDArray[np.int64], NDArray[np.int64]]]


def _out_of_fold(
    model: MixtureClassifier, source: Source, weight: Floats, evidence: Evidence, folds: Folds, share: float
) -> Floats:
    """Return the posteriors of labelled rows, (M, C), by fits without them; unlabelled rows are weighted by `share`."""
    others = np.setdiff1d(np.arange(len(weight)), folds.labelled)
    others = others if share else others[evidence.index[others] != 0]
    weighed = np.where(evidence.index == 0, share * weight, weight)
    proba = np.empty((len(folds.labelled), len(model.classes_)))
    for train, test in folds.split:
        rows = np.append(folds.labelled[train], others)  # alone in the order of their content
        rows = np.sort(rows) if share else rows
        proba[test] = model._out_of_fold(source, weighed, evidence, rows, folds.labelled[test], COARSE)
    return proba


def _folds(model: MixtureClassifier, source: Source, weight: Floats, evidence: Evidence) -> Folds | None:
    """Return the labelled rows, their classes, and how they are cut into folds; None where some class has too few.

    Rows are dealt by their content, so that the order in which they came does not matter.
    """
    from sklearn.model_selection import StratifiedKFold

    single = (evidence.patterns != -np.inf).sum(axis=1) == 1
    labelled = np.flatnonzero(single[evidence.index] & (weight > 0))
    truth = evidence.patterns[evidence.index[labelled]].argmax(axis=1)
    counts = np.bincount(truth, minlength=evidence.n_components)
    folds = int(min(FOLDS, counts[counts > 0].min(initial=FOLDS)))
    if folds < 2 or (counts > 0).sum() < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = model._learn_schema(source).encode(source.take(labelled), weight[labelled], evidence.take(labelled))
    order = rows.content_order()
    labelled, truth = labelled[order], truth[order]
    return Folds(labelled, truth, list(StratifiedKFold(folds, shuffle=True, random_state=0).split(labelled, truth)))


def fitted_to(
    model: MixtureClassifier, source: Source, weight: Floats, evidence: Evidence, coarse: float = 0.0
) -> MixtureClassifier:
    """Fit a copy to some rows without warnings: those of the fit to all rows are enough."""
    copy = clone(model)
    copy.set_params(tol=max(copy.tol, coarse))
    copy._begin(tuple(model.classes_.tolist()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy._fit_rows(source, weight, evidence)
    if unfinished(copy):
        raise KeyboardInterrupt  # errors of fits that were interrupted do not compare
    return copy


def encoded_rows(model: MixtureClassifier, source: Source, rows: NDArray[np.int64]) -> Table:
    """Encode some rows without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a category may be met in the rows left out alone
        return model._schema.encode(source.take(rows))
