"""Text as counts of words: tokenized by scikit-learn's CountVectorizer, whose options are kept as plain values.

- *words*: the vocabulary of a column, sorted; fixed when fitting.
- *options*: how text is tokenized, as pairs of a name and a plain value; with ``document_length`` every document is
  scaled to that many words, with ``binary`` every word counts once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from halfseen.data.columns import Column
from halfseen.data.counts import Counts, Options, SparseSource, TokenizedSource
from halfseen.data.frames import RawColumn, Source
from halfseen.errors import DataError, ParameterError
from halfseen.stop_request import stoppable

__all__ = ["count_words", "read_options", "tokenised"]

CUTTING = ("analyzer", "lowercase", "ngram_range", "stop_words", "strip_accents", "token_pattern", "binary")
CHOOSING = ("max_df", "max_features", "min_df")  # which words are kept: not needed once the vocabulary is known


def read_options(options: Mapping[str, Any] | None) -> Options:
    """Check options of CountVectorizer; only plain values can be kept in a model.

    Examples
    --------
    >>> read_options({"ngram_range": (1, 2), "min_df": 2})
    (('min_df', 2), ('ngram_range', (1, 2)))
    """
    given = dict(options or {})
    if not given:
        return ()
    unknown = sorted(set(given) - {*CUTTING, *CHOOSING})
    if unknown:
        known = ", ".join(sorted((*CUTTING, *CHOOSING)))
        raise ParameterError(
            f"words: there is no option {unknown[0]!r}. Options of CountVectorizer that can be used: {known}."
        )
    for name, value in given.items():
        if callable(value):
            raise ParameterError(f"words: {name} is a function, which cannot be saved in a model. Use a plain value.")
        if isinstance(value, list):
            given[name] = tuple(value)
    try:
        cut = _vectorizer(given)
        cut._validate_params()
        cut.build_analyzer()("Some words, to see whether they can be cut.")
    except (ValueError, TypeError, re.error) as error:
        raise ParameterError(f"words: {_blamed(given, error)}{error}") from None
    return tuple(sorted(given.items()))


def _blamed(given: Mapping[str, Any], error: Exception) -> str:
    """Name the option that caused an error, if the error does not."""
    return f"token_pattern={given.get('token_pattern')!r:.80}: " if isinstance(error, re.error) else ""


def tokenised(
    source: Source, columns: Sequence[int], options: Options = (), length: float | str | None = None
) -> Source:
    """Tokenize columns of text; a sparse matrix is tokenized already.

    Parameters
    ----------
    source : Source
    columns : sequence of int
    options : pairs, from `read_options`
    length : number, "mean" or None
        Scale every document to this many words; "mean": to the mean length of the documents with words.

    Raises
    ------
    DataError
        A column of numbers, or one without any word left.

    Examples
    --------
    >>> from halfseen.data import read
    >>> source = tokenised(read([["a cat and a cat"], [None]]), [0], read_options({"stop_words": "english"}))
    >>> source.words(0)[0], source.words(0)[1].lengths
    (('cat',), array([2., 0.]))
    """
    if isinstance(source, SparseSource):
        return SparseSource(None, source.counts, _with_length(options, source.counts, length))
    if source.elsewhere or source.streams:
        return source.tokenised(columns, options, length)
    found = {}
    for j in columns:
        texts = _texts(source.column(j), source.names[j])
        vectorizer = _vectorizer(dict(options))
        try:
            matrix = vectorizer.fit_transform(stoppable(texts))
        except ValueError as error:
            raise DataError(f"column {source.names[j]!r}: {error}. Other options (words=) may keep more.") from None
        words = tuple(map(str, vectorizer.get_feature_names_out()))
        counts = Counts.of(matrix)
        found[j] = (words, counts, _with_length(options, counts, length))
    return TokenizedSource(source, found)


@dataclass(frozen=True, eq=False)
class WordCounts:
    """How often the words of some texts occur. Those of two parts of a column add.

    Attributes
    ----------
    n_texts : int
    words : (V,) array of str         sorted
    documents, uses : (V,) arrays     in how many texts a word is, and how often in all; with ``binary`` the same
    """

    n_texts: int
    words: NDArray[Any]
    documents: NDArray[np.int64]
    uses: NDArray[np.int64]

    @classmethod
    def of(cls, raw: RawColumn, name: str, options: Options) -> WordCounts:
        """Count the words of a column.

        Examples
        --------
        >>> from halfseen.data import read
        >>> found = WordCounts.of(read([["a cat or a cat"], ["or not"]]).column(0), "x", ())
        >>> found.words.tolist(), found.documents.tolist(), found.uses.tolist()
        (['cat', 'not', 'or'], [1, 1, 2], [2, 1, 2])
        """
        analyse = _vectorizer({key: value for key, value in options if key in CUTTING}).build_analyzer()
        uses: Counter[str] = Counter()
        documents: Counter[str] = Counter()
        texts = _texts(raw, name)
        for text in stoppable(texts):
            counts = Counter(analyse(text))
            documents.update(counts.keys())
            uses.update(counts)
        words = sorted(documents)
        found = [np.array([own[word] for word in words], dtype=np.int64) for own in (documents, uses)]
        return cls(len(texts), np.array(words, dtype=object), found[0], found[0 if dict(options).get("binary") else 1])

    def __add__(self, other: WordCounts) -> WordCounts:
        words, place = np.unique(np.concatenate([self.words, other.words]), return_inverse=True)

        def added(one: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
            sums = np.zeros(len(words), dtype=np.int64)
            np.add.at(sums, place, np.concatenate([one, more]))
            return sums

        documents, uses = added(self.documents, other.documents), added(self.uses, other.uses)
        return WordCounts(self.n_texts + other.n_texts, words, documents, uses)

    def chosen(self, name: str, options: Options) -> tuple[str, ...]:
        """Return the words that are kept, as CountVectorizer chooses them: by max_df, min_df and max_features."""
        how = dict(options)
        least, most = (
            limit * self.n_texts if isinstance(limit, float) else limit
            for limit in (how.get("min_df", 1), how.get("max_df", 1.0))
        )
        kept = np.flatnonzero((self.documents >= least) & (self.documents <= most))
        limit = how.get("max_features")
        if limit is not None and len(kept) > limit:
            kept = np.sort(kept[(-self.uses[kept]).argsort()[:limit]])
        if not len(kept):
            what = (
                "empty vocabulary; perhaps the texts only contain stop words"
                if not len(self.words)
                else (f"after min_df={how.get('min_df', 1)} and max_df={how.get('max_df', 1.0)} no words remain")
            )
            raise DataError(f"column {name!r}: {what}. Other options (words=) may keep more.")
        return tuple(map(str, self.words[kept]))


@dataclass(frozen=True)
class TextLengths:
    """How many words some texts have in sum, and how many texts have any. Those of two parts of a column add."""

    total: float
    n_texts: int

    @classmethod
    def of(cls, raw: RawColumn, name: str, column: Column) -> TextLengths:
        """Measure the texts of a column in words that are known."""
        words: Any = column.categories
        lengths = count_words(raw, name, words, column.options)[0].lengths
        return cls(float(lengths.sum()), int(np.count_nonzero(lengths)))

    def __add__(self, other: TextLengths) -> TextLengths:
        return TextLengths(self.total + other.total, self.n_texts + other.n_texts)

    @property
    def mean(self) -> float:
        """The mean length of the texts with words; 1 where there is none."""
        return self.total / self.n_texts if self.n_texts else 1.0


def _with_length(options: Options, counts: Counts, length: float | str | None) -> Options:
    if length is None:
        return options
    sums = counts.lengths
    mean = float(sums[sums > 0].mean()) if (sums > 0).any() else 1.0
    return (*options, ("document_length", mean if length == "mean" else float(length)))


def count_words(raw: RawColumn, name: str, words: Sequence[str], options: Options) -> tuple[Counts, Counter[str]]:
    """Count the known words of each text; also return the unknown words and their counts.

    Examples
    --------
    >>> from halfseen.data import read
    >>> counts, unknown = count_words(read([["a cat, a dog"]]).column(0), "x", ["cat", "mouse"], ())
    >>> counts.matrix().toarray(), unknown
    (array([[1, 0]]), Counter({'dog': 1}))
    """
    cut = _vectorizer({key: value for key, value in options if key in CUTTING})
    analyse = cut.build_analyzer()
    place = {word: v for v, word in enumerate(words)}
    unknown: Counter[str] = Counter()
    ends, cells, values = [0], [], []
    for text in stoppable(_texts(raw, name)):
        counts = Counter(analyse(text))
        known = {place[word]: count for word, count in counts.items() if word in place}
        if len(known) < len(counts):
            unknown.update({word: count for word, count in counts.items() if word not in place})
        for v in sorted(known):
            cells.append(v)
            values.append(1 if cut.binary else known[v])
        ends.append(len(cells))
    matrix = sparse.csr_array(
        (np.array(values, dtype=np.int64), np.array(cells, dtype=np.int32), np.array(ends)),
        shape=(len(ends) - 1, len(words)),
    )
    return Counts.of(matrix), unknown


def _vectorizer(options: Mapping[str, Any]) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer  # slow to import, and rarely needed

    given = dict(options)
    if isinstance(given.get("stop_words"), tuple):
        given["stop_words"] = list(given["stop_words"])
    return CountVectorizer(**given)


def _texts(raw: RawColumn, name: str) -> list[str]:
    """The cells as text; a missing one is empty."""
    if raw.type != "text" and not raw.missing.all():
        row = int(np.argmin(raw.missing))
        raise DataError(f"column {name!r} cannot be text: row {row} is {raw.values[row]:g}.")
    return ["" if missing else str(text) for text, missing in zip(raw.values, raw.missing, strict=True)]
