"""Methods on frames whose rows other processes hold: each partition is answered where it is.

Answers row by row are lazy, as the frame is: nothing is computed before it is asked for. Sums are computed at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from halfseen.errors import ParameterError
from halfseen.runners import frames, sequence_frames
from halfseen.runners.frames import is_elsewhere, mapped, refuse_ray

Method = TypeVar("Method", bound=Callable[..., Any])


def by_partition(called: str, names: str | None = None) -> Callable[[Method], Method]:
    """Let a method answer partition by partition.

    Parameters
    ----------
    called : str              the column of the result, if it is one column
    names : str, optional     the method that names its columns, given the same arguments; by default those of classes
    """

    def wrap(method: Method) -> Method:
        @wraps(method)
        def answered(self: Any, X: Any, *arguments: Any, **named: Any) -> Any:
            refuse_ray(X, method.__name__)
            if not is_elsewhere(X):
                return method(self, X, *arguments, **named)
            check_is_fitted(self)
            _check_output(self, method.__name__)
            columns = _names(self) if names is None else getattr(self, names)(*arguments, **named)
            return mapped(X, self, method.__name__, arguments, named, called, columns)

        return answered  # type: ignore[return-value]

    return wrap


def by_sequence(called: str, method_there: str | None = None) -> Callable[[Method], Method]:
    """Let a method of a model of sequences answer partition by partition.

    Parameters
    ----------
    called : str                     the column of the result, if it is one column
    method_there : str, optional     the method to call for each partition; by default the same
    """

    def wrap(method: Method) -> Method:
        @wraps(method)
        def answered(self: Any, X: Any, lengths: Any = None, **named: Any) -> Any:
            refuse_ray(X, method.__name__, named.get("groups") or "sequence")
            if not is_elsewhere(X):
                return method(self, X, lengths, **named)
            check_is_fitted(self)
            sequence_frames.check_lengths(lengths)
            given = {**named, "groups": self._group(named.get("groups"))}
            there = method_there or method.__name__
            return sequence_frames.mapped(X, self, there, given, called, [str(name) for name in self._names])

        return answered  # type: ignore[return-value]

    return wrap


def _names(model: Any) -> list[str]:
    """Return the names of the columns of an answer with several: classes, or the features that a transformer makes."""
    found = getattr(model, "classes_", getattr(model, "class_names_", None))
    if found is None and hasattr(model, "get_feature_names_out"):
        found = model.get_feature_names_out()
    return [] if found is None else [str(name) for name in found]


def _check_output(model: Any, method: str) -> None:
    """Refuse a container that was asked for by `set_output`: the answer is a frame like the one given."""
    from sklearn.utils._set_output import _get_output_config

    if method != "transform" or (asked := _get_output_config(method, model)["dense"]) == "default":
        return
    raise ParameterError(
        f"set_output(transform={asked!r}): of rows that other processes hold the result is a lazy frame of the same "
        "kind. Use set_output(transform='default')."
    )


def features_of(model: Any, X: Any) -> Any:
    """Return a table without the columns of weights and labels that a fit to it took by name."""
    return X[list(model.feature_names_in_)] if is_elsewhere(X) else X


def summed(model: Any, method: str, X: Any, sample_weight: Any = None, y: Any = None) -> Any:
    """Return the sum over partitions of what a method says of rows, labels and weights; these are columns, by name."""
    check_is_fitted(model)
    return frames.summed(X, model, method, sample_weight, y)
