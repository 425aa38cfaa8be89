"""``halfseen compare``: two models class by class, a model with a column of true classes, or links with gold links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfseen import families
from halfseen.analysis import comparison
from halfseen.app import console, dispatch
from halfseen.errors import ModelFileError
from halfseen.kinds.wording import number


def run(request: Mapping[str, Any]) -> None:
    """Compare with another model, with a column of a file, or two files of links."""
    one, two, truth, json = (request[name] for name in ("model", "other", "truth", "json"))
    if truth is None:
        for family in families.offering("compare_files"):
            answers = family.module("cli").compare_files(one, two)
            if answers is not None:
                _show_figures(answers, json)
                return
    loaded = dispatch.model_to_use(one)
    words = dispatch.family_of(loaded).component
    if truth is not None:
        pairs = dispatch.command(loaded, "truth")(loaded, dispatch.reading_of(loaded), {**request, "data": two})
        _show_truth(comparison.with_truth(*pairs), truth, json, words[0])
        return
    try:
        second = dispatch.model_to_use(two)
    except ModelFileError as error:
        raise ModelFileError(f"{error} To compare with data, name a column of it: --truth COLUMN.") from error
    _show_models(comparison.models(loaded, second), one, two, json, words)


def _show_truth(found: comparison.Agreement, truth: str, json: bool, word: str) -> None:
    if json:
        console.show_json(found.as_dict())
        return
    rows = [
        (name, *[f"{count:,}" if count else "." for count in counts])
        for name, counts in zip(found.classes, found.counts.tolist(), strict=True)
    ]
    console.show_table(("", *found.labels), rows)
    console.show(f"\n{found.sentence(truth, word)}")


def _show_models(found: comparison.Moved, one: str, two: str, json: bool, words: tuple[str, str]) -> None:
    if json:
        console.show_json(found.as_dict())
        return
    word, many = words
    console.show(f"{many} of {one} and the most similar ones of {two}")
    rows = [
        (pair.first, pair.second, f"{pair.share[0]:.1%}", f"{pair.share[1]:.1%}", f"{pair.overlap:.2f}")
        for pair in found.pairs
    ]
    console.show_table((word, "most similar", "share", "share there", "overlap"), rows, left=2)
    for name, left in ((one, found.alone[0]), (two, found.alone[1])):
        if left:
            console.show(f"only in {name}: {', '.join(left)}")
    if found.moves:
        console.show("\nlargest changes")
        moves = [
            (move.of, move.column, move.value, number(move.before, 4), number(move.after, 4))
            for move in found.moves[: comparison.SHOWN]
        ]
        console.show_table((word, "column", "", "from", "to"), moves, left=3)
    else:
        console.show(f"\nno changes: the {many} are the same")


def _show_figures(answers: tuple[dict[str, Any], list[tuple[str, str]]], json: bool) -> None:
    found, facts = answers
    if json:
        console.show_json(found)
    else:
        console.show_facts(facts)
