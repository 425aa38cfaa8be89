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
from halfseen.errors import FitError
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.seeds import child

TOL = 1e-6  # estimated remaining gain of the log-likelihood at which a refit stops: a parameter is then off by about
# sqrt(2 TOL) = 0.0014 of its standard error
CAUTION = 10  # that estimate may be a few times too low
MAX_ITER = 10_000
ROUND = 16  # draws between two reports of progress

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
    model: Model, data: Reduced, starts: Sequence[Params], tol: float = TOL, max_iter: int = MAX_ITER
) -> list[Refit]:
    """Fit a model to data from every start, all in the same passes; of a start that fails nothing is returned."""
    runs = [EMRun(model, start, SOFT, gain(tol / CAUTION), max_iter, Squarem(), key) for key, start in enumerate(starts)]

    def e_step(active: Sequence[EMRun]) -> list[Step]:
        return evaluate(model, data, [run.params for run in active])

    try:
        for _ in em(e_step, runs):
            pass
    except FitError:
        if len(runs) == 1:
            return []
        return [found for start in starts for found in refits(model, data, [start], tol, max_iter)]
    return [Refit(run.accepted.params, run.accepted.loglik, run.reason != "max_iter", run.healthy) for run in runs]


def refit(model: Model, data: Reduced, start: Params, tol: float = TOL) -> Refit | None:
    """Fit a model to data from one start; None where this fails."""
    return next(iter(refits(model, data, [start], tol)), None)


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
