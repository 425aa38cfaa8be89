"""Watching a fit: whoever shows progress is told after each pass; the engine does not know who that is.

    with watching(print):
        model.fit(X)

A watcher sees the fits of its own thread. What it raises ends the fit; a `KeyboardInterrupt` ends it with the best
model so far, like one from the keyboard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from halfseen.engine.loop.run import Chain

__all__ = ["Progress", "tell", "watching"]


@dataclass(frozen=True)
class Progress:
    """Where a fit stands after a pass over the data.

    Attributes
    ----------
    n_components : int           components being fitted; changes when several numbers are tried
    n_running : int              starts that were neither dropped nor have come to their end
    n_starts : int               starts in all
    n_passes : int               passes over the data made by the leading start
    max_iter : int               most passes it may make
    objective : float or None    the best so far; None while annealing, when objectives do not compare
    """

    n_components: int
    n_running: int
    n_starts: int
    n_passes: int
    max_iter: int
    objective: float | None


Watcher = Callable[[Progress], object]

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


def tell(chains: Sequence[Chain], n_starts: int, max_iter: int, warm: bool = False) -> None:
    """Tell the watcher, if there is one, where the chains stand; `warm`: they are being annealed."""
    watcher = _watcher.get()
    if watcher is None:
        return
    leader = chains[0] if warm else max(chains, key=lambda chain: chain.rank)
    watcher(
        Progress(
            n_components=max(leaf.n_components for leaf in leader.model.leaves.values()),
            n_running=sum(chain.reason is None for chain in chains),
            n_starts=n_starts,
            n_passes=leader.n_passes,
            max_iter=max_iter,
            objective=None if warm else leader.objective,
        )
    )
