"""The report on transcript alignment: units, some utterances with their words, words and utterances to check."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike

from halfseen.app.report.charts.segments import Piece, segments
from halfseen.app.report.checks import converged, events, likelihood
from halfseen.app.report.material import Material
from halfseen.app.report.next_steps import files_of
from halfseen.app.report.parts import (
    Beside,
    Card,
    Cards,
    Check,
    Checks,
    Facts,
    Figure,
    Grid,
    Part,
    Section,
    Step,
    Steps,
)
from halfseen.app.report.sections import reproduce
from halfseen.app.report.words import count, cut, number, percent, plural
from halfseen.errors import ParameterError
from halfseen.families.transcript.alignment import Alignment, Segment

SURE = 0.5  # confidence below which a word is pale and worth a look
ODD = 5.0  # surprise above which a transcript is probably wrong
MOST_CARDS = 9  # units
MOST_WORDS = 28  # of an utterance that is drawn
TOP = 10  # words and utterances to check
EXAMPLES = (("good", 0.9), ("typical", 0.5), ("doubtful", 0.1))  # places among utterances by confidence


class TranscriptMaterial(Material):
    """An aligner, utterances with their transcripts, and what the sections of the report need."""

    @classmethod
    def gathered(cls, model: Any, X: Any, y: Any, sample_weight: ArrayLike | None, *more: Any) -> Self:
        """Accept features with transcripts in y, both as a pair, or recordings that have their transcripts."""
        if y is None:
            X, y = X if isinstance(X, tuple) and len(X) == 2 else (X, getattr(X, "transcripts", None))
        if y is None:
            raise ParameterError("report: the transcripts are needed too: hs.report(model, features, y=transcripts).")
        return cls(model, X, y, sample_weight, *more)

    def facts(self) -> list[tuple[str, str]]:
        """Return utterances, words and units."""
        return [
            ("Utterances", count(len(self.found))),
            ("Words", count(len(self.words))),
            ("Units", count(len(self.model.units_))),
        ]

    @cached_property
    def colours(self) -> dict[str, int]:
        """The colour of each unit, where they are few."""
        return {name: k for k, name in enumerate(self.model.units_)} if len(self.model.units_) <= MOST_CARDS else {}

    @cached_property
    def aligned(self) -> list[Any]:
        """All utterances, None for those that are too short."""
        columns = getattr(self.X, "column_names", ())  # of a table of Arrow; other containers are known by `align`
        groups, time = (mark if mark in columns else None for mark in self.model._marks)
        found: list[Any] = self.model.align(self.X, self.y, groups=groups, time=time)
        return found

    @cached_property
    def found(self) -> list[Alignment]:
        """The utterances that were aligned."""
        return [one for one in self.aligned if one is not None]

    @cached_property
    def words(self) -> list[tuple[Alignment, Segment]]:
        """All words, each with its utterance."""
        return [(one, part) for one in self.found for part in one.words]

    @cached_property
    def confidence(self) -> Any:
        """Mean confidence of the words of each utterance."""
        return np.array([np.mean([part.confidence for part in one.words] or [0.0]) for one in self.found])

    def when(self, time: float) -> str:
        """Return a time in words: seconds, or frames where nothing is said of their length."""
        return f"{time:.0f}" if self.model.step == 1 else f"{time:.2f} s"


def answer(model: Any, material: TranscriptMaterial) -> Section:
    """Two sentences, the units, what to do next, and checks of reliability."""
    sure = np.array([part.confidence for _, part in material.words])
    certain = percent(float((sure >= 0.9).mean()) if len(sure) else 0.0)
    sentences = [
        f"{plural(len(material.words), 'word')} of {plural(len(material.found), 'utterance')} were given a time, with "
        f"models of {plural(len(model.units_), 'unit')}.",
        f"For {certain} of the words the confidence is at least 0.9.",
    ]
    checks = sorted(_checks(model, material), key=lambda check: check.fine)
    parts: list[Part] = [
        _cards(model) if len(model.units_) <= MOST_CARDS else _figures(material),
        _next_steps(model, material),
        Checks(checks, "Before you rely on it"),
    ]
    return Section("answer", "Summary", " ".join(sentences), parts)


def _cards(model: Any) -> Cards:
    """Return a card per unit: its share of the frames, and how long it lasts."""
    rows = nw.from_native(model.to_frame()).rows(named=True)
    cards = [
        Card(row["unit"], row["share"], percent(row["share"]), (), "of the frames", _lasts(model, row["duration"]), k)
        for k, row in enumerate(rows)
    ]
    return Cards(cards, "The units")


def _lasts(model: Any, duration: float) -> str:
    return f"Lasts {number(duration)} {'frames' if model.step == 1 else 's'} on average."


def _figures(material: TranscriptMaterial) -> Facts:
    found = [(count(len(material.found)), "utterances"), (count(len(material.words)), "words")]
    return Facts([*found, (count(len(material.model.units_)), "units")])


def _next_steps(model: Any, material: TranscriptMaterial) -> Steps:
    model_file, data = files_of(model, material) or ("MODEL.halfseen", "DATA")
    return Steps(
        [
            Step("Write the times of all words:", f"halfseen align {model_file} {data} -o times.csv"),
            Step("Listen to the words and utterances listed under 'Worth a look'."),
        ]
    )


def _checks(model: Any, material: TranscriptMaterial) -> Iterator[Check]:
    yield converged(model)
    yield from likelihood(model)
    yield from events(model)
    low = sum(part.confidence < SURE for _, part in material.words)
    text = f"{count(low)} of {plural(len(material.words), 'word')} have a confidence below {SURE}."
    yield Check(low <= len(material.words) / 20, "Uncertain words", text)
    odd = sum(one.surprise > ODD for one in material.found)
    text = f"{plural(odd, 'utterance')} fit far worse than the others; their transcripts may be wrong."
    yield Check(not odd, "Transcripts", text)
    short = len(material.aligned) - len(material.found)
    if short:
        yield Check(False, "Too short", f"{plural(short, 'utterance')} are too short for their transcripts.")


def utterances(model: Any, material: TranscriptMaterial) -> Section | None:
    """Some utterances with their words along time."""
    order = np.argsort(material.confidence, kind="stable").tolist()
    if not order:
        return None
    chosen: dict[int, str] = {}
    for word, place in EXAMPLES:
        chosen.setdefault(order[round(place * (len(order) - 1))], word)
    figures = [_figure(material, b, word) for b, word in chosen.items()]
    lead = (
        "Bars are as long as their words last; pale ones have a confidence below one half. Ordered by the mean "
        "confidence of their words: an utterance from the best tenth, the middle and the worst tenth."
    )
    return Section("utterances", "Utterances", lead, [Beside(figures)])


def _figure(material: TranscriptMaterial, b: int, word: str) -> Figure:
    one = material.found[b]
    names = {name: k for k, name in enumerate(dict.fromkeys(part.name for part in one.words))}
    colours = material.colours or names
    shown = one.words[:MOST_WORDS]
    pieces = [Piece(p.name, p.start, p.end, p.confidence, colours.get(p.name, names[p.name])) for p in shown]
    label = f"Words of {one.name} along time: {len(shown)} bars."
    times = [(material.when(part.start), material.when(part.end)) for part in shown]
    left_out = len(one.words) - len(shown)
    more = f" {plural(left_out, 'later word')} not shown." if left_out else ""
    caption = f"Mean confidence {material.confidence[b]:.2f}.{more}"
    return Figure(segments(pieces, times, SURE, label), caption, f"{cut(one.name)}, {word}")


def units(model: Any, material: TranscriptMaterial) -> Section:
    """Share and duration of every unit."""
    rows = [
        [material.tagged(row["unit"]), percent(row["share"]), number(row["duration"])]
        for row in nw.from_native(model.to_frame()).rows(named=True)
    ]
    grid = Grid("Share of the frames, and mean duration", ["unit", "share", "duration"], rows)
    return Section("units", "The units", "What the transcripts are made of.", [grid])


def worth_a_look(model: Any, material: TranscriptMaterial) -> Section:
    """The words with the least confidence, and the utterances that fit worst."""
    ranked = sorted(material.words, key=lambda one: one[1].confidence)[:TOP]
    rows = [
        [
            *(cut(one.name), part.name, material.when(part.start), material.when(part.end)),
            *(f"{part.confidence:.2f}", f"{part.start_sd:.2g}"),
        ]
        for one, part in ranked
    ]
    head = ["utterance", "word", "from", "to", "confidence", "± of the start"]
    words = Grid("The words with the least confidence", head, rows, "Uncertain words", frozenset({1}))
    worst = sorted(material.found, key=lambda one: -one.surprise)[:TOP]
    rows = [[cut(one.name), count(len(one.words)), f"{one.surprise:.1f}"] for one in worst]
    caption = (
        "How far the log-likelihood per frame is below the usual, in robust standard deviations; above "
        f"{ODD:g} check the transcript"
    )
    fits = Grid(caption, ["utterance", "words", "surprise"], rows, "Utterances that fit worst")
    return Section("look", "Worth a look", "Where to listen first.", [words, fits])


SECTIONS = [answer, utterances, units, worth_a_look, reproduce]
MATERIAL = TranscriptMaterial.gathered
