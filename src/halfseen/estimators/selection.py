"""How many components: fit several models, keep the best by an information criterion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from halfseen.data import Source, frame_from_dict
from halfseen.engine.services.checkpoint import stop_recording
from halfseen.errors import ParameterError


class Measured(Protocol):
    """A fitted model: what BIC and AIC need of it."""

    @property
    def model(self) -> Any:
        """The model."""

    @property
    def search(self) -> Any:
        """All runs."""

    @property
    def loglik(self) -> float:
        """Log-likelihood."""

    @property
    def n_rows(self) -> float:
        """Number of rows or observed steps, N."""


class Found(Measured, Protocol):
    """A model fitted with some number of components: what is compared to choose that number."""

    @property
    def n_components(self) -> int:
        """Number of components, K."""

    @property
    def uncertain(self) -> float:
        """Entropy of the hidden variables given the observed ones."""

    @property
    def n_hidden(self) -> float:
        """Number of hidden variables: rows, or all steps."""


Choice = TypeVar("Choice")
Searched = TypeVar("Searched", bound=Measured)
Fitted = TypeVar("Fitted", bound=Found)

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


def _rising(tried: Sequence[Found], criterion: str) -> bool:
    values = [criteria(found)[criterion] for found in tried[-PATIENCE - 1 :]]
    return len(values) > PATIENCE and all(low < high for low, high in pairwise(values))


def criteria(found: Found) -> dict[str, float]:
    """Return all figures by which numbers of components are compared; bic, aic and icl are better when lower."""
    size = found.n_components
    figures = information(found)
    sure = 1.0 if size == 1 else 1.0 - found.uncertain / (found.n_hidden * float(np.log(size)))
    return {"n_components": size, **figures, "icl": figures["bic"] + 2 * found.uncertain, "entropy": sure}


def information(found: Measured) -> dict[str, float]:
    """Return log-likelihood, number of free parameters, BIC and AIC of a fitted model."""
    n_parameters = found.model.n_free()
    return {
        "loglik": found.loglik,
        "n_parameters": n_parameters,
        "bic": -2 * found.loglik + n_parameters * float(np.log(found.n_rows)),
        "aic": -2 * found.loglik + 2 * n_parameters,
    }


def best(tried: Sequence[Fitted], criterion: str) -> Fitted:
    """Return the fit with the lowest criterion; one that collapsed only if all did."""
    return min(tried, key=lambda found: (not found.search.best.healthy, criteria(found)[criterion]))


def table(tried: Sequence[Found], criterion: str, template: Source, shapes: Sequence[str] = ()) -> Any:
    """Return what was tried as a table, a row for each number of components and shape of covariance."""
    rows: list[dict[str, Any]] = [criteria(found) for found in tried]
    if len(set(shapes)) > 1:
        rows = [{"covariance": shape, **row} for shape, row in zip(shapes, rows, strict=True)]
    chosen = best(tried, criterion)
    return table_of(rows, next(i for i, found in enumerate(tried) if found is chosen), template)


def table_of(rows: Sequence[Mapping[str, Any]], chosen: int, template: Source) -> Any:
    """Return figures of all that was tried as a table that marks the chosen one."""
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in rows[0]}
    return frame_from_dict({**columns, "chosen": [i == chosen for i in range(len(rows))]}, template)
