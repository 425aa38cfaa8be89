"""A fit that fails leaves the estimator as it was: an earlier fit is not lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

Self = TypeVar("Self")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def rollback_on_error(
    method: Callable[Concatenate[Self, Arguments], Result],
) -> Callable[Concatenate[Self, Arguments], Result]:
    """Restore all attributes of the object when the method raises."""

    @wraps(method)
    def guarded(self: Self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return guarded
