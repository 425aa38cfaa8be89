"""How a fit ended: the attributes that every estimator shows of it, and the warnings.

`record`             a search, with its restarts
`record_end`         objectives, iterations and the reason to stop
`warn_of_end`        warn of a fit that was interrupted or has not converged
`warn_search_interrupted`   note and warn that other fits were not made, or not finished
`ended`, `unfinished`       how a fit ended in words; what to say first of one that was interrupted
`described`          a description, with that sentence first
`warn_collapsed`     warn of a fit in which every run ended with a variance on its floor
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from halfseen.engine.loop.search import MOST_STARTS, Search
from halfseen.errors import CollapseWarning, InterruptedWarning, warn
from halfseen.kinds.resolved import PLAIN_FLOOR, RESOLUTION

CONVERGED = ("tolerance", "rounding", "counts stable", "parameters stable", "assignments unchanged")
INTERRUPTED = "Interrupted"  # how the event of a search that was interrupted begins


def record(model: Any, search: Search) -> None:
    """Set the attributes that tell how the runs of a fit went."""
    best = search.best
    model.objective_ = best.objective
    record_end(model, best.trace, best.n_passes, best.reason)
    model.restarts_ = {
        "n_init": search.n_starts,
        "n_finalists": len(search.objectives),
        "n_reached_best": search.n_agree,
        "objectives": search.objectives,
    }
    if search.n_agree == 1 and search.n_starts > MOST_STARTS // 2 and isinstance(model.n_init, str):
        model.events_.append(
            f"only 1 of {search.n_starts} starts reached the best log-likelihood: a better solution may exist. Use "
            f"fewer components or more data, or raise n_init above {MOST_STARTS}"
        )


def record_end(model: Any, trace: Sequence[float], n_iter: int, reason: str | None) -> None:
    """Set the attributes that tell how the best run of a fit went."""
    model.trace_ = list(trace)
    model.n_iter_ = n_iter
    model.stop_reason_ = reason
    model.converged_ = reason in CONVERGED


def warn_of_end(model: Any, interrupted: bool, objective: str = "objective_") -> None:
    """Warn of a fit that was interrupted, or that has not converged; `objective` names the attribute with its value."""
    if interrupted and model.stop_reason_ != "interrupted":
        warn_search_interrupted(model, "before all starts had converged")
    elif interrupted:
        _warn_interrupted()
    elif model.stop_reason_ == "max_iter":
        warn(
            f"no convergence after max_iter={model.max_iter} iterations ({objective}={getattr(model, objective):.6f}). "
            "Raise max_iter or tol.",
            ConvergenceWarning,
        )


def warn_search_interrupted(model: Any, when: str) -> None:
    """Note and warn that a search was interrupted: the fit that is kept has ended, others had not."""
    model.events_ = [f"{INTERRUPTED} {when}.", *model.events_]
    _warn_interrupted()


def _warn_interrupted() -> None:
    warn("the fit was interrupted; the best model so far is kept.", InterruptedWarning)


def ended(reason: str | None, n_iter: int) -> str:
    """Return how a fit ended, as text.

    Examples
    --------
    >>> ended("tolerance", 12)
    'converged after 12 iterations (tolerance)'
    >>> ended("interrupted", 1)
    'interrupted after 1 iteration; not converged'
    """
    iterations = f"{n_iter:,} iteration{'' if n_iter == 1 else 's'}"
    if reason in CONVERGED:
        return f"converged after {iterations} ({reason})"
    if reason == "interrupted":
        return f"interrupted after {iterations}; not converged"
    return f"not converged after {iterations}" if reason == "max_iter" else f"stopped after {iterations}"


def unfinished(model: Any) -> str:
    """Return what must be said first of a model whose fit was interrupted; nothing of others."""
    if getattr(model, "stop_reason_", None) == "interrupted":
        return f"{ended('interrupted', model.n_iter_).capitalize()}."
    return next((event for event in getattr(model, "events_", ()) if event.startswith(INTERRUPTED)), "")


def described(model: Any, text: str) -> str:
    """Return the description of a model, after a line that says if its fit was interrupted."""
    first = unfinished(model)
    return f"{first}\n{text}" if first else text


def warn_collapsed(model: Any, what: str, advice: str) -> None:
    """Note and warn that every run ended with a variance on its floor; `what` collapsed, `advice` says what to do."""
    model.events_.append(f"{what}: its variance is on the floor")
    floor = PLAIN_FLOOR if model.variance_floor == RESOLUTION else model.variance_floor
    warn(
        f"every start ended with a variance on its floor ({floor:g} of the column's variance): {what}, "
        f"so that loglik_={model.loglik_:.6g} is not meaningful. {advice}",
        CollapseWarning,
    )
