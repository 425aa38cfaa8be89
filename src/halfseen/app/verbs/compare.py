"""``halfseen compare``: two models class by class, a model with a column of truth, or links with those made by hand."""

from __future__ import annotations

from typing import Any

from halfseen.analysis import comparison
from halfseen.app import console, families
from halfseen.app.model_file import load
from halfseen.errors import ModelFileError
from halfseen.families.words.link_scores import LinkScores


def run(model: str, other: str, truth: str | None, json: bool, **request: Any) -> None:
    """Compare with another model, or with a column of a file; links with other links."""
    from halfseen.families.words import cli

    if truth is None and cli.is_links(model):
        _show_links(cli.compare_links(model, other), json)
        return
    loaded = load(model)
    if truth is not None:
        reading = families.reading_of(loaded)
        found = families.verb_of(loaded, "truth")(loaded, reading, request | {"data": other, "truth": truth})
        _show_truth(comparison.with_truth(*found), truth, json, families.verb_of(loaded, "WORDS")[0])
        return
    try:
        second = load(other)
    except ModelFileError as error:
        raise ModelFileError(f"{error} To compare with data, name a column of it: --truth COLUMN.") from error
    found = comparison.models(loaded, second)
    _show_models(found, model, other, json, families.verb_of(loaded, "WORDS"))


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
    console.show(f"{many} of {one} and those of {two} that they resemble most")
    rows = [
        (pair.first, pair.second, f"{pair.share[0]:.1%}", f"{pair.share[1]:.1%}", f"{pair.overlap:.2f}")
        for pair in found.pairs
    ]
    console.show_table((word, "resembles", "share", "share there", "overlap"), rows, left=2)
    for name, left in ((one, found.alone[0]), (two, found.alone[1])):
        if left:
            console.show(f"only in {name}: {', '.join(left)}")
    if found.moves:
        console.show("\nwhat moved most")
        moves = [
            (move.of, move.column, move.value, f"{move.before:,.4g}", f"{move.after:,.4g}")
            for move in found.moves[: comparison.SHOWN]
        ]
        console.show_table((word, "column", "", "from", "to"), moves, left=3)
    else:
        console.show(f"\nnothing moved: the {many} are the same")


def _show_links(found: LinkScores, json: bool) -> None:
    if json:
        console.show_json(found._asdict())
        return
    shares = [("alignment error rate", found.aer), ("precision", found.precision), ("recall", found.recall)]
    facts: list[tuple[str, Any]] = [(name, f"{value:.4f}") for name, value in [*shares, ("F1", found.f1)]]
    numbers = [
        ("pairs", found.n_pairs),
        ("links", found.n_found),
        ("sure", found.n_sure),
        ("possible", found.n_possible),
    ]
    console.show_facts(facts + [(name, f"{value:,}") for name, value in numbers])
