"""Refits of a model to many samples, by maximum likelihood: the work of the bootstrap.

Draw i uses the i-th generator and gives the same bits whatever the number of workers. Draws are made in rounds, so that
progress is reported in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from halfseen.assign import SOFT
from halfseen.engine.loop.em import em, evaluate
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Model, Reduced
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.squarem import Squarem
from halfseen.engine.loop.stopping import gain
from halfseen.engine.services.checkpoint import recorded_rows
from halfseen.engine.services.progress import report_draws
from halfseen.engine.tables.batch import Batch, Ended
from halfseen.errors import FitError
from halfseen.estimators.resampled import Resampled, Sample
from halfseen.leaves.leaf import Floats
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.seeds import child
from halfseen.sums import Runner

TOL = 1e-6  # estimated remaining gain of the log-likelihood at which a refit stops: a parameter is then off by about
# sqrt(2 TOL) = 0.0014 of its standard error
CAUTION = 10  # that estimate may be a few times too low
MAX_ITER = 10_000
ROUND = 16  # draws between two reports of progress


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
        return by_engine(model, sample.reduced(model), starts, tol, max_iter)
    which = np.zeros(len(starts), dtype=np.int64)
    ended = batch.run(batch.weight[None], which, starts, tol / CAUTION, max_iter)
    return [
        found
        for start, end in zip(starts, ended, strict=True)
        for found in _refitted(model, end) or by_engine(model, sample.reduced(model), [start], tol, max_iter)
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


def refits_by_weight(units: Resampled, batch: Batch, weights: Floats, start: Params, run: Runner) -> list[Refit | None]:
    """Fit a model to many weightings (B, U) of the same units, each from the same start."""
    which = np.arange(len(weights))
    ended = batch.run(weights, which, [start] * len(weights), TOL / CAUTION, MAX_ITER, run)
    found = [
        _refitted(units.model, end) or by_engine(units.model, units.weighted(weight).reduced(units.model), [start])
        for weight, end in zip(weights, ended, strict=True)
    ]
    return [next(iter(own), None) for own in found]


def _refitted(model: Model, end: Ended) -> list[Refit]:
    """Return the refit that a run of the batch found; none if it failed."""
    if end.params is None:
        return []
    return [Refit(end.params, end.loglik, end.converged, not model.collapsed(end.params))]


def each_draw(
    what: str,
    units: Resampled,
    params: Params,
    seed: np.random.SeedSequence,
    n_draws: int,
    rows: Callable[[Sequence[np.random.Generator], Runner], Floats],
    n_jobs: int | None,
    together: int = ROUND,
) -> Floats:
    """Return what `rows` makes of the generators of some draws, a row for each, for all draws.

    Draws that a checkpoint has are taken from it.

    Parameters
    ----------
    what : str                 what is done in each draw
    units, params :            the data and the parameters that draws depend on
    seed : SeedSequence        draw i has its child i
    n_draws : int
    rows : callable            generators, runner -> (n, R) array
    n_jobs : int or None
    together : int             draws between two reports of progress
    """
    about = _fingerprint(what, units, params, seed)
    found: list[Floats] = []
    with runner(n_jobs, n_draws) as run:
        for first in range(0, n_draws, together):
            numbers = range(first, min(first + together, n_draws))

            def make(numbers: range = numbers) -> Floats:
                return rows([np.random.default_rng(child(seed, number)) for number in numbers], run)

            found.append(recorded_rows(about + repr(numbers).encode(), make))
            report_draws(what, numbers.stop, n_draws)
    return np.concatenate(found)


def _fingerprint(what: str, units: Resampled, params: Params, seed: np.random.SeedSequence) -> bytes:
    """Return all that draws depend on, in short."""
    parts = [units.model.pack(params).tobytes(), units.frequency.tobytes()]
    entropy = f"{what} {seed.entropy} {seed.spawn_key}".encode()
    return blake2b(b"".join([entropy, *parts])).digest()
