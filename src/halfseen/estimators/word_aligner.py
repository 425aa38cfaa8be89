"""Which word translates which: links between the words of sentences and their translations, found by EM."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from halfseen.assign import SOFT, Assign, child
from halfseen.data import check_sequence_weight, frame_from_dict
from halfseen.data.bitext import Bitext, encode_pairs, read_links, read_pairs
from halfseen.data.files import read_memory
from halfseen.engine import Reduced, Search, evaluate, fit
from halfseen.engine.chain import Chain
from halfseen.engine.search import Plan
from halfseen.engine.stopping import never, read_rule
from halfseen.engine.words import PooledPath, WordModel, n_blocks, pair_chunks
from halfseen.errors import DataError, DataTypeError, ParameterError
from halfseen.estimators import options
from halfseen.estimators.corpus import (
    Prepared,
    Rows,
    looked_up,
    place_of,
    prepared,
    reversed_text,
    sides_of,
    turned,
    with_cells,
    with_known,
)
from halfseen.estimators.ended import CONVERGED, warn_of_end
from halfseen.estimators.pickled import Pickled
from halfseen.estimators.state import Origin, State
from halfseen.estimators.symmetry import HEURISTICS, symmetrized
from halfseen.estimators.table_mixture import seed_of
from halfseen.estimators.unharmed import unharmed
from halfseen.leaves import Leaf
from halfseen.leaves.leaf import Floats, frozen
from halfseen.leaves.limits import Params
from halfseen.leaves.translations import DirichletTranslations, Translations
from halfseen.runners import runner
from halfseen.structures.links import PARTS, UNIFORM, Agreed, Block, Both, Links, Run, Sides, best, posterior

log = logging.getLogger("halfseen")

KINDS = {"ibm1": 0, "diagonal": 1, "hmm": 2}
BEFORE = {"ibm1": ("ibm1",), "diagonal": ("ibm1", "diagonal"), "hmm": ("ibm1", "hmm")}
DIRECTIONS = ("both", "forward", "reverse")
PREFIXES = ("", "back_")  # of the names of leaves, where both directions are trained together
BATCH = 1 << 22  # links of the pairs that are aligned together
NEVER = 1e-100  # translations that no pair needed; new text may, and none of it is impossible
SAID = 5  # places that a message names
SHOWN_JUMP = 0.02  # jumps and translations that are rarer are not told
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


class WordAligner(Pickled):
    """Link the words of sentences to the words of their translations, by expectation-maximization.

    Known are pairs of sentences; which word translates which is hidden. Every target word comes from one source word or
    from none, NULL; the lexicon t(target | source) and the habits of word order are learned from all pairs together.

    Parameters
    ----------
    model : {"hmm", "diagonal", "ibm1"}, default "hmm"
        Where a target word looks for its source word. "ibm1": anywhere alike (IBM Model 1). "diagonal": near the
        diagonal (IBM Model 2 with one tension). "hmm": not far from where its neighbour found one. The last two begin
        with the lexicon of Model 1.
    sequence : sequence of models, optional
        The models to train one after the other, each beginning with the lexicon of the one before; ends with `model`.
    direction : {"both", "forward", "reverse"}, default "both"
        Forward: each target word has one source word. Reverse: each source word has one target word.
    agreement : bool, optional
        Let both directions count a link by the product of their probabilities: they learn to agree. By default so in
        both directions with assign="soft". Such training has no objective of its own that never falls. With `dirichlet`
        they agree from the second model on.
    symmetrize : str, default "grow-diag-final-and"
        How `align` makes one set of the links of both directions: "intersection", "union", "grow-diag",
        "grow-diag-final", "grow-diag-final-and"; or those of one, "forward" or "reverse".
    dirichlet : float, optional
        Concentration of a Dirichlet prior on the rows of the lexicon, kept as a variational posterior: below 1 rows are
        sparse, and rare words collect less of what nothing else explains; 0.01 is usual. By default there is none.
    null : bool, default True
        Whether words may come from none.
    p_null : float, optional
        Probability of that under "diagonal" and "hmm"; learned by default.
    max_jump : int, default 7
        "hmm": wider jumps than this are alike.
    lowercase : bool, default False
        Do not tell capitals from small letters.
    assign : {"soft", "hard", "sample"}, default "soft"
        How hidden links are completed: in expectation, by the best ones, or by drawn ones.
    draws : int, default 1
        With assign="sample": use the mean of this many draws.
    max_iter : int, default 5
        Passes over the data for each model of the sequence.
    stop : str, default "iterations"
        "iterations": make all passes. Other rules ("gain", "counts", "parameters", "assignments") may end earlier.
    tol : float, default 1e-4
    memory : int or str, optional
        Beyond this ("2GB") the corpus lies in temporary files; by default half of the free memory.
    n_jobs, random_state :
        As in `HMM`; work is shared between threads, results do not depend on how many.

    Attributes
    ----------
    source_words_, target_words_ : tuples of str
    loglik_ : float                log-likelihood of all pairs, summed over directions
    objective_, trace_ : float, list     of the last model; with a Dirichlet prior the variational bound
    n_iter_, converged_, stop_reason_, events_ : as in `HMM`
    stages_ : list of dict         model, direction, passes and objectives of every stage of the training
    tension_, jumps_, p_null_ : dict by direction       what was learned about places

    Examples
    --------
    >>> import halfseen as hs
    >>> pairs = ["das Haus ||| the house", "das Buch ||| the book", "ein Buch ||| a book"]
    >>> aligner = hs.WordAligner("ibm1", null=False, dirichlet=None, max_iter=20).fit(pairs)
    >>> aligner.align(["das Buch ||| the book"])
    [[(0, 0), (1, 1)]]
    >>> aligner.translations("Haus", 1)
    [('house', 1.0)]
    """

    def __init__(
        self,
        model: str = "hmm",
        *,
        sequence: Sequence[str] | None = None,
        direction: str = "both",
        agreement: bool | None = None,
        symmetrize: str = "grow-diag-final-and",
        dirichlet: float | None = None,
        null: bool = True,
        p_null: float | None = None,
        max_jump: int = 7,
        lowercase: bool = False,
        assign: str = "soft",
        draws: int = 1,
        max_iter: int = 5,
        stop: str = "iterations",
        tol: float = 1e-4,
        memory: int | str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.sequence = sequence
        self.direction = direction
        self.agreement = agreement
        self.symmetrize = symmetrize
        self.dirichlet = dirichlet
        self.null = null
        self.p_null = p_null
        self.max_jump = max_jump
        self.lowercase = lowercase
        self.assign = assign
        self.draws = draws
        self.max_iter = max_iter
        self.stop = stop
        self.tol = tol
        self.memory = memory
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_options(self) -> None:
        options.one_of("model", self.model, KINDS)
        stages = self._sequence()
        for stage in stages:
            options.one_of("sequence", stage, KINDS)
        if not stages or stages[-1] != self.model:
            raise ParameterError(f"sequence={self.sequence!r} does not end with model={self.model!r}.")
        options.one_of("direction", self.direction, DIRECTIONS)
        options.one_of("symmetrize", self.symmetrize, HEURISTICS)
        if self.dirichlet is not None and not options.number("dirichlet", self.dirichlet) > 0:
            raise ParameterError("dirichlet=0 is not above 0; None is maximum likelihood.")
        for name in ("null", "lowercase"):
            options.flag(name, getattr(self, name))
        if self.p_null is not None and not options.number("p_null", self.p_null, 0, 1) > 0:
            raise ParameterError("p_null=0: say null=False to have no NULL.")
        if self.p_null is not None and not self.null:
            raise ParameterError("p_null= has no meaning with null=False.")
        options.whole("max_jump", self.max_jump)
        options.whole("max_iter", self.max_iter)
        options.number("tol", self.tol)
        if self.agreement is not None and options.flag("agreement", self.agreement):
            if self.direction != "both":
                raise ParameterError(f"agreement=True needs direction='both', got {self.direction!r}.")
            if self.assign != "soft":
                raise ParameterError(f"agreement=True needs assign='soft', got {self.assign!r}.")

    def _sequence(self) -> tuple[str, ...]:
        if self.sequence is None:
            return BEFORE[self.model]
        if not isinstance(self.sequence, str | Sequence):
            raise ParameterError(f"sequence={self.sequence!r} is not a list of models, such as ['ibm1', 'hmm'].")
        return (self.sequence,) if isinstance(self.sequence, str) else tuple(self.sequence)

    @property
    def _agrees(self) -> bool:
        """Whether the directions are to agree; under a prior not in Model 1 alone, see `_agrees_in`."""
        if self.agreement is not None:
            return self.agreement
        several = self.dirichlet is None or len(self._sequence()) > 1
        return self.direction == "both" and self.assign == "soft" and several

    def _agrees_in(self, number: int) -> bool:
        """Whether the directions agree in one model of the sequence.

        In the first the product of two guesses is far below one, and a Dirichlet prior with many cells takes a use of
        far below one for none: NULL would have everything. So under a prior they find a lexicon each before.
        """
        return self._agrees and (self.dirichlet is None or number > 0 or len(self._sequence()) == 1)

    # ---- fit -----------------------------------------------------------------------------------------------------

    @unharmed
    def fit(
        self,
        pairs: Any,
        target: Any = None,
        *,
        links: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to pairs of sentences.

        Parameters
        ----------
        pairs : list or path
            Pairs (source, target), each a list of words or a text with blanks between; or lines `source ||| target`;
            or the path of a file of such lines. With `target`: source sentences, or the path of a file with one in
            each line. Files may be compressed (.gz).
        target : list or path, optional
            The translations, one for each source sentence.
        links : list or path, optional
            Links that are known, for each pair: None, or a list of (source index, target index) counted from 0, or a
            text `0-0 1-2`. A word with known links has no others; (None, j) says that target word j has none.
        sample_weight : (B,) array, optional
            How often each pair counts.
        """
        self._check_options()
        assign = Assign.read(self.assign, self.draws)
        rule = read_rule(self.stop, self.tol, self.assign)
        room = read_memory(self.memory)
        text = encode_pairs(pairs, target, lowercase=self.lowercase, room=room // 8)
        weight = check_sequence_weight(sample_weight, text.n_pairs)[text.filled]
        known = None if links is None else read_links(links, nulls=True)
        self.events_: list[str] = []
        self._check_pairs(text, known)
        seed = seed_of(self.random_state)
        self._origin = Origin(None, seed.entropy, datetime.now(UTC).isoformat(timespec="seconds"))
        ready = {name: self._prepared(text, name, known) for name in self._directions()}
        self.source_words_, self.target_words_ = text.source_words, text.target_words
        self._n_pairs = text.n_pairs
        del text  # what training needs of it is ready; the rest is memory
        plan = Plan(assign, rule, int(self.max_iter), accelerate=False, seed=child(seed, 1))
        found = self._trained(ready, weight, plan)
        self._publish(found, ready)
        return self

    def _directions(self) -> tuple[str, ...]:
        return ("forward", "reverse") if self.direction == "both" else (self.direction,)

    def _check_pairs(self, text: Bitext, known: Any) -> None:
        """Refuse a corpus without pairs; note those with an empty side."""
        kept = text.filled
        if not len(kept):
            raise DataError(f"there are {text.n_pairs} pairs, and in none of them do both sides have words.")
        if len(kept) < text.n_pairs:
            empty = np.setdiff1d(np.arange(text.n_pairs), kept) + 1
            named = ", ".join(map(str, empty[:SAID])) + (", ..." if len(empty) > SAID else "")
            self.events_.append(
                f"{len(empty)} of {text.n_pairs} pairs have an empty side and teach nothing: line {named}"
            )
        if known is not None and len(known) != text.n_pairs:
            raise DataError(
                f"links: there are {len(known)} lists for {text.n_pairs} pairs. Give one for each, or None."
            )

    def _prepared(self, text: Bitext, direction: str, known: Any) -> Prepared:
        ready = prepared(text if direction == "forward" else reversed_text(text), self.null)
        if known is None:
            return ready
        return ready._replace(sides=with_known(ready.sides, text.filled, known, direction == "reverse"))

    def _lexicon(self, sides: Sides, run: Run, spend: bool) -> Translations:
        if self.dirichlet is None:
            return Translations(sides.firsts, sides.n_words, run, spend)
        return DirichletTranslations(sides.firsts, sides.n_words, self.dirichlet, run, spend)

    def _trained(self, ready: dict[str, Prepared], weight: Floats, plan: Plan) -> list[Stage]:
        """Train the models in sequence, in each both directions together if they are to agree; return the last ones."""
        before: dict[str, Params] = dict.fromkeys(ready)
        self.stages_ = []
        last: list[Stage] = []
        for number, word in enumerate(self._sequence()):
            last = []
            for names in [tuple(ready)] if self._agrees_in(number) else [(name,) for name in ready]:
                stage = self._trained_one(word, {name: ready[name] for name in names}, before, weight, plan)
                more = number + 1 < len(self._sequence()) or names[-1] != tuple(ready)[-1]
                if stage.search.interrupted and more:
                    raise KeyboardInterrupt  # what was found so far is no model of this kind yet
                before |= _lexicons(stage)
                self.stages_.append(_told(stage))
                last.append(stage)
                del stage  # it is large
        return last

    def _trained_one(
        self, word: str, ready: dict[str, Prepared], before: dict[str, Params], weight: Floats, plan: Plan
    ) -> Stage:
        """Train one model in one direction, or in both together; takes what it begins with out of `before`."""
        kind = KINDS[word]
        with runner(self.n_jobs, PARTS) as run:  # workers share every chunk, and chunks go one after the other
            sides, leaves = self._leaves(kind, [one.sides for one in ready.values()], run, _spends(plan))
            model = WordModel(Agreed(kind, run) if len(ready) > 1 else Links(kind, run), leaves)
            data = Reduced(self._chunks(sides, kind, weight, plan), path=PooledPath(model, _spends(plan)))
            # lexicons are large: nobody holds the first ones but the search, which lets go of them
            search = fit(model, data, self._starts(model, data, [before.pop(name) for name in ready]), plan)
            _forget(search.best)
            loglik = search.best.accepted.loglik
            if plan.assign.mode != "soft":
                loglik = evaluate(model, data, [search.best.accepted.params], SOFT)[0].loglik
        model.structure.room.clear()
        return Stage(tuple(ready), word, model, search, loglik)

    def _chunks(self, sides: Sides | Both, kind: int, weight: Floats, plan: Plan) -> Sequence[Any]:
        """Return the corpus in blocks; Model 1 in one direction has no chances of single links, and needs one."""
        if isinstance(sides, Sides) and kind == UNIFORM and plan.assign.mode == "soft" and not len(sides.allowed):
            return pair_chunks(sides, weight, matrix=False)
        one = sides if isinstance(sides, Sides) else sides.ahead
        n_links = int((one.pairs[:, 1] * one.pairs[:, 3]).sum())
        return pair_chunks(sides, weight, n_blocks(n_links, len(one.columns)))

    def _starts(self, model: WordModel, data: Reduced, before: Sequence[Params]) -> list[Params]:
        """Return the one start: the lexicons of the model before, or nothing known."""
        if before[0] is None:
            return [self._uniform(model, data)]
        known = {f"{prefix}lexicon": lexicon for prefix, lexicon in zip(PREFIXES, before, strict=False)}
        return [{name: known[name] if name in known else leaf.blank() for name, leaf in model.leaves.items()}]

    def _uniform(self, model: WordModel, data: Reduced) -> Params:
        """Return the parameters to begin with: every target word alike, whatever the source word.

        Equal rows would not be that: a rare word stands together with few others, and would claim them. A variational
        lexicon begins with what such a table leads to.
        """
        if self.dirichlet is None:
            return model.blank()
        leaves = {
            name: Translations(leaf.firsts, leaf.n_words, leaf.run) if isinstance(leaf, Translations) else leaf
            for name, leaf in model.leaves.items()
        }
        plain = WordModel(model.structure, leaves)
        [step] = evaluate(plain, Reduced(data.chunks, path=PooledPath(plain)), [plain.blank()], SOFT)
        return model.improved(step)

    def _leaves(
        self, kind: int, ready: Sequence[Sides], run: Run = map, spend: bool = False
    ) -> tuple[Sides | Both, dict[str, Leaf]]:
        """Return the corpus for one kind of place, and the leaves of its model."""
        found: list[Sides] = []
        leaves: dict[str, Leaf] = {}
        for prefix, one in zip(PREFIXES, ready, strict=False):
            sides, cells = with_cells(one, kind)
            found.append(sides)
            leaves[f"{prefix}lexicon"] = self._lexicon(one, run, spend)
            place = place_of(kind, cells, self.max_jump, self.p_null, self.null)
            if place is not None:
                leaves[f"{prefix}place"] = place
        return (found[0] if len(found) == 1 else Both(*found)), leaves

    # ---- what came out -------------------------------------------------------------------------------------------

    def _publish(self, last: Sequence[Stage], ready: dict[str, Prepared]) -> None:
        self._learned: dict[str, Direction] = {}
        for stage in last:
            for prefix, name in zip(PREFIXES, stage.directions, strict=False):
                self._learned[name] = _learned(stage, prefix, ready[name])
        self.loglik_ = float(sum(stage.loglik for stage in last))
        self.objective_ = float(sum(stage.search.best.objective for stage in last))
        traces = [stage.search.best.trace for stage in last]
        longest = max(map(len, traces))
        self.trace_ = np.sum([[*t, *[t[-1]] * (longest - len(t))] for t in traces], axis=0).tolist()
        self.n_iter_ = max(stage.search.best.n_passes for stage in last)
        self.stop_reason_ = last[0].search.best.reason
        self.converged_ = all(stage.search.best.reason in CONVERGED for stage in last)
        for stage in last:
            warn_of_end(self, stage.search)
        log.info("aligned %d pairs: %s", self._n_pairs, self.stop_reason_)

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
        Haus: house 1.00
        das: the 1.00
        ein: a 1.00
        """
        check_is_fitted(self)
        lines = []
        for name, one in self._learned.items():
            if self.model == "diagonal":
                lines.append(f"{name}: tension {one.place[1]:.2f}, {one.place[0]:.0%} of the words have no source")
            elif self.model == "hmm":
                shares = ", ".join(f"{d:+d} {c:.0%}" for d, c in self.jumps_[name].items() if c >= SHOWN_JUMP)
                lines.append(f"{name}: jumps {shares}; {one.place[0]:.0%} of the words have no source")
        lines += [f"{word}: {', '.join(f'{f} {p:.2f}' for f, p in found)}" for word, found in self._frequent()]
        return "\n".join(lines)

    def _frequent(self, n: int = 10) -> list[tuple[str, list[tuple[str, float]]]]:
        """Return the words that stand together with most others, each with its best translations."""
        reverse = "forward" not in self._learned
        rows = self._learned["reverse" if reverse else "forward"].rows
        words = self.target_words_ if reverse else self.source_words_
        chosen = np.sort(np.argsort(-rows.sizes[1:], kind="stable")[:n])
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

    def _need(self, model: str) -> None:
        check_is_fitted(self)
        if self.model != model:
            raise AttributeError(f"a model={self.model!r} has none; model={model!r} has.")

    # ---- model files ---------------------------------------------------------------------------------------------

    def _state(self) -> State:
        from halfseen.estimators.word_state import taken

        return taken(self)

    @classmethod
    def _from_state(cls, state: State) -> Self:
        from halfseen.estimators.word_state import restored

        return restored(cls, state)


class Stage(NamedTuple):
    """One model of the sequence, trained in one direction or in both."""

    directions: tuple[str, ...]
    word: str
    model: WordModel
    search: Search
    loglik: float


def _spends(plan: Plan) -> bool:
    """Whether nobody looks at the statistics of a step once its parameters were improved: their memory is free."""
    return plan.rule is never and plan.assign.mode == "soft"


def _forget(chain: Chain) -> None:
    """Drop what nobody asks for once a chain has ended, for its memory: its statistics, and what would be next."""
    chain.step = replace(chain.accepted, expected=replace(chain.accepted.expected, stats=np.zeros(0)))
    chain.params = chain.accepted.params


def _learned(stage: Stage, prefix: str, ready: Prepared) -> Direction:
    params, leaf = stage.search.best.accepted.params, stage.model.leaves[f"{prefix}lexicon"]
    rows, table = turned(ready, np.ascontiguousarray(leaf.prepare(params[f"{prefix}lexicon"])[0]))
    return Direction(rows, frozen(table), frozen(params.get(f"{prefix}place", np.zeros(0))))


def _lexicons(stage: Stage) -> dict[str, Params]:
    """Return the lexicon of each direction."""
    params = stage.search.best.accepted.params
    return {name: params[f"{prefix}lexicon"] for prefix, name in zip(PREFIXES, stage.directions, strict=False)}


def _told(stage: Stage) -> dict[str, Any]:
    """Return what is kept of every stage; its parameters are large."""
    best = stage.search.best
    return {
        "model": stage.word,
        "direction": " and ".join(stage.directions),
        "n_iter": best.n_passes,
        "objective": best.objective,
        "trace": list(best.trace),
    }
