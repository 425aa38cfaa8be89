"""A fit that fails, or ends at what is no model, leaves the estimator as it was: an earlier fit is not lost."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from numpy.linalg import LinAlgError

from halfseen.estimators.state import check_sound, unusable
from halfseen.runners.frames import clusters_closed

Self = TypeVar("Self")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def rollback_on_error(
    method: Callable[Concatenate[Self, Arguments], Result],
) -> Callable[Concatenate[Self, Arguments], Result]:
    """Restore all attributes of the estimator when the method raises, or its result could not be used again.

    What clusters keep for the method goes when it ends.
    """

    @wraps(method)
    def guarded(self: Self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        before = dict(vars(self))
        try:
            with clusters_closed():
                result = method(self, *args, **kwargs)
            check_sound(self)
            return result
        except BaseException as error:
            vars(self).clear()
            vars(self).update(before)
            if isinstance(error, LinAlgError):
                raise unusable(f"a covariance could not be computed ({error})") from error
            raise

    return guarded
