"""Mixtures that share their components: tied mixtures, as of acoustic models with few densities and many states.

Component s (a state) draws its columns in streams, independently of each other; stream f is a mixture whose normal
components are those of a codebook, which other states share, with weights of its own:

    log p(x | s) = sum_f log sum_m mix[s, f, m] prod_{d in f} Normal(x[d]; mean[books[s], m, d], var[books[s], m, d])

One codebook for all is semi-continuous, one for each unit phonetically tied, one for each state continuous. Each
density is computed once a row, however many states share it. The component within a stream is latent and integrated.

- *codebook*: M densities over all columns; each stream uses its own columns of them.
- *stream*: some consecutive columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, xlogy

from halfseen.assign import Assign
from halfseen.leaves.categorical import Cells
from halfseen.leaves.gaussian import Gaussian
from halfseen.leaves.leaf import Floats, Latent, Leaf, Stats, lacking
from halfseen.leaves.limits import Params
from halfseen.leaves.product import Bundle
from halfseen.leaves.wrappers import unwrapped

ROWS = 512  # computed at once: the densities of a codebook then stay in the second-level cache
LOWEST = -100.0  # logs below the largest that are raised to this: smaller numbers change no digit, and are slow
TINY = 1e-25  # sums of weighted densities below this are computed again in logs: the largest, 1, may have weight 0


class _Ready(NamedTuple):
    """What densities are computed from; means are about the centre.

    factors : list of (C, M, 3 d) arrays     of squares, of values, and constants, for each stream
    mix : (S, F, M) array
    mean : (C, M, D) array
    """

    factors: list[Floats]
    mix: Floats
    mean: Floats


class _Piece(NamedTuple):
    """Densities of a codebook in a stream for some rows: their logs, and the densities over the largest, (M, n)."""

    book: int
    stream: int
    rows: slice
    logs: Floats
    shares: Floats
    largest: Floats


@dataclass(frozen=True, eq=False)
class Codebooks(Bundle):
    """States whose streams are mixtures over shared densities.

    Parameters
    ----------
    books : (S,) ints         codebook of each state, 0 .. C - 1
    streams : sequence of int number of columns of each stream
    width : int               M, densities of a codebook
    leaves : mapping          `mix`, weights by state and stream; `emit`, normal densities by codebook; see `of`

    Examples
    --------
    >>> import numpy as np
    >>> leaf = Codebooks.of([0, 0], [1], Gaussian(2, np.zeros(1), np.ones(1)))
    >>> emit = leaf.blank()["emit"]._replace(mean=np.array([[-3.0], [3.0]]))
    >>> params = {"mix": np.array([[0.9, 0.1], [0.1, 0.9]]), "emit": emit}
    >>> leaf.score(leaf.prepare(params), np.array([[3.0]]), None).round(3)
    array([[-3.222, -1.024]])
    """

    books: NDArray[np.int64]
    streams: tuple[int, ...]
    width: int
    leaves: Mapping[str, Leaf]

    @classmethod
    def of(cls, books: Sequence[int] | NDArray[np.int64], streams: Sequence[int], emit: Leaf) -> Codebooks:
        """Return the leaf of states with these codebooks, whose densities are those of the leaf `emit`, in order."""
        book = np.asarray(books, dtype=np.int64)
        width = emit.n_components // (int(book.max()) + 1)
        mix = Cells(len(book) * len(streams), [width])
        return cls(book, tuple(streams), width, {"mix": mix, "emit": emit})

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """States, S."""
        return len(self.books)

    @property
    def has_latent(self) -> bool:  # type: ignore[override]
        """The component of a stream is hidden."""
        return True

    @property
    def integrates(self) -> bool:
        """Components are never chosen, also if states are."""
        return True

    @property
    def centre(self) -> Floats:
        """What the densities are computed about, (D,)."""
        emit = unwrapped(self.leaves["emit"])
        assert isinstance(emit, Gaussian)
        return emit.centre

    @cached_property
    def cuts(self) -> list[slice]:
        """Columns of each stream."""
        ends = np.cumsum(self.streams).tolist()
        return [slice(end - own, end) for end, own in zip(ends, self.streams, strict=True)]

    @cached_property
    def _states(self) -> list[NDArray[np.intp]]:
        """States of each codebook."""
        return [np.flatnonzero(self.books == c) for c in range(int(self.books.max()) + 1)]

    def prepare(self, params: Params) -> _Ready:
        """Return the factors of x^2, of x and of 1 in each log-density."""
        mean = (params["emit"].mean - self.centre).reshape(-1, self.width, len(self.centre))
        var = params["emit"].var.reshape(mean.shape)
        with np.errstate(divide="ignore", invalid="ignore"):  # a variance of 0, which the run reports
            terms = (-0.5 / var, mean / var, -0.5 * (mean**2 / var + np.log(2 * np.pi * var)))
        factors = [np.concatenate([term[..., cut] for term in terms], axis=2) for cut in self.cuts]
        return _Ready(factors, params["mix"].reshape(self.n_components, len(self.streams), self.width), mean)

    def _pieces(self, prepared: _Ready, data: Any) -> Iterator[_Piece]:
        """Yield the densities of all rows, by stream, rows and codebook; a missing cell adds nothing."""
        data = np.asarray(data, dtype=np.float64) - self.centre
        for f, cut in enumerate(self.cuts):
            columns, n = data[:, cut], self.streams[f]
            whole = not np.isnan(columns).any()
            factors = prepared.factors[f]
            if whole:
                factors = np.concatenate([factors[..., : 2 * n], factors[..., 2 * n :].sum(axis=2, keepdims=True)], 2)
            for begin in range(0, len(data), ROWS):
                rows = slice(begin, min(begin + ROWS, len(data)))
                x = columns[rows].T
                seen = np.ones((1, x.shape[1])) if whole else (x == x).astype(np.float64)
                x = x if whole else np.nan_to_num(x)
                terms = np.concatenate([x**2, x, seen])
                for c, own in enumerate(factors):
                    logs = own @ terms
                    largest = logs.max(axis=0)
                    largest[~np.isfinite(largest)] = 0.0
                    shares = np.exp(np.maximum(logs - largest, LOWEST))
                    yield _Piece(c, f, rows, logs, shares, largest)

    def score(self, prepared: _Ready, data: Any, assign: Assign | None) -> Floats:
        """Return the sum over streams of the logs of the mixtures, (N, S)."""
        scores = np.zeros((self.n_components, len(data)))
        with np.errstate(divide="ignore"):
            for piece in self._pieces(prepared, data):
                states = self._states[piece.book]
                mix = prepared.mix[states, piece.stream]
                sums = mix @ piece.shares
                logs = np.log(sums) + piece.largest
                if sums.min(initial=1.0) < TINY:
                    logs = logsumexp(piece.logs, axis=1, b=mix[:, :, None])
                scores[states, piece.rows] += logs
        return np.ascontiguousarray(scores.T)

    def expect(self, usage: Floats, prepared: _Ready, data: Any, assign: Assign | None, out: Stats) -> int:
        """Add the expected counts of components, and the moments of the densities about their means."""
        counts = self.view(out)["mix"].reshape(prepared.mix.shape)
        moments = self.view(out)["emit"].reshape(4, *prepared.mean.shape)
        away = np.asarray(data, dtype=np.float64) - self.centre
        for piece, used, held in self._held(usage, prepared, data):
            cut, states = self.cuts[piece.stream], self._states[piece.book]
            counts[states, piece.stream] += used
            x = away[piece.rows, cut]
            seen, x = (x == x).astype(np.float64), np.nan_to_num(x)
            mean, mass, first = prepared.mean[piece.book][:, cut], held @ seen, held @ x
            own = moments[:, piece.book, :, cut]
            own[0] += mass
            own[1] += first - mean * mass
            own[2] += held @ x**2 - 2 * mean * first + mean**2 * mass
        return 0

    def _held(self, usage: Floats, prepared: _Ready, data: Any) -> Iterator[tuple[_Piece, Floats, Floats]]:
        """Yield the densities with the uses of each by states, (states, M), and at rows, (M, n)."""
        for piece in self._pieces(prepared, data):
            states = self._states[piece.book]
            used, mix = usage[piece.rows, states].T, prepared.mix[states, piece.stream]
            sums = mix @ piece.shares
            if sums.min(initial=1.0) >= TINY:
                ratio = used / sums
                yield piece, mix * (ratio @ piece.shares.T), piece.shares * (mix.T @ ratio)
            else:
                within = self._posterior(prepared, piece) * used[:, None]
                yield piece, within.sum(axis=2), within.sum(axis=0)

    def pulls(self, usage: Floats, prepared: _Ready, data: Any) -> tuple[Floats, Floats]:
        """Return the precision of the densities of each row, and their means about the centre times it, (N, D) each.

        See `leaves.transforms`.
        """
        found = np.zeros((2, len(data), len(self.centre)))
        for piece, _, held in self._held(usage, prepared, data):
            cut, n = self.cuts[piece.stream], self.streams[piece.stream]
            factors = prepared.factors[piece.stream][piece.book]
            found[0, piece.rows, cut] += held.T @ (-2 * factors[:, :n])
            found[1, piece.rows, cut] += held.T @ factors[:, n : 2 * n]
        return found[0], found[1]

    def _posterior(self, prepared: _Ready, piece: _Piece) -> Floats:
        """Return the probability of each component, given state and row, (states, M, rows)."""
        mix = prepared.mix[self._states[piece.book], piece.stream][:, :, None]
        with np.errstate(divide="ignore"):
            logs = piece.logs + np.log(mix)
        total = logsumexp(logs, axis=1, keepdims=True)
        return np.exp(logs - np.where(np.isfinite(total), total, 0.0))

    def latent(self, about: _Ready, params: _Ready, data: Any, usage: Floats) -> Latent:
        """Return entropy and divergence of the components of all streams."""
        found = Latent()
        for one, other in zip(self._pieces(about, data), self._pieces(params, data), strict=True):
            q, p = self._posterior(about, one), self._posterior(params, other)
            weight = usage[one.rows, self._states[one.book]].T[:, None]
            entropy = -float((weight * xlogy(q, q)).sum())
            with np.errstate(divide="ignore"):
                found = found.plus(Latent(entropy, -entropy - float((weight * xlogy(q, p)).sum())))
        return found

    def sample(self, params: Params, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw a component in each stream, then its columns."""
        emit, n_streams = params["emit"], len(self.streams)
        found = np.empty((len(components), len(self.centre)))
        for f, cut in enumerate(self.cuts):
            chosen = self.leaves["mix"].sample(params["mix"], components * n_streams + f, rng)[:, 0]
            at = self.books[components] * self.width + chosen
            noise = rng.standard_normal((len(components), self.streams[f]))
            found[:, cut] = emit.mean[at, cut] + np.sqrt(emit.var[at, cut]) * noise
        return found

    def impute(self, params: Params, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Refuse: no family asks for it."""
        raise lacking(self, "impute", "Impute with a model whose states have their own densities.")

    def affinity(self, params: Params, other: Params) -> Floats:
        """Refuse: no family asks for it."""
        raise lacking(self, "affinity", "Compare models whose states have their own densities.")

    def take(self, params: Params, order: NDArray[np.int64]) -> Params:
        """Refuse: states are bound to their codebooks."""
        raise lacking(self, "take", "States with shared densities have a fixed order.")

    def reorder(self, stats: Stats, order: NDArray[np.int64]) -> Stats:
        """Refuse: states are bound to their codebooks."""
        raise lacking(self, "reorder", "States with shared densities have a fixed order.")

    def pool(self, stats: Stats, groups: NDArray[np.int64]) -> Stats:
        """Refuse: states are bound to their codebooks."""
        raise lacking(self, "pool", "States with shared densities cannot be tied further.")
