"""The section on text: the distinctive words of each class, and the effect of unlabelled documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from halfseen.app.report.material import TableMaterial
from halfseen.app.report.parts import Grid, Part, Section, Text
from halfseen.app.report.words import percent, plural
from halfseen.kinds.records import ColumnProfile
from halfseen.kinds.text import telling_words

TOP = 12  # words of each class

Builder = Callable[[Any, Any], Section | None]


def has_text(model: Any) -> bool:
    """Whether a model has a column of text."""
    return bool(model._schema.texts)


def text_alone(model: Any) -> bool:
    """Whether a model has nothing but text."""
    return len(model._schema.texts) == len(model._schema.columns)


def of_cells(build: Builder) -> Builder:
    """Return a builder that leaves its section out where there is nothing but text, which has no missing values."""

    def built(model: Any, material: Any) -> Section | None:
        return None if text_alone(model) else build(model, material)

    return built


def words(model: Any, material: TableMaterial) -> Section | None:
    """The distinctive words of each class, and the accuracy without and with the unlabelled documents."""
    texts = [column for column in material.profiles if column.kind.of_words]
    if not texts:
        return None
    parts: list[Part] = [_grid(model, column) for column in texts]
    parts += _before_and_after(model)
    lead = (
        "Words that are more frequent in a class than in the whole table, the most distinctive first. In brackets: how "
        "many times as frequent they are as in all documents."
    )
    return Section("words", "The words", lead, parts)


def _grid(model: Any, column: ColumnProfile) -> Grid:
    rows = []
    for k, name in enumerate(model.class_names_):
        top = telling_words(column, k, TOP)
        shown = [f"{column.rows[v]} ({column.values[v, k] / column.overall[v]:.1f})" for v in top]
        rows.append([str(name), ", ".join(shown) or "none"])
    caption = f"Most distinctive words of {column.name}, by class; {len(column.rows):,} words in all"
    return Grid(caption, ["class", "words"], rows, column.name, frozenset({1}))


def _before_and_after(model: Any) -> list[Part]:
    scores = getattr(model, "guard_", None)
    if not scores:
        return []
    rows = [
        ["labelled documents alone", percent(scores["labelled_only"])],
        ["with the unlabelled documents", percent(scores["with_unlabeled"])],
    ]
    caption = (
        f"Accuracy on {plural(scores['n_labelled'], 'labelled document')} ({scores['folds']}-fold cross-validation), "
        "without and with the unlabelled ones"
    )
    weight = getattr(model, "unlabeled_weight_", 1.0)
    much = "as much as a labelled one" if weight == 1 else f"{weight:g} of a labelled one"
    note = Text(f"An unlabelled document counts {much}." if weight else "The unlabelled documents are left out.")
    return [Grid(caption, ["fitted to", "accuracy"], rows, "Unlabelled documents"), note]
