"""The screen Decide: what costs make of the probabilities, and what not deciding costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.analysis.decisions import REJECTED, decide, rejected
from halfseen.errors import ParameterError
from halfseen.studio.refusal import Refusal
from halfseen.studio.routes import Ask
from halfseen.studio.session import Session
from halfseen.studio.versions import Version

N_CURVE = 101  # costs of not deciding along the curve
BEYOND = 1.2  # times the largest least risk: nothing is rejected there
MOST_DECISIONS = 50
REJECT = "reject"  # what `predict` writes where nothing is decided


def probabilities(session: Session, version: Version) -> NDArray[np.float64]:
    """Return the probability of each class for each row, (N, K), as ``halfseen predict`` has it."""
    if not version.has_answers or "cost" in version.family.refused.get("predict", {}):
        raise Refusal(f"There are no decisions about {version.family.title}: rows have no probabilities of classes.")

    def make() -> NDArray[np.float64]:
        batches = version.answers(session.request("predict", version))
        columns = [f"p{k}" for k in range(len(version.names))]
        return np.concatenate([np.stack([np.asarray(batch[name]) for name in columns], axis=1) for batch in batches])

    proba: NDArray[np.float64] = session.kept("probabilities", version, make)
    return proba


def read_costs(given: Any, decisions: Any, names: Sequence[str]) -> tuple[list[str], list[list[float]]] | None:
    """Return the decisions and their costs that a page sent; None for 0 and 1."""
    if given is None:
        return None
    named = [str(name).strip() for name in decisions] if isinstance(decisions, list) else list(names)
    rows = given if isinstance(given, list) else []
    if REJECT in named:
        raise ParameterError(f"cost: {REJECT!r} is what it is called not to decide; give the decision another name.")
    if (
        not rows
        or len(rows) != len(named)
        or len(rows) > MOST_DECISIONS
        or len(set(named)) < len(named)
        or not all(named)
    ):
        raise ParameterError("cost: give a row of costs for each decision, and each decision a name of its own.")
    found = []
    for name, row in zip(named, rows, strict=True):
        cells = row if isinstance(row, list) else []
        right = [isinstance(cell, int | float) and not isinstance(cell, bool) and abs(cell) < 1e300 for cell in cells]
        if len(cells) != len(names) or not all(right):
            raise ParameterError(f"cost: the decision {name!r:.40} needs a number for each of {', '.join(names)}.")
        found.append([float(cell) for cell in cells])
    return named, found


def read_reject(given: Any) -> float | None:
    """Return the cost of not deciding that a page sent."""
    if given is None or given == "":
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not abs(given) < 1e300:
        raise ParameterError(f"reject={given!r:.40} is not a number.")
    return float(given)


def decisions(ask: Ask) -> dict[str, Any]:
    """Return what would be decided, how often, and at what cost."""
    session, version = ask.session, ask.session.version(ask.number("version"))
    proba = probabilities(session, version)
    costs = read_costs(ask.body.get("cost"), ask.body.get("decisions"), version.names)
    reject = read_reject(ask.body.get("reject"))
    named, matrix = (version.names, None) if costs is None else costs
    found, risk = decide(proba, matrix, reject, return_risk=True)
    _, least = decide(proba, matrix, None, return_risk=True)
    counts = [int((found == i).sum()) for i in range(len(named))] + [int((found == REJECTED).sum())]
    n = len(proba)
    shown = matrix or [[float(i != j) for j in range(len(named))] for i in range(len(named))]
    most = max(map(max, shown))
    return {
        "version": version.number,
        "decisions": [*named, REJECT],
        "counts": counts,
        "shares": [count / n for count in counts],
        "risk": float(risk.mean()),
        "risk_without": float(least.mean()),
        "cost_of_rejected": float(risk[found == REJECTED].sum() / n),
        "rows": n,
        "most": most,
        "curve": _curve(least, max(min(most, BEYOND * float(least.max())), reject or 0.0)),
        "cost": shown,
        "note": "The cost is what the model expects: it is right if the probabilities are.",
    }


def _curve(least: NDArray[np.float64], top: float) -> list[dict[str, float]]:
    """Return the share of rows that are rejected, and the mean cost, by what not deciding costs."""
    found = []
    for cost in np.linspace(0.0, top or 1.0, N_CURVE).tolist():
        out = rejected(least, cost)
        risk = np.where(out, cost, least)
        found.append({"reject": cost, "rejected": float(out.mean()), "risk": float(risk.mean())})
    return found


ROUTES = {("POST", "decide"): decisions}
