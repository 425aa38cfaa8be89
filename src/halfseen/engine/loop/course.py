"""The course of a search: the objectives of all its runs, also of those that are gone, as a watcher is told of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.model import Model
from halfseen.engine.loop.run import EMRun
from halfseen.engine.services.progress import (
    BEST,
    CONVERGED,
    DROPPED,
    RUNNING,
    STOPPED,
    Curve,
    Progress,
    Snapshot,
    watch,
)
from halfseen.leaves.leaf import map_arrays

View = Callable[[Model, Step], Any]  # what a person sees of parameters with their statistics

UNSETTLED = ("max_iter", "iterations", "interrupted")  # reasons to stop of a run that has not converged


class Course:
    """What is told of a search.

    Parameters
    ----------
    max_iter : int          most passes of a run
    view : View or None     makes what a person sees of the leading run
    """

    def __init__(self, max_iter: int, view: View | None = None) -> None:
        self._max_iter = max_iter
        self._view = view
        self._gone: dict[int, Curve] = {}

    def leave(self, runs: Iterable[EMRun]) -> None:
        """Keep the curves of runs that go; their parameters and statistics are not needed any more."""
        self._gone |= {run.key: _curve(run) for run in runs}

    def report(self, runs: Sequence[EMRun], n_starts: int, warm: Sequence[EMRun] = (), polishing: bool = False) -> None:
        """Call the watcher, if there is one, with the state of the runs; `warm` are those being annealed."""
        watching = watch()
        if watching is None:
            return
        leader = _leader(runs, warm)
        watching.watcher(
            Progress(
                n_components=_n_components(leader),
                n_running=sum(run.reason is None for run in warm or runs),
                n_starts=n_starts,
                n_passes=leader.n_passes,
                max_iter=self._max_iter,
                objective=None if warm else leader.objective,
                loglik=None if warm or leader.step is None or leader.assign.mode == "hard" else leader.step.loglik,
                polishing=polishing,
                search=watching.number(self),
                taken=partial(self._snapshot, runs, warm, polishing),
            )
        )

    def _snapshot(self, runs: Sequence[EMRun], warm: Sequence[EMRun], polishing: bool, search: int) -> Snapshot:
        """Return the state of the runs that were told of last, and of those that were gone before."""
        leader = _leader(runs, warm)
        curves = {run.key: _curve(run) for run in runs} | self._gone
        curves |= {run.key: Curve(run.key, [], RUNNING) for run in warm}  # objectives of other temperatures
        if not warm and (polishing or leader.reason is not None):
            curves[leader.key] = replace(curves[leader.key], state=BEST)
        params = view = None
        if leader.step is not None and not leader.model.spends:
            params = map_arrays(np.array, leader.step.params)
            view = None if self._view is None else self._view(leader.model, leader.step)
        ordered = [replace(curves[number], objectives=list(curves[number].objectives)) for number in sorted(curves)]
        return Snapshot(search, _n_components(leader), leader.key, ordered, params, view)


def _leader(runs: Sequence[EMRun], warm: Sequence[EMRun]) -> EMRun:
    return warm[0] if warm else max(runs, key=lambda run: run.rank)


def _n_components(run: EMRun) -> int:
    return max(leaf.n_components for leaf in run.model.leaves.values())


def _curve(run: EMRun) -> Curve:
    return Curve(run.key, run.trace, _state(run), run.healthy or run.step is None)


def _state(run: EMRun) -> str:
    if run.reason is None:
        return RUNNING
    return run.reason if run.reason == DROPPED else STOPPED if run.reason in UNSETTLED else CONVERGED
