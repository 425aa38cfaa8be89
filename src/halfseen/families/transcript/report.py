"""The report on transcript alignment: units, some utterances with their words, words and utterances to check."""

from __future__ import annotations

import shlex
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
    Place,
    Section,
    Step,
    Steps,
    Text,
)
from halfseen.app.report.sections import reproduce
from halfseen.app.report.words import count, cut, number, percent, plural
from halfseen.errors import ParameterError
from halfseen.families.transcript.alignment import Aligned, Alignment, Segment
from halfseen.families.transcript.phones import CMU, SIL
from halfseen.families.transcript.recordings import AudioFolder
from halfseen.families.transcript.report_doubtful import (
    ODD,
    SURE,
    VAGUE,
    Doubtful,
    doubtful_words,
    in_context,
)
from halfseen.families.transcript.report_excerpts import Excerpt, examples, with_word
from halfseen.families.transcript.report_sound import MOST_SOUND, Gallery, clock

MOST_CARDS = 9  # units
MOST_WORDS = 28  # of an utterance that is drawn
TOP = 10  # words and utterances to check
EXAMPLES = (("good", 0.9), ("typical", 0.5), ("doubtful", 0.1))  # places among utterances by confidence
TOP_DOUBTFUL = 20  # words to listen to
HOW_TO_READ = (
    "From above: waveform, spectrogram, words, units and times. A bar is the paler the lower its confidence, and has a "
    f"dashed outline where that is below {SURE} or its start is uncertain by more than {1000 * VAGUE:.0f} ms (standard "
    "deviation). Boundaries have bands of two standard deviations on both sides. Click a word to hear it; on the "
    "keyboard, Tab and the arrow keys choose a word, and Enter plays it."
)


class TranscriptMaterial(Material):
    """An aligner, utterances with their transcripts, and what the sections of the report need."""

    @classmethod
    def gathered(cls, model: Any, X: Any, y: Any, sample_weight: ArrayLike | None, *more: Any) -> Self:
        """Accept features with transcripts in y, both as a pair, recordings that have them, or `Aligned`."""
        if isinstance(X, Aligned):
            found = cls(model, X.features, X.transcripts, sample_weight, *more)
            found.__dict__["aligned"] = list(X.alignments)  # as the cached property keeps it
            return found
        if y is None:
            X, y = X if isinstance(X, tuple) and len(X) == 2 else (X, getattr(X, "transcripts", None))
        if y is None:
            raise ParameterError("report: the transcripts are needed too: hs.report(model, features, y=transcripts).")
        return cls(model, X, y, sample_weight, *more)

    def facts(self) -> list[tuple[str, str]]:
        """Return utterances, words and units."""
        sound = [("Sound", self.X.folder.name)] if self.has_sound else []
        return [
            *sound,
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
    def numbered(self) -> list[tuple[int, Alignment]]:
        """The utterances that were aligned, with their numbers among all."""
        return [(b, one) for b, one in enumerate(self.aligned) if one is not None]

    @cached_property
    def found(self) -> list[Alignment]:
        """The utterances that were aligned."""
        return [one for _, one in self.numbered]

    @property
    def has_sound(self) -> bool:
        """Whether the features are those of recordings."""
        return isinstance(self.X, AudioFolder)

    @cached_property
    def gallery(self) -> Gallery:
        """The figures of recordings; the times of an alignment are in units of `model.step`."""
        return Gallery(self.X, self.seconds)

    @cached_property
    def seconds(self) -> float:
        """One unit of the times of alignments of recordings, in seconds: 1 unless the model has another step."""
        return float(self.X.step) / float(self.model.step)

    @cached_property
    def doubtful(self) -> list[Doubtful]:
        """The words of recordings to listen to, the worst first."""
        return doubtful_words(self.numbered, self.seconds, TOP_DOUBTFUL)

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
    command = f"halfseen align {model_file}"
    output = "times.csv"
    if material.has_sound:
        folder = material.X.folder
        data, output = shlex.quote(str(folder)), shlex.quote(f"{folder.stem}.srt")
        if model_file == "MODEL.halfseen" and set(model.units_) == CMU | {SIL}:  # those of the starter model
            command = "halfseen align"
        if folder.is_dir():
            output = "aligned/ --format srt,TextGrid"
    what = "subtitles, or the times of all words" if material.has_sound else "the times of all words"
    where = "Doubtful places" if material.has_sound else "Worth a look"
    return Steps(
        [
            Step(f"Write {what}:", f"{command} {data} -o {output}"),
            Step(f"Listen to the words and utterances listed under {where!r}."),
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
    text = f"{plural(odd, 'utterance')} fit badly: compare their transcripts with what is said."
    yield Check(not odd, "Transcripts", text if odd else "No utterance fits badly.")
    short = len(material.aligned) - len(material.found)
    if short:
        text = f"Too short for their transcripts, and left out: {plural(short, 'utterance')}. Check them."
        yield Check(False, "Too short", text)


def utterances(model: Any, material: TranscriptMaterial) -> Section | None:
    """Some utterances with their words along time."""
    order = np.argsort(material.confidence, kind="stable").tolist()
    if not order:
        return None
    if material.has_sound:
        return _recordings(material)
    chosen: dict[int, str] = {}
    for word, place in EXAMPLES:
        chosen.setdefault(order[round(place * (len(order) - 1))], word)
    figures = [_figure(material, b, word) for b, word in chosen.items()]
    lead = (
        "Bars are as long as their words last; pale ones have a confidence below one half. Ordered by the mean "
        "confidence of their words: an utterance from the best tenth, the middle and the worst tenth."
    )
    return Section("utterances", "Utterances", lead, [Beside(figures)])


def _recordings(material: TranscriptMaterial) -> Section | None:
    """Excerpts of recordings that can be played."""
    aligned = dict(material.numbered)
    chosen = [(word, part, aligned[part.b]) for word, part in examples(material.numbered, material.seconds)]
    if not chosen:
        return None
    lead = (
        "Ordered by the mean confidence of their words: an excerpt from the best tenth, the middle and the worst tenth."
    )
    figures = material.gallery.figures(chosen)
    return Section("utterances", "Utterances", lead, [Text(HOW_TO_READ), Beside(figures)])


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
    unit = "" if model.step == 1 else " in seconds"
    grid = Grid(f"Share of the frames, and mean duration{unit}", ["unit", "share", "duration"], rows)
    return Section("units", "The units", "What the transcripts are made of.", [grid])


def worth_a_look(model: Any, material: TranscriptMaterial) -> Section:
    """The words with the least confidence, and the utterances that fit worst."""
    if material.has_sound:
        return _doubtful_places(material)
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
    return Section("look", "Worth a look", "Where to listen first.", [words, _worst_fits(material)])


def _worst_fits(material: TranscriptMaterial) -> Grid:
    worst = sorted(material.found, key=lambda one: -one.surprise)[:TOP]
    rows = [[cut(one.name), count(len(one.words)), f"{one.surprise:.1f}"] for one in worst]
    caption = (
        "How far the log-likelihood per frame is below the usual, in robust standard deviations; above "
        f"{ODD:g} check the transcript"
    )
    return Grid(caption, ["utterance", "words", "surprise"], rows, "Utterances that fit worst")


def _doubtful_places(material: TranscriptMaterial) -> Section:
    """Words of recordings to listen to, as a table and as figures, and the utterances that fit worst."""
    aligned, seconds = dict(material.numbered), material.seconds
    places = [(word, with_word(word.b, aligned[word.b], word.at, seconds)) for word in material.doubtful]
    figures = material.gallery.figures([("", part, aligned[part.b]) for _, part in places])
    if not places:
        lead = f"No word has a confidence below {SURE} or a start uncertain by more than {1000 * VAGUE:.0f} ms."
        return Section("look", "Doubtful places", lead, [_worst_fits(material)])
    rows = [_doubtful_row(material, word) for word, _ in places]
    head = ["word", "context", "utterance", "at", "confidence", "start ±", "why"]
    caption = "The worst first. Times are those of the recordings"
    plays = [_place(material, word, part) for word, part in places]
    table = Grid(caption, head, rows, "Words to listen to", frozenset({1, 2, 6}), plays=plays)
    drawn = [Beside(figures)] if figures else []
    parts: list[Part] = [table, *_sound_left_out(material), *drawn, _worst_fits(material)]
    return Section("look", "Doubtful places", "Where to listen first.", parts)


def _doubtful_row(material: TranscriptMaterial, word: Doubtful) -> list[str]:
    one = material.aligned[word.b]
    part, begin = one.words[word.at], material.X.recordings[word.b].start
    return [
        *(
            part.written,
            in_context(one, word.at),
            cut(material.X.names[word.b]),
            clock(begin + part.start * material.seconds),
        ),
        *(f"{part.confidence:.2f}", f"{1000 * part.start_sd * material.seconds:.0f} ms", "; ".join(word.reasons)),
    ]


def _place(material: TranscriptMaterial, word: Doubtful, excerpt: Excerpt) -> Place:
    part, seconds = material.aligned[word.b].words[word.at], material.seconds
    begin = material.X.recordings[word.b].start
    start, end = (min(max(time * seconds, excerpt.low), excerpt.high) - excerpt.low for time in (part.start, part.end))
    label = f"{part.written} in {material.X.names[word.b]}, {clock(begin + part.start * seconds)}"
    return Place(material.gallery.key(excerpt), start, end, label)


def _sound_left_out(material: TranscriptMaterial) -> list[Text]:
    if not material.gallery.n_silent:
        return []
    left_out = plural(material.gallery.n_silent, "excerpt")
    text = f"The sound of {left_out} is left out: this page holds at most {MOST_SOUND / 1e6:g} MB of sound."
    return [Text(text)]


SECTIONS = [answer, utterances, units, worth_a_look, reproduce]
MATERIAL = TranscriptMaterial.gathered
