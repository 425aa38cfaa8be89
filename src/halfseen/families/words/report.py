"""The report on word alignment: summary, pairs with their links, lexicon, word order, pairs that fit badly."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from halfseen.app.report.charts.links import links as drawn_links
from halfseen.app.report.checks import events, likelihood
from halfseen.app.report.material import Material
from halfseen.app.report.next_steps import files_of
from halfseen.app.report.parts import Beside, Check, Checks, Facts, Figure, Grid, Part, Section, Step, Steps
from halfseen.app.report.sections import reproduce
from halfseen.app.report.words import count, percent, plural
from halfseen.families.words.bitext import read_pairs

MOST_PAIRS = 2000  # read
LONGEST = 16  # words of a side that are drawn
EXAMPLES = (("good", 0.9), ("typical", 0.5), ("typical", 0.45), ("doubtful", 0.1))  # places among pairs by certainty
SHOWN = 40  # words of the lexicon
WORST = 8
ODD = 5.0  # robust standard deviations below the other pairs


class PairMaterial(Material):
    """An aligner, some pairs, and what the sections of the report need."""

    @classmethod
    def gathered(cls, model: Any, X: Any, y: Any, sample_weight: ArrayLike | None, *more: Any) -> Self:
        """Read the first pairs; X is a list of pairs, a path, or two paths."""
        given = X if isinstance(X, tuple) and len(X) == 2 else (X, y)
        pairs = [pair for _, pair in islice(read_pairs(*given), MOST_PAIRS)]
        return cls(model, pairs, None, sample_weight, *more)

    def facts(self) -> list[tuple[str, str]]:
        """Return the pairs that the page is about, and those of the fit where they are more."""
        fitted = self.model._n_pairs
        read = (
            f"the first {count(len(self.X))} of {count(fitted)}"
            if len(self.X) == MOST_PAIRS < fitted
            else count(len(self.X))
        )
        return [("Pairs", read)]

    @cached_property
    def links(self) -> list[Any]:
        """The links of every pair."""
        found: list[Any] = self.model.align(self.X)
        return found

    @cached_property
    def proba(self) -> list[Any]:
        """The probabilities of links."""
        found: list[Any] = self.model.align_proba(self.X)
        return found

    @cached_property
    def certainty(self) -> Any:
        """The mean probability of the links of each pair; NaN without any."""
        found = [
            np.mean([proba[i, j] for i, j in links]) if links else np.nan
            for links, proba in zip(self.links, self.proba, strict=True)
        ]
        return np.array(found)

    @cached_property
    def per_word(self) -> Any:
        """Log-likelihood of each pair, per word of both sides; NaN where a side is empty."""
        sizes = np.array([len(s) + len(t) if s and t else 0 for s, t in map(_lists, self.X)])
        logs = self.model.score_samples(self.X)
        return np.divide(logs, sizes, out=np.full(len(logs), np.nan), where=sizes > 0)

    @cached_property
    def odd(self) -> Any:
        """Pairs that fit far worse than the others, the worst first."""
        known = self.per_word[np.isfinite(self.per_word)]
        if len(known) < 8:
            return np.zeros(0, dtype=np.int64)
        spread = max(1.4826 * float(np.median(np.abs(known - np.median(known)))), 1e-9)
        order = np.argsort(self.per_word, kind="stable")
        return order[(np.median(known) - self.per_word[order]) / spread > ODD]


def _lists(pair: Any) -> tuple[list[str], list[str]]:
    return list(pair[0]), list(pair[1])


def answer(model: Any, material: PairMaterial) -> Section:
    """Two sentences, figures, what to do next, and checks of reliability."""
    n_links = sum(map(len, material.links))
    words = sum(len(pair[1]) for pair in material.X)
    linked = sum(len({j for _, j in links}) for links in material.links)
    n_read, n_fitted = len(material.X), model._n_pairs
    sentences = [
        f"{count(n_links)} links were found in {plural(n_read, 'pair')}; "
        f"{percent(linked / max(words, 1))} of the target words have a link.",
        f"The model ({model.model}) was fitted to {plural(n_fitted, 'pair')}, with "
        f"{count(len(model.source_words_))} source and {count(len(model.target_words_))} target words.",
    ]
    if n_read == MOST_PAIRS < n_fitted:
        sentences.append(f"To stay short, this page looks at the first {count(MOST_PAIRS)} pairs.")
    figures = Facts(
        [
            (count(n_links), "links"),
            (percent(linked / max(words, 1)), "of the target words linked"),
            (percent(_sure(material)), "of the links with a probability above 0.9"),
        ]
    )
    model_file, data = files_of(model, material) or ("MODEL.halfseen", "SOURCE")
    target = (model._origin.reading or {}).get("target") or ("" if model._origin.reading else "TARGET")
    align = f"halfseen align {model_file} {data} {target}".rstrip() + " -o links.txt"
    steps = [
        Step("Write the links of all pairs:", align),
        Step("Look at the pairs listed under 'Pairs to check', and drop those that are no translations."),
    ]
    checks = sorted(_checks(model, material), key=lambda check: check.fine)
    parts: list[Part] = [figures, Steps(steps), Checks(checks, "Before you rely on it")]
    return Section("answer", "Summary", " ".join(sentences), parts)


def _sure(material: PairMaterial) -> float:
    """Return the share of links with a high probability."""
    shares = [proba[i, j] for links, proba in zip(material.links, material.proba, strict=True) for i, j in links]
    return float(np.mean(np.array(shares) > 0.9)) if shares else 0.0


def _checks(model: Any, material: PairMaterial) -> Iterator[Check]:
    yield from likelihood(model)
    yield from events(model)
    sure = _sure(material)
    yield Check(sure > 0.5, "Sure links", f"{percent(sure)} of the links have a probability above 0.9.")
    text = f"{plural(len(material.odd), 'pair')} fit far worse than the others; they may not be translations."
    yield Check(not len(material.odd), "Odd pairs", text)
    unknown = sum(word not in model._numbers[0] for pair in material.X for word in _form(model, pair[0]))
    total = sum(len(pair[0]) for pair in material.X)
    text = f"{percent(unknown / max(total, 1))} of the source words were not seen when fitting."
    yield Check(unknown <= total / 20, "Unknown words", text)


def _form(model: Any, words: Any) -> list[str]:
    return [word.lower() for word in words] if model.lowercase else list(words)


def pairs(model: Any, material: PairMaterial) -> Section:
    """Some pairs, drawn: a good one, two typical ones and a doubtful one."""
    parts: list[Part] = []
    for word, p in _examples(material):
        source, target = _lists(material.X[p])
        label = f"Links of line {p + 1} as a matrix: {len(material.links[p])} links."
        drawing = drawn_links(source, target, material.links[p], material.proba[p], label)
        sure = f"the links have a mean probability of {material.certainty[p]:.2f}"
        parts.append(Figure(drawing, f"{' '.join(source)}", f"Line {p + 1}, {word}: {sure}"))
    lead = (
        f"Dots are links, shades their probabilities. Of the pairs of 4 to {LONGEST} words, ordered by the mean "
        "probability of their links: one from the best tenth, two from the middle, one from the worst tenth."
    )
    if not parts:
        lead = f"No pair has 4 to {LONGEST} words on both sides, as a drawing needs."
    return Section("pairs", "Pairs and their links", lead, [Beside(parts)] if parts else [])


def _examples(material: PairMaterial) -> list[tuple[str, int]]:
    """Return pairs to draw, by what they are examples of; each once."""
    sizes = [(len(s), len(t)) for s, t in map(_lists, material.X)]
    fit = [
        p
        for p, (s, t) in enumerate(sizes)
        if min(s, t) >= 4 and max(s, t) <= LONGEST and np.isfinite(material.certainty[p])
    ]
    fit = fit or [p for p, (s, t) in enumerate(sizes) if min(s, t) >= 1 and max(s, t) <= LONGEST]
    order = sorted(fit, key=lambda p: (float(np.nan_to_num(material.certainty[p])), p))
    found: dict[int, str] = {}
    for word, place in EXAMPLES:
        if order:
            found.setdefault(order[round(place * (len(order) - 1))], word)
    return [(word, p) for p, word in found.items()]


def lexicon(model: Any, material: PairMaterial) -> Section:
    """Translations of the words that occur together with the most other words."""
    frequent = [(word, found) for word, found in model._frequent(2 * SHOWN) if any(map(str.isalpha, word))][:SHOWN]
    rows = [[word, ", ".join(f"{other} {p:.2f}" for other, p in found)] for word, found in frequent]
    grid = Grid("Their most probable translations", ["word", "translations"], rows, "Lexicon", frozenset({1}))
    return Section(
        "lexicon", "The lexicon", "Words that occur together with the most other words, without punctuation.", [grid]
    )


def order(model: Any, material: PairMaterial) -> Section | None:
    """The model of word order."""
    if model.model == "ibm1":
        return None
    names = list(model._learned)
    rows = [["no source word", *(percent(model.p_null_[name]) for name in names)]]
    if model.model == "diagonal":
        rows.append(["tension of the diagonal", *(f"{model.tension_[name]:.2f}" for name in names)])
    else:
        made = {name: model._made(name) for name in names}
        widths = sorted(set().union(*made.values()))
        rows += [[f"jump {d:+d}", *(percent(made[name].get(d, 0.0)) for name in names)] for d in widths]
    lead = {
        "diagonal": "How closely target words follow the relative position of their source word in the sentence.",
        "hmm": "Distance of the source word from that of the previous target word.",
    }
    grid = Grid("By direction", ["", *names], rows, "Word order")
    return Section("order", "Word order", lead[model.model], [grid])


def worst(model: Any, material: PairMaterial) -> Section | None:
    """The pairs that fit worst."""
    found = [p for p in np.argsort(material.per_word, kind="stable").tolist() if np.isfinite(material.per_word[p])]
    rows = [
        [str(p + 1), f"{material.per_word[p]:.2f}", " ".join(material.X[p][0])[:80], " ".join(material.X[p][1])[:80]]
        for p in found[:WORST]
    ]
    if not rows:
        return None
    head = ["line", "per word", "source", "target"]
    grid = Grid("Log-likelihood per word, the lowest first", head, rows, "Pairs to check", frozenset({2, 3}))
    return Section("worst", "Pairs to check", "They may not be translations of each other.", [grid])


SECTIONS = [answer, pairs, lexicon, order, worst, reproduce]
MATERIAL = PairMaterial.gathered
