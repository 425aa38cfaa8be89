"""Progress of a fit: a callback that is called after each pass over the data; of a bootstrap, after some draws.

    with watching(print):
        model.fit(X)

A watcher is called for the fits of its own thread. An exception that it raises ends the fit; a `KeyboardInterrupt` ends
it with the best model so far, like one from the keyboard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from halfseen.engine.loop.run import EMRun

__all__ = ["Draws", "Progress", "report", "report_draws", "watching"]


@dataclass(frozen=True)
class Progress:
    """The state of a fit after a pass over the data.

    Attributes
    ----------
    n_components : int           components being fitted; changes when several numbers are tried
    n_running : int              starts that were neither dropped nor have stopped
    n_starts : int               starts in all
    n_passes : int               passes over the data made by the leading start
    max_iter : int               most passes it may make
    objective : float or None    the best so far; None while annealing, when objectives do not compare
    loglik : float or None       its log-likelihood, without the prior; None while annealing, and in hard mode
    polishing : bool             whether all starts have ended and the best is brought to the tolerance
    """

    n_components: int
    n_running: int
    n_starts: int
    n_passes: int
    max_iter: int
    objective: float | None
    loglik: float | None = None
    polishing: bool = False


@dataclass(frozen=True)
class Draws:
    """The state of a bootstrap.

    Attributes
    ----------
    what : str           what is done in each draw
    done, wanted : int   number of draws
    """

    what: str
    done: int
    wanted: int


Watcher = Callable[["Progress | Draws"], object]

_watcher: ContextVar[Watcher | None] = ContextVar("halfseen_watcher", default=None)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Call `watcher` with a `Progress` after each pass of the fits inside; the innermost watcher alone is called.

    Examples
    --------
    >>> import halfseen as hs
    >>> from halfseen.engine.services.progress import watching
    >>> seen = []
    >>> with watching(seen.append):
    ...     model = hs.LatentClass(2, n_init=3, random_state=0).fit([["a", 1]] * 5 + [["b", 0]] * 4)
    >>> seen[0].n_components, seen[0].n_starts, seen[-1].objective == model.objective_
    (2, 3, True)
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def report(runs: Sequence[EMRun], n_starts: int, max_iter: int, warm: bool = False, polishing: bool = False) -> None:
    """Call the watcher, if there is one, with the state of the runs; `warm`: they are being annealed."""
    watcher = _watcher.get()
    if watcher is None:
        return
    leader = runs[0] if warm else max(runs, key=lambda run: run.rank)
    watcher(
        Progress(
            n_components=max(leaf.n_components for leaf in leader.model.leaves.values()),
            n_running=sum(run.reason is None for run in runs),
            n_starts=n_starts,
            n_passes=leader.n_passes,
            max_iter=max_iter,
            objective=None if warm else leader.objective,
            loglik=None if warm or leader.step is None or leader.assign.mode == "hard" else leader.step.loglik,
            polishing=polishing,
        )
    )


def report_draws(what: str, done: int, wanted: int) -> None:
    """Call the watcher, if there is one, with the state of a bootstrap."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(Draws(what, done, wanted))
