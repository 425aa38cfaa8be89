"""The screen Compare: models side by side, the numbers of classes that were tried, agreement, the bootstrap test."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from sklearn.metrics import adjusted_rand_score

from halfseen.app.collected import collected
from halfseen.app.console import shown_warnings
from halfseen.errors import ParameterError
from halfseen.studio.fitting import start_test
from halfseen.studio.refusal import Refusal
from halfseen.studio.routes import Ask
from halfseen.studio.session import Session, command_of
from halfseen.studio.versions import Version, finite

MOST = 6  # versions side by side
FIGURES = (
    ("Made by", "how"),
    ("Model", "model"),
    ("Log-likelihood", "loglik"),
    ("Inertia", "inertia"),
    ("Estimate", "estimate"),
    ("Parameters", "n_parameters"),
    ("N", "n"),
    ("BIC", "bic"),
    ("AIC", "aic"),
    ("Starts", "starts"),
    ("Starts that agree", "agree"),
    ("Ended", "ended"),
    ("Labels", "labels"),
    ("Seconds", "seconds"),
)


def compare(ask: Ask) -> dict[str, Any]:
    """Return versions side by side, and what was tried for the one that is shown."""
    session = ask.session
    chosen = _chosen(session, ask.text("versions"))
    rows = [[title, *(version.summary[name] for version in chosen)] for title, name in FIGURES]
    rows = [row for row in rows if any(cell is not None for cell in row[1:])]
    shown = session.version()
    return {
        "versions": [version.number for version in chosen],
        "head": ["", *(f"{version.number}: {version.summary['title']}" for version in chosen)],
        "rows": rows,
        "version": shown.number,
        "tried": _tried(session, shown),
        "criterion": getattr(shown.model, "criterion", "bic"),
        "agreement": [
            _agreement(session, one, other)
            for i, one in enumerate(chosen)
            for other in chosen[i + 1 :]
            if _comparable(one, other)
        ],
        "can_test": "test" in shown.family.verbs and bool(shown.names),
        "test": session.memo.get(("test", shown.number)),
        "notes": list(shown.summary["notes"]),
    }


def _chosen(session: Session, text: str | None) -> list[Version]:
    if not text:
        return session.versions[-MOST:]
    if not all(part.isdecimal() for part in text.split(",")):
        raise ParameterError(f"versions={text!r:.40} is not a list of numbers.")
    numbers = list(dict.fromkeys(int(part) for part in text.split(",")))
    if len(numbers) > MOST:
        raise ParameterError(f"at most {MOST} models can be compared at a time.")
    return [session.version(number) for number in numbers]


def _tried(session: Session, version: Version) -> list[dict[str, Any]]:
    """Return the figures of all numbers of classes that were tried; `usable` where the fit of one was kept."""
    table = getattr(version.model, "selection_", None)
    if table is None:
        return []
    columns = nw.from_native(table).to_dict(as_series=False)
    if "n_components" not in columns:  # networks, of which other things were tried
        return []
    found = [dict(zip(columns, map(_plain, row), strict=True)) for row in zip(*columns.values(), strict=True)]
    kept = _kept(version)
    return [
        {**row, "version": version.number, "usable": row["n_components"] in kept and not row["chosen"]} for row in found
    ]


def _kept(version: Version) -> set[int]:
    """Return the numbers of classes whose fits a model has: those of one fit in this process."""
    fits = getattr(version.model, "_tried_fits", {})
    shape = version.model._covariance if fits else ""
    return {size for covariance, size in fits if covariance == shape}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return finite(value) if isinstance(value, float) else value


def _comparable(one: Version, other: Version) -> bool:
    return all(version.has_answers for version in (one, other))


def best_classes(session: Session, version: Version) -> Any:
    """Return the number of the most probable class of each row, (N,)."""

    def make() -> Any:
        places = {name: k for k, name in enumerate(version.names)}
        batches = version.answers(session.request("predict", version))
        return np.concatenate([[places[name] for name in batch["class"].to_pylist()] for batch in batches])

    return session.kept("best classes", version, make)


def _agreement(session: Session, one: Version, other: Version) -> dict[str, Any]:
    """Return how the classes of two versions overlap."""
    first, second = best_classes(session, one), best_classes(session, other)
    counts = np.zeros((len(one.names), len(other.names)), dtype=np.int64)
    np.add.at(counts, (first, second), 1)
    return {
        "a": one.number,
        "b": other.number,
        "rand": float(adjusted_rand_score(first, second)),
        "same": float(np.mean(first == second)) if one.names == other.names else None,
        "rows": one.names,
        "columns": other.names,
        "counts": counts.tolist(),
    }


def use(ask: Ask) -> dict[str, Any]:
    """Show another number of classes that was tried: a new version, without another fit."""
    session, size = ask.session, ask.number("n_components")
    version = session.version()
    if size is None or size not in _kept(version):
        raise Refusal(f"{size} is not among the numbers that this fit tried and kept: fit it anew.")
    spec = replace(version.spec, options={**version.spec.options, "choose": str(size)})
    with collected(), shown_warnings(str):
        model = version.model.choose(size)
    model._origin = model._origin._replace(command=command_of(spec))
    more: dict[str, Any] = {"seconds": version.seconds, "notes": version.notes}
    session.add("number of classes", model, version.reading, spec=spec, **more)
    return session.state()


def test(ask: Ask) -> dict[str, Any]:
    """Start the bootstrap test of the number of classes against one more."""
    return {"job": start_test(ask.session, ask.body.get("draws", 99)).number}


ROUTES = {("GET", "compare"): compare, ("POST", "use"): use, ("POST", "test"): test}
