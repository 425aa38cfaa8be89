"""Probabilistic context-free grammars, learned by EM from sentences with hidden trees."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from halfseen.assign import SOFT
from halfseen.data import check_sequence_weight
from halfseen.engine.loop.search import Starts, fit
from halfseen.engine.services.checkpoint import evaluate, lasting_seed
from halfseen.errors import DataError, ParameterError
from halfseen.estimators import convergence, options
from halfseen.estimators.rollback import rollback_on_error
from halfseen.estimators.state import Origin
from halfseen.families.grammar import reading, state
from halfseen.families.grammar.methods import GrammarMethods
from halfseen.families.grammar.model import ContextFree
from halfseen.families.grammar.reading import GivenGrammar
from halfseen.families.grammar.sentence_file import SentenceFile, Streamed
from halfseen.families.grammar.sentences import Here, Parsable, Training
from halfseen.families.grammar.state import GrammarRecipe
from halfseen.leaves.leaf import NO_MASS, frozen
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.runners.frames import cluster_of, is_held
from halfseen.seeds import child, seed_of
from halfseen.structures.grammar import Grammar
from halfseen.structures.rules import rule_text, symbol_text
from halfseen.structures.trees import Tree, Word, read_trees

log = logging.getLogger("halfseen")

LOST = ("error", "skip")


def _check_prior(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        options.pseudo_counts(name, value, words=("lhs",))


@options.with_hints
@dataclass(eq=False, repr=False)
class PCFG(GrammarMethods):
    """Learn the probabilities of the rules of a grammar from sentences, by expectation-maximization.

    A sentence has a probability under every tree that the rules allow; which tree it has is hidden:

        p(sentence) = sum over its trees of prod over their nodes of p(rule)

    Rules may have right-hand sides of any length, of symbols and words in any order. Chains of unary rules are summed
    over exactly, also if they form cycles. Empty productions are refused.

    Parameters
    ----------
    grammar : str
        Rules in NLTK's syntax: ``"S -> NP VP [1.0]"``, words in quotes, alternatives behind ``|``. Probabilities may be
        left out: such rules start with random shares of what the others leave. The first left-hand side is the top of
        every tree, unless ``%start`` names another.
    assign : {"soft", "hard", "sample"}, default "soft"
        How the E-step completes hidden values: in expectation, by the most probable completion, or by a draw. Hidden
        are the trees: "soft" is inside-outside, "hard" Viterbi training, and "sample" draws trees from the top down.
    draws : int, default 1
        With assign="sample": use the mean of this many draws (Monte Carlo EM).
    prior : float, "lhs", mapping or None, default "lhs"
        Pseudo-counts added to the expected counts. A number: as many for each rule. "lhs": one for each left-hand side,
        spread evenly over its rules. A mapping: by rule or by left-hand side. None: maximum likelihood. For example
        {"NP": 0.5, "VP -> V NP": 2}. Rules with probability 0 in the grammar stay so.
    fixed : list of str, optional
        Parameters that keep their start value exactly, by name. Rules, or left-hand sides for all of their rules, with
        a probability in `grammar`.
    unknown : str, default "unparsable"
        What to do with words that the grammar does not have. "unparsable": a sentence with one has no parse. "missing":
        as if the word had not been seen, with a warning. Any word of the grammar, such as "<unk>": it stands for them.
    on_unparsable : {"error", "skip"}, default "error"
        A sentence without a parse: an error that names it, or leave it out and note it in `events_`.
    n_init : int or "auto", default "auto"
        Number of starts, each run on its own; those that clearly end below the best are dropped. "auto": 16, doubled up
        to 128 until three of them reach the best log-likelihood (within 0.001). One where the grammar gives every
        probability.
    stop : {"gain", "counts", "parameters", "assignments", "iterations"}, default "gain"
        When to stop: when the estimated remaining gain of the objective, the largest change of an expected count, or
        the largest change of a parameter is below `tol`; when no assignment changed (hard); or after `max_iter`
        iterations. Sampled fits always make `max_iter` iterations, and estimate from the mean statistics of the second
        half.
    tol : float, default 1e-8
        Convergence threshold: of the estimated remaining gain of the total log-likelihood (not per row), unless another
        rule is chosen to stop by. It holds for the best start; starts are compared at 1e-4.
    max_iter : int, default 1000
        Maximum number of iterations (passes over the data) for each start.
    method : {"em", "gradient", "lbfgs"}, default "em"
        How the objective is maximised: by EM, by its gradient with an adaptive rate, or by L-BFGS (the last two need
        assign="soft"). All have the same optima.
    accelerate : bool, default True
        Accelerate soft EM by squared extrapolation (SQUAREM); the objective still never falls.
    anneal : sequence of float, optional
        Deterministic annealing: rising inverse temperatures in (0, 1), such as (0.4, 0.6, 0.8), with 10 iterations at
        each before the fit.
    n_jobs : int, optional
        Number of threads; -1 is all cores. Results are the same, bit for bit, with any number. Work is divided by
        sentences.
    random_state : int, RandomState or Generator, optional
        Seed. The same seed gives the same bits on the same machine.

    Attributes
    ----------
    rules_ : list of str             rules as text
    probabilities_ : dict            by rule
    counts_ : dict                   expected uses of each rule in the training sentences
    loglik_ : float                  log-likelihood of the sentences that have a parse
    unparsable_ : list of int        sentences that had none
    objective_, trace_, n_iter_, converged_, stop_reason_, restarts_, events_ : as in `LatentClass`

    Examples
    --------
    >>> import halfseen as hs
    >>> grammar = hs.PCFG.from_string(
    ...     '''
    ...     S -> NP VP [1.0]
    ...     VP -> V NP [0.7] | VP PP [0.3]
    ...     NP -> NP PP [0.4] | 'astronomers' [0.1] | 'ears' [0.18] | 'saw' [0.04] | 'stars' [0.18] | 'telescopes' [0.1]
    ...     PP -> P NP [1.0]
    ...     P -> 'with' [1.0]
    ...     V -> 'saw' [1.0]
    ...     '''
    ... )
    >>> sentence = "astronomers saw stars with ears"
    >>> float(grammar.score_samples([sentence])[0]).__round__(4), grammar.n_parses(sentence)
    (-6.4455, 2)
    >>> print(grammar.parse(sentence).tree)
    (S (NP astronomers) (VP (V saw) (NP (NP stars) (PP (P with) (NP ears)))))
    >>> fitted = grammar.fit([sentence, "astronomers saw telescopes"])
    >>> round(fitted.probabilities_["VP -> VP PP"], 3)
    0.357
    """

    grammar: Any = None
    _: KW_ONLY
    assign: str = "soft"
    draws: int = 1
    prior: float | str | Mapping[str, float] | None = "lhs"
    fixed: Collection[str] | None = ()
    unknown: str = "unparsable"
    on_unparsable: str = "error"
    n_init: int | str = "auto"
    stop: str = "gain"
    tol: float = 1e-8
    max_iter: int = 1000
    method: str = "em"
    accelerate: bool = True
    anneal: Sequence[float] = ()
    n_jobs: int | None = None
    random_state: Any = None

    _state_module = state
    _deviations: ClassVar[options.Deviations] = {
        "prior": options.Deviation(
            "rules have no pseudo-row, and may have pseudo-counts of their own",
            default="lhs",
            type='float, "lhs", mapping or None',
            text='Pseudo-counts added to the expected counts. A number: as many for each rule. "lhs": one for each '
            "left-hand side, spread evenly over its rules. A mapping: by rule or by left-hand side. None: maximum "
            "likelihood.",
            check=_check_prior,
        ),
    }

    # ---- without sentences ---------------------------------------------------------------------------------------

    @classmethod
    def from_string(cls, text: str, **options: Any) -> Self:
        """Build a grammar from text in NLTK's syntax; it can parse at once, or be fitted.

        Parameters
        ----------
        text : str
        options : of the constructor
            If probabilities are left out, `random_state` is the seed of the random ones to start from.

        Examples
        --------
        >>> import halfseen as hs
        >>> grammar = hs.PCFG.from_string("S -> 'a' S [0.25] | 'a'")
        >>> {rule: round(share, 6) for rule, share in grammar.probabilities_.items()}
        {"S -> 'a' S": 0.25, "S -> 'a'": 0.75}
        """
        return cls(text, **options)._begun()

    @classmethod
    def from_trees(cls, trees: Any, *, start: str | None = None, **options: Any) -> Self:
        """Read a grammar from trees: its rules are those used in them, with their relative frequencies.

        Parameters
        ----------
        trees : list of Tree or of str, or str
            In brackets: ``"(S (NP dogs) (VP bark))"``; a text may contain several.
        start : str, optional
            The symbol at the top; that of the trees by default.
        options : of the constructor

        Examples
        --------
        >>> import halfseen as hs
        >>> grammar = hs.PCFG.from_trees("(S (NP dogs) (VP bark)) (S (NP cats) (VP bark)) (S (NP dogs) (VP sleep))")
        >>> grammar.probabilities_["NP -> 'dogs'"]
        0.6666666666666666
        """
        counts: dict[tuple[str, tuple[str | Word, ...]], int] = {}
        tops: dict[str, None] = {}
        for tree in _trees(trees):
            tops[tree.label] = None
            for rule in tree.rules():
                counts[rule] = counts.get(rule, 0) + 1
        if not counts:
            raise DataError("there are no trees.")
        if start is None and len(tops) > 1:
            raise DataError(f"the trees have different symbols at the top: {', '.join(tops)}. Choose one with start=.")
        totals: dict[str, int] = {}
        for (left, _), count in counts.items():
            totals[left] = totals.get(left, 0) + count
        lines = [f"{_writable(left, right)} [{count / totals[left]!r}]" for (left, right), count in counts.items()]
        return cls.from_string("\n".join([f"%start {symbol_text(start or next(iter(tops)))}", *lines]), **options)

    @classmethod
    def random(
        cls, n_symbols: int, words: Iterable[str], *, n_preterminals: int | None = None, **options_of: Any
    ) -> Self:
        """Build a grammar with all rules over `n_symbols` symbols and random probabilities.

        Parameters
        ----------
        n_symbols : int
            Symbols "S", "X1", "X2", ...; every pair of symbols may be below each of them.
        words : list of str
        n_preterminals : int, optional
            Put words only below this many extra symbols, "P0", "P1", ...; by default words may be below all.
        options_of : of the constructor, `random_state` among them

        Examples
        --------
        >>> import halfseen as hs
        >>> hs.PCFG.random(2, ["a", "b"], random_state=0).rules_[:3]
        ['S -> S S', 'S -> S X1', 'S -> X1 S']
        """
        names = ["S", *(f"X{m}" for m in range(1, options.whole("n_symbols", n_symbols)))]
        below = (
            [] if n_preterminals is None else [f"P{m}" for m in range(options.whole("n_preterminals", n_preterminals))]
        )
        ends = [(Word(str(word)),) for word in dict.fromkeys(words)]
        if not ends:
            raise ParameterError("words is empty.")
        every = [*names, *below]
        lines = [f"{a} -> {b} {c}" for a in names for b in every for c in every]
        lines += [_writable(a, end) for a in below or names for end in ends]
        return cls.from_string("\n".join(lines), **options_of)

    def _begun(self) -> Self:
        """Set the start probabilities of the rules, without sentences."""
        self._check_options()
        given = reading.read_given(self.grammar)
        self._grammar = given.grammar
        recipe = self._make_recipe()
        self._model, self._recipe = recipe.model(given.grammar), recipe
        reading.check_unknown(given.grammar, self.unknown)
        rng = np.random.default_rng(child(seed_of(self.random_state), 0, 0))
        self._params = {"rules": frozen(reading.filled(given, rng))}
        given.grammar.closure(np.append(self._params["rules"][0], 1.0))  # refuse unary chains with infinite sums
        return self

    # ---- fit -----------------------------------------------------------------------------------------------------

    @rollback_on_error
    def fit(
        self,
        sentences: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        brackets: Any = None,
        tags: Any = None,
    ) -> Self:
        """Fit to sentences.

        Parameters
        ----------
        sentences : list of str, or of lists of words
            Texts are split at blanks. A word that is None is missing. Or a column of a Dask or Spark frame: a series
            of Dask, or a frame with one column beside those named below.
        y : ignored
        sample_weight : (S,) array, optional
            Weight of each sentence. Of a frame the name of a column, as for brackets and tags.
        brackets : list, optional
            Known phrases of each sentence, or None: spans (start, end), end excluded; a text
            ``"(the dog) barks"``; or a `Tree`, whose labels are ignored. No phrase of a tree may cross them.
        tags : list, optional
            Known symbols directly above the words of each sentence: "Det N V", or a list with a symbol,
            a set of symbols, or None for each word.
        """
        self._check_options()
        given = reading.read_given(self.grammar)
        grammar, recipe, seed = given.grammar, self._make_recipe(), lasting_seed(self.random_state)
        model = recipe.model(grammar)
        training = self._opened(grammar, sentences, sample_weight, brackets, tags)
        starts = self._starts(model, given, child(seed, 0))
        self.events_: list[str] = []
        first = starts.draw(0)
        used = training.parsable(np.append(first["rules"][0] > 0, True))
        self._note_lost(used)
        data = used.data
        with runner(self.n_jobs, len(data.chunks)) as run:
            search = fit(model, data, starts, options.plan(self, seed, run))
            accepted = search.best.accepted
            [step] = evaluate(model, data, [accepted.params], SOFT, run)
        self._grammar, self._model, self._recipe = grammar, model, recipe
        self._params, self._stats = accepted.params, step.expected.stats
        self.loglik_ = accepted.loglik if self.assign == "soft" else step.loglik
        self._n_rows = used.mass
        self._first = first["rules"]
        self._note_unused()
        self._origin = Origin.now(training.fingerprint, seed)
        convergence.record(self, search)
        convergence.warn_of_end(self, search.interrupted)
        log.info("fitted %d rules to %d sentences: %s", grammar.n_cells, len(training), self.stop_reason_)
        return self

    def _opened(self, grammar: Grammar, sentences: Any, sample_weight: Any, brackets: Any, tags: Any) -> Training:
        """Read sentences, here or where they are."""
        self.__dict__.pop("_column", None)
        if isinstance(sentences, SentenceFile):
            return Streamed(grammar, sentences, reading.check_unknown(grammar, self.unknown))
        if not is_held(sentences):
            corpus = reading.read_corpus(grammar, sentences, brackets, tags, self.unknown)
            return Here(grammar, corpus, check_sequence_weight(sample_weight, len(corpus)))
        from halfseen.families.grammar import lanes

        frame = lanes.framed(sentences)
        cluster = cluster_of(frame)
        layout = lanes.layout_of(frame, cluster, sample_weight, brackets, tags, None)
        self._column = layout.sentence
        return lanes.Elsewhere(cluster, layout, grammar, reading.check_unknown(grammar, self.unknown))

    def _check_options(self) -> None:
        super()._check_options()
        options.one_of("on_unparsable", self.on_unparsable, LOST)

    def _make_recipe(self) -> GrammarRecipe:
        """Return what the options say of the rules."""
        prior = dict(self.prior) if isinstance(self.prior, Mapping) else self.prior
        return GrammarRecipe(prior, options.listed("fixed", self.fixed))

    def _starts(self, model: ContextFree, given: GivenGrammar, seed: np.random.SeedSequence) -> Starts:
        """Return the probabilities that the restarts begin with."""
        grammar, absent = given.grammar, np.isnan(given.probabilities)
        if grammar.is_cyclic and self.anneal:
            raise ParameterError("anneal= cannot be used with cycles of unary rules.")
        if self.fixed:
            cells = reading.read_cells("fixed", self.fixed, grammar)
            if absent[cells].any():
                first = grammar.text(next(c for c in cells if absent[c]))
                raise ParameterError(f"fixed: {first!r} has no probability in the grammar.")

        def drawn(i: int) -> Params:
            params = {"rules": frozen(reading.filled(given, np.random.default_rng(child(seed, i))))}
            return model.conform(params, params)

        grammar.closure(np.append(drawn(0)["rules"][0], 1.0))  # refuse unary chains with infinite sums
        return options.starts(self, drawn, only_one=not absent.any())

    def _note_lost(self, used: Parsable) -> None:
        """Note the sentences without a parse, or refuse them."""
        self.unparsable_: list[int] = used.lost
        if not used.lost:
            return
        if self.on_unparsable == "error" or not used.mass:
            advice = " Set unknown= to handle unknown words." if "not in the grammar" in used.told else ""
            skip = " on_unparsable='skip' (--unparsable skip) leaves them out."
            rest = skip if used.mass else " There is nothing to fit."
            raise DataError(f"{used.told}{advice}{rest}")
        self.events_.append(f"left out: {used.told[:-1]}")

    def _note_unused(self) -> None:
        grammar = self._grammar
        mass = np.bincount(grammar.owner, self._stats, minlength=len(grammar.full))
        empty = [name for name, own in zip(grammar.full, mass.tolist(), strict=True) if own < NO_MASS]
        if empty and self.prior is None:
            listed = ", ".join(empty[:5]) + (" ..." if len(empty) > 5 else "")
            self.events_.append(
                f"{len(empty)} of {len(mass)} symbols occur in no tree; their rules keep their start values: {listed}"
            )

    @property
    def n_unparsable_(self) -> int:
        """Number of sentences of the fit that had no parse."""
        return len(self.unparsable_)


def _trees(trees: Any) -> list[Tree]:
    if isinstance(trees, str):
        return read_trees(trees)
    if isinstance(trees, Tree):
        return [trees]
    if not isinstance(trees, Iterable):
        raise DataError(f"trees={trees!r:.60} is not a list of trees, nor text in brackets.")
    found: list[Tree] = []
    for t, tree in enumerate(trees):
        if not isinstance(tree, Tree | str):
            raise DataError(f"tree {t}: {tree!r:.60} is neither a Tree nor text in brackets.")
        found += [tree] if isinstance(tree, Tree) else read_trees(tree)
    return found


def _writable(left: str, right: Sequence[str | Word]) -> str:
    """Return a rule as text; refuse names that the syntax cannot express."""
    for part in (left, *right):
        text = part.text if isinstance(part, Word) else part
        wrong = "'" in text and '"' in text if isinstance(part, Word) else text.split() != [text] or text in ("->", "→")
        if wrong or not text:
            what = "word" if isinstance(part, Word) else "symbol"
            raise DataError(f"the {what} {text!r} cannot be written in a grammar: rename it.")
    return rule_text(left, right)
