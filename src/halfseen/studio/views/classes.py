"""The screen Classes: the sections of the report as values, rows as points, why a row has its class, names, labels.

What is said of the classes is what the report says: the same sections, of the same material.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import narwhals as nw
import numpy as np

from halfseen.app.report.parts import ClassName, Figure, Section
from halfseen.app.report.profiles import TONES, profile_heat
from halfseen.app.tables import features
from halfseen.errors import ParameterError
from halfseen.estimators.table import why as reasons
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.inference.standard_errors import StandardErrors
from halfseen.plots.pairs import scatter
from halfseen.studio.described import description_of
from halfseen.studio.outlines import outlines
from halfseen.studio.refusal import Refusal
from halfseen.studio.routes import Ask
from halfseen.studio.session import Session
from halfseen.studio.versions import Version, finite

FIRST = ("answer", "profile", "centres")  # functions of sections that the screen begins with
ELSEWHERE = ("points", "errors", "reproduce")  # those that it shows in another form, or another screen does
MOST_POINTS = 2000


def classes(ask: Ask) -> dict[str, Any]:
    """Return what the report says of the classes: its summary, cards, checks, and the profiles."""
    session, version = ask.session, ask.session.version(ask.number("version"))
    made = {section["key"]: section for section in _sections(session, version, first=True)}
    answer = made.pop("answer", {"lead": "", "parts": []})  # without data there is none
    profiles = next(iter(made.values()), None)
    return {
        "version": version.number,
        "summary": answer["lead"],
        "cards": _first(answer["parts"], "cards"),
        "checks": _first(answer["parts"], "checks"),
        "heat": _profiles(version) if profiles is None else _heat(profiles),
        "names": version.names,
        "labels": version.takes_labels,
        "can_rename": "rename" in version.family.verbs and bool(version.names),
        "can_say_why": _says_why(version),
        "has_errors": session.has_data and "errors" in version.family.verbs,
    }


def _first(parts: Iterable[Mapping[str, Any]], kind: str) -> list[Any]:
    return next((list(part["items"]) for part in parts if part["kind"] == kind), [])


def sections(ask: Ask) -> dict[str, Any]:
    """Return the other sections of the report, which may take a while."""
    session, version = ask.session, ask.session.version(ask.number("version"))
    return {"version": version.number, "sections": _sections(session, version, first=False)}


def _sections(session: Session, version: Version, first: bool) -> list[dict[str, Any]]:
    """Return the first sections of the report on a version, or the others, without pictures; computed once."""
    if not session.has_data:
        return [] if first else [_plain_section(description_of(version.model))]

    def make() -> list[dict[str, Any]]:
        chosen = [
            build
            for build in version.family.module("report").SECTIONS
            if build.__name__ not in ELSEWHERE and (build.__name__ in FIRST) == first
        ]
        material = session.kept("material", version, lambda: _gathered(session, version))
        made = (build(version.model, material) for build in chosen)
        return [_plain_section(section) for section in made if section is not None]

    found: list[dict[str, Any]] = session.kept("first sections" if first else "sections", version, make)
    return found


def _gathered(session: Session, version: Version) -> Any:
    """Return what the sections are made from."""
    gathered = version.family.module("report").MATERIAL
    return gathered(version.model, session.material(version), None, None, None, version.model._origin.command)


def _heat(section: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(part for part in section["parts"] if part["kind"] == "heat")
    return {"lead": section["lead"], **found}


def _profiles(version: Version) -> dict[str, Any] | None:
    """Return the profiles of a model whose report has none, as those of hidden Markov models."""
    profiled = getattr(version.model, "_profiled", None)
    if profiled is None:
        return None
    names, _, rows, what = profiled()
    if len(names) < 2 or not rows:
        return None
    named = [ClassName.of(str(name), k) for k, name in enumerate(names)]
    return {"lead": TONES, **_plain(profile_heat(rows, named, what))}


def _plain_section(section: Section) -> dict[str, Any]:
    return {"key": section.key, "title": section.title, "lead": section.lead, "parts": _plain(section.parts)}


def _plain(value: Any) -> Any:
    """Return a part of the report as plain values; the name of a class comes with the number of its colour."""
    if isinstance(value, ClassName):
        return {"text": str(value), "k": value.k}
    if is_dataclass(value) and not isinstance(value, type):
        named = {one.name: _plain(getattr(value, one.name)) for one in fields(value) if one.name not in ("full", "svg")}
        kind = getattr(value, "kind", None)
        return named | ({"kind": kind} if kind else {})
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value if not isinstance(one, Figure)]
    if isinstance(value, float):
        return finite(value)
    return value


def errors(ask: Ask) -> dict[str, Any]:
    """Return the standard errors of all parameters."""
    session, version = ask.session, ask.session.version(ask.number("version"))
    if "errors" not in version.family.verbs:
        raise Refusal(f"There are no standard errors of {version.family.title}.")
    answer: dict[str, Any] = session.kept("errors", version, lambda: _errors(session, version))
    return answer


def _errors(session: Session, version: Version) -> dict[str, Any]:
    request = session.request("table", version)
    found: StandardErrors = version.family.module("cli").errors(version.model, version.reading, request)
    frame = nw.from_native(found.to_frame()).to_dict(as_series=False)
    rows = [[_cell(value) for value in row] for row in zip(*frame.values(), strict=True)]
    return {
        "head": list(frame),
        "rows": rows,
        "kind": found.kind,
        "notes": [str(note) for note in getattr(found, "notes", ())],
    }


def _cell(value: Any) -> Any:
    return finite(value) if isinstance(value, float | np.floating) else value if value is None else str(value)


def points(ask: Ask) -> dict[str, Any]:
    """Return rows as points over two columns, with the outlines of the classes."""
    session, version = ask.session, ask.session.version(ask.number("version"))
    if not (hasattr(version.model, "_scatter") or isinstance(version.model, TableMixture)):  # such as a network
        return {"columns": [], "points": []}
    seen = session.kept(
        "points", version, lambda: scatter(version.model, session.material(version), MOST_POINTS, random_state=0)
    )
    if len(seen.names) < 2:  # there is nothing to draw
        return {"columns": list(seen.names), "points": []}
    best = [seen.names[j] for j in seen.best(2)]
    x, y = ask.text("x") or best[0], ask.text("y") or next(name for name in best if name != (ask.text("x") or best[0]))
    for name in (x, y):
        if name not in seen.names:
            raise ParameterError(f"{name!r:.80} cannot be drawn.")
    i, j = seen.names.index(x), seen.names.index(y)
    places, owner = seen.values[:, [i, j]], seen.proba.argmax(axis=1)
    there = np.flatnonzero(np.isfinite(places).all(axis=1))
    listed = [[*map(float, places[n]), int(owner[n]), int(seen.rows[n])] for n in there.tolist()]
    levels = {name: list(level) for name, level in zip(seen.names, seen.levels, strict=True) if level}
    return {
        "columns": list(seen.names),
        "x": x,
        "y": y,
        "points": listed,
        "classes": [str(name) for name in seen.class_names],
        "outlines": outlines(
            seen.means[:, [i, j]], seen.covariances[:, [[i, i], [j, j]], [[i, j], [i, j]]], seen.owner
        ),
        "levels": levels,
        "left_out": int(len(places) - len(there)),
        "n_given": int(seen.n_given),
    }


def _says_why(version: Version) -> bool:
    return "why" not in version.family.refused.get("predict", {}) and hasattr(version.model, "_schema")


def why(ask: Ask) -> dict[str, Any]:
    """Return why a row has its class, column by column."""
    session, version = ask.session, ask.session.version(ask.number("version"))
    row = ask.number("row")
    if row is None or not _says_why(version):
        raise Refusal("Name a row." if row is None else f"{version.family.title} do not say why.")
    version.model._check_marginal("why")
    cells = features(version.model, session.rows().cells([row]), session.title)
    encoded = version.model._encode(cells)
    found = reasons.why(version.model, encoded, ask.text("against"))
    proba = version.model.predict_proba(cells)[0]
    return {
        "row": row,
        "target": found.target,
        "against": found.against,
        "probability": list(found.probability),
        "log_odds": float(found.log_odds),
        "parts": [
            {"column": name, "value": _value(found.values.get(name)), "part": float(part)}
            for name, part in sorted(found.contributions.items(), key=lambda one: -abs(one[1]))
        ],
        "together": float(found.together),
        "missing": [name for name, value in found.values.items() if value is None],
        "words": {name: [[word, float(part)] for word, part in own.items()] for name, own in found.words.items()},
        "text": str(found),
        "proba": [{"name": name, "p": float(p)} for name, p in zip(version.names, proba, strict=True)],
        "label": session.now.labels.get(row),
    }


def _value(value: Any) -> str | None:
    return None if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def names(ask: Ask) -> dict[str, Any]:
    """Name the classes: a new version."""
    given = ask.body.get("names")
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise ParameterError("names: a list of texts is needed.")
    ask.session.rename([name.strip() for name in given])
    return ask.session.state()


def labels(ask: Ask) -> dict[str, Any]:
    """Set or take away the class of a row."""
    row = ask.body.get("row")
    if not isinstance(row, int):
        raise ParameterError(f"row={row!r:.40} is not a whole number.")
    ask.session.label(row, ask.text("label"))
    return ask.session.state()


ROUTES = {
    ("GET", "classes"): classes,
    ("GET", "sections"): sections,
    ("GET", "errors"): errors,
    ("GET", "scatter"): points,
    ("GET", "why"): why,
    ("POST", "names"): names,
    ("POST", "labels"): labels,
}
