"""What an aligner of words can do once it has lexicons: links of new text, their probabilities, what it has learned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from halfseen.data import frame_from_dict
from halfseen.errors import DataError, DataTypeError, ParameterError
from halfseen.estimators import convergence, options
from halfseen.estimators.base import Estimator
from halfseen.families.words.bitext import Bitext, encode_pairs, read_pairs
from halfseen.families.words.corpus import Rows, looked_up, reversed_text, sides_of
from halfseen.families.words.symmetrize import HEURISTICS, symmetrized
from halfseen.leaves.leaf import Floats
from halfseen.runners import runner
from halfseen.structures.links import PARTS, Block, best, posterior

KINDS = {"ibm1": 0, "diagonal": 1, "hmm": 2}
DIRECTIONS = ("both", "forward", "reverse")
BATCH = 1 << 22  # links of the pairs that are aligned together
NEVER = 1e-100  # translations that no pair needed; new text may, and none of it is impossible
SHOWN_JUMP = 0.02  # jumps and translations that are rarer are not shown
SHOWN_SHARE = 0.05


class Direction(NamedTuple):
    """What was learned in one direction.

    Attributes
    ----------
    rows : Rows              which target words stand together with each source word
    table : (S,) array       t(target | source), cell by cell
    place : array            parameters of the place; none for a uniform one
    """

    rows: Rows
    table: Floats
    place: Floats


class WordAlignerMethods(Estimator):
    """An aligner, once it has learned."""

    model: str
    direction: str
    symmetrize: str
    null: bool
    max_jump: int
    lowercase: bool
    source_words_: tuple[str, ...]
    target_words_: tuple[str, ...]
    _learned: dict[str, Direction]
    _longest: dict[str, int]  # words of the longest sentence to look for source words in, by direction

    # ---- use -----------------------------------------------------------------------------------------------------

    def align(self, pairs: Any, target: Any = None, *, symmetrize: str | None = None) -> list[list[tuple[int, int]]]:
        """Return the links of each pair: a list of (source index, target index), counted from 0 and sorted.

        Parameters
        ----------
        pairs, target :
            As in `fit`; words that were not seen when fitting are linked by their places. A pair with an empty side
            has no links.
        symmetrize : str, optional
            Other than the estimator's.
        """
        return list(self.iter_align(pairs, target, symmetrize=symmetrize))

    def iter_align(
        self, pairs: Any, target: Any = None, *, symmetrize: str | None = None
    ) -> Iterator[list[tuple[int, int]]]:
        """Give the links of each pair as `align` does, reading the pairs bit by bit: for files of any size."""
        how = self._heuristic(symmetrize)
        for text in self._batches(pairs, target):
            found = {name: self._best(name, text) for name in self._learned}
            ahead, back = (found.get(name) for name in ("forward", "reverse"))
            for p in range(text.n_pairs):
                if ahead is None or back is None:
                    yield sorted((ahead or back or [])[p])
                else:
                    yield symmetrized(how, ahead[p], back[p])

    def _heuristic(self, symmetrize: str | None) -> str:
        check_is_fitted(self)
        how = self.symmetrize if symmetrize is None else options.one_of("symmetrize", symmetrize, HEURISTICS)
        if symmetrize is not None and len(self._learned) < 2 and how not in self._learned:
            raise ParameterError(
                f"symmetrize={how!r} needs both directions; this model was fitted in the {self.direction} direction."
            )
        return how

    def align_proba(self, pairs: Any, target: Any = None, *, direction: str | None = None) -> list[Floats]:
        """Return the probability of every link of each pair, an (n source words, m target words) array.

        Parameters
        ----------
        pairs, target : as in `fit`
        direction : {"both", "forward", "reverse"}, optional
            "forward": that target word j comes from source word i; columns sum to at most one, the rest is NULL's.
            "reverse": the other way round. "both": the mean of the two. By default all that was fitted.
        """
        return list(self.iter_proba(pairs, target, direction=direction))

    def iter_proba(self, pairs: Any, target: Any = None, *, direction: str | None = None) -> Iterator[Floats]:
        """Give the probabilities of each pair as `align_proba` does, reading the pairs bit by bit."""
        check_is_fitted(self)
        wanted = options.one_of("direction", self.direction if direction is None else direction, DIRECTIONS)
        names = tuple(self._learned) if wanted == "both" and len(self._learned) == 2 else (wanted,)
        if not set(names) <= set(self._learned):
            raise ParameterError(f"direction={wanted!r}: this model was fitted in direction={self.direction!r}.")
        for text in self._batches(pairs, target):
            found = [self._posteriors(name, text)[0] for name in names]
            for p in range(text.n_pairs):
                yield np.mean([one[p] for one in found], axis=0)

    def score_samples(self, pairs: Any, target: Any = None) -> Floats:
        """Return the log-likelihood of each pair, (B,), summed over directions; 0 for a pair with an empty side.

        It is log p(target words | source words), and in reverse log p(source | target).
        """
        check_is_fitted(self)
        parts = [
            sum(self._posteriors(name, text)[1] for name in self._learned) for text in self._batches(pairs, target)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def score(self, pairs: Any, target: Any = None) -> float:
        """Return the total log-likelihood."""
        return float(self.score_samples(pairs, target).sum())

    def _batches(self, pairs: Any, target: Any) -> Iterator[Bitext]:
        """Give the pairs as numbers, so many at a time as have about `BATCH` links."""
        held: list[Any] = []
        n_links = 0
        for _, pair in read_pairs(pairs, target):
            held.append(pair)
            n_links += len(pair[0]) * len(pair[1])
            if n_links >= BATCH:
                yield encode_pairs(held, lowercase=self.lowercase)
                held, n_links = [], 0
        if held:
            yield encode_pairs(held, lowercase=self.lowercase)

    def _opened(self, direction: str, text: Bitext) -> tuple[Block, Floats, Direction]:
        """Return new pairs, the table of their lexicon, and what was learned."""
        learned = self._learned[direction]
        own = text if direction == "forward" else reversed_text(text)
        sides = sides_of(own, self.null)
        words = self._numbers if direction == "forward" else self._numbers[::-1]
        table = looked_up(own, Rows(sides.firsts, sides.columns), learned.rows, *words, learned.table)
        return sides.block(), np.maximum(table, NEVER), learned

    @cached_property
    def _numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        """The numbers of words, counted from 0, of both sides."""
        source, target = ({w: k for k, w in enumerate(words)} for words in (self.source_words_, self.target_words_))
        return source, target

    def _each(self, direction: str, text: Bitext, task: Callable[..., Any]) -> Any:
        """Return what a task finds in new pairs."""
        block, table, learned = self._opened(direction, text)
        with runner(self.n_jobs, PARTS) as run:
            return task(KINDS[self.model], block, table, learned.place, run)

    def _best(self, direction: str, text: Bitext) -> list[list[tuple[int, int]]]:
        """Return the best links of one direction, as (source index, target index)."""
        found: list[list[tuple[int, int]]] = [[] for _ in range(text.n_pairs)]
        chosen, _ = self._each(direction, text, best)
        ends = (text.target_ends if direction == "forward" else text.source_ends).tolist()
        at, linked = 0, chosen.tolist()
        for p in text.filled.tolist():
            own = linked[at : at + ends[p + 1] - ends[p]]
            at += len(own)
            if direction == "forward":
                found[p] = [(i - 1, j) for j, i in enumerate(own) if i]
            else:
                found[p] = [(i, j - 1) for i, j in enumerate(own) if j]
        return found

    def _posteriors(self, direction: str, text: Bitext) -> tuple[list[Floats], Floats]:
        """Return the posteriors of one direction, (n, m) each, and the log-likelihoods."""
        sizes = np.stack([np.diff(text.source_ends), np.diff(text.target_ends)], axis=1).tolist()
        found = [np.zeros(size) for size in sizes]
        logliks = np.zeros(text.n_pairs)
        posts, logliks[text.filled] = self._each(direction, text, posterior)
        for p, post in zip(text.filled.tolist(), posts, strict=True):
            found[p] = post[1:] if direction == "forward" else post[1:].T
        return found, logliks

    # ---- what is in it -------------------------------------------------------------------------------------------

    def translations(self, word: str | None, n: int | None = 10, *, reverse: bool = False) -> list[tuple[str, float]]:
        """Return the most probable translations of a source word, with their probabilities; None is NULL.

        With `reverse`, of a target word into the source language.
        """
        check_is_fitted(self)
        if word is not None and not isinstance(word, str):
            raise DataTypeError(f"the word {word!r} is {type(word).__name__}, not a text; None is NULL.")
        if n is not None:
            options.whole("n", n, 0)
        name = "reverse" if reverse else "forward"
        if name not in self._learned:
            raise ParameterError(f"this model was fitted in the {self.direction} direction, which has no such lexicon.")
        rows, table = self._learned[name].rows, self._learned[name].table
        words = (self.source_words_, self.target_words_)
        own, other = words[::-1] if reverse else words
        numbers = self._numbers[int(reverse)]
        key = word.lower() if word is not None and self.lowercase else word
        if key is not None and key not in numbers:
            close = get_close_matches(key, own, 3)
            hint = f" Did you mean {', '.join(map(repr, close))}?" if close else ""
            raise DataError(f"the word {word!r} was not seen when fitting.{hint}")
        row = 0 if key is None else numbers[key] + 1
        cells = slice(rows.firsts[row], rows.firsts[row + 1])
        order = np.argsort(-table[cells], kind="stable")[:n]
        return [(other[rows.columns[cells][k]], float(table[cells][k])) for k in order]

    def to_frame(self, n: int = 3, *, reverse: bool = False) -> Any:
        """Return the lexicon as a table: the `n` most probable translations of every word."""
        check_is_fitted(self)
        words = self.target_words_ if reverse else self.source_words_
        rows = [(word, *found) for word in words for found in self.translations(word, n, reverse=reverse)]
        names = ("word", "translation", "probability")
        return frame_from_dict({name: [row[k] for row in rows] for k, name in enumerate(names)}, None)

    def describe(self) -> str:
        """Return in words how target words look for their source words, and the surest translations.

        Examples
        --------
        >>> import halfseen as hs
        >>> pairs = ["das Haus ||| the house", "das Buch ||| the book", "ein Buch ||| a book"]
        >>> print(hs.WordAligner("ibm1", null=False, max_iter=20).fit(pairs).describe())
        Buch: book 1.00
        Haus: house 0.97
        das: the 1.00
        ein: a 0.97
        """
        check_is_fitted(self)
        lines = []
        for name, one in self._learned.items():
            if self.model == "diagonal":
                lines.append(f"{name}: tension {one.place[1]:.2f}, {one.place[0]:.0%} of the words have no source")
            elif self.model == "hmm":
                shares = ", ".join(f"{d:+d} {c:.0%}" for d, c in self._made(name).items() if c >= SHOWN_JUMP)
                lines.append(f"{name}: jumps {shares}; {one.place[0]:.0%} of the words have no source")
        lines += [f"{word}: {', '.join(f'{f} {p:.2f}' for f, p in found)}" for word, found in self._frequent()]
        return convergence.described(self, "\n".join(lines))

    def _frequent(self, n: int = 10) -> list[tuple[str, list[tuple[str, float]]]]:
        """Return the words that stand together with most others, each with its best translations; no punctuation."""
        reverse = "forward" not in self._learned
        rows = self._learned["reverse" if reverse else "forward"].rows
        words = self.target_words_ if reverse else self.source_words_
        ranked = np.argsort(-rows.sizes[1:], kind="stable").tolist()
        telling = [k for k in ranked if any(letter.isalnum() for letter in words[k])] or ranked
        chosen = np.sort(telling[:n])
        found = [(words[k], self.translations(words[k], 3, reverse=reverse)) for k in chosen.tolist()]
        return [(word, [(other, p) for other, p in listed if p >= SHOWN_SHARE]) for word, listed in found]

    @property
    def p_null_(self) -> dict[str, float]:
        """Probability of NULL by direction, where it is a parameter."""
        check_is_fitted(self)
        return {name: float(one.place[0]) for name, one in self._learned.items() if len(one.place)}

    @property
    def tension_(self) -> dict[str, float]:
        """How strongly words keep to the diagonal, by direction."""
        self._need("diagonal")
        return {name: float(one.place[1]) for name, one in self._learned.items()}

    @property
    def jumps_(self) -> dict[str, dict[int, float]]:
        """Chances of jumps of each width, by direction."""
        self._need("hmm")
        widths = range(-self.max_jump, self.max_jump + 1)
        return {name: dict(zip(widths, one.place[1:].tolist(), strict=True)) for name, one in self._learned.items()}

    def _made(self, name: str) -> dict[int, float]:
        """Return the chances of the jumps that some sentence of the training allows, of all such.

        A jump comes from a word of 1 .. n or from the start, 0, and leads to one of 1 .. n. Wider ones have the chances
        they began with.
        """
        longest = self._longest.get(name, self.max_jump + 1)
        found = {width: chance for width, chance in self.jumps_[name].items() if -longest < width <= longest}
        total = sum(found.values())
        return {width: chance / total for width, chance in found.items()}

    def _need(self, model: str) -> None:
        check_is_fitted(self)
        if self.model != model:
            raise AttributeError(f"a model={self.model!r} has none; model={model!r} has.")
