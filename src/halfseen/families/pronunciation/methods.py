"""What a model of pronunciation can do once it is fitted: pronounce words, score pronunciations, show its units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.data import frame_from_dict
from halfseen.errors import DataError, ImpossibleRowWarning, warn
from halfseen.estimators import convergence, options
from halfseen.estimators.base import Estimator
from halfseen.families.pronunciation.lexicon import (
    SHOWN,
    Entry,
    known_letters,
    letters_of,
    read_entries,
    read_words,
)
from halfseen.families.pronunciation.model import PairChunk, UnitModel, cut_pairs, segments_of
from halfseen.families.pronunciation.ngrams import contexts_of
from halfseen.families.pronunciation.scores import PronunciationScores, score_pronunciations
from halfseen.families.pronunciation.units import Inventory
from halfseen.kernels import active as kernels
from halfseen.leaves.leaf import Floats, frozen
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.structures.joint_units import Codes, Contexts, best, evidence

UNKNOWN = ("error", "replace", "skip")
BATCH = 64  # words that a worker takes at a time
DESCRIBED = 12  # units that `describe` lists


class Pronunciation(NamedTuple):
    """A pronunciation of a word.

    Attributes
    ----------
    phones : list of str
    probability : float        among all pronunciations that the search kept
    log_joint : float          log p(word, phones), of the segmentations that the search kept
    """

    phones: list[str]
    probability: float
    log_joint: float


class G2PMethods(Estimator):
    """A model of pronunciation, once it is fitted."""

    on_unknown: str
    beam: int
    _order: int  # as it was in the fit: options may change after it
    _lowercase: bool
    _stress: bool
    random_state = None  # nothing is random
    _inventory: Inventory
    _model: UnitModel
    _params: Params
    _counts: Floats  # uses of units in the segmented dictionary
    _segments: Codes  # order 2 and more: the dictionary in units, a word after the other
    _inserted: int  # most units without letters in a row
    _n_words: int
    _n_pairs: int

    # ---- what is in it -------------------------------------------------------------------------------------------

    @property
    def letters_(self) -> tuple[str, ...]:
        """The letters that it knows."""
        check_is_fitted(self)
        return self._inventory.letters

    @property
    def phones_(self) -> tuple[str, ...]:
        """The phones that it knows."""
        check_is_fitted(self)
        return self._inventory.phones

    @property
    def units_(self) -> list[tuple[str, tuple[str, ...]]]:
        """Letters and phones of every unit."""
        check_is_fitted(self)
        return self._inventory.units[1:]

    @property
    def _contexts(self) -> Contexts:
        """The n-gram model; counted when it is first needed, from the segmented dictionary."""
        if "_counted" not in vars(self):
            self._counted = (
                independent(self._params)
                if self._order == 1
                else contexts_of(self._segments, self._order, self._inventory.n_units)
            )
        found: Contexts = self._counted
        return found

    def _take_segments(self, segments: Codes) -> None:
        """Take the dictionary in units, a word after the other, from which n-grams are counted."""
        self._segments = segments
        n_units = self._inventory.n_units
        self._counts = np.bincount(segments, minlength=n_units).astype(np.float64)
        self._model, self._params = UnitModel.of(n_units), {"units": frozen(self._counts[None] / self._counts.sum())}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_counted"}

    def to_frame(self) -> Any:
        """Return the units as a table: letters, phones, count in the segmented dictionary, share of the units.

        Counts are those of the best segmentations, with order=1 the expected ones.
        """
        check_is_fitted(self)
        counts = self._counts[1:]
        order = np.lexsort((np.arange(len(counts)), -counts))
        units = self.units_
        return frame_from_dict(
            {
                "letters": [units[u][0] for u in order],
                "phones": [" ".join(units[u][1]) for u in order],
                "count": counts[order].tolist(),
                "share": (counts[order] / counts.sum()).tolist(),
            }
        )

    def describe(self) -> str:
        """Return the most frequent units of one letter and phone, of more, and of letters or phones alone."""
        check_is_fitted(self)
        used = self._counts[1:] >= 0.5
        lines = [
            f"{self._n_words:,} words in {used.sum():,} units of letters and phones, order {self._order}",
            f"letters: {' '.join(self.letters_)}",
            f"phones: {' '.join(self.phones_)}",
        ]
        several = max(self._inventory.max_letters, self._inventory.max_phones) > 1
        kinds = [
            ("units", lambda a, b: a and b and (not several or a == b == 1)),
            ("units of more", lambda a, b: a and b and a + b > 2),
            ("silent letters", lambda a, b: not b),
            ("phones without letters", lambda a, b: not a),
        ]
        for title, chosen in kinds:
            own = [
                (count, letters, phones)
                for count, (letters, phones) in zip(self._counts[1:].tolist(), self.units_, strict=True)
                if chosen(len(letters), len(phones)) and count >= 0.5
            ]
            own.sort(key=lambda unit: (-unit[0], *unit[1:]))
            told = [f"{letters or '-'}:{' '.join(phones) or '-'} {count:,.0f}" for count, letters, phones in own]
            if told:
                lines.append(f"{title}: {', '.join(told[:DESCRIBED])}{', ...' if len(told) > DESCRIBED else ''}")
        return convergence.described(self, "\n".join(lines))

    # ---- pronounce -----------------------------------------------------------------------------------------------

    def pronounce(self, words: Any, n_best: int = 1) -> dict[str, list[list[str]]]:
        """Return the most probable pronunciations of words, as a dictionary of the form that `fit` takes.

        Parameters
        ----------
        words : list of str, or str
        n_best : int
            How many for each word, the most probable first; fewer where the search finds no more.
        """
        return {word: [one.phones for one in own] for word, own in self.pronounce_proba(words, n_best).items()}

    def pronounce_proba(self, words: Any, n_best: int = 1) -> dict[str, list[Pronunciation]]:
        """Return the most probable pronunciations of words, with their probabilities.

        The search goes through the letters and keeps the `beam` best pairs of phones so far and context (at least
        twice `n_best`). A probability is a sum over segmentations, divided by that of all pronunciations that are kept
        at the end.

        Parameters
        ----------
        words, n_best : as in `pronounce`
        """
        check_is_fitted(self)
        options.whole("n_best", n_best)
        listed = read_words(words)
        spelled = {word: letters_of(word, self._lowercase) for word in listed}
        spelled = known_letters(spelled, self.letters_, self.on_unknown)
        listed = list(spelled)
        batches = [listed[i : i + BATCH] for i in range(0, len(listed), BATCH)]
        with runner(self.n_jobs, len(batches)) as run:
            found = run(partial(self._searched, spelled, n_best), batches)
            told = {word: own for batch in found for word, own in batch}
        lost = [word for word, own in told.items() if not own]
        if lost:
            raise DataError(f"no pronunciation was found of {', '.join(map(repr, lost[:SHOWN]))}. Raise beam.")
        return told

    def _searched(
        self, spelled: Mapping[str, str], n_best: int, words: Sequence[str]
    ) -> list[tuple[str, list[Pronunciation]]]:
        """Return the pronunciations of some words; one without phones is none."""
        pieces, contexts, found = self._inventory.pieces, self._contexts, []
        beam = max(self.beam, 2 * n_best)
        for word in words:
            letters = spelled[word]
            numbers = np.array(
                [
                    [pieces.number.get(letters[i : i + k], -1) if i + k <= len(letters) else -1 for k in self._lengths]
                    for i in range(len(letters))
                ],
                dtype=np.int64,
            ).reshape(len(letters), len(self._lengths))
            longest = self._inventory.max_phones * (len(letters) + self._inserted * (len(letters) + 1))
            logs, rows = np.empty(n_best + 2), np.empty((n_best + 1, longest), dtype=np.int32)
            n_found = kernels.ngram_search(
                *contexts, pieces.ranges, numbers, pieces.phone_firsts, pieces.phones, beam, self._inserted, logs, rows
            )
            own = [
                Pronunciation([self.phones_[phone] for phone in row if phone >= 0], float(np.exp(log - logs[-1])), log)
                for row, log in zip(rows[:n_found].tolist(), logs[:n_found].tolist(), strict=True)
            ]
            found.append((word, [one for one in own if one.phones][:n_best]))
        return found

    @property
    def _lengths(self) -> range:
        return range(1, self._inventory.max_letters + 1)

    # ---- score ---------------------------------------------------------------------------------------------------

    def score_samples(self, dictionary: Any) -> Floats:
        """Return log p(word, phones) of every pronunciation of a dictionary, in its order: (N,).

        It is the log of the sum over all segmentations; -inf, with a warning, for what no unit of the model makes.

        Parameters
        ----------
        dictionary : dict
            As in `fit`. Letters and phones must be known.
        """
        check_is_fitted(self)
        found = self._evidence(self._known_entries(dictionary))
        if not np.isfinite(found).all():
            warn(f"{(~np.isfinite(found)).sum()} pronunciations have probability 0.", ImpossibleRowWarning)
        return found

    def score(self, dictionary: Any) -> float:
        """Return the total log-likelihood of the pronunciations of a dictionary."""
        return float(self.score_samples(dictionary).sum())

    def error_rates(self, dictionary: Any) -> PronunciationScores:
        """Return phone and word error of the most probable pronunciations of the words of a dictionary.

        Of several pronunciations in the dictionary that counts which is nearest to the one found.

        Parameters
        ----------
        dictionary : as in `score_samples`
            Words that were not in the fit show what to expect of others.
        """
        check_is_fitted(self)
        references: dict[str, list[list[str]]] = {}
        for entry in self._known_entries(dictionary):
            references.setdefault(entry.word, []).append(list(entry.phones))
        return score_pronunciations(self.pronounce(list(references)), references)

    def segment(self, dictionary: Any) -> dict[str, list[list[tuple[str, tuple[str, ...]]]]]:
        """Return the best segmentation of every pronunciation of a dictionary: units of letters and phones.

        Parameters
        ----------
        dictionary : as in `score_samples`
        """
        check_is_fitted(self)
        entries = self._known_entries(dictionary)
        pairs, units = self._inventory.pairs(entries), self._inventory.units
        log_joint, taken = best(self._contexts, pairs)
        if not np.isfinite(log_joint).all():
            word = entries[int(np.argmin(log_joint))].word
            raise DataError(f"{word!r} has a pronunciation that no units of the model make.")
        found: dict[str, list[list[tuple[str, tuple[str, ...]]]]] = {entry.word: [] for entry in entries}
        segments = segments_of(pairs, taken)
        for entry, own in zip(entries, np.split(segments, np.flatnonzero(segments == 0) + 1)[:-1], strict=True):
            found[entry.word].append([units[u] for u in own[:-1].tolist()])
        return found

    def _n_fitted(self, words: Iterable[str]) -> int | None:
        """Return how many of some words were in the fit; None with order 1, which does not keep its words."""
        if self._order == 1:
            return None
        letters = np.array(["\n", *(letters for letters, _ in self.units_)], dtype=object)  # 0 is the end of a word
        known = set("".join(letters[self._segments]).split("\n"))
        return sum(letters_of(word, self._lowercase) in known for word in words)

    def _known_entries(self, dictionary: Any) -> list[Entry]:
        """Return the entries of a dictionary, once letters and phones are known."""
        entries = read_entries(dictionary, self._lowercase, self._stress)
        known = frozenset(self.phones_)
        strange = {phone: entry.word for entry in entries for phone in entry.phones if phone not in known}
        if strange:
            listed = ", ".join(f"{phone!r} ({word})" for phone, word in list(strange.items())[:SHOWN])
            raise DataError(f"phones that the model does not have: {listed}. It has {' '.join(self.phones_)}.")
        spelled = known_letters({entry.word: entry.letters for entry in entries}, self.letters_, self.on_unknown)
        found = [entry._replace(letters=spelled[entry.word]) for entry in entries if entry.word in spelled]
        if not found:
            raise DataError("no word has known letters only.")
        return found

    def _evidence(self, entries: Sequence[Entry]) -> Floats:
        """Return the log of the sum over segmentations of each entry."""
        chunks = cut_pairs(self._inventory.pairs(entries))
        with runner(self.n_jobs, len(chunks)) as run:
            return np.concatenate([np.zeros(0), *run(partial(_chunk_evidence, self._contexts), chunks)])


def independent(params: Params) -> Contexts:
    """Return the n-gram model of order 1."""
    with np.errstate(divide="ignore"):
        return Contexts.none(np.log(params["units"][0]))


def _chunk_evidence(contexts: Contexts, chunk: PairChunk) -> Floats:
    return evidence(contexts, chunk.blocks)
