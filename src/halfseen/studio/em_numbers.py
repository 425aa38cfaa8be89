"""The numbers of the screen EM: models of a few rows, their iterations, the bound, and the mixture that k-means is.

They are those of `halfseen.explain` and of `halfseen.analysis.bound_line`; nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from halfseen.analysis.beginning import begun
from halfseen.analysis.bound_line import bound_line
from halfseen.analysis.worked_numbers import Worked
from halfseen.app.explanation import explain
from halfseen.errors import DataError, FitError, HalfseenError, ParameterError
from halfseen.families.kmeans.estimator import KMeans
from halfseen.families.kmeans.explain import ClusterExplanation
from halfseen.families.mixture.explain import Explanation
from halfseen.families.mixture.gaussian_mixture import GaussianMixture
from halfseen.families.mixture.latent_class import LatentClass
from halfseen.leaves.leaf import Floats
from halfseen.studio.em_request import Asked, Numbers, tells_rows_apart
from halfseen.studio.rows import RowStore

ADDING_UP = ("categorical", "ordinal", "text")  # kinds whose parameters are probabilities that add up to 1
ROUNDING = 1e-9
TINY = 1e-300  # a probability drawn as 0 can still take what is left
WITH_SD = ("full", "diag")  # covariances for which standard deviations can be typed
MOST_PARAMETERS = 200  # lines of a table of parameters: categories and words of all columns


# ---- rows and model --------------------------------------------------------------------------------------------------


def table(asked: Asked, store: RowStore) -> pa.Table:
    """Return the cells of the rows; refuse columns that a model cannot take, or that cannot group the rows."""
    if not asked.columns:
        which = "numbers" if asked.model != "classes" else "kinds that can group these rows"
        hint = "" if asked.model != "classes" else " Categories that differ in every row cannot."
        raise DataError(f"There is no column to work with: choose columns with {which}.{hint}")
    cells = store.cells(asked.rows).select(list(asked.columns))
    for name in asked.columns:
        if cells[name].null_count == len(cells):
            raise DataError(f"column {name!r} is missing in all of these rows. Leave it out, or choose other rows.")
        if asked.model != "classes" and store.types[name] != "number":
            raise DataError(
                f"column {name!r} holds no numbers, which Gaussian mixtures and k-means need. Leave it out, or choose "
                "latent classes."
            )
        if asked.model == "classes" and tells_rows_apart(cells[name], asked.kinds[name]):
            raise DataError(
                f"column {name!r} has another value in every row and is taken as categories: it cannot group the rows. "
                "Leave it out, choose other rows, or another kind, such as binomial(10) for successes of 10 trials."
            )
    return cells


def estimator(asked: Asked, cells: pa.Table) -> Any:
    """Return the model, which begins at the parameters that were typed, the others being drawn by the seed."""
    plain = _without_start(asked)
    if asked.start is None and not isinstance(asked.shares, tuple):
        return plain
    if asked.model == "kmeans":
        drawn = _explained(plain, cells, 1).steps[0].before.T
        return plain.set_params(init=_filled(asked, "mean", drawn))
    return _with_start(plain, asked, begun(plain, cells).params_)


def _without_start(asked: Asked) -> Any:
    k, equal = asked.classes, asked.shares == "equal"
    if asked.model == "kmeans":
        return KMeans(k, random_state=asked.seed, n_init=1)
    options: dict[str, Any] = {"assign": asked.assign, "prior": asked.prior, "random_state": asked.seed, "n_init": 1}
    if asked.model == "gaussian":
        weights = "uniform" if equal else "free"
        return GaussianMixture(k, covariance_type=asked.covariance, weights=weights, **options)
    shares: dict[str, Any] = {"start": {"weights": [1 / k] * k}, "fixed": ["weights"]} if equal else {}
    kinds: dict[str | int, str] = dict(asked.kinds.items())
    return LatentClass(k, columns=kinds, **shares, **options)


def _with_start(plain: Any, asked: Asked, drawn: Mapping[str, Any]) -> Any:
    """Return the model with the start that was typed."""
    shares = None
    if isinstance(asked.shares, tuple):
        shares = _adding_up("the shares", {"": asked.shares}, {"": drawn["weights"]}, axis=1)[""]
    if asked.model == "gaussian":
        return _gaussian_with_start(plain, asked, drawn).set_params(weights_init=shares)
    start: dict[str, Any] = dict(plain.start or {}) | ({} if shares is None else {"weights": shares})
    for column, values in (asked.start or {}).items():
        levels = {str(level): level for level in drawn[column]}
        unknown = [name for name in values if name not in levels]
        if unknown:
            raise ParameterError(f"start: {column} has {', '.join(levels)}, not {unknown[0]!r:.40}.")
        typed, own = {levels[name]: numbers for name, numbers in values.items()}, drawn[column]
        if asked.kinds[column] in ADDING_UP:
            start[column] = _adding_up(column, typed, own)
        else:
            start[column] = {name: _typed(numbers, own[name]) for name, numbers in typed.items()}
    return plain.set_params(start=start)


def _typed(typed: Numbers, drawn: Sequence[float]) -> list[float]:
    """Return the numbers that were typed, the others as drawn."""
    return [float(own if one is None else one) for one, own in zip(typed, drawn, strict=True)]


def _adding_up(
    what: str, typed: Mapping[Any, Numbers], drawn: Mapping[Any, Floats], axis: int = 0
) -> dict[Any, list[float]]:
    """Return probabilities that add up to 1: those that were not typed share what is left, in proportion as drawn."""
    table = np.array([typed.get(name, [None] * len(own)) for name, own in drawn.items()], dtype=np.float64)
    free, own = np.isnan(table), np.array(list(drawn.values()), dtype=np.float64)
    left = 1 - np.where(free, 0.0, table).sum(axis=axis, keepdims=True)
    if (left < -ROUNDING).any():
        raise ParameterError(f"start: probabilities of {what} add up to {1 - left.min():g}, which is more than 1.")
    parts = np.where(free, np.maximum(own, TINY), 0.0)
    total = parts.sum(axis=axis, keepdims=True)
    filled = np.where(free, np.maximum(left, 0.0) * parts / np.where(total > 0, total, 1.0), table)
    return dict(zip(drawn, filled.tolist(), strict=True))


def _gaussian_with_start(plain: Any, asked: Asked, drawn: Mapping[str, Any]) -> Any:
    """Return a Gaussian mixture with means and standard deviations to begin with."""
    if not asked.start:
        return plain
    means, sds = (np.array([drawn[column][name] for column in asked.columns]) for name in ("mean", "sd"))
    plain = plain.set_params(means_init=_filled(asked, "mean", means))
    if not any("sd" in values for values in asked.start.values()):
        return plain
    if asked.covariance not in WITH_SD:
        raise ParameterError(
            f"start: standard deviations can be given for covariances {' and '.join(WITH_SD)}, not for "
            f"{asked.covariance}."
        )
    sds = _filled(asked, "sd", sds)
    if not (sds > 0).all():
        raise ParameterError(f"start: a standard deviation is {sds.min():g}; it must be above 0.")
    return plain.set_params(
        precisions_init=sds**-2.0 if asked.covariance == "diag" else [np.diag(own) for own in sds**-2.0]
    )


def _filled(asked: Asked, name: str, drawn: Floats) -> Floats:
    """Return a parameter of numbers, (K, D): what was typed, the rest as drawn, (D, K)."""
    filled = []
    for column, own in zip(asked.columns, drawn.tolist(), strict=True):
        values = (asked.start or {}).get(column, {})
        unknown = set(values) - {"mean", "sd"}
        if unknown:
            raise ParameterError(f"start: {column} has mean and sd, not {min(unknown)!r:.40}.")
        filled.append(_typed(values.get(name, [None] * len(own)), own))
    return np.array(filled).T


# ---- the numbers -----------------------------------------------------------------------------------------------------


def worked(asked: Asked, cells: pa.Table, compare: bool = False) -> dict[str, Any]:
    """Return the iterations number by number; `compare`: of k-means also those of the mixture that it is."""
    found, stopped = _as_far_as_possible(estimator(asked, cells), cells, asked.n_iter)
    numbered = _numbered(found.to_dict(), asked.rows)
    _check_size(numbered)
    twin = None
    if compare and isinstance(found, ClusterExplanation):
        try:
            twin = _twin(asked, found, cells)
        except HalfseenError as error:
            twin = {"problem": str(error)}
    return {
        **numbered,
        "names": _class_names(found),
        "start": _beginning(asked, found),
        "stopped": stopped,
        "twin": twin,
    }


def bound(asked: Asked, cells: pa.Table, iteration: int) -> dict[str, Any]:
    """Return likelihood and bound along the line of an iteration."""
    if asked.model == "kmeans" or asked.assign != "soft":
        raise ParameterError("The bound touches the likelihood that soft assignment raises. Choose soft to see it.")
    return bound_line(estimator(asked, cells), cells, step=iteration - 1).to_dict()


def _explained(model: Any, cells: pa.Table, n_iter: int, weight: Any = None) -> Any:
    return explain(model, cells, n_iter, weight)


def _as_far_as_possible(model: Any, cells: pa.Table, n_iter: int) -> tuple[Worked, str | None]:
    """Return the iterations that can be made, and why there are not more."""
    try:
        return _explained(model, cells, n_iter), None
    except FitError as error:
        low, high, reason = 0, n_iter, error
    found: Worked | None = None
    while high - low > 1:
        middle = (low + high) // 2
        try:
            found, low = _explained(model, cells, middle), middle
        except FitError:
            high = middle
    if found is None:
        raise reason
    return found, str(reason)


def _check_size(found: Mapping[str, Any]) -> None:
    lines = max(len(grid["rows"]) for grid in found["sections"][0]["grids"])
    if lines > MOST_PARAMETERS:
        raise ParameterError(
            f"{lines} lines of parameters are too many to read: leave out columns with many categories or words."
        )


def _class_names(found: Worked) -> list[str]:
    assert isinstance(found, Explanation | ClusterExplanation)
    return [str(name) for name in found.class_names]


def _numbered(found: dict[str, Any], rows: Sequence[int]) -> dict[str, Any]:
    """Return the grids with the numbers that rows have in the file."""
    for grid in (grid for section in found["sections"] for grid in section["grids"]):
        if grid["head"][:1] == ["row"]:
            grid["rows"] = [[str(rows[int(number)]), *cells] for number, *cells in grid["rows"]]
        elif grid["role"] == "completions":
            own = len(rows)
            grid["head"] = [*(f"row {number}" for number in rows), *grid["head"][own:]]
    return found


def _beginning(asked: Asked, found: Worked) -> list[dict[str, Any]]:
    """Return the parameters at the start, as the page lets the user change them."""
    if isinstance(found, ClusterExplanation):
        centres = zip(found.columns, found.steps[0].before.T.tolist(), strict=True)
        return [_entry(asked, column, "mean", f"centre in {column}", values) for column, values in centres]
    assert isinstance(found, Explanation)
    before = found.steps[0].before
    entries = [_entry(asked, None, "weights", "P(class)", before["weights"].tolist())]
    for column in asked.columns:
        named = column in found.quantities
        entries += [
            _entry(asked, column, str(name), f"{name} of {column}" if named else f"P({column} = {name})", list(values))
            for name, values in before[column].items()
        ]
    return entries


def _entry(asked: Asked, column: str | None, name: str, label: str, values: Iterable[float]) -> dict[str, Any]:
    fixed = column is None and asked.shares == "equal"
    shapes = asked.model == "gaussian" and name == "sd" and asked.covariance not in WITH_SD
    return {
        "column": column,
        "name": name,
        "label": label,
        "values": [float(value) for value in values],
        "fixed": fixed or shapes,
    }


def _twin(asked: Asked, sweeps: ClusterExplanation, cells: pa.Table) -> dict[str, Any]:
    """Return the Gaussian mixture that k-means is, from the same centres, and whether rows are assigned alike.

    A row with missing cells weighs D / n_seen: so much its distance counts in k-means.
    """
    seen = (~np.isnan(sweeps.values)).sum(axis=1)
    if not seen.all():
        row = asked.rows[int(np.flatnonzero(seen == 0)[0])]
        raise DataError(f"row {row} has no observed cell: a mixture cannot weigh it as k-means does. Leave it out.")
    centres = sweeps.steps[0].before
    mixture = GaussianMixture(
        len(centres), covariance_type="identity", weights="uniform", assign="hard", means_init=centres, n_init=1
    )
    weight = sweeps.values.shape[1] / seen
    found, stopped = _explained(mixture, cells, len(sweeps.steps), weight), None
    same = [
        bool((step.usage.argmax(axis=1) == sweep.cluster).all())
        for step, sweep in zip(found.steps, sweeps.steps, strict=True)
    ]
    numbered = _numbered(found.to_dict(), asked.rows)
    return {**numbered, "problem": None, "names": _class_names(found), "stopped": stopped, "same": same}
