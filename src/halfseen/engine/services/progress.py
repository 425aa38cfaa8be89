"""Progress of a fit: a callback that is called after each pass over the data; of a bootstrap, after some draws.

    with watching(print):
        model.fit(X)

A watcher is called for the fits of its own thread. An exception that it raises ends the fit; a `KeyboardInterrupt` ends
it with the best model so far, like one from the keyboard. What takes time to tell, the curves and parameters of the
runs, is made when it is asked for: `Progress.snapshot`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

from halfseen.leaves.limits import Params

__all__ = ["BEST", "CONVERGED", "DROPPED", "RUNNING", "STOPPED"]
__all__ += ["Curve", "Draws", "Progress", "Snapshot", "Watch", "report_draws", "watch", "watching"]

RUNNING, DROPPED, CONVERGED, STOPPED, BEST = "running", "dropped", "converged", "stopped", "best"  # states of runs


@dataclass(frozen=True)
class Curve:
    """The objectives of the run from one start.

    Attributes
    ----------
    number : int               of the start
    objectives : list of float
        Of its accepted steps, one for each pass; with soft and hard assignment they never fall. Empty while annealing.
    state : str
        "running"; "dropped", as it would end below the best; "converged"; "stopped", after the most iterations or by an
        interrupt; or "best", which leads and has ended, or is brought to the tolerance.
    healthy : bool
        Whether no variance is on its floor so far; runs with one rank behind all others, whatever their objective.
    """

    number: int
    objectives: list[float]
    state: str
    healthy: bool = True


@dataclass(frozen=True)
class Snapshot:
    """A search as it stands: plain values and arrays of its own, which another thread may have.

    Attributes
    ----------
    search : int            number of the search, from 0: there is one for each number of classes that is tried, ...
    n_components : int
    leader : int            number of the leading start
    curves : list of Curve  of all starts of the search so far, by number, also of those that were dropped
    params : dict or None   parameters of the leading run, by leaf; None where they are too large to copy (lexicons)
    view : Any
        What a person sees of the leading run: of models over a table a `halfseen.estimators.table.view.TableView`;
        None for other models.
    """

    search: int
    n_components: int
    leader: int
    curves: list[Curve]
    params: Params = None
    view: Any = None


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
    search : int                 number of the search, from 0, in the order in which the watcher is told of them
    """

    n_components: int
    n_running: int
    n_starts: int
    n_passes: int
    max_iter: int
    objective: float | None
    loglik: float | None = None
    polishing: bool = False
    search: int = 0
    taken: Callable[[int], Snapshot] | None = field(default=None, repr=False, compare=False)

    def snapshot(self) -> Snapshot:
        """Return the search as it stands when this is called, with the curves of all its starts.

        It is for the thread of the fit: within the watcher, or after the fit. A watcher that looks only now and then
        misses nothing of a search, whose curves are complete. Of a search that has ended since, told by another number
        in `search`, the last `Progress` still has the snapshot of its end.

        Examples
        --------
        >>> import halfseen as hs
        >>> seen = []
        >>> with watching(seen.append):
        ...     model = hs.LatentClass(2, n_init=3, random_state=0).fit([["a", 1]] * 5 + [["b", 0]] * 4)
        >>> found = seen[-1].snapshot()
        >>> [curve.state for curve in found.curves].count("best"), max(curve.objectives[-1] for curve in found.curves)
        (1, -10.8...)
        >>> found.view.shares.shape
        (2,)
        """
        if self.taken is None:
            return Snapshot(self.search, self.n_components, 0, [])
        return self.taken(self.search)


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


class Watch:
    """A watcher, and which search it was told of last."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self._number = -1
        self._search: Callable[[], object] = lambda: None

    def number(self, search: object) -> int:
        """Return the number of a search; another one than the last gets the next number."""
        if self._search() is not search:
            self._number, self._search = self._number + 1, ref(search)  # weakly: a search may hold much memory
        return self._number


_watch: ContextVar[Watch | None] = ContextVar("halfseen_watch", default=None)


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
    token = _watch.set(Watch(watcher))
    try:
        yield
    finally:
        _watch.reset(token)


def watch() -> Watch | None:
    """Return what is to be told of this thread, or None: then nothing needs to be computed for it."""
    return _watch.get()


def report_draws(what: str, done: int, wanted: int) -> None:
    """Call the watcher, if there is one, with the state of a bootstrap."""
    watch = _watch.get()
    if watch is not None:
        watch.watcher(Draws(what, done, wanted))
