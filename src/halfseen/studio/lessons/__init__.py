"""Guided tours of the studio.

Their words and what they show are data; every number in the words is computed by the engine when a page is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from halfseen.errors import ParameterError

LESSONS = ("em",)


def lesson(name: str) -> dict[str, Any]:
    """Return a lesson as plain values.

    Returns
    -------
    dict
        "title", and "pages": a list of {"title", "text": paragraphs, "show": what `show` takes}

    Examples
    --------
    >>> found = lesson("em")
    >>> found["title"], found["pages"][0]["title"]
    ('Expectation-maximization, number by number', 'Something was never seen')
    """
    if name not in LESSONS:
        raise ParameterError(f"there is no lesson {name!r:.40}. Lessons: {', '.join(LESSONS)}.")
    module = import_module(f"halfseen.studio.lessons.{name}")
    return {"title": module.TITLE, "pages": [page.to_dict() for page in module.pages()]}


def show(page: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a page of a lesson shows: iterations or a bound, as the screen EM has them.

    Beside the numbers it has "kind", "section" and "grid": where to look first.

    Examples
    --------
    >>> found = show(lesson("em")["pages"][4])
    >>> found["kind"], found["section"], found["grid"], found["sections"][1]["grids"][2]["rows"][3]
    ('explain', 1, 'responsibilities', ['1', '1', '1', 'class 1', '0.954545'])
    """
    computed: dict[str, Any] = import_module("halfseen.studio.lessons.page").computed(page["show"])
    return computed
