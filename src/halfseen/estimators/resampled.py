"""Data as the bootstrap reads them: units with frequencies, which are drawn again or replaced by draws from a model.

- *unit*: what is drawn as a whole: a row, a sequence, a sentence. Equal units are merged.
- *frequency*: how often a unit occurs. Drawing units with replacement gives other frequencies; no data are copied.
- *sample*: the data of one draw.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from halfseen.data import Table
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.model import Model, Reduced
from halfseen.errors import DataError, ParameterError
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params


@dataclass(frozen=True)
class Sample:
    """The data of one draw.

    Attributes
    ----------
    reduced : callable       model -> they, ready for its passes
    table : Table or None    where they are rows of a table: these, equal ones merged
    """

    reduced: Callable[[Any], Reduced]
    table: Table | None = None


@dataclass(frozen=True)
class Resampled:
    """Data that can be drawn again, and the model that is refitted to them by maximum likelihood.

    Attributes
    ----------
    model : Model              without a prior
    pulled : Model             the same with a weak prior
    params : params            of the fitted model
    frequency : (U,) array     how often each unit occurs, whole numbers
    weighted : callable        frequencies -> Sample
    drawn : callable           params, generator -> Sample: units drawn from the model, the same values missing
    matched : callable         params, those to resemble -> params with the components in that order
    named : callable           params -> values of all parameters, as the estimator shows them
    unit : str                 what a unit is called, in the plural
    table : Table or None      the units as rows of a table
    """

    model: Model
    pulled: Model
    params: Params
    frequency: Floats
    weighted: Callable[[Floats], Sample]
    drawn: Callable[[Params, np.random.Generator], Sample]
    matched: Callable[[Params, Params], Params]
    named: Callable[[Params], Floats]
    unit: str = "rows"
    table: Table | None = None

    @property
    def n_units(self) -> int:
        """How many units there are in all."""
        return round(float(self.frequency.sum()))

    def given(self) -> Sample:
        """Return the data as they are."""
        return self.weighted(self.frequency)

    def off_bounds(self, params: Params) -> Params:
        """Return parameters near the given ones, none of them at zero: EM would never leave it.

        They are one M-step away, on the data as they are and with the weak prior.
        """
        [step] = evaluate(self.model, self.given().reduced(self.model), [params])
        pseudo = self.pulled.prior(self.pulled.blank())  # that of `params` leaves zeros as they are
        return self.pulled.maximise(step.expected.stats if pseudo is None else step.expected.stats + pseudo, params)


def frequencies(weight: Floats, unit: str = "rows") -> Floats:
    """Return weights as frequencies; refuse those that are not whole numbers.

    Examples
    --------
    >>> frequencies(np.array([2.0, 0.0, 1.0])).tolist()
    [2.0, 0.0, 1.0]
    """
    odd = np.flatnonzero(weight != np.round(weight))
    if len(odd):
        raise DataError(
            f"the bootstrap reads weights as frequencies, how often each of the {unit} occurs: they must be whole "
            f"numbers, but one is {float(weight[odd[0]]):g}. Leave them out, or give frequencies."
        )
    return np.asarray(weight, dtype=np.float64)


def named_values(estimator: Any, params: Params) -> Floats:
    """Return the values of the parameters of an estimator that are shown, under other parameters."""
    other = copy(estimator)
    other._params = params
    values: Floats = other._named_parameters().values
    return values


def naming(estimator: Any) -> Callable[[Params], Floats]:
    """Return the function of parameters that gives the values of those that are shown."""
    return partial(named_values, estimator)


def refused(why: str) -> Callable[[Params, np.random.Generator], Sample]:
    """Return a `drawn` that refuses, with the reason."""

    def drawn(params: Params, rng: np.random.Generator) -> Sample:
        raise ParameterError(f'kind="parametric": {why} Use kind="nonparametric".')

    return drawn
