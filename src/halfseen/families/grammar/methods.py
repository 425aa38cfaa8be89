"""What every grammar can do once its rules have probabilities: trees, scores, counts, draws.

All of it comes from the structure that training uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from halfseen.assign import SOFT
from halfseen.data import check_sequence_weight, frame_from_dict
from halfseen.engine.loop.model import Reduced
from halfseen.errors import AbsentError, DataError, FitError, ImpossibleRowWarning, ParameterError, warn
from halfseen.estimators import convergence, options
from halfseen.estimators.base import InformationCriteria
from halfseen.estimators.named_parameters import SHARE, NamedParameters
from halfseen.estimators.observed import Observed, observed_units
from halfseen.estimators.publication import Tabulated
from halfseen.estimators.resampled import Resampled
from halfseen.families.grammar import reading
from halfseen.families.grammar.model import ContextFree, SentenceChunk, cut_sentences, reduce_sentences
from halfseen.families.grammar.reading import Corpus
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import Params
from halfseen.runners import runner
from halfseen.runners.frames import is_held
from halfseen.seeds import generator
from halfseen.structures.grammar import Grammar
from halfseen.structures.rules import symbol_text
from halfseen.structures.tree import Sentences, best, draw, n_trees, pack, soft
from halfseen.structures.trees import Tree, Word

Ints = NDArray[np.int64]


class Parse(NamedTuple):
    """A tree of a sentence.

    Attributes
    ----------
    tree : Tree
    log_probability : float      of the tree together with the sentence: the sum of the logs of its rules
    """

    tree: Tree
    log_probability: float


class GrammarMethods(Tabulated, InformationCriteria):
    """A grammar, once its rules have probabilities."""

    unknown: str
    on_unparsable: str
    _grammar: Grammar
    _model: ContextFree
    _params: Params
    _stats: Stats
    _n_rows: float = 0.0
    _unit = "sentences"
    _paper_name = "probabilistic context-free grammar"
    _paper_priors = MappingProxyType({"lhs": "one pseudo-count for each left-hand side"})
    loglik_: float

    # ---- what is in it -------------------------------------------------------------------------------------------

    @property
    def start_(self) -> str:
        """The symbol at the top of every tree."""
        check_is_fitted(self)
        return self._grammar.start

    @property
    def rules_(self) -> list[str]:
        """The rules as text, those of one left-hand side together."""
        check_is_fitted(self)
        return [self._grammar.text(c) for c in range(self._grammar.n_cells)]

    @property
    def probabilities_(self) -> dict[str, float]:
        """The probability of every rule."""
        return dict(zip(self.rules_, self._params["rules"][0].tolist(), strict=True))

    @property
    def counts_(self) -> dict[str, float]:
        """Expected number of uses of every rule in the sentences it was fitted to."""
        check_is_fitted(self)
        if not hasattr(self, "_stats"):
            raise AbsentError("this grammar was not fitted to sentences: it has no counts.")
        return dict(zip(self.rules_, self._stats.tolist(), strict=True))

    def to_string(self) -> str:
        """Return the grammar as text that `from_string` and NLTK read, every rule with its probability.

        Examples
        --------
        >>> import halfseen as hs
        >>> print(hs.PCFG.from_string("S -> 'a' S [0.25] | 'a' [0.75]").to_string())
        %start S
        S -> 'a' S [0.25]
        S -> 'a' [0.75]
        """
        lines = [f"{text} [{np.format_float_positional(p, trim='0')}]" for text, p in self.probabilities_.items()]
        return "\n".join([f"%start {symbol_text(self.start_)}", *lines])

    def to_frame(self) -> Any:
        """Return the rules as a table: left, right, probability; and the expected counts of a fit."""
        named = self._named_parameters()
        table: dict[str, list[Any]] = {**named.labels, "probability": named.values.tolist()}
        if hasattr(self, "_stats"):
            table["count"] = self._stats.tolist()
        return frame_from_dict(table)

    def _named_parameters(self) -> NamedParameters:
        """Return the rules, one by one."""
        labels: dict[str, list[Any]] = {
            "left": [left for left, _ in self._known_grammar().rules],
            "right": [" ".join(map(str, right)) for _, right in self._grammar.rules],
        }
        values = self._params["rules"][0]
        return NamedParameters(labels, values, [SHARE] * len(values))

    def _observed(
        self, sentences: Any, sample_weight: ArrayLike | None = None, brackets: Any = None, tags: Any = None
    ) -> Observed:
        """Return sentences as inference reads them; those without a parse are left out."""
        corpus = self._corpus(sentences, brackets, tags)
        packed = self._packed(corpus)
        weight = np.where(np.isfinite(self._logliks(packed)), check_sequence_weight(sample_weight, len(corpus)), 0.0)
        used = np.flatnonzero(weight)
        data = reduce_sentences(packed.taken(used), weight[used])
        place = np.full(len(corpus), -1, dtype=np.intp)
        place[used] = np.arange(len(used))

        def unit(m: int) -> Reduced:
            return reduce_sentences(packed.taken(used[m : m + 1]), np.ones(1))

        return observed_units(self._model, data, unit, weight[used], place, weight)

    def _resampled(
        self, sentences: Any, sample_weight: ArrayLike | None = None, brackets: Any = None, tags: Any = None
    ) -> Resampled:
        """Return sentences as the bootstrap reads them; those without a parse are left out."""
        from halfseen.families.grammar.resampled import resampled_sentences

        return resampled_sentences(self, self._corpus(sentences, brackets, tags), sample_weight)

    def describe(self, top: int = 5) -> str:
        """Return the grammar in words: for every left-hand side its most probable rules.

        Examples
        --------
        >>> import halfseen as hs
        >>> print(hs.PCFG.from_string("S -> 'a' S [0.25] | 'a' [0.75]").describe())
        S: 'a' 75%, 'a' S 25%
        """
        grammar, table = self._known_grammar(), self._params["rules"][0]
        lines = []
        for m, left in enumerate(grammar.full):
            own = np.flatnonzero(grammar.owner == m)
            ranked = own[np.argsort(-table[own], kind="stable")]
            listed = [f"{' '.join(map(str, grammar.rules[c][1]))} {table[c]:.0%}" for c in ranked[:top].tolist()]
            more = f", ... {len(own)} rules in all" if len(own) > top else ""
            lines.append(f"{left}: {', '.join(listed)}{more}")
        return convergence.described(self, "\n".join(lines))

    # ---- sentences in, answers out -------------------------------------------------------------------------------

    def parse(
        self,
        sentences: Any,
        *,
        brackets: Any = None,
        tags: Any = None,
        draws: int | None = None,
        random_state: Any = None,
    ) -> Any:
        """Return the most probable tree of every sentence, or trees drawn from their posterior.

        Parameters
        ----------
        sentences : str, list of words, or list of sentences
            For one sentence, a text or a list of words, the answer is one; for a list of sentences a list.
        brackets, tags :
            What is known of the trees, as in `fit`; of one sentence its own entry.
        draws : int, optional
            Draw so many trees of each sentence, in proportion to their probabilities, in place of the best.
        random_state : optional

        Returns
        -------
        Parse, or with `draws` a list of them
            `tree` and `log_probability`. A sentence without a parse is an error that names it, or None with
            on_unparsable="skip".

        Examples
        --------
        >>> import halfseen as hs
        >>> grammar = hs.PCFG.from_string("NP -> NP 'of' NP [0.2] | 'cups' [0.4] | 'tea' [0.4]")
        >>> tree, log_probability = grammar.parse("cups of tea")
        >>> print(tree, round(log_probability, 4))
        (NP (NP cups) of (NP tea)) -3.442
        """
        single = reading.is_one(sentences)
        if single:
            sentences = [sentences]
            brackets, tags = (None if own is None else [own] for own in (brackets, tags))
        corpus = self._corpus(sentences, brackets, tags)
        data = self._packed(corpus)
        if draws is None:
            found = self._best(data, corpus)
        else:
            found = self._drawn(data, corpus, options.whole("draws", draws), generator(random_state))
        lost = [s for s, own in enumerate(found) if own is None]
        if lost and self.on_unparsable == "error":
            raise DataError(
                f"{reading.unparsable_message(self._grammar, corpus, lost)} on_unparsable='skip' gives None for them; "
                "set_params(unknown='missing') lets any terminal stand for a word that the grammar does not have."
            )
        return found[0] if single else found

    def why_unparsable(self, sentences: Any, lost: Sequence[int], brackets: Any = None) -> str:
        """Return why sentences, those with the numbers `lost`, have no parse: words that the grammar lacks, if any.

        Examples
        --------
        >>> import halfseen as hs
        >>> hs.PCFG.from_string("S -> S S [0.4] | 'a' [0.6]").why_unparsable(["a a", "a b"], [1])
        "1 of 2 sentences has no parse: sentence 1 'a b' (not in the grammar: 'b')."
        """
        if not lost:
            return ""
        return reading.unparsable_message(self._grammar, self._corpus(sentences, brackets, None), lost)

    def _best(self, data: Sentences, corpus: Corpus) -> list[Any]:
        found: list[Any] = []
        for chunk, (steps, ends, logs) in self._over(data, lambda chunk: best(self._logs(), chunk.blocks)):
            for s, log_probability in enumerate(logs.tolist()):
                tree = self._tree(chunk, steps[ends[s] : ends[s + 1]], corpus.words[len(found)])
                found.append(None if tree is None else Parse(tree, log_probability))
        return found

    def _drawn(self, data: Sentences, corpus: Corpus, draws: int, rng: np.random.Generator) -> list[Any]:
        found: list[Any] = []
        cells = np.append(self._logs()[:-1], 0.0)
        for chunk in cut_sentences(data, np.ones(len(data))):
            own = chunk.blocks
            steps, ends, _ = draw(self._logs(), own, np.full(len(own), draws, dtype=np.int64), rng)
            logs = cells[np.concatenate([own.grammar.cells_of_steps, own.slots.entries[:, 1]])[steps]]
            for s in range(len(own)):
                bounds = [(int(ends[t]), int(ends[t + 1])) for t in range(s * draws, (s + 1) * draws)]
                trees = [(self._tree(chunk, steps[a:b], corpus.words[len(found)]), logs[a:b].sum()) for a, b in bounds]
                found.append(None if trees[0][0] is None else [Parse(tree, float(p)) for tree, p in trees if tree])
        return found

    def _tree(self, chunk: SentenceChunk, steps: Ints, words: Sequence[str | None]) -> Tree | None:
        return self._grammar.tree(steps.tolist(), chunk.blocks.slots, words) if len(steps) else None

    def score_samples(self, sentences: Any, *, brackets: Any = None, tags: Any = None) -> Floats:
        """Return the log-probability of each sentence, the sum over all its trees; -inf where it has none.

        Of a Dask or Spark frame of sentences, as `fit` takes them, it is a lazy series, or a frame with a column.

        Examples
        --------
        >>> import numpy as np
        >>> import halfseen as hs
        >>> grammar = hs.PCFG.from_string("S -> S S [0.4] | 'a' [0.6]")
        >>> np.exp(grammar.score_samples(["a", "a a a", "a b"])).round(5)
        array([0.6    , 0.06912, 0.     ])
        """
        if is_held(sentences):
            check_is_fitted(self)
            from halfseen.families.grammar import lanes

            return lanes.scored(sentences, self, brackets, tags, getattr(self, "_column", None))
        return self._logliks(self._packed(self._corpus(sentences, brackets, tags)))

    def _scored(self, frame: Any, layout: Any) -> Floats:
        """Return the log-probabilities of the sentences of a partition."""
        part = layout.read(frame)
        return self.score_samples(part.sentences, brackets=part.brackets, tags=part.tags)

    def score(
        self,
        sentences: Any,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        brackets: Any = None,
        tags: Any = None,
    ) -> float:
        """Return the log-probability of all sentences together.

        A sentence without a parse is an error that names it; with on_unparsable="skip" it is left out with a warning.
        """
        return self._scores(sentences, sample_weight, brackets, tags)[0]

    def _scores(self, sentences: Any, sample_weight: Any, brackets: Any, tags: Any) -> tuple[float, int]:
        """Return the log-probability of all sentences together, and how many they are."""
        if is_held(sentences):
            check_is_fitted(self)
            from halfseen.families.grammar import lanes

            loglik, n_sentences, told = lanes.summed(sentences, self, sample_weight, brackets, tags)
        else:
            corpus = self._corpus(sentences, brackets, tags)
            weight = check_sequence_weight(sample_weight, len(corpus))
            loglik, lost = self._added(corpus, weight)
            n_sentences = len(corpus)
            told = reading.unparsable_message(self._grammar, corpus, lost) if lost else ""
        if told:
            if self.on_unparsable == "error":
                raise DataError(f"{told} on_unparsable='skip' (--unparsable skip) leaves them out.")
            warn(f"left out: {told}", ImpossibleRowWarning)
        return loglik, n_sentences

    def _added(self, corpus: Corpus, weight: Floats) -> tuple[float, list[int]]:
        """Return the log-probability of the sentences that have a parse, and the numbers of those that have none."""
        found = self._logliks(self._packed(corpus))
        used = np.isfinite(found)
        return float(weight[used] @ found[used]), np.flatnonzero(np.isneginf(found) & (weight > 0)).tolist()

    def n_parses(self, sentences: Any, *, brackets: Any = None, tags: Any = None) -> Any:
        """Return how many trees each sentence has, as exact whole numbers; `inf` where unary rules can go round.

        Probabilities do not matter: rules of probability 0 count too.

        Examples
        --------
        >>> import halfseen as hs
        >>> hs.PCFG.from_string("S -> S S | 'a'").n_parses(["a", "a a a a", "b"])
        [1, 5, 0]
        """
        single = reading.is_one(sentences)
        if single:
            sentences = [sentences]
            brackets, tags = (None if own is None else [own] for own in (brackets, tags))
        found = n_trees(self._packed(self._corpus(sentences, brackets, tags)))
        return found[0] if single else found

    def expected_counts(
        self, sentences: Any, sample_weight: ArrayLike | None = None, *, brackets: Any = None, tags: Any = None
    ) -> dict[str, float]:
        """Return the expected number of uses of every rule in some sentences; those without a parse add nothing.

        Examples
        --------
        >>> import halfseen as hs
        >>> counts = hs.PCFG.from_string("S -> S S [0.4] | 'a' [0.6]").expected_counts(["a a a"])
        >>> {rule: round(count, 6) for rule, count in counts.items()}
        {'S -> S S': 2.0, "S -> 'a'": 3.0}
        """
        corpus = self._corpus(sentences, brackets, tags)
        weight = check_sequence_weight(sample_weight, len(corpus))
        total = np.zeros(self._grammar.n_cells + 1)
        for _, (counts, _) in self._over(
            self._packed(corpus), lambda chunk: soft(self._logs(), chunk.blocks, chunk.weight), weight
        ):
            total += counts
        return dict(zip(self.rules_, total[:-1].tolist(), strict=True))

    def sample(
        self, n_samples: int = 1, *, max_length: int = 1000, random_state: Any = None
    ) -> tuple[list[list[str]], list[Tree]]:
        """Draw sentences with their trees.

        Parameters
        ----------
        n_samples : int
        max_length : int, default 1000
            Most words of a sentence; a draw that grows longer is an error. A grammar whose rules lead to more symbols
            than they use up, on average, has sentences without end.
        random_state : optional

        Examples
        --------
        >>> import halfseen as hs
        >>> grammar = hs.PCFG.from_string("S -> 'very' S [0.5] | 'good' [0.5]")
        >>> sentences, trees = grammar.sample(3, random_state=0)
        >>> [" ".join(words) for words in sentences]
        ['good', 'very very very good', 'good']
        """
        grammar, rng = self._known_grammar(), generator(random_state)
        options.whole("max_length", max_length)
        rows = [np.flatnonzero(grammar.owner == m) for m in range(len(grammar.full))]
        below = [np.cumsum(self._params["rules"][0][own]) for own in rows]
        trees = [_grown(grammar, rows, below, max_length, rng) for _ in range(options.whole("n_samples", n_samples))]
        return [tree.words() for tree in trees], trees

    def _measured(self, X: Any) -> tuple[float, float]:
        check_is_fitted(self)
        if X is not None:
            loglik, n_sentences = self._scores(X, None, None, None)
            return loglik, float(n_sentences)
        if self._n_rows == 0:
            raise ParameterError("this grammar was not fitted to sentences; give some to measure it on.")
        return self.loglik_, self._n_rows

    # ---- reading and inference -----------------------------------------------------------------------------------

    def _known_grammar(self) -> Grammar:
        check_is_fitted(self)
        return self._grammar

    def _corpus(self, sentences: Any, brackets: Any, tags: Any) -> Corpus:
        return reading.read_corpus(self._known_grammar(), sentences, brackets, tags, self.unknown)

    def _packed(self, corpus: Corpus) -> Sentences:
        return pack(self._grammar, corpus.tokens, corpus.brackets, corpus.tags)

    def _logs(self) -> Floats:
        leaf = self._model.leaves["rules"]
        return np.append(leaf.score(leaf.prepare(self._params["rules"]), None, SOFT)[0], 0.0)

    def _logliks(self, data: Sentences) -> Floats:
        found = self._over(data, lambda chunk: soft(self._logs(), chunk.blocks, np.zeros(len(chunk.blocks)))[1])
        return np.concatenate([logs for _, logs in found])

    def _over(self, data: Sentences, task: Any, weight: Floats | None = None) -> list[tuple[SentenceChunk, Any]]:
        """Return what a task finds in each chunk, in their order."""
        chunks = cut_sentences(data, np.ones(len(data)) if weight is None else weight)
        with runner(self.n_jobs, len(chunks)) as run:
            return list(zip(chunks, run(task, chunks), strict=True))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_params")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def _grown(
    grammar: Grammar, rows: Sequence[Ints], below: Sequence[Floats], max_length: int, rng: np.random.Generator
) -> Tree:
    """Draw a tree from the top down."""
    steps: list[tuple[str, tuple[str | Word, ...]]] = []
    waiting, n_words = [grammar.start], 0
    while waiting:
        m = grammar.number[waiting.pop()]
        place = min(int(np.searchsorted(below[m], rng.random() * below[m][-1], side="right")), len(rows[m]) - 1)
        left, right = grammar.rules[int(rows[m][place])]
        steps.append((left, right))
        inside = [part for part in right if isinstance(part, str)]
        waiting += reversed(inside)
        n_words += len(right) - len(inside)
        if n_words + len(waiting) > max_length or len(steps) > 100 * max_length:
            raise FitError(
                f"a drawn sentence grew beyond max_length={max_length} words: under these probabilities sentences may "
                "have no end. Fit the grammar to sentences first, or raise max_length."
            )
    done: list[Tree] = []
    for left, right in reversed(steps):  # what is below is there before what is above
        done.append(Tree(left, [part.text if isinstance(part, Word) else done.pop() for part in right]))
    return done[0]
