"""How many components: fit several models, keep the best by an information criterion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from halfseen.engine.loop.search import Search
from halfseen.engine.services.checkpoint import stop_recording
from halfseen.errors import ParameterError
from halfseen.leaves.leaf import Stats
from halfseen.leaves.limits import Params


@dataclass(frozen=True, kw_only=True)
class FittedModel:
    """A model fitted to data.

    Attributes
    ----------
    model, params : the model, and the parameters of the best run in the order they are shown in
    search : Search        all runs
    stats : Stats          expected statistics under `params`
    loglik : float         log-likelihood under `params`, whatever the assignment mode
    n_rows : float         the N of criteria: rows or steps of which something was observed, weighted
    n_blank : float        rows without any observation, weighted, which were left out
    n_incomplete : float   rows, or steps, of which some cells are missing, weighted
    """

    model: Any
    params: Params
    search: Search
    stats: Stats
    loglik: float
    n_rows: float
    n_blank: float = 0.0
    n_incomplete: float = 0.0


@dataclass(frozen=True, kw_only=True)
class FittedComponents(FittedModel):
    """A model fitted with some number of components: what is compared to choose that number.

    Attributes
    ----------
    n_components : int     K
    covariance : str       shape of the covariances
    uncertain : float      entropy of the hidden variables given the observed ones
    n_hidden : float       number of hidden variables, weighted: rows, or all steps
    """

    n_components: int
    covariance: str
    uncertain: float
    n_hidden: float


Choice = TypeVar("Choice")
Searched = TypeVar("Searched", bound=FittedModel)
Fitted = TypeVar("Fitted", bound=FittedComponents)

CRITERIA = ("bic", "aic", "icl")
PATIENCE = 2  # "auto" stops when the criterion has risen this often in a row
MOST = 50  # numbers of components that "auto" tries at most


def read_sizes(n_components: Any) -> Sequence[int]:
    """Return the numbers of components to try, ascending: one, several, or for "auto" as many as are needed."""
    if isinstance(n_components, str):
        if n_components != "auto":
            raise ParameterError(f"n_components={n_components!r} is not a number, a range, a list or 'auto'.")
        return range(1, MOST + 1)
    several = isinstance(n_components, range | list | tuple) or np.ndim(n_components) == 1
    sizes = list(n_components) if several else [n_components]
    whole = [isinstance(size, int | np.integer) and not isinstance(size, bool | np.bool_) for size in sizes]
    if not sizes or not all(whole) or min(sizes) < 1:
        raise ParameterError(f"n_components={n_components!r} is not a whole number of at least 1, nor a range of such.")
    return sorted({int(size) for size in sizes})


class Tried(NamedTuple, Generic[Searched]):
    """The models that were fitted, and whether an interrupt ended that early."""

    found: list[Searched]
    interrupted: bool = False


def search(sizes: Sequence[int], fitted: Callable[[int, Fitted | None], Fitted], criterion: str) -> Tried[Fitted]:
    """Fit every size; each may begin at the one before.

    A range from "auto" ends when the criterion keeps rising. An interrupt ends it with what was found so far.
    """
    tried: list[Fitted] = []
    for size in sizes:
        neighbour = tried[-1] if tried and tried[-1].n_components == size - 1 else None
        if _interrupted(tried, partial(fitted, size, neighbour)):
            return Tried(tried, interrupted=True)
        if isinstance(sizes, range) and _rising(tried, criterion):
            break
    return Tried(tried)


def search_each(choices: Iterable[Choice], fitted: Callable[[Choice], Searched]) -> Tried[Searched]:
    """Fit every choice. An interrupt ends it with what was found so far."""
    tried: list[Searched] = []
    for choice in choices:
        if _interrupted(tried, partial(fitted, choice)):
            return Tried(tried, interrupted=True)
    return Tried(tried)


def _interrupted(tried: list[Searched], fitted: Callable[[], Searched]) -> bool:
    """Fit one more model; return whether an interrupt ended that. Where nothing was fitted before, it is raised."""
    try:
        tried.append(fitted())
    except KeyboardInterrupt:
        if not tried:
            raise
        stop_recording()
        return True
    return bool(tried[-1].search.interrupted)


def search_shapes(
    shapes: Sequence[str], sizes: Sequence[int], fitted: Callable[[str, int, Fitted | None], Fitted], criterion: str
) -> Tried[Fitted]:
    """Fit every size with every shape of covariance."""
    everything: list[Fitted] = []
    for shape in shapes:
        tried, interrupted = search(sizes, partial(fitted, shape), criterion)
        everything += tried
        if interrupted:
            return Tried(everything, interrupted=True)
    return Tried(everything)


def _rising(tried: Sequence[FittedComponents], criterion: str) -> bool:
    values = [criteria(found)[criterion] for found in tried[-PATIENCE - 1 :]]
    return len(values) > PATIENCE and all(low < high for low, high in pairwise(values))


def criteria(found: FittedComponents) -> dict[str, float]:
    """Return all figures by which numbers of components are compared; bic, aic and icl are better when lower."""
    size = found.n_components
    figures = information(found)
    sure = relative_entropy(found.uncertain, found.n_hidden, size)
    icl = figures["bic"] + 2 * found.uncertain
    return {"n_components": size, **figures, "icl": icl, "entropy": sure, **starts(found)}


def starts(found: FittedModel) -> dict[str, int]:
    """Return how many starts were run, and how many of them reached the best log-likelihood."""
    return {"n_starts": found.search.n_starts, "n_reached_best": found.search.n_agree}


def information(found: FittedModel) -> dict[str, float]:
    """Return log-likelihood, number of free parameters and information criteria of a fitted model."""
    n_parameters = found.model.n_free()
    return {
        "loglik": found.loglik,
        "n_parameters": n_parameters,
        "bic": bic(found.loglik, n_parameters, found.n_rows),
        "aic": aic(found.loglik, n_parameters),
        "sabic": sabic(found.loglik, n_parameters, found.n_rows),
    }


def bic(loglik: float, n_parameters: int, n_rows: float) -> float:
    """Return the Bayesian information criterion; lower is better. Without any observation parameters cost nothing."""
    return -2 * loglik + n_parameters * float(np.log(n_rows if n_rows > 0 else 1.0))


def sabic(loglik: float, n_parameters: int, n_rows: float) -> float:
    """Return the sample-size adjusted BIC (Sclove 1987), with (N + 2) / 24 in place of N; lower is better."""
    return bic(loglik, n_parameters, (n_rows + 2) / 24)


def aic(loglik: float, n_parameters: int) -> float:
    """Return Akaike's information criterion; lower is better."""
    return -2 * loglik + 2 * n_parameters


def relative_entropy(uncertain: float, n_hidden: float, size: int) -> float:
    """Return 1 - EN / (N log K): 1 where every hidden variable is known given the observed ones, 0 where none is."""
    return 1.0 if size == 1 else 1.0 - uncertain / (n_hidden * float(np.log(size)))


def best(tried: Sequence[Fitted], criterion: str) -> Fitted:
    """Return the fit with the lowest criterion; one that collapsed only if all did."""
    return min(tried, key=lambda found: (not found.search.best.healthy, criteria(found)[criterion]))


def compared(tried: Sequence[FittedComponents], criterion: str) -> dict[str, list[Any]]:
    """Return the figures of all that was tried by name, with an entry for each size and shape of covariance."""
    rows: list[dict[str, Any]] = [criteria(found) for found in tried]
    if len({found.covariance for found in tried}) > 1:
        rows = [{"covariance": found.covariance, **row} for found, row in zip(tried, rows, strict=True)]
    chosen = best(tried, criterion)
    return by_name(rows, next(i for i, found in enumerate(tried) if found is chosen))


def chosen_by_hand(columns: Mapping[str, list[Any]], chosen: int) -> dict[str, list[Any]]:
    """Return figures with another choice; "preferred" marks the one of the criterion, where it is not the same.

    Examples
    --------
    >>> chosen_by_hand({"n_components": [1, 2], "chosen": [False, True]}, 0)
    {'n_components': [1, 2], 'chosen': [True, False], 'preferred': [False, True]}
    """
    found = dict(columns)
    preferred = found.pop("preferred", columns["chosen"])
    found["chosen"] = [i == chosen for i in range(len(preferred))]
    return found if preferred[chosen] else {**found, "preferred": preferred}


def by_name(rows: Sequence[Mapping[str, Any]], chosen: int) -> dict[str, list[Any]]:
    """Return figures of all that was tried as lists of plain values by name; "chosen" marks the one that is kept."""
    columns: dict[str, list[Any]] = {name: np.array([row[name] for row in rows]).tolist() for name in rows[0]}
    return {**columns, "chosen": [i == chosen for i in range(len(rows))]}
