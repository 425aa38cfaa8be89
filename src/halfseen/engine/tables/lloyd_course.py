"""The course of k-means as a watcher is told of it: the inertias of all starts, with a minus, so that they rise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

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
from halfseen.engine.tables import lloyd


class LloydCourse:
    """What is told of runs that are compared.

    Parameters
    ----------
    max_iter : int          most sweeps of a run
    view : callable         makes of the leading run what a person sees
    """

    def __init__(self, max_iter: int, view: Callable[[lloyd.Run], Any]) -> None:
        self._max_iter = max_iter
        self._view = view

    def __call__(self, runs: Sequence[lloyd.Run]) -> None:
        """Call the watcher, if there is one, with the state of the runs."""
        watching = watch()
        if watching is None:
            return
        leader = _leader(runs)
        watching.watcher(
            Progress(
                n_components=len(leader.centres),
                n_running=sum(run.reason is None for run in runs),
                n_starts=len(runs),
                n_passes=leader.n_iter,
                max_iter=self._max_iter,
                objective=-min(leader.trace),
                search=watching.number(self),
                taken=partial(self._snapshot, runs),
            )
        )

    def _snapshot(self, runs: Sequence[lloyd.Run], search: int) -> Snapshot:
        leader = _leader(runs)
        curves = [Curve(run.key, _rising(run.trace), _state(run, leader)) for run in runs]
        params = {"centers": leader.centres + leader.rows.pivot}
        return Snapshot(search, len(leader.centres), leader.key, curves, params, self._view(leader))


def _leader(runs: Sequence[lloyd.Run]) -> lloyd.Run:
    return min((run for run in runs if run.trace), key=lambda run: min(run.trace))  # the last may be higher by rounding


def _rising(trace: Sequence[float]) -> list[float]:
    """Return inertias with a minus; a rise that is rounding is left out."""
    found: list[float] = np.maximum.accumulate(-np.array(trace)).tolist()
    return found


def _state(run: lloyd.Run, leader: lloyd.Run) -> str:
    if run.reason is None:
        return RUNNING
    if run is leader:
        return BEST
    return DROPPED if run.reason == DROPPED else CONVERGED if run.reason in lloyd.CONVERGED else STOPPED
