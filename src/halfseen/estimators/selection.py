"""How many classes: try several numbers, keep the best by an information criterion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from halfseen.data import Source, frame_from_dict
from halfseen.engine.services.checkpoint import stop_recording
from halfseen.errors import ParameterError


class Found(Protocol):
    """What is compared: a model fitted with some number of components."""

    @property
    def n_components(self) -> int:
        """Number of components, K."""

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
    def uncertain(self) -> float:
        """Entropy of what is hidden, given what was seen."""

    @property
    def n_rows(self) -> float:
        """Number of rows or observed steps, N."""

    @property
    def n_hidden(self) -> float:
        """Number of hidden variables: rows, or all steps."""


Fitted = TypeVar("Fitted", bound=Found)

CRITERIA = ("bic", "aic", "icl")
PATIENCE = 2  # "auto" stops when the criterion has risen this often in a row
MOST = 50  # numbers of classes that "auto" tries at most


def read_sizes(n_components: Any) -> Sequence[int]:
    """Return the numbers of classes to try, ascending: one, several, or for "auto" as many as are needed."""
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


class Tried(NamedTuple, Generic[Fitted]):
    """The sizes that were fitted, and whether an interrupt kept others from it."""

    found: list[Fitted]
    interrupted: bool = False


def search(sizes: Sequence[int], fitted: Callable[[int, Fitted | None], Fitted], criterion: str) -> Tried[Fitted]:
    """Fit every size; each may begin at the one before.

    A range from "auto" ends when the criterion keeps rising. An interrupt ends it with what was found so far.
    """
    tried: list[Fitted] = []
    for size in sizes:
        neighbour = tried[-1] if tried and tried[-1].n_components == size - 1 else None
        try:
            tried.append(fitted(size, neighbour))
        except KeyboardInterrupt:
            if not tried:
                raise
            stop_recording()
            return Tried(tried, interrupted=True)
        if tried[-1].search.interrupted:
            return Tried(tried, interrupted=True)
        if isinstance(sizes, range) and _rising(tried, criterion):
            break
    return Tried(tried)


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
    """Return all figures by which numbers of classes are compared; bic, aic and icl are better when lower."""
    n_classes = found.n_components
    n_parameters = found.model.n_free()
    bic = -2 * found.loglik + n_parameters * float(np.log(found.n_rows))
    sure = 1.0 if n_classes == 1 else 1.0 - found.uncertain / (found.n_hidden * float(np.log(n_classes)))
    return {
        "n_components": n_classes,
        "loglik": found.loglik,
        "n_parameters": n_parameters,
        "bic": bic,
        "aic": -2 * found.loglik + 2 * n_parameters,
        "icl": bic + 2 * found.uncertain,
        "entropy": sure,
    }


def best(tried: Sequence[Fitted], criterion: str) -> Fitted:
    """Return the fit with the lowest criterion; one that collapsed only if all did."""
    return min(tried, key=lambda found: (not found.search.best.healthy, criteria(found)[criterion]))


def table(tried: Sequence[Found], criterion: str, template: Source, shapes: Sequence[str] = ()) -> Any:
    """Return what was tried as a table, a row for each number of classes and shape of covariance."""
    rows = [criteria(found) for found in tried]
    chosen = best(tried, criterion)
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in rows[0]}
    if len(set(shapes)) > 1:
        columns = {"covariance": list(shapes), **columns}
    return frame_from_dict({**columns, "chosen": [found is chosen for found in tried]}, template)
