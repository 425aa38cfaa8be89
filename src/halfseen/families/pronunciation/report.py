"""The report on pronunciation: summary, words that were pronounced wrongly, phones that were confused, units."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Self

from numpy.typing import ArrayLike

from halfseen.app.report.checks import events, likelihood
from halfseen.app.report.material import Material
from halfseen.app.report.next_steps import files_of
from halfseen.app.report.parts import Beside, Check, Checks, Facts, Grid, Part, Section, Step, Steps
from halfseen.app.report.sections import reproduce
from halfseen.app.report.words import count, percent, plural
from halfseen.families.pronunciation.lexicon import read_entries
from halfseen.families.pronunciation.methods import Pronunciation
from halfseen.families.pronunciation.scores import (
    PronunciationScores,
    compared,
    confusions,
    nearest,
    score_pronunciations,
)

MOST_WORDS = 3000  # pronounced for the report
SHOWN = 20  # rows of a table
SURE = 0.9


class DictionaryMaterial(Material):
    """A model, a dictionary, and what the sections of the report need."""

    @classmethod
    def gathered(cls, model: Any, X: Any, y: Any, sample_weight: ArrayLike | None, *more: Any) -> Self:
        """Read a dictionary, or the file of one; keep words at equal distances if there are many."""
        read: dict[str, list[list[str]]] = {}
        for entry in read_entries(X, lowercase=False, stress=model._stress):
            read.setdefault(entry.word, []).append(list(entry.phones))
        kept = list(read)[:: -(-len(read) // MOST_WORDS)]
        found = cls(model, {word: read[word] for word in kept}, None, sample_weight, *more)
        found.n_given = len(read)
        return found

    n_given = 0  # words of the dictionary

    def facts(self) -> list[tuple[str, str]]:
        """Return the words that the page is about."""
        some = len(self.X) < self.n_given
        return [("Words", f"{count(len(self.X))} of {count(self.n_given)}" if some else count(self.n_given))]

    @cached_property
    def said(self) -> Mapping[str, Pronunciation]:
        """The most probable pronunciation of each word."""
        return {word: own[0] for word, own in self.model.pronounce_proba(list(self.X)).items()}

    @cached_property
    def phones(self) -> dict[str, list[list[str]]]:
        """The same as a dictionary."""
        return {word: [one.phones] for word, one in self.said.items()}

    @cached_property
    def scores(self) -> PronunciationScores:
        """Phone and word error."""
        return score_pronunciations(self.phones, self.X)

    @cached_property
    def n_fitted(self) -> int | None:
        """Number of words that were in the fit; None where the model does not know."""
        return self.model._n_fitted(self.X)


def answer(model: Any, material: DictionaryMaterial) -> Section:
    """Two sentences, figures, what to do next, and checks of reliability."""
    scores = material.scores
    sentences = [
        f"Of {plural(scores.n_words, 'word')}, {percent(1 - scores.word_error_rate)} were pronounced as the dictionary "
        f"says; {percent(scores.phone_error_rate)} of the phones were wrong, too many or left out.",
        f"The model has {plural(len(model.units_), 'unit')} of letters and phones, learned from "
        f"{plural(model._n_words, 'word')}, and looks at {plural(model._order, 'unit')} at a time.",
    ]
    sure = sum(one.probability > SURE for one in material.said.values()) / len(material.said)
    figures = Facts(
        [
            (percent(scores.phone_error_rate), "phone error"),
            (percent(scores.word_error_rate), "word error"),
            (percent(sure), f"of the words with a probability above {SURE}"),
        ]
    )
    model_file, _ = files_of(model, material) or ("MODEL.halfseen", "")
    steps = [
        Step("Pronounce other words:", f"halfseen pronounce {model_file} words.txt -o more.dict"),
        Step("Measure the errors on words that were not in the fit:", f"halfseen score {model_file} held-out.dict"),
    ]
    checks = sorted(_checks(model, material), key=lambda check: check.fine)
    parts: list[Part] = [figures, Steps(steps), Checks(checks, "Before you rely on it")]
    return Section("answer", "Summary", " ".join(sentences), parts)


def _checks(model: Any, material: DictionaryMaterial) -> Iterator[Check]:
    yield from likelihood(model)
    yield from events(model)
    if material.n_fitted is not None:
        share = material.n_fitted / len(material.X)
        text = f"{percent(share)} of these words were in the fit{'; errors of other words are higher.' * (share > 0)}"
        yield Check(share == 0, "Words of the fit", text if share else f"{text}.")


def wrong(model: Any, material: DictionaryMaterial) -> Section | None:
    """The words that were pronounced wrongly with the highest probability: a model's errors, or the dictionary's."""
    rows = []
    for word, said, references in compared(material.phones, material.X):
        reference, edits = nearest(word, said, references)
        if edits:
            sure = material.said[word].probability
            rows.append((sure, word, [word, " ".join(said), " ".join(reference), f"{sure:.2f}"]))
    if not rows:
        return None
    shown = [row for _, _, row in sorted(rows, key=lambda item: (-item[0], item[1]))[:SHOWN]]
    head = ["word", "model", "dictionary", "probability"]
    grid = Grid("The most probable first", head, shown, "Words to check", frozenset({0, 1, 2}))
    lead = (
        f"{plural(len(rows), 'word')} differ from the dictionary. Where the model is sure of another pronunciation, "
        "the dictionary may be wrong."
    )
    return Section("wrong", "Words to check", lead, [grid])


def phones(model: Any, material: DictionaryMaterial) -> Section | None:
    """Phones that are confused, added and left out most often."""
    pairs = [
        (said, nearest(word, said, references)[0]) for word, said, references in compared(material.phones, material.X)
    ]
    found = sorted(confusions(pairs).items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
    if not found:
        return None
    rows = [[one or "-", other or "-", count(n)] for (one, other), n in found]
    grid = Grid("Most frequent first", ["dictionary", "model", "times"], rows, "Phones", frozenset({0, 1}))
    return Section("phones", "Phones that were confused", "A dash: the phone was added, or left out.", [grid])


def units(model: Any, material: DictionaryMaterial) -> Section:
    """The most frequent units, and those of letters or phones alone."""
    listed = sorted(zip(model._counts[1:].tolist(), model.units_, strict=True), key=lambda item: (-item[0], item[1]))
    used = [(n, unit) for n, unit in listed if n >= 0.5]
    both = [_row(n, unit) for n, unit in used if all(unit)]
    alone = [_row(n, unit) for n, unit in used if not all(unit)]
    head = ["letters", "phones", "count"]
    parts: list[Part] = [
        Grid("Of letters and phones", head, own[:SHOWN], title, frozenset({0, 1}))
        for own, title in ((both, "Letters with their phones"), (alone, "Silent letters, and phones without letters"))
        if own
    ]
    return Section("units", "Units", "Most frequent in the segmented dictionary.", [Beside(parts)])


def _row(n: float, unit: tuple[str, tuple[str, ...]]) -> list[str]:
    return [unit[0] or "-", " ".join(unit[1]) or "-", count(round(n))]


SECTIONS = [answer, wrong, phones, units, reproduce]
MATERIAL = DictionaryMaterial.gathered
