"""Reading and checking sentences and grammars: words, brackets, tags, priors, fixed rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data.memory import free_memory
from halfseen.disk import size_text
from halfseen.errors import DataError, ParameterError, UnknownCategoryWarning, warn
from halfseen.estimators import options
from halfseen.families.grammar.grammar_text import read_grammar, read_rule
from halfseen.leaves.leaf import Floats, frozen
from halfseen.structures.grammar import Grammar
from halfseen.structures.trees import Tree, read_brackets

Words = tuple["str | None", ...]
Spans = tuple[tuple[int, int], ...]
Tags = tuple["frozenset[str] | None", ...]

SUM_OFF = 0.01  # tolerance of the sum of probabilities of a left-hand side, as in NLTK: they are divided by it
CHART_BYTES = 16  # of a symbol over a span: its inside and outside probabilities
POLICIES = ("unparsable", "missing")
SHOWN = 3  # sentences without a parse that a message shows


class GivenGrammar(NamedTuple):
    """A grammar with what was said of its probabilities: NaN where nothing was."""

    grammar: Grammar
    probabilities: Floats


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences with known parts of their trees.

    Attributes
    ----------
    words : for each sentence its words as given; None is a missing word
    tokens : the same, with unknown words replaced
    brackets, tags : for each sentence; None where nothing is known
    """

    words: list[Words]
    tokens: list[Words]
    brackets: list[Spans | None]
    tags: list[Tags | None]

    def __len__(self) -> int:
        return len(self.words)

    def key(self, s: int) -> tuple[Any, ...]:
        """Return all that a chart depends on, as a sortable key."""
        tags = self.tags[s]
        listed = () if tags is None else tuple("" if own is None else "\t".join(sorted(own)) for own in tags)
        tokens = tuple(("", "missing") if token is None else (token, "") for token in self.tokens[s])
        return len(tokens), tokens, self.brackets[s] or (), listed


# ---- grammars ----------------------------------------------------------------------------------------------------


def read_given(text: Any) -> GivenGrammar:
    """Read a grammar, and check that what is given of its probabilities can be."""
    if text is None:
        raise ParameterError(
            'grammar= is needed: rules such as "S -> NP VP [1.0]". See PCFG.from_string and from_trees.'
        )
    if not isinstance(text, str):
        raise ParameterError(f'grammar={text!r:.60} is not a text of rules such as "S -> NP VP [1.0]".')
    return _read(text)


@lru_cache(maxsize=4)  # a grammar is read when it is made, when it is fitted, and in every clone
def _read(text: str) -> GivenGrammar:
    found = read_grammar(text)
    grammar = Grammar.of(found.start, found.rules)
    given = np.array([np.nan if (p := found.rules[rule]) is None else p for rule in grammar.rules])
    totals = _sums(grammar, np.nan_to_num(given))
    whole = _sums(grammar, np.isnan(given)) == 0
    for m in np.flatnonzero((totals > 1 + SUM_OFF) | (whole & (totals < 1 - SUM_OFF))).tolist():
        raise ParameterError(
            f"the probabilities of {grammar.full[m]} sum to {totals[m]:.6g}, not 1 ({grammar.rows[m]} rules). Correct "
            "them, or leave some out to have them learned."
        )
    off = (totals > 1) | (whole & (np.abs(totals - 1) > 1e-12))
    given /= np.where(off, totals, 1.0)[grammar.owner]
    return GivenGrammar(grammar, frozen(given))


def filled(given: GivenGrammar, rng: np.random.Generator) -> Floats:
    """Return probabilities: those not given share what is left at random, (1, C)."""
    draws, free = rng.standard_gamma(1.0, given.grammar.n_cells) + 1e-12, np.isnan(given.probabilities)
    left = np.maximum(1.0 - _sums(given.grammar, np.nan_to_num(given.probabilities)), 0.0)
    share = draws / np.maximum(_sums(given.grammar, draws * free), 1e-300)[given.grammar.owner]
    return np.where(free, left[given.grammar.owner] * share, given.probabilities)[None]


def _sums(grammar: Grammar, values: Floats | NDArray[np.bool_]) -> Floats:
    """Return the sum over the rules of each left-hand side."""
    return np.bincount(grammar.owner, values, minlength=len(grammar.full)).astype(np.float64)


def read_cells(what: str, names: Any, grammar: Grammar) -> list[int]:
    """Return the rules that are named: one as text, ``NP -> Det N``, or all of a left-hand side, ``NP``."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ParameterError(
            f"{what}={names!r} is not a list of rules or left-hand sides, such as ['NP', 'VP -> V NP']."
        )
    found: list[int] = []
    for name in names:
        if not isinstance(name, str):
            raise ParameterError(f"{what}: {name!r} is not a rule or a left-hand side.")
        if name in grammar.number:
            found += np.flatnonzero(grammar.owner == grammar.number[name]).tolist()
            continue
        rule = read_rule(name) if "->" in name else None
        if rule not in grammar.cell:
            raise ParameterError(f"{what}: {name!r} is not a rule or a left-hand side of the grammar.")
        found.append(grammar.cell[rule])
    return found


def read_prior(prior: Any, grammar: Grammar) -> Floats | None:
    """Return pseudo-counts of all rules, (1, C).

    "lhs": one for each left-hand side, spread evenly over its rules; one number for all rules; or some by rule or
    left-hand side.
    """
    if prior is None:
        return None
    if prior == "lhs":
        return (1.0 / np.bincount(grammar.owner)[grammar.owner])[None]
    if not isinstance(prior, Mapping):
        return np.full((1, grammar.n_cells), options.number("prior", prior))
    found = np.zeros((1, grammar.n_cells))
    for name, pseudo in prior.items():
        found[0, read_cells("prior", [name], grammar)] = options.number(f"prior[{name!r}]", pseudo)
    return found


# ---- sentences ---------------------------------------------------------------------------------------------------


def is_one(sentences: Any) -> bool:
    """Whether a single sentence was given: a text, or a list of words none of which has a blank."""
    if isinstance(sentences, str | Tree):
        return True
    if not isinstance(sentences, list | tuple) or not sentences:
        return False
    return all(word is None or (isinstance(word, str) and not word.split()[1:]) for word in sentences)


def read_words(sentences: Any) -> list[Words]:
    """Return the words of every sentence: texts are split at blanks, lists are kept, trees give their words."""
    if isinstance(sentences, str | bytes | Tree) or not isinstance(sentences, Iterable):
        raise DataError(f"sentences={sentences!r:.60} is not a list of sentences: put one into a list, [sentence].")
    if hasattr(sentences, "columns"):  # going over a data frame gives the names of its columns
        raise DataError(
            "sentences are a table. Pass the column that has them, such as frame['sentence']; only fit, score and "
            "score_samples take a frame of Dask or Spark."
        )
    found = [_words(sentence, s) for s, sentence in enumerate(sentences)]
    if not found:
        raise DataError("there are no sentences.")
    return found


def _words(sentence: Any, s: int) -> Words:
    if isinstance(sentence, Tree):
        return tuple(sentence.words())
    if isinstance(sentence, str):
        words: Words = tuple(sentence.split())
    elif isinstance(sentence, Iterable) and not isinstance(sentence, bytes | Mapping):
        words = tuple(_word(word, s) for word in sentence)
    else:
        raise DataError(f"sentence {s}: {sentence!r:.60} is not a text or a list of words.")
    if not words:
        raise DataError(f"sentence {s} has no words. Leave it out: empty productions are not supported.")
    return words


def _word(word: Any, s: int) -> str | None:
    if word is None or (isinstance(word, float) and word != word):
        return None
    if not isinstance(word, str):
        raise DataError(f"sentence {s}: {word!r:.60} is not a word. Words are texts; None is a missing word.")
    return str(word)


def read_corpus(grammar: Grammar, sentences: Any, brackets: Any, tags: Any, unknown: str, first: int = 0) -> Corpus:
    """Read sentences for a grammar; `first` is the number of the first of them."""
    words = read_words(sentences)
    _check_charts(grammar, words, first)
    tokens = _known(grammar, words, unknown)
    return Corpus(words, tokens, _brackets(brackets, words), _tags(tags, words, grammar))


def _check_charts(grammar: Grammar, words: Sequence[Words], first: int) -> None:
    """Refuse a sentence whose chart does not fit into memory."""
    longest = max(range(len(words)), key=lambda s: len(words[s]))
    length, n_symbols = len(words[longest]), grammar.forms.n_symbols
    size = length * (length + 1) // 2 * n_symbols * CHART_BYTES
    if size > free_memory():
        raise DataError(
            f"sentence {first + longest} has {length:,} words; its chart, with {n_symbols:,} symbols, needs "
            f"{size_text(size)}, and {size_text(free_memory())} of memory is free. Cut it into sentences."
        )


def check_unknown(grammar: Grammar, unknown: Any) -> str:
    """Return what to do with words that the grammar does not have."""
    if not isinstance(unknown, str) or (unknown not in POLICIES and unknown not in grammar.words):
        raise ParameterError(
            f"unknown={unknown!r} is not 'unparsable', 'missing', or a word of the grammar that replaces unknown words."
        )
    return unknown


def _known(grammar: Grammar, words: Sequence[Words], unknown: str) -> list[Words]:
    check_unknown(grammar, unknown)
    strange = unknown_words(grammar, words)
    if not strange or unknown == "unparsable":
        return list(words)
    warn_unknown(list(strange), unknown)
    stand_in = None if unknown == "missing" else unknown
    return [tuple(stand_in if word in strange else word for word in own) for own in words]


def unknown_words(grammar: Grammar, words: Iterable[Words]) -> dict[str, None]:
    """Return the distinct words that the grammar does not have, in the order in which they come."""
    return dict.fromkeys(word for own in words for word in own if word is not None and word not in grammar.words)


def warn_unknown(strange: Sequence[str], unknown: str) -> None:
    """Warn of words that the grammar does not have where they are treated as missing."""
    if not strange or unknown != "missing":
        return
    listed = ", ".join(map(repr, strange[:5])) + (" ..." if len(strange) > 5 else "")
    warn(f"{len(strange)} words are not in the grammar and are treated as missing: {listed}.", UnknownCategoryWarning)


def _brackets(brackets: Any, words: Sequence[Words]) -> list[Spans | None]:
    if brackets is None:
        return [None] * len(words)
    given = _one_each("brackets", brackets, words)
    return [_spans(own, words[s], s) for s, own in enumerate(given)]


def _one_each(what: str, given: Any, words: Sequence[Words]) -> list[Any]:
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise DataError(f"{what}= is not a list with an entry for each sentence; use None where nothing is known.")
    found = list(given)
    if len(found) != len(words):
        raise DataError(f"{what} has {len(found)} entries for {len(words)} sentences. Give one for each, or None.")
    return found


def _spans(own: Any, words: Words, s: int) -> Spans | None:
    """Return brackets of more than one word and less than the sentence, ordered."""
    if own is None:
        return None
    if isinstance(own, str | Tree):
        said, spans = (own.words(), [span[1:] for span in own.spans()]) if isinstance(own, Tree) else read_brackets(own)
        if tuple(said) != tuple(words):
            raise DataError(
                f"brackets of sentence {s}: their words {' '.join(said)!r:.60} are not those of the sentence."
            )
    elif not isinstance(own, Iterable):
        raise DataError(f"brackets of sentence {s}: {own!r:.40} is neither a list of spans nor a text with brackets.")
    else:
        spans = [_span(pair, words, s) for pair in own]
    _check_nested(spans, s)
    return tuple(sorted({(a, b) for a, b in spans if 1 < b - a < len(words)}))


def _check_nested(spans: Sequence[tuple[int, int]], s: int) -> None:
    """Refuse spans that cross each other."""
    around: list[tuple[int, int]] = []  # those that the next one may lie in, the smallest last
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        while around and around[-1][1] <= start:
            around.pop()
        if around and around[-1][1] < end:
            a, b = around[-1]
            raise DataError(f"brackets of sentence {s}: ({a}, {b}) and ({start}, {end}) cross each other.")
        around.append((start, end))


def _span(pair: Any, words: Words, s: int) -> tuple[int, int]:
    try:
        a, b = (int(end) for end in pair)
    except (TypeError, ValueError):
        raise DataError(f"brackets of sentence {s}: {pair!r:.40} is not a pair (start, end).") from None
    if not 0 <= a < b <= len(words):
        raise DataError(f"brackets of sentence {s}: ({a}, {b}) is not within its {len(words)} words.")
    return a, b


def _tags(tags: Any, words: Sequence[Words], grammar: Grammar) -> list[Tags | None]:
    if tags is None:
        return [None] * len(words)
    found: list[Tags | None] = []
    for s, own in enumerate(_one_each("tags", tags, words)):
        if not (own is None or isinstance(own, Iterable)):
            raise DataError(f"tags of sentence {s}: {own!r:.40} is not a list with a tag for each word.")
        listed = own if own is None else own.split() if isinstance(own, str) else list(own)
        if listed is not None and len(listed) != len(words[s]):
            raise DataError(
                f"tags of sentence {s}: {len(listed)} tags for {len(words[s])} words. Use None where nothing is known."
            )
        found.append(None if listed is None else tuple(_tag(tag, s, grammar) for tag in listed))
    return found


def _tag(tag: Any, s: int, grammar: Grammar) -> frozenset[str] | None:
    if tag is None:
        return None
    own = frozenset([tag] if isinstance(tag, str) else tag)
    wrong = [name for name in own if name not in grammar.number]
    if wrong or not own:
        raise DataError(f"tags of sentence {s}: {next(iter(wrong), tag)!r} is not a symbol of the grammar.")
    return own


def unparsable_message(grammar: Grammar, corpus: Corpus, lost: Sequence[int]) -> str:
    """Return the message about sentences without a parse: how many, the first ones, and why."""
    some = [(s, lost_sentence(grammar, corpus, s)) for s in lost[:SHOWN]]
    return lost_message(some, len(lost), len(corpus))


def lost_sentence(grammar: Grammar, corpus: Corpus, s: int) -> str:
    """Return a sentence without a parse, and why it has none."""
    text = " ".join("_" if word is None else word for word in corpus.words[s])
    strange = list(unknown_words(grammar, [corpus.tokens[s]]))
    why = f" (not in the grammar: {', '.join(map(repr, strange[:4]))})" if strange else ""
    given = [name for name, own in (("brackets", corpus.brackets[s]), ("tags", corpus.tags[s])) if own]
    if given and not strange:
        why = f" (given its {' and '.join(given)})"
    elif not strange:
        why = " (its words are in the grammar, but no tree has them in this order)"
    short = text if len(text) <= 70 else f"{text[:69]}…"
    return f"{short!r}{why}"


def lost_message(some: Sequence[tuple[int, str]], n_lost: int, n_sentences: int) -> str:
    """Return the message about sentences without a parse, given the first of them with their numbers."""
    listed = "; ".join(f"sentence {s} {told}" for s, told in some[:SHOWN])
    more = f" and {n_lost - SHOWN} more" if n_lost > SHOWN else ""
    many = "sentence has" if n_lost == n_sentences == 1 else "sentences has" if n_lost == 1 else "sentences have"
    return f"{n_lost} of {n_sentences} {many} no parse: {listed}{more}."


def content_hash(corpus: Corpus, weight: Floats) -> int:
    """Return a hash of sentences with their weights; those of parts of a corpus add up to that of all."""
    lines = (repr((own, float(w))) for own, w in zip(corpus.words, weight, strict=True))
    return sum(
        int.from_bytes(blake2b(line.encode("utf-8", "surrogatepass"), digest_size=16).digest()) for line in lines
    )


def fingerprint(grammar: Grammar, content: int) -> str:
    """Return a fingerprint of rules and sentences, independent of the order of the sentences."""
    digest = blake2b(repr(grammar.rules).encode("utf-8", "surrogatepass"), digest_size=16)
    digest.update((content % (1 << 128)).to_bytes(16))
    return digest.hexdigest()
