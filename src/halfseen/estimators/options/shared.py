"""The options that estimators of several families have: default, documentation and check, each once.

Constructors repeat names, defaults and documentation, where scikit-learn and readers look for them; a test holds them
equal to what is declared here. The documentation of an estimator may add to the text declared here, at its end.
An estimator that deviates says so in its table `_deviations`, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from halfseen.assign import MODES
from halfseen.engine.loop.gradient import METHODS
from halfseen.engine.loop.stopping import RULES
from halfseen.engine.tables.starts import STARTS
from halfseen.estimators.options.values import (
    emission,
    flag,
    listed,
    mapping,
    number,
    one_of,
    pseudo_counts,
    some_of,
    temperatures,
    variance_floor,
    whole,
    whole_or_auto,
)
from halfseen.estimators.selection import CRITERIA, read_sizes
from halfseen.runners.threads import read_jobs
from halfseen.seeds import seed_of

COVARIANCE_TYPES = ("full", "tied", "diag", "spherical")

Check = Callable[[str, Any], object]  # takes the name and the value; raises ParameterError


@dataclass(frozen=True)
class Option:
    """One option.

    Attributes
    ----------
    default : Any
    type : str          as documented, "float" in "tol : float, default 1e-8"
    text : str          what the documentation begins with
    check : Check       refuses values that are never allowed
    """

    default: Any
    type: str
    text: str
    check: Check


@dataclass(frozen=True)
class Deviation:
    """What one estimator has different, and why; what is not given here is as declared."""

    reason: str
    default: Any = ...
    type: str | None = None
    text: str | None = None
    check: Check | None = None

    def of(self, option: Option) -> Option:
        """Return the option with what is different."""
        given = {name: getattr(self, name) for name in ("type", "text", "check")}
        changed = {name: value for name, value in given.items() if value is not None}
        return replace(option, **changed) if self.default is ... else replace(option, **changed, default=self.default)


Deviations = Mapping[str, Deviation]  # by option


def words(*allowed: str) -> dict[str, Any]:
    """Return type and check of an option that is one of some words."""
    listed_words = ", ".join(f'"{word}"' for word in allowed)
    return {"type": f"{{{listed_words}}}", "check": partial(one_of, allowed=allowed)}


def some_words(*allowed: str) -> dict[str, Any]:
    """Return type and check of an option that is one of some words, or a list of them."""
    return {"type": f"{words(*allowed)['type']} or a list of these", "check": partial(some_of, allowed=allowed)}


def _sizes(name: str, value: Any) -> None:
    read_sizes(value)


def _jobs(name: str, value: Any) -> None:
    read_jobs(value)


def _seed(name: str, value: Any) -> None:
    if not isinstance(value, np.random.Generator | np.random.RandomState):  # reading these would move them on
        seed_of(value)


SHARED: dict[str, Option] = {
    "n_components": Option(
        2,
        'int, range, list of int or "auto"',
        "Number of components (classes, states). Of a range or list (range(1, 7), [2, 3, 5]) the best by `criterion` "
        'is kept; "auto" adds components, from 1, until the criterion has worsened twice in a row. `selection_` shows '
        "all that were tried.",
        _sizes,
    ),
    "criterion": Option(
        "bic",
        text="Information criterion that chooses among several models; lower is better. "
        '"icl" is BIC plus twice the entropy of the posteriors.',
        **words(*CRITERIA),
    ),
    "columns": Option(
        None,
        "mapping",
        'Kinds of columns by name, where they are not to be found by the rule: {"visits": "poisson"}.',
        mapping,
    ),
    "emission": Option(
        "gaussian",
        "str",
        'Kind of all columns that `columns` does not name: "gaussian", "categorical", "poisson", "negbin", '
        '"binomial(10)" or a registered kind; or "auto", which finds the kind of each by its values.',
        emission,
    ),
    "n_mix": Option(
        1,
        "int",
        "Number of mixture components in the emission of each state.",
        whole,
    ),
    "covariance_type": Option(
        "full",
        text='Covariance of numbers within a component. "full": one covariance per component; "tied": one for all '
        'components; "diag": one variance per component and column; "spherical": one variance per component.',
        **some_words(*COVARIANCE_TYPES),
    ),
    "assign": Option(
        "soft",
        text="How the E-step completes hidden values: in expectation, by the most probable completion, or by a draw.",
        **words(*MODES),
    ),
    "draws": Option(
        1,
        "int",
        'With assign="sample": use the mean of this many draws (Monte Carlo EM).',
        whole,
    ),
    "prior": Option(
        None,
        'float, "row" or None',
        "Pseudo-counts added to the expected counts. A number: as many for each cell of a table of probabilities, and "
        'as many pseudo-rows for numbers and counts. "row": one pseudo-row in all. None: maximum likelihood.',
        pseudo_counts,
    ),
    "init": Option(
        "mixed",
        text="How random starts are made: see `halfseen.engine.tables.starts`.",
        **words(*STARTS),
    ),
    "start": Option(
        None,
        "mapping",
        "Parameters to start from, by name, any subset.",
        mapping,
    ),
    "fixed": Option(
        (),
        "list of str",
        "Parameters that keep their start value exactly, by name.",
        listed,
    ),
    "tied": Option(
        (),
        "list of str",
        "Columns with the same parameters in all components.",
        listed,
    ),
    "n_init": Option(
        "auto",
        'int or "auto"',
        'Number of starts, each run on its own; those that clearly end below the best are dropped. "auto": 16, doubled '
        "up to 128 until three of them reach the best log-likelihood (within 0.001).",
        whole_or_auto,
    ),
    "stop": Option(
        "gain",
        text="When to stop: when the estimated remaining gain of the objective, the largest change of an expected "
        "count, or the largest change of a parameter is below `tol`; when no assignment changed (hard); or after "
        "`max_iter` iterations. Sampled fits always make `max_iter` iterations, and estimate from the mean "
        "statistics of the second half.",
        **words(*RULES),
    ),
    "tol": Option(
        1e-8,
        "float",
        "Convergence threshold: of the estimated remaining gain of the total log-likelihood (not per row), unless "
        "another rule is chosen to stop by. It holds for the best start; starts are compared at 1e-4.",
        number,
    ),
    "max_iter": Option(
        1000,
        "int",
        "Maximum number of iterations (passes over the data) for each start.",
        whole,
    ),
    "method": Option(
        "em",
        text="How the objective is maximised: by EM, by its gradient with an adaptive rate, or by L-BFGS (the last two "
        'need assign="soft"). All have the same optima.',
        **words(*METHODS),
    ),
    "accelerate": Option(
        True,
        "bool",
        "Accelerate soft EM by squared extrapolation (SQUAREM); the objective still never falls.",
        flag,
    ),
    "anneal": Option(
        (),
        "sequence of float",
        "Deterministic annealing: rising inverse temperatures in (0, 1), such as (0.4, 0.6, 0.8), with 10 iterations "
        "at each before the fit.",
        temperatures,
    ),
    "variance_floor": Option(
        "resolution",
        'float or "resolution"',
        'Smallest variance. "resolution": where the numbers of a column lie on a grid of step h (whole numbers, 0.1), '
        "h^2 / (2 pi), so that no density exceeds 1 / h; of other columns 1e-8 of their variance. A number: that share "
        "of the variance of every column. A run that ends on such a share has collapsed onto a few rows: it ranks "
        "behind every other run, and a warning says so if there is no other.",
        variance_floor,
    ),
    "n_jobs": Option(
        None,
        "int",
        "Number of threads; -1 is all cores. Results are the same, bit for bit, with any number.",
        _jobs,
    ),
    "random_state": Option(
        None,
        "int, RandomState or Generator",
        "Seed. The same seed gives the same bits on the same machine.",
        _seed,
    ),
}
