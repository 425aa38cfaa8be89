"""How a fit ended: what every estimator shows of it, and when it warns."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from halfseen.engine.loop.search import Search
from halfseen.errors import InterruptedWarning, warn

CONVERGED = ("tolerance", "rounding", "counts stable", "parameters stable", "assignments unchanged")


def take_over(model: Any, search: Search) -> None:
    """Set the attributes that tell how the runs of a fit went."""
    best = search.best
    model.objective_ = best.objective
    model.trace_ = list(best.trace)
    model.n_iter_ = best.n_passes
    model.stop_reason_ = best.reason
    model.converged_ = best.reason in CONVERGED
    model.restarts_ = {
        "n_init": search.n_starts,
        "n_finalists": len(search.finalists),
        "n_reached_best": search.n_best(within=max(10 * model.tol, 1e-9 * abs(best.objective))),
        "objectives": [chain.objective for chain in search.finalists],
    }


def warn_of_end(model: Any, search: Search) -> None:
    """Warn of a fit that was interrupted, or that ran out of passes."""
    if search.interrupted:
        warn("the fit was interrupted; the best model so far is kept.", InterruptedWarning)
    elif model.stop_reason_ == "max_iter":
        warn(
            f"no convergence after max_iter={model.max_iter} passes (objective {model.objective_:.6f}). "
            "Raise max_iter or tol.",
            ConvergenceWarning,
        )
