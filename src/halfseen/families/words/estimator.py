"""Word alignment: links between the words of sentences and of their translations, found by EM."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from halfseen.assign import SOFT
from halfseen.data import check_sequence_weight
from halfseen.data.memory import read_memory
from halfseen.engine.loop.model import Reduced
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.search import Plan, Search, fit
from halfseen.engine.services.checkpoint import current, evaluate
from halfseen.engine.services.interrupt import deferred_interrupt
from halfseen.errors import DataError, ParameterError
from halfseen.estimators import convergence, options
from halfseen.estimators.rollback import rollback_on_error
from halfseen.estimators.state import Origin
from halfseen.families.words import state
from halfseen.families.words.bitext import Bitext, encode_pairs, read_links, where_links, where_pairs
from halfseen.families.words.corpus import (
    ANY,
    Prepared,
    check_known,
    place_of,
    prepared,
    reversed_text,
    turned,
    with_cells,
    with_known,
)
from halfseen.families.words.methods import DIRECTIONS, KINDS, Direction, WordAlignerMethods
from halfseen.families.words.model import PooledPath, WordModel, n_blocks, one_chunk, pair_chunks
from halfseen.families.words.symmetrize import HEURISTICS
from halfseen.leaves import Leaf
from halfseen.leaves.leaf import Floats, frozen
from halfseen.leaves.limits import Params
from halfseen.leaves.translations import DirichletTranslations, Translations
from halfseen.runners import runner
from halfseen.seeds import seed_of
from halfseen.structures.links import PARTS, UNIFORM, Agreed, Both, Links, Runner, Sides

log = logging.getLogger("halfseen")

BEFORE = {"ibm1": ("ibm1",), "diagonal": ("ibm1", "diagonal"), "hmm": ("ibm1", "hmm")}
PREFIXES = ("", "back_")  # of the names of leaves, where both directions are trained together
MOST_NAMED = 5  # positions that a message names
STEP = 2  # bytes that the cell of a link takes


class KnownLinks(NamedTuple):
    """Known links of every pair, and a function that gives their position for messages."""

    links: list[Any]
    where: Callable[[int], str]


@options.with_hints
@dataclass(eq=False, repr=False)
class WordAligner(WordAlignerMethods):
    """Link the words of sentences to the words of their translations, by expectation-maximization.

    Pairs of sentences are observed; which word translates which is hidden. Every target word comes from one source word
    or from none, NULL; the lexicon t(target | source) and the model of word order are learned from all pairs.

    Parameters
    ----------
    model : {"hmm", "diagonal", "ibm1"}, default "hmm"
        Where the source word of a target word may be. "ibm1": anywhere with equal probability (IBM Model 1).
        "diagonal": near the diagonal (IBM Model 2 with one tension parameter). "hmm": near the source word of the
        neighbour. The last two start with the lexicon of Model 1.
    sequence : sequence of models, optional
        The models to train one after the other, each beginning with the lexicon of the one before; ends with `model`.
    direction : {"both", "forward", "reverse"}, default "both"
        Forward: each target word has one source word. Reverse: each source word has one target word.
    agreement : bool, optional
        Let both directions count a link by the product of their probabilities: they learn to agree. What is left of a
        word is NULL's, so there must be NULL. By default so in both directions with assign="soft" and NULL. Such
        training has no objective of its own that never falls. With `dirichlet` they agree from the second model on.
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
        Ignore case.
    assign : {"soft", "hard", "sample"}, default "soft"
        How the E-step completes hidden values: in expectation, by the most probable completion, or by a draw. Hidden
        are the links.
    draws : int, default 1
        With assign="sample": use the mean of this many draws (Monte Carlo EM).
    max_iter : int, default 5
        Maximum number of iterations (passes over the data) for each model of the sequence.
    stop : {"gain", "counts", "parameters", "assignments", "iterations"}, default "iterations"
        When to stop: when the estimated remaining gain of the objective, the largest change of an expected count, or
        the largest change of a parameter is below `tol`; when no assignment changed (hard); or after `max_iter`
        iterations. Sampled fits always make `max_iter` iterations, and estimate from the mean statistics of the second
        half.
    tol : float, default 1e-8
        Convergence threshold: of the estimated remaining gain of the total log-likelihood (not per row), unless another
        rule is chosen to stop by. It holds for the best start; starts are compared at 1e-4. Not used with
        stop="iterations".
    memory : int or str, optional
        Beyond this ("2GB") the words of the corpus, and which links are possible, lie in temporary files; by default
        half of the free memory. The lexicon stays in memory.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number.
    random_state : int, RandomState or Generator, optional
        Seed. The same seed gives the same bits on the same machine.

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
    >>> [(word, round(chance, 2)) for word, chance in aligner.translations("Haus", 1)]
    [('house', 0.97)]
    """

    model: str = "hmm"
    _: KW_ONLY
    sequence: Sequence[str] | None = None
    direction: str = "both"
    agreement: bool | None = None
    symmetrize: str = "grow-diag-final-and"
    dirichlet: float | None = None
    null: bool = True
    p_null: float | None = None
    max_jump: int = 7
    lowercase: bool = False
    assign: str = "soft"
    draws: int = 1
    max_iter: int = 5
    stop: str = "iterations"
    tol: float = 1e-8
    memory: int | str | None = None
    n_jobs: int | None = None
    random_state: Any = None

    _state_module = state
    _deviations: ClassVar[options.Deviations] = {
        "max_iter": options.Deviation(
            "as usual for word alignment: more iterations overfit",
            default=5,
            text="Maximum number of iterations (passes over the data) for each model of the sequence.",
        ),
        "stop": options.Deviation("as usual for word alignment: a few iterations, all of them", default="iterations"),
    }

    def _check_options(self) -> None:
        super()._check_options()
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
            raise ParameterError("p_null=0: use null=False for a model without NULL.")
        if self.p_null is not None and not self.null:
            raise ParameterError("p_null= cannot be used with null=False.")
        options.whole("max_jump", self.max_jump)
        if self.agreement is not None and options.flag("agreement", self.agreement):
            if self.direction != "both":
                raise ParameterError(f"agreement=True needs direction='both', got {self.direction!r}.")
            if self.assign != "soft":
                raise ParameterError(f"agreement=True needs assign='soft', got {self.assign!r}.")
            if not self.null:
                raise ParameterError(
                    "agreement=True needs null=True: NULL gets the words on which the directions disagree. Use "
                    "agreement=False to train them separately."
                )

    def _check_symmetry(self) -> None:
        """Refuse to combine directions if one is fitted; model files of such fits can be read."""
        if self.direction != "both" and self.symmetrize not in (self.direction, WordAligner().symmetrize):
            raise ParameterError(f"symmetrize={self.symmetrize!r} needs direction='both', got {self.direction!r}.")

    def _sequence(self) -> tuple[str, ...]:
        if self.sequence is None:
            return BEFORE[self.model]
        if not isinstance(self.sequence, str | Sequence):
            raise ParameterError(f"sequence={self.sequence!r} is not a list of models, such as ['ibm1', 'hmm'].")
        return (self.sequence,) if isinstance(self.sequence, str) else tuple(self.sequence)

    @property
    def _agrees(self) -> bool:
        """Whether the directions are trained to agree; with a prior not in Model 1 alone, see `_agrees_in`."""
        if self.agreement is not None:
            return self.agreement
        several = self.dirichlet is None or len(self._sequence()) > 1
        return self.direction == "both" and self.assign == "soft" and self.null and several

    @property
    def _soft_estimate(self) -> str:
        if self._agrees:  # which has no objective of its own
            return "trained to agree"
        return "maximum likelihood" if self.dirichlet is None else "variational posterior"

    def _agrees_in(self, number: int) -> bool:
        """Whether the directions agree in one model of the sequence.

        In the first model the product of two vague probabilities is far below one, and a Dirichlet prior with many
        cells treats such a count as zero: NULL would get everything. So with a prior each first learns its lexicon.
        """
        return self._agrees and (self.dirichlet is None or number > 0 or len(self._sequence()) == 1)

    # ---- fit -----------------------------------------------------------------------------------------------------

    @rollback_on_error
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
            Pairs (source, target), each a list of words or a text separated by blanks; or lines `source ||| target`;
            or the path of a file of such lines. With `target`: source sentences, or the path of a file with one in
            each line. Files may be compressed (.gz).
        target : list or path, optional
            The translations, one for each source sentence.
        links : list or path, optional
            Links that are known, for each pair: None, or a list of (source index, target index) counted from 0, or a
            text `0-0 1-2`. A word with known links has no others; (None, j) says that target word j has none.
        sample_weight : (B,) array, optional
            Weight of each pair.
        """
        self._check_options()
        self._check_symmetry()
        memory_limit = read_memory(self.memory)
        text = encode_pairs(pairs, target, lowercase=self.lowercase, memory_limit=memory_limit // 8)
        weight = check_sequence_weight(sample_weight, text.n_pairs)[text.filled]
        if len(weight) and not weight.any():
            raise DataError("sample_weight: all pairs with words on both sides have weight 0: there is nothing to fit.")
        known = None if links is None else KnownLinks(read_links(links, nulls=True), partial(where_links, links))
        self.events_: list[str] = []
        self._check_pairs(text, known, partial(where_pairs, pairs))
        seed = seed_of(self.random_state)
        self._origin = Origin.now(None, seed)
        ready = {name: self._prepared(text, name, known, memory_limit // 8) for name in self._directions()}
        self.source_words_, self.target_words_ = text.source_words, text.target_words
        self._n_pairs = text.n_pairs
        self._longest = {name: int(one.sides.pairs[:, 1].max()) for name, one in ready.items()}
        del text  # no longer needed: frees memory
        found = self._trained(ready, weight, options.plan(self, seed, accelerate=False))
        self._publish(found, ready)
        return self

    def _directions(self) -> tuple[str, ...]:
        return ("forward", "reverse") if self.direction == "both" else (self.direction,)

    def _check_pairs(self, text: Bitext, known: KnownLinks | None, where: Callable[[Sequence[int]], str]) -> None:
        """Refuse a corpus without pairs, and invalid links; note pairs with an empty side."""
        kept = text.filled
        if not len(kept):
            raise DataError(f"there are {text.n_pairs} pairs, but none with words on both sides.")
        if len(kept) < text.n_pairs:
            empty = np.setdiff1d(np.arange(text.n_pairs), kept)
            named = where(empty[:MOST_NAMED].tolist()) + (", ..." if len(empty) > MOST_NAMED else "")
            self.events_.append(f"{len(empty)} of {text.n_pairs} pairs have an empty side and are ignored: {named}")
        if known is None:
            return
        if len(known.links) != text.n_pairs:
            raise DataError(
                f"links: there are {len(known.links)} lists for {text.n_pairs} pairs. Give one for each, or None."
            )
        check_known(text, *known)

    def _prepared(self, text: Bitext, direction: str, known: KnownLinks | None, memory_limit: int = ANY) -> Prepared:
        ready = prepared(text if direction == "forward" else reversed_text(text), self.null, memory_limit)
        if known is None:
            return ready
        sides = with_known(ready.sides, text.filled, known.links, direction == "reverse", known.where, memory_limit)
        return ready._replace(sides=sides)

    def _lexicon(self, sides: Sides, run: Runner, spend: bool) -> Translations:
        if self.dirichlet is None:
            return Translations(sides.firsts, sides.n_words, run, spend)
        return DirichletTranslations(sides.firsts, sides.n_words, self.dirichlet, run, spend)

    def _trained(self, ready: dict[str, Prepared], weight: Floats, plan: Plan) -> list[Stage]:
        """Train the models in sequence, both directions together if they must agree; return the last ones."""
        before: dict[str, Params] = dict.fromkeys(ready)
        self.stages_ = []
        last: list[Stage] = []
        for number, word in enumerate(self._sequence()):
            last = []
            for names in [tuple(ready)] if self._agrees_in(number) else [(name,) for name in ready]:
                more = number + 1 < len(self._sequence()) or names[-1] != tuple(ready)[-1]
                stage = self._trained_one(word, {name: ready[name] for name in names}, before, weight, plan, more)
                before |= _lexicons(stage)
                self.stages_.append(_stage_record(stage))
                last.append(stage)
                del stage  # it is large
        return last

    def _trained_one(
        self, word: str, ready: dict[str, Prepared], before: dict[str, Params], weight: Floats, plan: Plan, more: bool
    ) -> Stage:
        """Train one model in one direction, or in both together; removes its start parameters from `before`.

        Unless there are `more` to come, an interrupt keeps the model: it waits for the end of the pass, because a pass
        overwrites the parameters accepted before it.
        """
        kind = KINDS[word]
        # workers share every chunk; chunks are processed in turn
        with deferred_interrupt(plan.plain and not more) as asked, runner(self.n_jobs, PARTS) as run:
            sides, leaves = self._leaves(kind, [one.sides for one in ready.values()], run, plan.plain)
            model = WordModel(Agreed(kind, run) if len(ready) > 1 else Links(kind, run), leaves)
            path = PooledPath(model, plan.plain, asked)
            data = Reduced(self._chunks(sides, kind, weight, plan, run), path=path)
            # lexicons are large: only the search holds the first ones, and releases them
            first = self._start(model, data, [before.pop(name) for name in ready])
            checkpoint = current() if plan.plain else None
            position = None if checkpoint is None else checkpoint.position(model, data, plan.max_iter)
            starts = [path.held(first if position is None else position.params)]
            trace = None if position is None else position.trace
            del first, position
            search = fit(model, data, starts, plan, trace)
            del starts
            model.structure.room.clear()  # a worker of an interrupted pass may still write there
            if (search.interrupted and more) or asked.times > 1:
                raise KeyboardInterrupt  # no model of this kind yet, or a second interrupt
            search = replace(search, interrupted=search.interrupted or asked.times > 0)
            if search.interrupted and plan.plain and path.begun is not search.best.accepted.params:
                _complete_pass(search.best, model, data)
            _release(search.best)
            loglik = search.best.accepted.loglik
            if plan.assign.mode != "soft":
                loglik = evaluate(model, data, [search.best.accepted.params], SOFT)[0].loglik
                model.structure.room.clear()
        return Stage(tuple(ready), word, model, search, loglik)

    def _chunks(self, sides: Sides | Both, kind: int, weight: Floats, plan: Plan, run: Runner) -> Sequence[Any]:
        """Return the corpus in blocks; Model 1 in one direction needs no link probabilities, and one block."""
        one = sides if isinstance(sides, Sides) else sides.ahead
        n_links = int((one.pairs[:, 1] * one.pairs[:, 3]).sum())
        if isinstance(sides, Sides) and kind == UNIFORM and plan.assign.mode == "soft" and not len(sides.allowed):
            fits = STEP * n_links <= read_memory(self.memory) // 8
            return one_chunk(sides, weight, run if fits else None)
        return pair_chunks(sides, weight, n_blocks(n_links, len(one.columns)))

    def _start(self, model: WordModel, data: Reduced, before: Sequence[Params]) -> Params:
        """Return the start parameters: the lexicons of the previous model, or uniform."""
        if before[0] is None:
            return self._uniform(model, data)
        known = {f"{prefix}lexicon": lexicon for prefix, lexicon in zip(PREFIXES, before, strict=False)}
        return {name: known[name] if name in known else leaf.blank() for name, leaf in model.leaves.items()}

    def _uniform(self, model: WordModel, data: Reduced) -> Params:
        """Return the start parameters: every target word equally probable for every source word.

        Uniform rows of the sparse table would differ: a rare word occurs with few others and would get all of their
        probability. A variational lexicon starts with the posterior that such a table leads to.
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
        self, kind: int, ready: Sequence[Sides], run: Runner = map, spend: bool = False
    ) -> tuple[Sides | Both, dict[str, Leaf]]:
        """Return the corpus for one model of word order, and the leaves of its model."""
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

    # ---- results -------------------------------------------------------------------------------------------------

    def _publish(self, last: Sequence[Stage], ready: dict[str, Prepared]) -> None:
        self._learned: dict[str, Direction] = {}
        for stage in last:
            for prefix, name in zip(PREFIXES, stage.directions, strict=False):
                self._learned[name] = _learned(stage, prefix, ready[name])
        self.loglik_ = float(sum(stage.loglik for stage in last))
        self.objective_ = float(sum(stage.search.best.objective for stage in last))
        traces = [stage.search.best.trace for stage in last]
        longest = max(map(len, traces))
        trace = np.sum([[*t, *[t[-1]] * (longest - len(t))] for t in traces], axis=0).tolist()
        reasons = [stage.search.best.reason for stage in last]
        unsettled = [reason for reason in reasons if reason not in convergence.CONVERGED]
        n_iter = max(stage.search.best.n_passes for stage in last)
        convergence.record_end(self, trace, n_iter, (unsettled or reasons)[-1])
        convergence.warn_of_end(self, last[-1].search.interrupted)  # an interrupt in an earlier model ends the fit
        log.info("aligned %d pairs: %s", self._n_pairs, self.stop_reason_)


class Stage(NamedTuple):
    """One model of the sequence, trained in one direction or in both."""

    directions: tuple[str, ...]
    word: str
    model: WordModel
    search: Search
    loglik: float


def _complete_pass(run: EMRun, model: WordModel, data: Reduced) -> None:
    """Run one more pass to accept the parameters of an interrupted pass, which overwrote those accepted before it.

    Not needed for an interrupt that waited for the end of its pass.
    """
    [run.step] = evaluate(model, replace(data, path=PooledPath(model)), [run.params])
    run.trace.append(run.objective)
    run.n_passes += 1


def _release(run: EMRun) -> None:
    """Release the memory of what is not needed once a run has stopped: its statistics and next parameters."""
    run.step = replace(run.accepted, expected=replace(run.accepted.expected, stats=np.zeros(0)))
    run.params, run.last = run.accepted.params, None


def _learned(stage: Stage, prefix: str, ready: Prepared) -> Direction:
    params, leaf = stage.search.best.accepted.params, stage.model.leaves[f"{prefix}lexicon"]
    rows, table = turned(ready, np.ascontiguousarray(leaf.prepare(params[f"{prefix}lexicon"])[0]))
    return Direction(rows, frozen(table), frozen(params.get(f"{prefix}place", np.zeros(0))))


def _lexicons(stage: Stage) -> dict[str, Params]:
    """Return the lexicon of each direction."""
    params = stage.search.best.accepted.params
    return {name: params[f"{prefix}lexicon"] for prefix, name in zip(PREFIXES, stage.directions, strict=False)}


def _stage_record(stage: Stage) -> dict[str, Any]:
    """Return the record of a stage, without its large parameters."""
    best = stage.search.best
    return {
        "model": stage.word,
        "direction": " and ".join(stage.directions),
        "n_iter": best.n_passes,
        "objective": best.objective,
        "trace": list(best.trace),
    }
