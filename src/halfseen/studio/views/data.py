"""The screen Data: columns with their kinds, and rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from halfseen.data.columns import learn_column
from halfseen.data.frames import Source
from halfseen.data.identifiers import identifiers
from halfseen.errors import DataError, ParameterError
from halfseen.kinds.doubts import MOST, suspected_codes
from halfseen.studio.refusal import Refusal
from halfseen.studio.routes import Ask
from halfseen.studio.rows import PAGE, RowStore, View, merged
from halfseen.studio.session import Session

HEAD = 200_000  # rows by which kinds are inferred
ROLES = ("weight", "target", "group", "time", "labels")  # options that name a column


def columns(ask: Ask) -> dict[str, Any]:
    """Return the columns as a fit would take them."""
    session = ask.session
    with session.lock:
        store, spec = session.rows(), session.spec
        key = ("columns", spec)
        if session.memo.get("columns key") != str(key):
            session.memo["columns"] = _columns(session, store)
            session.memo["columns key"] = str(key)
        found: dict[str, Any] = session.memo["columns"]
    return found


def _columns(session: Session, store: RowStore) -> dict[str, Any]:
    spec = session.spec
    table = session.table()
    unreadable = dict(table.unreadable())
    readable = table.without(unreadable) if unreadable else table
    source = readable.head(HEAD)
    apart = {**dict(identifiers(readable)), **unreadable}
    missing, distinct = store.missing(), store.distinct()
    roles = {str(spec.options[role]): role for role in ROLES if role in spec.options}
    found = []
    for name in store.names:
        one: dict[str, Any] = {
            "name": name,
            "type": store.types[name],
            "missing": missing[name],
            "distinct": distinct[name],
            "given": name in spec.kinds,
            "left_out": None,
            "kind": None,
            "problem": None,
            "doubts": [],
            "codes": [],
            "sketch": {"kind": "bars", "bars": store.bars(name), "missing": missing[name]},
        }
        if name in spec.ignore:
            one["left_out"] = "left out by you"
        elif name in roles:
            one["left_out"] = f"used as {roles[name]}"
        elif name in apart and name not in spec.kinds:
            one["left_out"] = apart[name]
        else:
            one |= _kind(source, name, spec.kinds.get(name))
        found.append(one)
    return {"columns": found, "rows": store.n_rows, "notes": list(table.notes)}


def _kind(source: Source, name: str, chosen: str | None) -> dict[str, Any]:
    """Return the kind of a column, or what is wrong with it, and what its cells make one doubt."""
    raw = source.column(source.names.index(name))
    try:
        column = learn_column(raw, name, chosen, source, True)
    except (DataError, ParameterError) as error:
        return {"kind": chosen, "problem": str(error)}
    kind = column.kind
    codes: list[str] = []
    doubts: list[str] = []
    if raw.type == "number" and not kind.has_categories:
        cells = np.where(raw.missing, np.nan, raw.values.astype(np.float64))[:MOST]
        found = suspected_codes(cells, np.ones(len(cells)))
        codes = [f"{code:g}" for code, _ in found]
        doubts = [f"{code:g} occurs {times:g} times and may be a code that means missing" for code, times in found]
    return {"kind": chosen or kind.name, "doubts": doubts, "codes": codes}


def rows(ask: Ask) -> dict[str, Any]:
    """Return some rows, filtered and sorted, with the class of each and its label."""
    session = ask.session
    given = ask.text("view")
    try:
        view = View.read(json.loads(given) if given else None)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"view={given!r:.80} is not JSON.") from None
    start, count = ask.number("start", 0) or 0, ask.number("count", PAGE)
    labels = dict(session.now.labels)
    if given and json.loads(given).get("labelled"):
        view = View(view.filters, view.sort, tuple(sorted(labels)))
    version = session.shown
    answered = version is not None and version.has_answers
    store = session.answered_rows() if answered else session.rows()
    total, page = store.page(view, start, PAGE if count is None else count)
    answers = store.answers([number for number, _ in page]) if answered else {}
    return {
        "total": total,
        "start": start,
        "names": list(store.names),
        "types": [store.types[name] for name in store.names],
        "rows": merged(page, answers, labels),
    }


def change(ask: Ask) -> dict[str, Any]:
    """Change kinds, columns left out, codes for missing values, or options of the fit."""
    changes = ask.body.get("changes")
    if not isinstance(changes, dict):
        raise Refusal("changes: an object is needed.")
    ask.session.change_spec(changes)
    return ask.session.state()


ROUTES = {("GET", "columns"): columns, ("GET", "rows"): rows, ("POST", "spec"): change}
