"""Documents as bags of words: how often each word occurs, or whether it does.

Three leaves over a block of `Counts`, all of them tables of probabilities with rows that sum to one, so that
maximising, priors, limits, coordinates and posteriors are those of `Categorical`:

`Multinomial`   every word of a document is drawn anew from params[k]; statistics are expected counts of words
`Bernoulli`     every word of the vocabulary is in a document or not; statistics are expected numbers of documents
`Complement`    words weigh by how rare they are outside a class: a rule for complete labels, no probability model

The multinomial coefficient, which is the same in all components, is left out of every score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, vstack

from halfseen.assign import Assign
from halfseen.data.counts import Counts
from halfseen.errors import ParameterError
from halfseen.kernels import active as kernels
from halfseen.leaves.categorical import Categorical
from halfseen.leaves.exact import Shares, Weights
from halfseen.leaves.leaf import NO_MASS, Floats, Slopes, Stats, frozen
from halfseen.leaves.limits import FREE, Limits

PIECE = 1_000_000  # cells drawn at once
MOST_WORDS = 1e8  # drawn in one call: each takes some bytes while it is drawn


class Multinomial(Categorical):
    """Words of documents: component k draws word v of text d with probability params[k, offsets[d] + v].

    Parameters
    ----------
    n_components : int
    cardinalities : sequence of int       number of words of each column of text
    pseudo : (K, S) array, optional       pseudo-counts added before maximising
    lengths : sequence of float           words of a document drawn by `sample`, on average, for each column

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from halfseen.assign import SOFT
    >>> leaf = Multinomial(2, [2])
    >>> prepared = leaf.prepare(np.array([[0.5, 0.5], [0.9, 0.1]]))
    >>> np.exp(leaf.score(prepared, Counts.of(csr_array([[2, 1], [0, 0]])), SOFT)).round(3)
    array([[0.125, 0.081],
           [1.   , 1.   ]])
    """

    lengths: tuple[float, ...]

    def __init__(
        self,
        n_components: int,
        cardinalities: Sequence[int],
        pseudo: Floats | None = None,
        lengths: Sequence[float] | None = None,
    ) -> None:
        super().__init__(n_components, cardinalities, pseudo)
        own = [1.0] * len(cardinalities) if lengths is None else lengths
        object.__setattr__(self, "lengths", tuple(map(float, own)))

    def prepare(self, params: Floats) -> Floats:
        """Return the log-table with a row per word, (S, K)."""
        with np.errstate(divide="ignore"):
            return np.log(np.ascontiguousarray(params.T))

    def score(self, prepared: Any, data: Any, assign: Assign) -> Floats:
        """scores[n, k] = sum over words v of count[n, v] log params[k, v]."""
        scores = np.zeros((len(data), self.n_components))
        kernels.counts_score(*data.arrays, prepared, scores)
        return scores

    def slopes(self, params: Floats, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """Return None: a row has a gradient for every word."""
        return None

    def expect(self, usage: Floats, prepared: Any, data: Any, assign: Assign, out: Stats) -> int:
        """out[k, v] += sum over rows n of usage[n, k] count[n, v]."""
        sums = np.zeros(self.stats_shape[::-1])
        kernels.counts_expect(*data.arrays, np.ascontiguousarray(usage), sums)
        out += sums.T
        return 0

    def count(self, component: NDArray[np.int64], weight: Floats, prepared: Any, data: Any, out: Stats) -> None:
        """out[component[n], v] += weight[n] count[n, v]."""
        kernels.counts_count(*data.arrays, component, np.ascontiguousarray(weight), out)

    def tally(
        self, component: NDArray[np.int64], weight: Floats, cut: Weights, prepared: Any, data: Any
    ) -> Shares | None:
        """Return the counts without rounding; None where counts have fractions, as of documents made equally long."""
        if data.values.dtype.kind == "f" and not (data.values == np.rint(data.values)).all():
            return None
        return super().tally(component, weight, cut, prepared, data)

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """params[k, v] = stats[k, v] / sum of stats[k] over the words of its column."""
        if _free(limits) and len(self.cardinalities) == 1:  # many words: as few passes over them as can be
            total = stats.sum(axis=1, keepdims=True)
            if total.min() > NO_MASS:
                return frozen(stats / total)
        return super().maximise(stats, params, limits)

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return sum of stats * log params, with 0 log 0 = 0."""
        return kernels.log_inner(np.ascontiguousarray(stats), np.ascontiguousarray(params))

    def sample(self, params: Floats, components: NDArray[np.int64], rng: np.random.Generator) -> Counts:
        """Draw documents, their lengths Poisson."""
        words = max(self.lengths, default=0.0) * len(components)
        if not words <= MOST_WORDS:
            raise ParameterError(
                f"{len(components):,} texts of {max(self.lengths):,.6g} words on average are too many to draw: "
                f"{words:.3g} words, at most {MOST_WORDS:.0e}. Draw fewer."
            )
        lengths = [rng.poisson(mean, len(components)) for mean in self.lengths]
        return self.documents(params, components, np.reshape(lengths, (len(self.lengths), len(components))), rng)

    def documents(
        self, params: Floats, components: NDArray[np.int64], lengths: NDArray[np.int64], rng: np.random.Generator
    ) -> Counts:
        """Draw documents with given numbers of words, (D, N): one row of `lengths` for each column of text."""
        rows, words = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for start, stop, own in zip(self.offsets, self.offsets[1:], lengths, strict=False):
            for k in np.unique(components) if stop > start else ():
                inside = np.flatnonzero(components == k)
                bounds = np.cumsum(params[k, start:stop])
                drawn = rng.random(int(own[inside].sum())) * bounds[-1]
                words.append(start + np.minimum(np.searchsorted(bounds, drawn, side="right"), stop - start - 1))
                rows.append(np.repeat(inside, own[inside]))
        cells = np.concatenate(rows), np.concatenate(words)
        shape = len(components), self.stats_shape[1]
        return Counts.of(coo_array((np.ones(len(cells[0])), cells), shape=shape).tocsr())

    def by_word(self, params: Floats, document: Counts, own: slice) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Take the score of one document apart: the sum over its words, plus what the words it lacks say.

        Parameters
        ----------
        params : (K, S) array
        document : Counts             one row
        own : slice                   the words to look at: those of one column of text

        Returns
        -------
        words : (M,) array            the words of the document among them
        scores : (M, K) array
        absent : (K,) array           0 where absent words do not count
        """
        row = document.matrix()
        inside = (row.indices >= own.start) & (row.indices < own.stop)
        words = row.indices[inside].astype(np.int64)
        return words, *self._apart(params, words, row.data[inside], own)

    def _apart(self, params: Floats, words: NDArray[np.int64], counts: Floats, own: slice) -> tuple[Floats, Floats]:
        return self.prepare(params[:, words]) * counts[:, None], np.zeros(len(params))

    def impute(self, params: Floats, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Return the data as they are: counts have no missing cells."""
        return data


class Bernoulli(Multinomial):
    """Words that are there or not: component k uses word v with probability params[k, 2 v + 1].

    Every word has two cells, 'absent' and 'there'; a document without words says that all are absent.

    Parameters
    ----------
    n_components : int
    n_words : int
    pseudo : (K, 2 V) array, optional

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from halfseen.assign import SOFT
    >>> leaf = Bernoulli(1, 2)
    >>> prepared = leaf.prepare(np.array([[0.8, 0.2, 0.5, 0.5]]))
    >>> np.exp(leaf.score(prepared, Counts.of(csr_array([[1, 1], [0, 0]])), SOFT)).round(3)
    array([[0.1],
           [0.4]])
    """

    def __init__(self, n_components: int, n_words: int, pseudo: Floats | None = None) -> None:
        super().__init__(n_components, [2] * n_words, pseudo)

    def prepare(self, params: Floats) -> Any:
        """Return log-odds of every word, (V, K), the score of an empty document, (K,), and where zeros stand."""
        absent, there = params[:, 0::2].T, params[:, 1::2].T
        with np.errstate(divide="ignore"):
            logs = [np.log(np.where(part > 0, part, 1.0)) for part in (absent, there)]
        zeros = None if params.min(initial=1.0) > 0 else np.stack([absent == 0, there == 0]).astype(np.float64)
        return np.ascontiguousarray(logs[1] - logs[0]), logs[0].sum(axis=0), zeros

    def score(self, prepared: Any, data: Any, assign: Assign) -> Floats:
        """scores[n, k] = sum over words v of log params[k, 2 v + (v is in n)]."""
        odds, empty, zeros = prepared
        scores = np.tile(empty, (len(data), 1))
        kernels.counts_score(*data.arrays, odds, scores)
        if zeros is not None:  # words that must be there, or must not
            lacking = np.tile(zeros[0].sum(axis=0), (len(data), 1))
            kernels.counts_score(*data.arrays, np.ascontiguousarray(zeros[1] - zeros[0]), lacking)
            scores[lacking > 0.5] = -np.inf
        return scores

    def expect(self, usage: Floats, prepared: Any, data: Any, assign: Assign, out: Stats) -> int:
        """Add the expected number of documents with and without each word."""
        sums = np.zeros((self.stats_shape[1] // 2, self.n_components))
        kernels.counts_expect(*data.arrays, np.ascontiguousarray(usage), sums)
        self._add(sums.T, usage.sum(axis=0), out)
        return 0

    def count(self, component: NDArray[np.int64], weight: Floats, prepared: Any, data: Any, out: Stats) -> None:
        """The same where the component of each document is known."""
        there = np.zeros((self.n_components, self.stats_shape[1] // 2))
        kernels.counts_count(*data.arrays, component, np.ascontiguousarray(weight), there)
        self._add(there, np.bincount(component, weight, minlength=self.n_components).astype(np.float64), out)

    def tally(
        self, component: NDArray[np.int64], weight: Floats, cut: Weights, prepared: Any, data: Any
    ) -> Shares | None:
        """Return the numbers of documents without rounding; slices of weights may be below zero, sums are not."""

        def add(part: Floats, out: Floats) -> None:
            kernels.counts_count(
                *data.arrays, component, np.ascontiguousarray(part), there := np.zeros_like(out[:, 1::2])
            )
            mass = np.bincount(component, part, minlength=self.n_components)
            out[:, 1::2], out[:, 0::2] = there, mass[:, None] - there

        return cut.sums(weight, self.stats_shape, add)

    def _add(self, there: Floats, mass: Floats, out: Stats) -> None:
        out[:, 1::2] += there
        out[:, 0::2] += np.maximum(mass[:, None] - there, 0.0)  # not below zero by rounding

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """params[k, 2 v + x] = stats[k, 2 v + x] / (stats[k, 2 v] + stats[k, 2 v + 1])."""
        return Categorical.maximise(self, stats, params, limits)

    def sample(self, params: Floats, components: NDArray[np.int64], rng: np.random.Generator) -> Counts:
        """Draw documents."""
        return self.documents(params, components, np.zeros((0, len(components)), dtype=np.int64), rng)

    def documents(
        self, params: Floats, components: NDArray[np.int64], lengths: NDArray[np.int64], rng: np.random.Generator
    ) -> Counts:
        """Draw documents; how many words they have is no choice of ours."""
        size = max(1, PIECE // max(1, self.stats_shape[1] // 2))
        parts = [csr_array((0, self.stats_shape[1] // 2))]
        for first in range(0, len(components), size):
            there = params[components[first : first + size], 1::2]
            parts.append(csr_array((rng.random(there.shape) < there).astype(np.float64)))
        return Counts.of(vstack(parts, format="csr"))

    def _apart(self, params: Floats, words: NDArray[np.int64], counts: Floats, own: slice) -> tuple[Floats, Floats]:
        others = np.setdiff1d(np.arange(own.start, own.stop), words)
        with np.errstate(divide="ignore"):
            return np.log(params[:, 2 * words + 1].T), np.log(params[:, 2 * others]).sum(axis=1)

    def affinity(self, params: Floats, other: Floats) -> Floats:
        """Return sum over words of log sum over x of sqrt(p[k, v, x] q[j, v, x])."""
        total = np.zeros((len(params), len(other)))
        ours, theirs = np.sqrt(params), np.sqrt(other)
        for k in range(len(params)):
            overlap = ours[k, 0::2] * theirs[:, 0::2] + ours[k, 1::2] * theirs[:, 1::2]
            with np.errstate(divide="ignore"):
                total[k] = np.log(np.minimum(overlap, 1.0)).sum(axis=1)
        return total


class Complement(Multinomial):
    """Words of the documents outside each class, whose rarity counts for it (Rennie and others 2003).

    params[k] are the shares of words in all classes but k; a document scores -sum of count log params[k]. That is no
    probability, so there is no likelihood for EM: the rule needs the class of every document.
    """

    exact = False

    def prepare(self, params: Floats) -> Floats:
        """Return minus the log-table, (S, K).

        A word that has no share outside some class says nothing: no document of the fit has it, which would have scored
        infinity.
        """
        table = super().prepare(params)
        np.negative(table, out=table)
        table[np.isinf(table).any(axis=1)] = 0.0
        return table

    def maximise(self, stats: Stats, params: Floats, limits: Limits = FREE) -> Floats:
        """params[k, v] = stats of v outside class k / the same of all words."""
        if not _free(limits):
            raise ParameterError("complement: its words can be neither fixed nor tied.")
        return super().maximise(stats.sum(axis=0) - stats, params)

    def complete(self, stats: Stats, about: Floats, params: Floats) -> float:
        """Return minus the sum of stats * log params: what the documents score."""
        return -super().complete(stats, about, params)

    def log_prior(self, params: Floats) -> float:
        """Return 0: a rule has no prior density."""
        return 0.0


def _free(limits: Limits) -> bool:
    return limits.fixed is None and limits.floor is None
