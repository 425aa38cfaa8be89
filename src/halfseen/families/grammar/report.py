"""The report on a grammar: summary, rules that changed most, trees, sentences without a parse."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from halfseen.app.report.checks import converged, events, likelihood
from halfseen.app.report.errors import errors
from halfseen.app.report.material import Material
from halfseen.app.report.next_steps import files_of
from halfseen.app.report.parts import Beside, Check, Checks, Facts, Figure, Grid, Part, Section, Step, Steps, Text
from halfseen.app.report.sections import methods, reproduce
from halfseen.app.report.words import count, cut, plural

MOST_RULES = 30  # that changed most
MOST_LOST = 20  # sentences without a parse that are shown
LONGEST = 12  # words of a sentence that is drawn: longer ones are too small to read
EXAMPLES = (("probable", 0.9), ("typical", 0.5), ("improbable", 0.1))  # places among sentences by log-probability


class GrammarMaterial(Material):
    """A grammar, sentences, and what the sections of the report need."""

    @classmethod
    def gathered(cls, model: Any, X: Any, y: Any, sample_weight: ArrayLike | None, *more: Any) -> Self:
        """Accept sentences, or a corpus with brackets."""
        return cls(model, X, y, sample_weight, *more)

    def facts(self) -> list[tuple[str, str]]:
        """Return sentences, rules and words."""
        grammar = self.model._grammar
        return [
            ("Sentences", count(len(self.words))),
            ("Rules", count(len(self.model.rules_))),
            ("Words", count(len(grammar.words))),
        ]

    @property
    def data(self) -> Any:
        """The sentences."""
        return self.words

    def reading(self) -> dict[str, Any]:
        """Return weights and known phrases."""
        return super().reading() | ({} if self.brackets is None else {"brackets": self.brackets})

    @cached_property
    def words(self) -> list[tuple[str | None, ...]]:
        """The sentences."""
        from halfseen.families.grammar.reading import read_words

        return read_words(getattr(self.X, "sentences", self.X))

    @cached_property
    def brackets(self) -> Any:
        """Their known phrases."""
        return getattr(self.X, "brackets", None)

    @cached_property
    def loglik(self) -> Any:
        """Log-probability of each sentence."""
        return self.model.score_samples(self.words, brackets=self.brackets)

    @cached_property
    def parsed(self) -> Any:
        """The sentences that have a parse."""
        return np.flatnonzero(np.isfinite(self.loglik))


def answer(model: Any, material: GrammarMaterial) -> Section:
    """What the grammar is, how well it describes the sentences, and checks of reliability."""
    parsed, total = material.parsed, len(material.words)
    n_words = sum(len(material.words[s]) for s in parsed)
    sentences = [
        f"The grammar has {plural(len(model.rules_), 'rule')} for {plural(len(model._grammar.full), 'symbol')} and "
        f"{plural(len(model._grammar.words), 'word')}."
    ]
    if len(parsed):
        loglik = float(material.loglik[parsed].sum())
        sentences.append(
            f"{count(len(parsed))} of {plural(total, 'sentence')} have a parse; their log-likelihood is {loglik:,.2f}, "
            f"{loglik / n_words:.3f} per word (perplexity {np.exp(-loglik / n_words):,.1f})."
        )
    figures = [(f"{count(len(parsed))} of {count(total)}", "sentences with a parse")]
    if len(parsed):
        figures.append((f"{np.exp(-loglik / n_words):,.1f}", "perplexity per word"))
    checks = sorted(_checks(model, material), key=lambda check: check.fine)
    parts: list[Part] = [Facts(figures), _next_steps(model, material), Checks(checks, "Before you rely on it")]
    return Section("answer", "Summary", " ".join(sentences), parts)


def _next_steps(model: Any, material: GrammarMaterial) -> Steps:
    model_file, data = files_of(model, material) or ("MODEL.halfseen", "SENTENCES")
    steps = [Step("Parse sentences with the fitted probabilities:", f"halfseen parse {model_file} {data}")]
    if len(material.parsed) < len(material.words):
        steps.append(Step("Add rules or words for the sentences listed under 'Sentences without a parse'."))
    return Steps(steps)


def _checks(model: Any, material: GrammarMaterial) -> Iterator[Check]:
    yield converged(model)
    yield from likelihood(model)
    restarts = getattr(model, "restarts_", {"n_finalists": 1})
    if restarts["n_finalists"] > 1:
        agree = restarts["n_reached_best"]
        text = f"{agree} of {restarts['n_init']} starts reached the best log-likelihood."
        yield Check(agree > 1, "Starts", text)
    yield from events(model)
    lost = len(material.words) - len(material.parsed)
    text = (
        f"{plural(lost, 'sentence')} of {count(len(material.words))} have no parse."
        if lost
        else "Every sentence has a parse."
    )
    yield Check(lost == 0, "Parses", text)


def changed(model: Any, material: GrammarMaterial) -> Section | None:
    """The rules whose probability changed most in the fit."""
    if not hasattr(model, "_first"):
        return None
    before, after = model._first[0], model._params["rules"][0]
    ranked = np.argsort(-np.abs(after - before), kind="stable")[:MOST_RULES]
    rules, counts = model.rules_, model._stats
    rows = [
        [cut(rules[c], 80), f"{before[c]:.4f}", f"{after[c]:.4f}", f"{after[c] - before[c]:+.4f}", f"{counts[c]:,.1f}"]
        for c in ranked.tolist()
        if after[c] != before[c]
    ]
    if not rows:
        return Section("changed", "Rules that changed most", "No rule changed.", [])
    head = ["rule", "before", "after", "change", "uses"]
    lead = "Probabilities at the start and at the end of the fit, and the expected number of uses of each rule."
    return Section("changed", "Rules that changed most", lead, [Grid("Rules that changed most", head, rows)])


def trees(model: Any, material: GrammarMaterial) -> Section | None:
    """Some sentences with their best trees, no two of them the same sentence."""
    parts: list[Part] = []
    for word, s in _examples(material):
        own = None if material.brackets is None else [material.brackets[s]]
        [found] = model.parse([material.words[s]], brackets=own)
        caption = f"Sentence {s}, {word}: log-probability {found.log_probability:.2f}, {_ways(model, material, s)}."
        parts.append(Figure(found.tree.to_svg(), caption))
    if not parts:
        return None
    lead = (
        f"The most probable trees of sentences of up to {LONGEST} words. Ordered by log-probability per word: one near "
        "the top, one from the middle, one near the bottom."
    )
    return Section("trees", "Trees", lead, [Beside(parts)])


def _examples(material: GrammarMaterial) -> list[tuple[str, int]]:
    """Return sentences to draw, by what they are examples of; each once."""
    distinct = {material.words[s]: s for s in reversed(material.parsed.tolist())}
    some = [s for words, s in distinct.items() if 2 <= len(words) <= LONGEST] or list(distinct.values())[:1]
    order = sorted(some, key=lambda s: (material.loglik[s] / max(len(material.words[s]), 1), s))
    found: dict[int, str] = {}
    for word, place in EXAMPLES:
        if order:
            found.setdefault(order[round(place * (len(order) - 1))], word)
    return [(word, s) for s, word in found.items()]


def _ways(model: Any, material: GrammarMaterial, s: int) -> str:
    own = None if material.brackets is None else [material.brackets[s]]
    [number] = model.n_parses([material.words[s]], brackets=own)
    return (
        "infinitely many trees" if number == np.inf else "one tree" if number == 1 else f"the best of {number:,} trees"
    )


def lost(model: Any, material: GrammarMaterial) -> Section:
    """The sentences without a parse, and their words that are not in the grammar."""
    missing = np.setdiff1d(np.arange(len(material.words)), material.parsed).tolist()
    if not missing:
        return Section("unparsable", "Sentences without a parse", "Every sentence has a parse.", [])
    rows = []
    for s in missing[:MOST_LOST]:
        unknown_words = dict.fromkeys(w for w in material.words[s] if w is not None and w not in model._grammar.words)
        rows.append(
            [str(s), cut(" ".join(w or "_" for w in material.words[s]), 120), ", ".join(unknown_words) or "none"]
        )
    note = f"{count(len(missing) - len(rows))} more are not shown." if len(missing) > len(rows) else ""
    head = ["sentence", "words", "not in the grammar"]
    grid = Grid("Sentences without a parse", head, rows, "", frozenset({1, 2}), note)
    lead = f"{count(len(missing))} of {plural(len(material.words), 'sentence')}, counted from 0."
    advice = Text("Sentences without a parse are not used in a fit. Add rules or words, or a word for unknown words.")
    return Section("unparsable", "Sentences without a parse", lead, [grid, advice])


SECTIONS = [answer, trees, changed, lost, errors, methods, reproduce]
MATERIAL = GrammarMaterial.gathered
