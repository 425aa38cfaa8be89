"""Every exception and warning of halfseen, in one place.

::

    Exception
    └── HalfseenError                   catch this to catch them all
        ├── DataError      (ValueError)     the data cannot be used: says which row and column, and what to do
        │   └── DataTypeError  (TypeError)  the data is of a type that cannot be read: sparse, dates, nested
        ├── ParameterError (ValueError)     an argument is not valid: says which values are
        │   └── AbsentError (AttributeError)    an attribute that only a model fitted to data has
        ├── ModelFileError (ValueError)     a model file cannot be read or written: says what is wrong with which file
        ├── CheckpointError (ValueError)    a checkpoint cannot be used: it is of another run, in use, or damaged
        ├── DiskError      (OSError)        a disk reports a fault: says in which folder
        │   └── DiskFullError                   too little space on a disk: says how much is needed
        └── FitError       (RuntimeError)   a fit cannot continue: says at which step
            └── ObjectiveFell               the objective fell: a bug in halfseen, please report it

    UserWarning
    └── HalfseenWarning                 silence this to silence them all
        ├── UnknownCategoryWarning      a category not seen when fitting is treated as missing
        ├── UnknownLetterWarning        a letter not seen when fitting is read as another one, or left out
        ├── ImpossibleRowWarning        a row has probability zero under the model
        ├── LightRowWarning             a row weighs next to nothing beside others, and counts as weight 0
        ├── CollapseWarning             the fit ended at a degenerate solution (an active variance floor)
        ├── VersionWarning              a pickled model comes from another version of halfseen
        ├── UnlabeledWarning            unlabelled rows make a classifier worse
        ├── SeparationWarning           covariates separate classes: a coefficient has no finite estimate
        ├── MarginalSharesWarning       covariates were not given: average shares of the classes are used
        ├── BootstrapWarning            refits of a bootstrap failed, or a test met a local maximum
        └── InterruptedWarning          the fit was interrupted; the best model so far is kept

Rows, sentences and pairs are counted from 0 in all messages, as in NumPy; lines of files from 1, as in editors.
"""

from __future__ import annotations

import os
import sys
import warnings

__all__ = [
    "AbsentError",
    "BootstrapWarning",
    "CheckpointError",
    "CollapseWarning",
    "DataError",
    "DataTypeError",
    "DiskError",
    "DiskFullError",
    "FitError",
    "HalfseenError",
    "HalfseenWarning",
    "ImpossibleRowWarning",
    "InterruptedWarning",
    "LightRowWarning",
    "MarginalSharesWarning",
    "ModelFileError",
    "ObjectiveFell",
    "ParameterError",
    "SeparationWarning",
    "UnknownCategoryWarning",
    "UnknownLetterWarning",
    "UnlabeledWarning",
    "VersionWarning",
    "warn",
]


class HalfseenError(Exception):
    """Base class of all errors that halfseen raises."""


class DataError(HalfseenError, ValueError):
    """The data cannot be used."""


class DataTypeError(DataError, TypeError):
    """The data is of a type that cannot be read; a `TypeError` too, as scikit-learn expects."""


class ParameterError(HalfseenError, ValueError):
    """An argument is not valid."""


class AbsentError(ParameterError, AttributeError):
    """An attribute that only a model fitted to data has; an `AttributeError` too, so that `hasattr` is False."""


class ModelFileError(HalfseenError, ValueError):
    """A model file cannot be read or written."""


class CheckpointError(HalfseenError, ValueError):
    """A checkpoint cannot be used."""


class DiskError(HalfseenError, OSError):
    """A file cannot be written. Nothing half-written is left, and an older file of that name is intact.

    Examples
    --------
    >>> raise DiskError(5, "/tmp: the disk reports a fault")
    Traceback (most recent call last):
        ...
    halfseen.errors.DiskError: /tmp: the disk reports a fault
    """

    def __str__(self) -> str:
        return str(self.strerror)


class DiskFullError(DiskError):
    """There is too little space on a disk. Nothing half-written is left, and an older file of that name is intact.

    Examples
    --------
    >>> raise DiskFullError(28, "/tmp: the disk is full")
    Traceback (most recent call last):
        ...
    halfseen.errors.DiskFullError: /tmp: the disk is full
    """


class FitError(HalfseenError, RuntimeError):
    """A fit cannot continue."""


class ObjectiveFell(FitError):
    """The objective fell between two steps of soft or hard EM, beyond rounding.

    This cannot happen in exact arithmetic, so it is a bug in halfseen (or in a leaf or structure plugged into it).

    Parameters
    ----------
    step : int
        The step after which the objective was lower.
    before, after : float
        The objective before and after that step.

    Examples
    --------
    >>> raise ObjectiveFell(step=7, before=-120.5, after=-121.0)
    Traceback (most recent call last):
        ...
    halfseen.errors.ObjectiveFell: the objective fell from -120.5 to -121.0 (by 0.5) at step 7. This is a bug: \
please report it with the data and the seed.
    """

    def __init__(self, step: int, before: float, after: float) -> None:
        super().__init__(step, before, after)  # the arguments themselves, so that the exception can be pickled
        self.step = step
        self.before = before
        self.after = after

    def __str__(self) -> str:
        return (
            f"the objective fell from {self.before!r} to {self.after!r} (by {self.before - self.after:.3g}) "
            f"at step {self.step}. This is a bug: please report it with the data and the seed."
        )


class HalfseenWarning(UserWarning):
    """Base class of all warnings of halfseen."""


class UnknownCategoryWarning(HalfseenWarning):
    """A category not seen when fitting is treated as missing."""


class UnknownLetterWarning(HalfseenWarning):
    """A letter not seen when fitting is read as another one, or left out, or its words are."""


class ImpossibleRowWarning(HalfseenWarning):
    """A row has probability zero under the model."""


class LightRowWarning(HalfseenWarning):
    """A row weighs next to nothing beside others, and counts as weight 0."""


class CollapseWarning(HalfseenWarning):
    """The fit ended at a degenerate solution."""


class VersionWarning(HalfseenWarning):
    """A pickled model comes from another version of halfseen."""


class UnlabeledWarning(HalfseenWarning):
    """Unlabelled rows make a classifier worse."""


class SeparationWarning(HalfseenWarning):
    """Covariates separate the classes: a coefficient has no finite estimate, or rests on the prior."""


class MarginalSharesWarning(HalfseenWarning):
    """A model with covariates is used without them: the average shares of its classes are used."""


class BootstrapWarning(HalfseenWarning):
    """Some refits of a bootstrap failed, or a test found a local maximum."""


class InterruptedWarning(HalfseenWarning):
    """The fit was interrupted; the best model so far is kept."""


def warn(message: str, category: type[Warning]) -> None:
    """Attribute the warning to the line of the caller's code outside halfseen."""
    here = os.path.join(
        os.path.dirname(__file__), ""
    )  # with the separator: a folder next to it may begin with the same name
    level, frame = 2, sys._getframe(1)  # level 1 is this function
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
