"""The screen EM: a few iterations on a few rows, number by number, and lessons.

A set-up that cannot be computed is no wrong request: its answer says what the problem is, beside what was asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from halfseen.errors import HalfseenError
from halfseen.studio import em_numbers, em_request, lessons
from halfseen.studio.em_request import Asked, whole
from halfseen.studio.routes import Ask, Route
from halfseen.studio.views import data


def em(ask: Ask) -> dict[str, Any]:
    """Return the iterations that a page asks for."""
    compare = ask.body.get("compare") is True
    return _answered(ask, lambda asked, cells: em_numbers.worked(asked, cells, compare))


def bound(ask: Ask) -> dict[str, Any]:
    """Return likelihood and bound along the line of one iteration."""
    iteration = whole(ask.body, "iteration", 1, em_request.MOST_ITERATIONS, 1)
    return _answered(ask, lambda asked, cells: em_numbers.bound(asked, cells, iteration))


def lesson(ask: Ask) -> dict[str, Any]:
    """Return the pages of a guided tour: their words, and what they show."""
    return lessons.lesson(_lesson(ask))


def lesson_page(ask: Ask) -> dict[str, Any]:
    """Return the numbers that a page of a guided tour shows; pages are counted from 0."""
    pages = lessons.lesson(_lesson(ask))["pages"]
    page = whole(ask.body, "page", 0, len(pages) - 1, 0)
    return {**lessons.show(pages[page]), "page": page}


def _lesson(ask: Ask) -> str:
    return ask.text("name", ask.session.lesson) or lessons.LESSONS[0]


def _answered(ask: Ask, compute: Callable[[Asked, pa.Table], dict[str, Any]]) -> dict[str, Any]:
    session = ask.session
    store, columns = session.rows(), data.columns(ask)["columns"]
    asked = em_request.read(ask.body, store, columns, session.spec.model)
    try:
        return {"asked": asked.to_dict(), "problem": None, **compute(asked, em_numbers.table(asked, store))}
    except HalfseenError as error:
        return {"asked": asked.to_dict(), "problem": str(error)}


ROUTES: dict[tuple[str, str], Route] = {
    ("POST", "em"): em,
    ("POST", "bound"): bound,
    ("GET", "lesson"): lesson,
    ("POST", "lesson"): lesson_page,
}
