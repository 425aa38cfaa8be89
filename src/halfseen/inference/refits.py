"""Refits of a model to many samples, by maximum likelihood: the work of the bootstrap.

Draw i uses the i-th generator and gives the same bits whatever the number of workers. Draws are made in rounds, so that
progress is reported in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from halfseen.assign import SOFT
from halfseen.engine.loop.em import em, evaluate
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.squarem import Squarem
from halfseen.engine.loop.stopping import gain
from halfseen.engine.services.progress import report_draws
from halfseen.engine.tables.batch import Batch, Ended
from halfseen.errors import FitError
from halfseen.estimators.resampled import Resampled, Sample
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.seeds import child

TOL = 1e-6  # estimated remaining gain of the log-likelihood at which a refit stops: a parameter is then off by about
# sqrt(2 TOL) = 0.0014 of its standard error
CAUTION = 10  # that estimate may be a few times too low
MAX_ITER = 10_000
ROUND = 16  # draws between two reports of progress
MANY = 256  # the same where a kernel makes whole runs

Result = TypeVar("Result")


class Refit(NamedTuple):
    """A refit.

    Attributes
    ----------
    params : params
    loglik : float
    converged : bool
    healthy : bool       whether no component collapsed onto its variance floor
    """

    params: Params
    loglik: float
    converged: bool
    healthy: bool

    @property
    def rank(self) -> tuple[bool, float]:
        """Refits of the same data compare by health first, then by log-likelihood."""
        return (self.healthy, self.loglik)


def refits(
    model: Model, sample: Sample, starts: Sequence[Params], tol: float = TOL, max_iter: int = MAX_ITER
) -> list[Refit]:
    """Fit a model to a sample from every start; of a start that fails nothing is returned."""
    batch = Batch.find(model, sample.table)
    if batch is None:
        return by_engine(model, sample.reduced(), starts, tol, max_iter)
    which = np.zeros(len(starts), dtype=np.int64)
    ended = batch.run(batch.weight[None], which, starts, tol / CAUTION, max_iter)
    return [
        found
        for start, end in zip(starts, ended, strict=True)
        for found in _refitted(model, end) or by_engine(model, sample.reduced(), [start], tol, max_iter)
    ]


def refit(model: Model, sample: Sample, start: Params, tol: float = TOL) -> Refit | None:
    """Fit a model to a sample from one start; None where this fails."""
    return next(iter(refits(model, sample, [start], tol)), None)


def by_engine(
    model: Model, data: Reduced, starts: Sequence[Params], tol: float = TOL, max_iter: int = MAX_ITER
) -> list[Refit]:
    """Fit a model to data from every start, all in the same passes; of a start that fails nothing is returned."""
    rule = gain(tol / CAUTION)
    runs = [EMRun(model, start, SOFT, rule, max_iter, Squarem(), key) for key, start in enumerate(starts)]

    def e_step(active: Sequence[EMRun]) -> list[Step]:
        return evaluate(model, data, [run.params for run in active])

    try:
        for _ in em(e_step, runs):
            pass
    except FitError:
        if len(runs) == 1:
            return []
        return [found for start in starts for found in by_engine(model, data, [start], tol, max_iter)]
    return [Refit(run.accepted.params, run.accepted.loglik, run.reason != "max_iter", run.healthy) for run in runs]


def _refitted(model: Model, end: Ended) -> list[Refit]:
    """Return the refit that a run of the batch found; none if it failed."""
    if end.params is None:
        return []
    return [Refit(end.params, end.loglik, end.converged, not model.collapsed(end.params))]


def reweighted(
    units: Resampled, start: Params, seed: np.random.SeedSequence, n_draws: int, n_jobs: int | None
) -> list[Refit | None]:
    """Refit to units drawn with replacement, so many times, each from the same start."""
    shares, batch = units.frequency / units.frequency.sum(), Batch.find(units.model, units.table)

    def drawn(rng: np.random.Generator) -> Floats:
        return rng.multinomial(units.n_units, shares).astype(np.float64)

    if batch is None:
        return list(
            each_draw(
                "bootstrap", seed, n_draws, lambda rng: refit(units.model, units.weighted(drawn(rng)), start), n_jobs
            )
        )
    found: list[Refit | None] = []
    with runner(n_jobs, n_draws) as run:
        for first in range(0, n_draws, MANY):
            numbers = range(first, min(first + MANY, n_draws))
            weights = np.array([drawn(np.random.default_rng(child(seed, number))) for number in numbers])
            ended = batch.run(weights, np.arange(len(numbers)), [start] * len(numbers), TOL / CAUTION, MAX_ITER, run)
            for weight, end in zip(weights, ended, strict=True):
                own = _refitted(units.model, end) or by_engine(units.model, units.weighted(weight).reduced(), [start])
                found.append(next(iter(own), None))
            report_draws("bootstrap", numbers.stop, n_draws)
    return found


def each_draw(
    what: str,
    seed: np.random.SeedSequence,
    n_draws: int,
    task: Callable[[np.random.Generator], Result],
    n_jobs: int | None,
    first: int = 0,
) -> Iterator[Result]:
    """Yield what a task makes of every draw, given its generator, in their order."""

    def one(number: int) -> Any:
        return task(np.random.default_rng(child(seed, number)))

    with runner(n_jobs, n_draws - first) as run:
        for start in range(first, n_draws, ROUND):
            numbers = range(start, min(start + ROUND, n_draws))
            yield from list(run(one, numbers))
            report_draws(what, numbers.stop, n_draws)
