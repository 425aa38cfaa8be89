"""Decisions: what to do about a row, given how probable its classes are and what mistakes cost.

    risk[n, i] = sum_j cost[i, j] proba[n, j]        the expected cost of decision i for row n
    decision[n] = argmin_i risk[n, i]                the lowest index among equals

Vocabulary
----------
proba      posterior probabilities of the classes, one row per example: `predict_proba` gives them
cost       cost[i, j]: what decision i costs when the truth is class j; a gain is a negative cost
reject     what it costs not to decide; the decision is then -1
risk       the expected cost of a decision
"""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from halfseen.data import check_weight
from halfseen.errors import DataError, ParameterError

Floats = NDArray[np.float64]

REJECTED = -1
ROUNDING = 1e-12  # relative difference of risks that is rounding
SUM_TOLERANCE = 1e-6  # probabilities that went through a file or single precision still sum to one within this


class Decided(NamedTuple):
    """What was decided for each row, and the risk of it; (N,) each."""

    decision: NDArray[np.int64]
    risk: Floats


@overload
def decide(
    proba: ArrayLike, cost: ArrayLike | None = None, reject: float | None = None, return_risk: Literal[False] = False
) -> NDArray[np.int64]: ...


@overload
def decide(
    proba: ArrayLike, cost: ArrayLike | None = None, reject: float | None = None, *, return_risk: Literal[True]
) -> tuple[NDArray[np.int64], Floats]: ...


def decide(
    proba: ArrayLike, cost: ArrayLike | None = None, reject: float | None = None, return_risk: bool = False
) -> Any:
    """Decide for each row what costs least in expectation.

        risk[n, i] = sum_j cost[i, j] proba[n, j];  the decision is argmin_i risk[n, i]

    Parameters
    ----------
    proba : (N, J) array
        Posterior probabilities of the J classes; each row sums to one.
    cost : (I, J) or (N, I, J) array, optional
        cost[i, j] is what decision i costs when the truth is class j; the second form has costs of its own for each
        row. I need not be J: decisions are then actions, of which there may be more or fewer than classes. By default
        0 for the true class and 1 for every other, and the decision is the most probable class.
    reject : float, optional
        What it costs not to decide. Where the least risk is above it the decision is -1.
    return_risk : bool
        Also return the risk of what was decided.

    Returns
    -------
    decision : (N,) array of int64
        The index of a class, or of a row of `cost`; -1 where rejected; the lowest index among equals.
    risk : (N,) array
        With `return_risk`: the expected cost of the decision by `proba`, `reject` where rejected; right if these are.

    Examples
    --------
    A melon that is ripe with probability 0.8. Throwing a ripe one away costs 1, selling an unripe one 5.

    >>> import halfseen as hs
    >>> proba = [[0.2, 0.8]]                # unripe, ripe
    >>> hs.decide(proba)
    array([1])
    >>> cost = [[0, 1], [5, 0]]             # throw away, sell
    >>> hs.decide(proba, cost, return_risk=True)
    (array([0]), array([0.8]))
    >>> hs.decide(proba, cost, reject=0.5)  # tasting it costs 0.5
    array([-1])
    """
    found = _decided(_read_proba(proba), cost, _read_reject(reject))
    return tuple(found) if return_risk else found.decision


def bayes_risk(
    proba: ArrayLike,
    cost: ArrayLike | None = None,
    reject: float | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return what the best decisions would cost if the model were right: the mean over rows of the least risk.

        sum_n sample_weight[n] min(min_i risk[n, i], reject) / sum_n sample_weight[n]

    It comes from the model's own certainty and is no estimate of the cost on new rows: a model that is too sure of
    itself shows too little. For that see `cross_validate`: cross_validate(model, X, y).cost(cost, reject). With the
    default costs, and only with these, 1 - bayes_risk is the best accuracy that can be hoped for.

    Parameters
    ----------
    proba, cost, reject : as in `decide`
    sample_weight : (N,) array, optional
        How often each row counts.

    Examples
    --------
    >>> import halfseen as hs
    >>> hs.bayes_risk([[0.75, 0.25], [0.5, 0.5]])
    0.375
    """
    read = _read_proba(proba)
    if not len(read):
        raise DataError("proba has no rows: there is no mean risk. Give at least one row.")
    weight = check_weight(sample_weight, len(read))
    return float(weight @ _decided(read, cost, _read_reject(reject)).risk / weight.sum())


def _decided(proba: Floats, cost: ArrayLike | None, reject: float | None) -> Decided:
    found = _most_probable(proba) if cost is None else _least_risk(_risk(proba, _read_cost(cost, proba.shape)))
    if reject is None:
        return found
    out = rejected(found.risk, reject)
    return Decided(np.where(out, REJECTED, found.decision), np.where(out, reject, found.risk))


def rejected(risk: Floats, reject: float) -> NDArray[np.bool_]:
    """Return where the least risk is above what it costs not to decide; 1 - 0.7 is a little above 0.3, by rounding.

    Examples
    --------
    >>> rejected(np.array([1 - 0.7, 0.31]), 0.3)
    array([False,  True])
    """
    found: NDArray[np.bool_] = risk > reject + ROUNDING * max(1.0, abs(reject))
    return found


def _most_probable(proba: Floats) -> Decided:
    """Return the decisions under 0-1 loss: probabilities are compared themselves, 1 - p would round some to equals."""
    return Decided(proba.argmax(axis=1).astype(np.int64), np.maximum(1.0 - proba.max(axis=1), 0.0))


def _risk(proba: Floats, cost: Floats) -> Floats:
    """risk[n, i] = sum_j cost[(n,) i, j] proba[n, j]."""
    return np.einsum("ij,nj->ni" if cost.ndim == 2 else "nij,nj->ni", cost, proba)


def _least_risk(risk: Floats) -> Decided:
    return Decided(risk.argmin(axis=1).astype(np.int64), risk.min(axis=1))


# ---- what a user typed -------------------------------------------------------------------------------------------


def _read_proba(proba: ArrayLike) -> Floats:
    read = _numbers("proba", proba, DataError)
    if read.ndim != 2 or read.shape[1] == 0:
        raise DataError(f"proba has shape {read.shape}, expected (rows, classes), as predict_proba returns it.")
    _refuse(~np.isfinite(read).all(axis=1), read, "is not finite", "Leave such rows out, or fill them")
    _refuse((read < 0).any(axis=1), read, "has a negative probability", "Give probabilities, not scores or logs")
    sums = read.sum(axis=1)
    off = np.abs(sums - 1) > SUM_TOLERANCE
    if off.any():
        row = int(off.argmax())
        raise DataError(
            f"proba: row {row} sums to {sums[row]:.7g}, not 1 ({off.sum()} of {len(off)} rows are off). "
            "Divide each row by its sum."
        )
    return read


def _refuse(wrong: Any, proba: Floats, what: str, advice: str) -> None:
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(f"proba: row {row} {what}: {proba[row].tolist()} ({wrong.sum()} such rows). {advice}.")


def _read_cost(cost: ArrayLike, shape: tuple[int, ...]) -> Floats:
    n_rows, n_classes = shape
    read = _numbers("cost", cost, ParameterError)
    if read.ndim not in (2, 3) or 0 in read.shape[-2:] or read.shape[-1] != n_classes:
        raise ParameterError(
            f"cost has shape {read.shape}, expected (decisions, {n_classes}), one column per class of proba, "
            f"or ({n_rows}, decisions, {n_classes}) for costs of each row."
        )
    if read.ndim == 3 and len(read) != n_rows:
        raise ParameterError(f"cost has {len(read)} tables, proba has {n_rows} rows. Give one table per row, or one.")
    if not np.isfinite(read).all():
        place = tuple(np.argwhere(~np.isfinite(read))[0].tolist())
        raise ParameterError(f"cost[{', '.join(map(str, place))}] is {read[place]}. Costs are finite; use a large one.")
    return read


def _read_reject(reject: Any) -> float | None:
    if reject is None:
        return None
    if isinstance(reject, bool | np.bool_) or not isinstance(reject, Real) or not np.isfinite(float(reject)):
        raise ParameterError(f"reject={reject!r} is not a number: the cost of not deciding, or None to decide always.")
    return float(reject)


def _numbers(name: str, values: ArrayLike, error: type[DataError] | type[ParameterError]) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise error(f"{name} is not an array of numbers: {problem}") from None
