"""Text, cut into words: how often each word occurs, whether it does, or how rare it is in the other classes.

Three treatments of one kind, each a class with what differs:

multinomial   every word of a text is an independent draw: word v with probability p[k, v]; the default
bernoulli     every word of the vocabulary is in a text or not, with probability p[k, v]
complement    words weigh by how rare they are outside a class: a rule, no probability model

A block is `Counts`, the words of its columns one after the other. A missing text is one without words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import rel_entr

from halfseen.data.columns import Block, Column
from halfseen.data.counts import Counts
from halfseen.data.frames import RawColumn, Source
from halfseen.data.rows import Rows
from halfseen.data.text import count_words, read_options
from halfseen.errors import DataError, ParameterError
from halfseen.export.formula import Formula, Language
from halfseen.kinds import by_numbers
from halfseen.kinds.categorical import Tabular, expected_logs, smoothed_shares
from halfseen.kinds.kind import Kind
from halfseen.kinds.numbers import read_numbers
from halfseen.kinds.records import (
    NOT_NEGATIVE,
    Build,
    ColumnProfile,
    Contrast,
    Density,
    Estimate,
    Feature,
    Figures,
    Fitted,
    Mask,
    MStep,
    Prior,
    WordScores,
)
from halfseen.kinds.wording import small_percent
from halfseen.leaves.leaf import Floats, Leaf, Stats
from halfseen.leaves.multinomial import Bernoulli, Complement, Multinomial

ABSENT = "(words not there)"
SAID = 6  # words of a component in a sentence
ON_CARD = 3  # words of a component in a table
MOST_WORDS = 20  # of a column that are compared


class TextKind(Tabular):
    """Words and how often each occurs."""

    name = "text"
    treatments = ("fixed", "tied", "bernoulli", "complement")
    sign = ": "
    of_words = True
    by_length = True

    def treated(self, treatment: str) -> Kind:
        """Return the kind that takes words in this way."""
        return TREATED[treatment]() if treatment in TREATED else self

    # ---- cells ---------------------------------------------------------------------------------------------------

    def learn(self, raw: RawColumn, name: str) -> Column:
        """Refuse: the models that take text cut it into words before its columns are learned."""
        raise ParameterError(f"column {name!r}: this model takes no text. NaiveBayes and LatentClass do.")

    def encode_block(self, source: Source, block: Block) -> tuple[Any, Counter[tuple[str, Any]]]:
        """Return the counts of the words that are known; others are left out without a warning."""
        return self._counts(source, block)[0], Counter()

    def unknown_words(self, source: Source, block: Block) -> Counter[str]:
        """Return the words that are not known, and how often they were met."""
        return self._counts(source, block)[1]

    def _counts(self, source: Source, block: Block) -> tuple[Counts, Counter[str]]:
        parts, unknown = [], Counter[str]()
        for j, column in zip(block.members, block.columns, strict=True):
            found, words = source.words(j), column.categories or ()
            if found is not None and len(found[0]) == len(words) and found[0] == words:
                part = found[1]
            elif found is None and all(isinstance(word, str) for word in words):
                part, others = count_words(source.column(j), column.name, words, column.options)  # type: ignore[arg-type]
                unknown += others
            else:
                raise DataError(f"column {column.name!r}: its words are not those that the model was fitted to.")
            length = dict(column.options).get("document_length")
            parts.append(part if length is None else part.scaled(length))
        if len(parts) == 1:
            return parts[0], unknown
        return Counts.of(sparse.hstack([part.matrix() for part in parts], format="csr")), unknown

    def decode_block(self, block: Block, cells: Any) -> list[list[Any]]:
        """Return texts of known words in the order of the vocabulary; where words are numbers, {word: count}."""
        found: list[list[Any]] = [[] for _ in block.columns]
        stops = [*block.starts, sum(block.sizes)]
        for n in range(len(cells)):
            row = cells[n : n + 1].matrix()
            for d, column in enumerate(block.columns):
                own = (row.indices >= stops[d]) & (row.indices < stops[d + 1])
                known = column.categories or ()
                held = dict(zip([known[v] for v in row.indices[own] - stops[d]], row.data[own].tolist(), strict=True))
                text = " ".join(str(word) for word, count in held.items() for _ in range(max(round(count), 1)))
                found[d].append(text if isinstance(next(iter(known), ""), str) else held)
        return found

    def missing(self, block: Block, cells: Any) -> Mask:
        """Return False for all: a missing text is one without words."""
        return np.zeros((len(cells), len(block.members)), dtype=bool)

    def hide(self, cells: Any, hidden: Mask) -> Any:
        """Return the cells as they are."""
        return cells

    def observed(self, block: Block, cells: Any) -> Floats:
        """Return how many words each text has, (N, D)."""
        words = cells.matrix()
        stops = [*block.starts, sum(block.sizes)]
        parts = [words[:, first:last].sum(axis=1) for first, last in pairwise(stops)]
        return np.array(parts, dtype=np.float64).T

    # ---- in a model file -----------------------------------------------------------------------------------------

    def to_record(self, column: Column) -> dict[str, Any]:
        """Return the words, and how text is cut."""
        return {"categories": list(column.categories or ()), "options": dict(column.options)}

    def from_record(self, name: str, record: Mapping[str, Any]) -> Column:
        """Return the column: its words are texts, or the numbers from 0 of a matrix."""
        words, found = record["categories"], record["options"]
        if not isinstance(words, list):
            raise ParameterError(f"column {name!r}: a text column has a list of words.")
        spelt = all(isinstance(word, str) for word in words) and len(set(words)) == len(words)
        if not words or not (spelt or words == list(range(len(words)))):
            raise ParameterError(f"column {name!r}: its words must be texts, each once, or the numbers from 0.")
        if not isinstance(found, dict):
            raise ParameterError(f"column {name!r}: options={found!r:.80} do not say how its text is cut.")
        how = dict(found)
        length = how.pop("document_length", None)
        if length is not None and (type(length) not in (int, float) or not 0 < length < np.inf):
            raise ParameterError(f"column {name!r}: document_length={length!r:.80} is not a number above 0.")
        kept = read_options(how)
        return Column(name, self, tuple(words), kept if length is None else (*kept, ("document_length", length)))

    def every_value(self, block: Block, n_rows: int) -> Any:
        """Return texts without words."""
        return Counts.of(sparse.csr_array((n_rows, sum(block.sizes))))

    # ---- the whole table, and the leaf ---------------------------------------------------------------------------

    def doubts(self, block: Block, cells: Any, weight: Floats, inferred: Container[str]) -> Iterator[str]:
        """Yield nothing: words are no numbers."""
        return iter(())

    def summarise(self, table: Rows, block: Block) -> Figures:
        """Return the weighted count of every word, then the weight of all rows."""
        return {"counts": table.word_frequencies(block.name)}

    def unit_summary(self, block: Block) -> Figures:
        """Return no counts."""
        return {"counts": np.zeros(sum(block.sizes) + 1)}

    def summary_from(self, block: Block, leaf: Leaf, stats: Stats, about: Any, mass: float) -> Figures:
        """Return the counts of all words, then the weight of all rows."""
        return {"counts": np.append(self.shares(stats).sum(axis=0), mass)}

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf; a pseudo-row is a text as long as the average one."""
        pseudo, lengths = self._pseudo(block, summary, build)
        return Multinomial(build.n_components, block.sizes, pseudo, lengths)

    def _pseudo(self, block: Block, summary: Figures, build: Build) -> tuple[Floats | None, list[float]]:
        """Return pseudo-counts, and the average length of the texts of each column."""
        words, n_rows = _words_and_rows(summary)
        parts = np.split(words, block.starts[1:])
        lengths = [float(part.sum()) / n_rows if summary["counts"][-1] > 0 else 1.0 for part in parts]
        row = smoothed_shares(words, block.sizes) * np.repeat(np.maximum(lengths, 1.0), block.sizes)
        return _of_prior(build.prior, row / build.n_components, build.n_components), lengths

    @property
    def form(self) -> str:
        """Probabilities by word."""
        return "{'words': {word: probabilities}}"

    def claims(self, given: Mapping[Any, Any]) -> bool:
        """Whether words are given, with or without options that cut text."""
        return set(given) in ({"words"}, {"words", "options"}) and isinstance(given["words"], Mapping)

    def column_of(self, name: str, given: Mapping[Any, Any]) -> Column:
        """Return the column with the words that have probabilities."""
        return Column(name, self, tuple(sorted(map(str, given["words"]))), read_options(given.get("options")))

    def place(self, params: Any, block: Block, d: int, given: Any, n_components: int) -> None:
        """Write the probabilities of the words of one column."""
        nested = isinstance(given, Mapping) and isinstance(given.get("words"), Mapping)
        self._place_words(params, block, d, given["words"] if nested else given, n_components)

    def _place_words(self, params: Any, block: Block, d: int, given: Any, n_components: int) -> None:
        super().place(params, block, d, given, n_components)

    def _refuse(self, column: Column, given: Mapping[Any, Any]) -> None:
        categories = column.categories or ()
        odd = sorted(map(repr, set(given) ^ set(categories)))
        raise ParameterError(
            f"{column.name!r}: each of its {len(categories):,} words needs its probabilities, and no other word has "
            f"any. {len(odd):,} are missing or unknown, such as {', '.join(odd[:3])}."
        )

    # ---- what a component looks like -----------------------------------------------------------------------------

    def profiles(self, fitted: Fitted) -> Iterator[ColumnProfile]:
        """Yield shares of words; distance[k] = length sum_v p[k, v] log(p[k, v] / p[v]), of an average text."""
        lengths = fitted.leaf.lengths  # type: ignore[attr-defined]
        for column, values, length in zip(fitted.block.columns, self._parts(fitted), lengths, strict=True):
            overall, words = values @ fitted.weights, max(length, 1.0)
            distance = (rel_entr(values, overall[:, None]) * words).sum(axis=0)
            rows = list(column.categories or ())
            yield ColumnProfile(column.name, self, rows, values, overall, distance, None, words)

    def _parts(self, fitted: Fitted) -> list[Floats]:
        """Return the shares of words of each column, (V, K) each."""
        return np.split(self.shares(fitted.params).T, fitted.block.starts[1:])

    def trait(self, column: ColumnProfile, k: int) -> str:
        """Name the words that set the component apart most."""
        words = telling_words(column, k, SAID)
        named = f"{column.name}: " + ", ".join(str(column.rows[v]) for v in words)
        return named + (f" ({_times(column.values[words[0], k], column.overall[words[0]])})" if words else "")

    def card(self, column: ColumnProfile, k: int) -> tuple[str, str]:
        """Return the words that set the component apart most, with their shares."""
        top = telling_words(column, k, ON_CARD)
        often = [f"{column.rows[v]} {small_percent(column.values[v, k])}" for v in top]
        return ", ".join(often), ", ".join(small_percent(column.overall[v]) for v in top)

    def contrasts(self, column: ColumnProfile, weights: Floats) -> Iterator[Contrast]:
        """Yield the distance of the words that set components apart most, each as a count in an average text."""
        for v in most_telling(column):
            values, share = column.values[v], float(column.overall[v])
            sd = self._sd(values, share, column.length, weights)
            far = (values - share) / sd if sd > 1e-9 else np.zeros_like(values)
            texts = [small_percent(value) for value in values]
            yield Contrast(column.name, self, str(column.rows[v]), values, far, texts, small_percent(share))

    def _sd(self, values: Floats, share: float, length: float | None, weights: Floats) -> float:
        assert length is not None
        return float(np.sqrt(share / length + weights @ (values - share) ** 2))

    def unit(self, column: ColumnProfile) -> float:
        """Return 1 / length: probabilities are compared in a text of average length."""
        return 1.0 if column.length is None else 1 / column.length

    # ---- rows ----------------------------------------------------------------------------------------------------

    def expected_log_density(self, fitted: Fitted) -> tuple[Floats, Floats]:
        """Return mean and variance of the log-probability of one word of each text."""
        parts = np.split(fitted.params, fitted.block.starts[1:], axis=1)
        mean, var = np.stack([expected_logs(table) for table in parts], axis=-1)
        return mean, var

    def draw(
        self, fitted: Fitted, components: NDArray[np.int64], rng: np.random.Generator, lengths: Floats | None = None
    ) -> Any:
        """Draw texts with the given numbers of words, (D,)."""
        if lengths is None:
            return super().draw(fitted, components, rng)
        leaf = fitted.leaf
        assert isinstance(leaf, Multinomial)
        whole = np.maximum(np.rint(lengths), lengths > 0).astype(np.int64)
        return leaf.documents(fitted.params, components, np.repeat(whole[:, None], len(components), axis=1), rng)

    def word_scores(self, fitted: Fitted, cells: Any, d: int, names: Sequence[str] | None) -> WordScores | None:
        """Return what each word of a text scores."""
        words, scores, _ = self._by_word(fitted, cells, d, names)
        return WordScores(words, scores)

    def _by_word(
        self, fitted: Fitted, cells: Any, d: int, names: Sequence[str] | None
    ) -> tuple[list[str], Floats, Floats]:
        """Return the words of a text, what each scores, (M, K), and what the absence of the others does, (K,)."""
        leaf, block = fitted.leaf, fitted.block
        assert isinstance(leaf, Multinomial)
        first = block.starts[d]
        words, scores, absent = leaf.by_word(fitted.params, cells, slice(first, first + block.sizes[d]))
        known = spelt(block.columns[d].categories or (), names)
        return [known[v - first] for v in words.tolist()], scores, absent

    # ---- number by number ----------------------------------------------------------------------------------------

    def densities(self, fitted: Fitted, cells: Any, classes: Sequence[str]) -> list[list[Density]]:
        """Return a factor for each word of each text: its probability, as often as it occurs."""
        return [
            [
                density
                for d in range(len(fitted.block.members))
                for density in self._words(fitted, cells[n : n + 1], d, classes)
            ]
            for n in range(len(cells))
        ]

    def _words(self, fitted: Fitted, text: Any, d: int, classes: Sequence[str]) -> Iterator[Density]:
        """Yield the factors of one text."""
        column, place = fitted.block.columns[d], fitted.block.members[d]
        words, scores, _ = self._by_word(fitted, text, d, None)
        for word, count, score in zip(words, self._occurrences(fitted.block, text, d), scores, strict=True):
            power, said = "" if count == 1 else f"^{count:g}", word if word.strip() else repr(word)
            yield Density(place, [f"P({column.name}{self.sign}{said} | {who}){power}" for who in classes], score)

    def _occurrences(self, block: Block, text: Any, d: int) -> list[float]:
        """Return how often each word of a text occurs in it."""
        row, first = text.matrix(), block.starts[d]
        own = (row.indices >= first) & (row.indices < first + block.sizes[d])
        return [float(count) for count in row.data[own]]

    def exported_cell(self, column: Column, language: Language) -> Formula:
        """Refuse: words are found by a function of Python."""
        raise ParameterError(
            f"column {column.name!r} is text: {language.name} cannot split it into words as Python does."
        )

    def features(self, fitted: Fitted, d: int, names: Sequence[str] | None) -> Iterator[Feature]:
        """Yield the words that set components apart most; each is a number, standardised by its pooled variance."""
        block, profile = fitted.block, list(self.profiles(fitted))[d]
        spellings = spelt(block.columns[d].categories or (), names)
        for v in most_telling(profile):
            share = self.shares(fitted.params)[:, block.starts[d] + v, None]
            var = share * (1 - share)
            pooled = np.broadcast_to(fitted.weights @ var, var.shape)
            ratio = np.divide(var, pooled, out=np.ones_like(var), where=pooled > 0)[:, 0]
            place = block.starts[d] + v
            yield Feature(
                block.columns[d], block, place, share, np.sqrt(pooled), spellings[v], ratio, crowded=self.by_length
            )

    def feature_cells(self, cells: Any, feature: Feature) -> Floats:
        """Return how often the word occurs."""
        found: Floats = cells.matrix()[:, [feature.position]].toarray()
        return found


class BernoulliText(TextKind):
    """Words that are there or not; every word has two cells in the parameters, absent and there."""

    treatment = "bernoulli"
    by_length = False

    def shares(self, params: Any) -> Floats:
        """Return the probabilities that words are there."""
        table: Floats = params[..., 1::2]
        return table

    def _counts(self, source: Source, block: Block) -> tuple[Counts, Counter[str]]:
        counts, unknown = super()._counts(source, block)
        return counts.presence(), unknown

    def observed(self, block: Block, cells: Any) -> Floats:
        """Return 1: a text without words says that none is there."""
        return np.ones((len(cells), len(block.members)))

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf; a pseudo-row has each word as often as the texts of the whole table do."""
        words, n_rows = _words_and_rows(summary)
        there = words / n_rows if summary["counts"][-1] > 0 else np.zeros(len(words))
        share = (there * n_rows + 0.5) / (n_rows + 1)
        row = np.column_stack([1 - share, share]).ravel() / build.n_components
        return Bernoulli(build.n_components, sum(block.sizes), _of_prior(build.prior, row, build.n_components))

    def _place_words(self, params: Any, block: Block, d: int, given: Any, n_components: int) -> None:
        """Write the shares of texts that have each of the words given."""
        column = block.columns[d]
        if not isinstance(given, Mapping):
            raise ParameterError(f"{column.name!r}: words that are there or not are given as {{word: shares}}.")
        places = {word: v for v, word in enumerate(column.categories or ())}
        for word, numbers in given.items():
            if word not in places:
                raise ParameterError(f"{column.name!r}: there is no word {word!r:.80} in it.")
            there = read_numbers(numbers, f"{column.name!r}: {word!r}", n_components, NOT_NEGATIVE)
            if there.max() > 1:
                raise ParameterError(
                    f"{column.name!r}: {word!r} cannot be in a share of {there.max():g} of the documents."
                )
            cell = 2 * (block.starts[d] + places[word])
            params[:, cell], params[:, cell + 1] = 1 - there, there

    def profiles(self, fitted: Fitted) -> Iterator[ColumnProfile]:
        """Yield shares of texts that have each word; the distance is summed over presence and absence."""
        for column, values in zip(fitted.block.columns, self._parts(fitted), strict=True):
            overall = values @ fitted.weights
            distance = rel_entr(values, overall[:, None]) + rel_entr(1 - values, 1 - overall[:, None])
            rows = list(column.categories or ())
            yield ColumnProfile(column.name, self, rows, values, overall, distance.sum(axis=0))

    def _sd(self, values: Floats, share: float, length: float | None, weights: Floats) -> float:
        return float(np.sqrt(share * (1 - share)))

    def expected_log_density(self, fitted: Fitted) -> tuple[Floats, Floats]:
        """Return mean and variance summed over the words of each text."""
        parts = np.split(fitted.params, 2 * np.array(fitted.block.starts[1:], dtype=np.int64), axis=1)
        found = [expected_logs(table.reshape(len(table), -1, 2)) for table in parts]
        mean, var = np.stack(found, axis=-1)
        return mean, var

    def word_scores(self, fitted: Fitted, cells: Any, d: int, names: Sequence[str] | None) -> WordScores | None:
        """Return what each word of a text scores, and all that are not there together."""
        words, scores, absent = self._by_word(fitted, cells, d, names)
        return WordScores([*words, ABSENT], np.vstack([scores, absent]))

    def _occurrences(self, block: Block, text: Any, d: int) -> list[float]:
        """Return 1 for each word that is there."""
        return [1.0] * len(super()._occurrences(block, text, d))

    def _words(self, fitted: Fitted, text: Any, d: int, classes: Sequence[str]) -> Iterator[Density]:
        """Yield the factors of the words that are there, then that of all others."""
        yield from super()._words(fitted, text, d, classes)
        absent, column = self._by_word(fitted, text, d, None)[2], fitted.block.columns[d]
        yield Density(fitted.block.members[d], [f"P({column.name}: no other word | {who})" for who in classes], absent)

    def estimates(self, step: MStep) -> Iterator[dict[Any, Estimate]]:
        """p[k, v] = texts with the word / all texts."""
        counts = [step.stats, np.zeros_like(step.stats) if step.pseudo is None else step.pseudo]
        texts = [part + np.roll(part, 1, axis=-1) for part in counts]  # with the word, and without
        for own, pseudo, all_own, all_pseudo in zip(
            *(self.named(step.block, part) for part in (*counts, *texts)), strict=True
        ):
            yield {
                word: by_numbers.quotient((own[word], pseudo[word]), (all_own[word], all_pseudo[word])) for word in own
            }


class ComplementText(TextKind):
    """Words by how rare they are outside a class; the parameters are the words of all other classes."""

    treatment = "complement"
    by_length = False
    rule = "text='complement'"

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf; what all other classes add up to gets the pseudo-counts."""
        pseudo, lengths = self._pseudo(block, summary, build)
        shared = None if pseudo is None else pseudo / max(build.n_components - 1, 1)
        return Complement(build.n_components, block.sizes, shared, lengths)

    def _parts(self, fitted: Fitted) -> list[Floats]:
        """Return the shares of words in each class, by what was counted."""
        leaf = fitted.leaf
        assert isinstance(leaf, Complement)
        assert fitted.stats is not None
        pseudo = leaf.prior(fitted.params)
        stats = fitted.stats if pseudo is None else fitted.stats + pseudo
        table = Multinomial(leaf.n_components, leaf.cardinalities).maximise(stats, leaf.blank())
        return np.split(table.T, fitted.block.starts[1:])


TREATED: dict[str, type[TextKind]] = {"bernoulli": BernoulliText, "complement": ComplementText}
TREATMENTS = ("multinomial", *TREATED)  # how words of a text are taken


def telling_words(column: ColumnProfile, k: int, top: int) -> list[int]:
    """Return the rows of the words that set a component apart most: frequent in it, and more so than in the whole."""
    gain = rel_entr(column.values[:, k], column.overall)
    order = np.argsort(-gain, kind="stable")[:top]
    return [int(v) for v in order if gain[v] > 0]


def most_telling(column: ColumnProfile, most: int = MOST_WORDS) -> list[int]:
    """Return the words of a text, by their place, that set some component apart most: the first of each, the second ...

    Where there is one component, the most frequent.
    """
    if column.values.shape[1] == 1:
        return [int(v) for v in np.argsort(-column.overall, kind="stable")[:most]]
    ranked = [telling_words(column, k, most) for k in range(column.values.shape[1])]
    found = [word for words in zip_longest(*ranked) for word in words if word is not None]
    return list(dict.fromkeys(found))[:most]


def spelt(words: Sequence[Any], names: Sequence[str] | None = None) -> Sequence[str]:
    """Return words as texts: those of a sparse matrix, which are numbers, by the names given."""
    if words and isinstance(words[0], str):
        return words
    if names is None:
        return [f"word {word}" for word in words]
    if len(names) != len(words):
        raise ParameterError(f"names: {len(names)} names for {len(words)} words. Pass get_feature_names_out().")
    return [str(name) for name in names]


def _times(value: float, overall: float) -> str:
    """Return how much more frequent a word is than in the whole, where a class without rows has no share."""
    return "absent from all others" if overall == 0 else f"{value / overall:.1f} times as frequent as in all"


def _words_and_rows(summary: Figures) -> tuple[Floats, float]:
    """Return the counts of words, and the weight of all rows."""
    counts = summary["counts"]
    return counts[:-1], max(float(counts[-1]), 1e-300)


def _of_prior(prior: Prior, row: Floats, n_components: int) -> Floats | None:
    """Return pseudo-counts: none, one row in all, or a number for every cell."""
    if prior is None:
        return None
    cells = row if prior == "row" else np.full(len(row), float(prior))
    return np.broadcast_to(cells, (n_components, len(cells)))
