"""The report on word alignment: summary, pairs with their links, lexicon, word order, pairs that fit badly."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from halfseen.app.report.checks import events, likelihood
from halfseen.app.report.figures import svg
from halfseen.app.report.material import Material
from halfseen.app.report.parts import Check, Checks, Figure, Grid, Part, Section
from halfseen.app.report.sections import reproduce
from halfseen.app.report.words import count, percent, plural
from halfseen.families.words.bitext import read_pairs
from halfseen.families.words.plots import plot_links

MOST_PAIRS = 2000  # read
DRAWN = 4  # pairs drawn
LONGEST = 18  # words of a side that are drawn
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
    """Two sentences, and checks of reliability."""
    n_links = sum(map(len, material.links))
    words = sum(len(pair[1]) for pair in material.X)
    linked = sum(len({j for _, j in links}) for links in material.links)
    sentences = [
        f"{count(n_links)} links were found in {plural(len(material.X), 'pair')}; "
        f"{percent(linked / max(words, 1))} of the target words have a link.",
        f"The model ({model.model}) was fitted to {plural(model._n_pairs, 'pair')}, with "
        f"{count(len(model.source_words_))} source and {count(len(model.target_words_))} target words.",
    ]
    checks = sorted(_checks(model, material), key=lambda check: check.fine)
    return Section("answer", "The answer", " ".join(sentences), [Checks(checks, "Before you rely on it")])


def _checks(model: Any, material: PairMaterial) -> Iterator[Check]:
    yield from likelihood(model)
    yield from events(model)
    shares = [proba[i, j] for links, proba in zip(material.links, material.proba, strict=True) for i, j in links]
    sure = float(np.mean(np.array(shares) > 0.9)) if shares else 0.0
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
    """Some pairs, drawn."""
    chosen = [p for p, (s, t) in enumerate(map(_lists, material.X)) if 2 < len(s) <= LONGEST and 2 < len(t) <= LONGEST]
    parts: list[Part] = []
    for p in chosen[:DRAWN]:
        source, target = _lists(material.X[p])
        draw = partial(_drawn, source, target, material.links[p], material.proba[p])
        size = (1.6 + 0.36 * len(target), 1.3 + 0.3 * len(source))
        drawn = svg(draw, f"pair{p}", size, f"links of line {p + 1}")
        parts.append(Figure(drawn, f"Line {p + 1}: {' '.join(source)}"))
    lead = "Dots are links, shades their probabilities." if parts else "No pair is short enough to be drawn."
    return Section("pairs", "Pairs and their links", lead, parts)


def _drawn(source: list[str], target: list[str], links: Any, proba: Any, ax: Any) -> Any:
    return plot_links(source, target, links, proba, ax=ax)


def lexicon(model: Any, material: PairMaterial) -> Section:
    """Translations of the words that occur together with the most other words."""
    rows = [[word, ", ".join(f"{other} {p:.2f}" for other, p in found)] for word, found in model._frequent(SHOWN)]
    grid = Grid("Their most probable translations", ["word", "translations"], rows, "Lexicon", frozenset({1}))
    return Section("lexicon", "The lexicon", "Words that occur together with the most other words.", [grid])


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
