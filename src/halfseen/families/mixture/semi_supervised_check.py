"""Find out by cross-validation whether the unlabelled rows help a classifier.

Both fits are made on the same folds of the labelled rows and compared on the rows left out. Unlabelled rows hurt when
the classes are not the clusters of the table, or when columns depend on each other within a class.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from halfseen.data import Evidence, Source, Table
from halfseen.errors import DataError, UnlabeledWarning, warn

if TYPE_CHECKING:
    from halfseen.families.mixture.supervised import MixtureClassifier

FOLDS = 5
WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)  # of unlabelled rows, tried by cross-validation


def compare(
    model: MixtureClassifier, source: Source, weight: NDArray[np.float64], evidence: Evidence
) -> dict[str, Any] | None:
    """Return the cross-validated accuracies with and without unlabelled rows; warn when they are worse with them.

    None, with a note in `events_`, where some class has too few labelled rows to leave one out, or what is left cannot
    be fitted alone.
    """
    folds = _folds(evidence)
    if folds is None:
        model.events_.append("guard: too few labelled rows to tell whether the unlabelled ones help")
        return None
    right = {share: np.zeros(len(folds.labelled)) for share in (1.0, 0.0)}
    for share, hits in right.items():
        try:
            for test, correct in _tested(model, source, weight, evidence, folds, share):
                hits[test] = correct
        except DataError as error:  # a column that was seen in other rows only
            model.events_.append(f"guard: some labelled rows cannot be fitted alone: {error}")
            return None
    return _judged(model, right[1.0], right[0.0], len(folds.split))


def best_weight(model: MixtureClassifier, source: Source, weight: NDArray[np.float64], evidence: Evidence) -> float:
    """Return the weight of unlabelled rows with which most labelled rows are right in cross-validation.

    The largest among equals. 1 where there is nothing to choose: no unlabelled row, or too few labels.
    """
    folds = _folds(evidence)
    if folds is None or evidence.complete:
        return 1.0
    hits: dict[float, float] = {}
    for share in WEIGHTS:
        tested = _tested(model, source, weight, evidence, folds, share)
        try:
            hits[share] = sum(float(weight[folds.labelled[test]] @ correct) for test, correct in tested)
        except DataError:  # a column that was seen in other rows only: such a weight will not do
            hits[share] = -np.inf
    return max(WEIGHTS, key=lambda share: (hits[share], share))


class Folds(NamedTuple):
    """The labelled rows, their classes, and how they are cut: training and test rows of each fold."""

    labelled: NDArray[np.int64]
    truth: NDArray[np.int64]
    split: list[tuple[NDArray[np.int64], NDArray[np.int64]]]


def _tested(
    model: MixtureClassifier,
    source: Source,
    weight: NDArray[np.float64],
    evidence: Evidence,
    folds: Folds,
    share: float,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """Fit to all but each fold, unlabelled rows weighted by `share`; yield the fold and which of its rows are right."""
    labelled, names = folds.labelled, np.arange(len(model.classes_))
    others = np.setdiff1d(np.arange(len(weight)), labelled)
    for train, test in folds.split:
        rows = np.sort(np.append(labelled[train], others)) if share else labelled[train]
        known = evidence.take(rows)
        own = np.where(known.index == 0, share * weight[rows], weight[rows])
        fitted = fitted_to(model, source.take(rows), own, known)
        found = fitted._most_probable(encoded_rows(fitted, source, labelled[test]), names)
        yield test, found == folds.truth[test]


def _folds(evidence: Evidence) -> Folds | None:
    """Return the labelled rows, their classes, and how they are cut into folds; None where some class has too few."""
    single = (evidence.patterns != -np.inf).sum(axis=1) == 1
    labelled = np.flatnonzero(single[evidence.index])
    truth = evidence.patterns[evidence.index[labelled]].argmax(axis=1)
    counts = np.bincount(truth, minlength=evidence.n_components)
    folds = int(min(FOLDS, counts[counts > 0].min(initial=FOLDS)))
    if folds < 2 or (counts > 0).sum() < 2:
        return None
    return Folds(labelled, truth, list(StratifiedKFold(folds, shuffle=True, random_state=0).split(labelled, truth)))


def fitted_to(
    model: MixtureClassifier, source: Source, weight: NDArray[np.float64], evidence: Evidence
) -> MixtureClassifier:
    """Fit a copy to some rows without warnings: those of the fit to all rows are enough."""
    copy = clone(model)
    copy._begin(tuple(model.classes_.tolist()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy._fit_rows(source, weight, evidence)
    return copy


def encoded_rows(model: MixtureClassifier, source: Source, rows: NDArray[np.int64]) -> Table:
    """Encode some rows without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a category may be met in the rows left out alone
        return model._schema.encode(source.take(rows))


def _judged(
    model: MixtureClassifier, with_all: NDArray[np.float64], labelled_only: NDArray[np.float64], folds: int
) -> dict[str, Any]:
    scores = {
        "with_unlabeled": float(with_all.mean()),
        "labelled_only": float(labelled_only.mean()),
        "n_labelled": len(with_all),
        "folds": folds,
    }
    changed = with_all - labelled_only
    if changed.sum() < -np.sqrt(np.abs(changed).sum()):  # more than one standard error of the difference
        warn(
            f"the unlabelled rows make the classifier worse: accuracy {scores['with_unlabeled']:.3f} with them, "
            f"{scores['labelled_only']:.3f} without ({folds}-fold cross-validation on {len(with_all)} labelled rows). "
            f"Lower unlabeled_weight (now {model.unlabeled_weight_:g}; 0 leaves them out), try components_per_class=2, "
            "or drop columns that depend on each other.",
            UnlabeledWarning,
        )
    return scores
