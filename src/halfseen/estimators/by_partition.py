"""Methods on frames whose rows other processes hold: each partition is answered where it is.

Answers row by row are lazy, as the frame is: nothing is computed before it is asked for. Sums are computed at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from halfseen.runners import frames
from halfseen.runners.frames import is_elsewhere, mapped

Method = TypeVar("Method", bound=Callable[..., Any])


def by_partition(called: str) -> Callable[[Method], Method]:
    """Let a method answer partition by partition; `called` names the column of the result if it is one column."""

    def wrap(method: Method) -> Method:
        @wraps(method)
        def answered(self: Any, X: Any, *arguments: Any, **named: Any) -> Any:
            if not is_elsewhere(X):
                return method(self, X, *arguments, **named)
            check_is_fitted(self)
            names = [str(name) for name in getattr(self, "classes_", getattr(self, "class_names_", ()))]
            return mapped(X, self, method.__name__, arguments, named, called, names)

        return answered  # type: ignore[return-value]

    return wrap


def summed(model: Any, method: str, X: Any, sample_weight: Any = None, y: Any = None) -> Any:
    """Return the sum over partitions of what a method says of rows, labels and weights; these are columns, by name."""
    check_is_fitted(model)
    return frames.summed(X, model, method, sample_weight, y)
