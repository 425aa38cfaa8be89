"""A hidden state at every step of a sequence; each depends on the one before (hidden Markov models).

    p(z, x) = start[z_1] emit[1, z_1] prod_t trans[z_t-1, z_t] emit[t, z_t]

Forward and backward sums over all K^T paths take T K^2 steps. With

    filtered[t, j] = p(z_t = j | x_1..t)          forward, brought back to one at every step
    ahead[t, i]    = p(x_t+1..T | z_t = i) / p(x_t+1..T | x_1..t)        backward

the usage of state j at t is filtered[t, j] ahead[t, j], that of the transition from i to j at t
filtered[t-1, i] trans[i, j] emit[t, j] ahead[t, j] / scale[t]: past up to t-1, the step, the future from t on.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.data import rows_of
from halfseen.kernels import active as kernels
from halfseen.structures.draws import Draws, spread
from halfseen.structures.structure import Floats, Inference

DRAWN = 1 << 16  # steps of repeated sequences drawn at a time
LEAST = 1e-307  # stands for probabilities that are smaller


class Potentials(NamedTuple):
    """Scores of a chunk as the kernels read them: logs of starts (K,), transitions (K, K) and emissions (N, K)."""

    start: Floats
    trans: Floats
    emit: Floats
    lengths: NDArray[np.int64]

    def of(self, chosen: NDArray[np.int64]) -> Potentials:
        """Return the same for some of the sequences, in copies."""
        return self._replace(emit=self.emit[rows_of(self.lengths, chosen)], lengths=self.lengths[chosen])


@dataclass(frozen=True)
class MarkovChain:
    """Chains: parts `start` (1, K), `trans` (K, K) and `emit` (N, M), N the steps of all sequences of a chunk.

    The chunk's data say how long the sequences are (`data.lengths`); label evidence is about steps and states of the
    emission. Evidence and weights are per sequence.

    Parameters
    ----------
    owner : tuple of int, optional
        Column of `emit` that each of the K states reads: states with the same owner share their emissions, as when a
        state is expanded into several so that it lasts. By default every state has its own.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from halfseen.assign import SOFT
    >>> scores = {"start": np.log([[0.8, 0.2]]), "trans": np.log([[0.7, 0.3], [0.4, 0.6]])}
    >>> scores["emit"] = np.log([[0.2, 0.5], [0.4, 0.1]])
    >>> found = MarkovChain().infer(scores, np.ones((1, 1)), SOFT, data=SimpleNamespace(lengths=np.array([2])))
    >>> np.exp(found.log_evidence).round(4), found.usage["trans"].round(3)
    (array([[0.0716]]), array([[0.626, 0.067],
           [0.223, 0.084]]))
    """

    owner: tuple[int, ...] | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """Starts, transitions and emissions."""
        return ("start", "trans", "emit")

    @property
    def n_groups(self) -> int:
        """One evidence for each sequence."""
        return 1

    def infer(
        self,
        scores: Mapping[str, Floats],
        outer: Floats,
        assign: Assign,
        log_labels: Floats | None = None,
        data: Any = None,
    ) -> Inference:
        """Return usage of states at steps, of starts and of transitions."""
        given = self.potentials(scores, data.lengths, log_labels, assign.beta)
        start, trans = np.zeros(len(given.start)), np.zeros(given.trans.shape)
        weight, log_evidence = np.ravel(outer), np.empty(len(given.lengths))
        digest = 0
        if assign.mode == "soft":
            soft(given, weight, start, trans, log_evidence)
        elif assign.mode == "hard":
            digest = zlib.crc32(hard(given, weight, start, trans, log_evidence).tobytes())
        else:
            assert assign.rng is not None, "sample mode needs a seeded generator"
            drawn(given, weight, assign, start, trans, log_evidence)
        usage = {"start": start[None], "trans": trans, "emit": self._joined(given.emit, scores["emit"].shape[1])}
        return Inference(usage, (log_evidence / assign.beta)[:, None], digest)

    def potentials(
        self,
        scores: Mapping[str, Floats],
        lengths: NDArray[np.int64],
        log_labels: Floats | None = None,
        beta: float = 1.0,
    ) -> Potentials:
        """Return the scores with labels, owners and temperature in them; `scores["emit"]` may be overwritten."""
        emit = scores["emit"]
        if log_labels is not None:
            emit += log_labels
        if self.owner is not None:
            emit = np.ascontiguousarray(emit[:, self.owner])
        start, trans = scores["start"][0], scores["trans"]
        if beta != 1.0:
            start, trans, emit = start * beta, trans * beta, emit * beta
        return Potentials(start, trans, np.ascontiguousarray(emit), np.asarray(lengths, dtype=np.int64))

    def _joined(self, usage: Floats, n_columns: int) -> Floats:
        """Return usage of states summed over those that read the same emission."""
        if self.owner is None:
            return usage
        out = np.zeros((len(usage), n_columns))
        for state, column in enumerate(self.owner):
            out[:, column] += usage[:, state]
        return out


def soft(given: Potentials, weight: Floats, start: Floats, trans: Floats, log_evidence: Floats) -> None:
    """Overwrite emissions with expected usage; add to `start` and `trans`."""
    probable, shift = _probabilities(given)
    room = np.empty(kernels.chain_room(given.lengths, len(given.start)))
    kernels.chain_soft(*probable, given.lengths, weight, given.emit, room, start, trans, log_evidence)
    log_evidence += shift
    left = np.flatnonzero(np.isnan(log_evidence))
    if len(left):
        part, evidence = given.of(left), np.empty(len(left))
        room = np.empty((int(part.lengths.max()) + 2, len(given.start)))
        kernels.chain_soft_log(
            part.start, part.trans, part.lengths, weight[left], part.emit, room, start, trans, evidence
        )
        given.emit[rows_of(given.lengths, left)] = part.emit
        log_evidence[left] = evidence


def hard(given: Potentials, weight: Floats, start: Floats, trans: Floats, log_evidence: Floats) -> NDArray[np.int64]:
    """Overwrite emissions with the usage of the best path, and return it."""
    back, path = np.empty(given.emit.shape, dtype=np.int32), np.empty(len(given.emit), dtype=np.int64)
    kernels.chain_hard(
        given.start, given.trans, given.lengths, weight, given.emit, back, path, start, trans, log_evidence
    )
    return path


def filtered(given: Potentials, log_evidence: Floats) -> Floats:
    """Return log p(state at t | observed up to t), (N, K); -inf from an impossible step on."""
    probable, shift = _probabilities(given)
    out = given.emit.copy()
    room = np.empty(kernels.chain_room(given.lengths, len(given.start)))
    kernels.chain_filter(*probable, given.lengths, out, room, log_evidence)
    log_evidence += shift
    left = np.flatnonzero(np.isnan(log_evidence))
    with np.errstate(divide="ignore", invalid="ignore"):  # rows of sequences that are left are still scores
        np.log(out, out=out)
    if len(left):
        part, evidence = given.of(left), np.empty(len(left))
        kernels.chain_filter_log(part.start, part.trans, part.lengths, part.emit, evidence)
        out[rows_of(given.lengths, left)] = part.emit
        log_evidence[left] = evidence
    return out


def drawn(
    given: Potentials, weight: Floats, assign: Assign, start: Floats, trans: Floats, log_evidence: Floats
) -> None:
    """Overwrite emissions with the usage of paths drawn backwards; the mean of `assign.draws` repetitions.

    A sequence of weight 3 draws three paths; see `structures.draws` for fractions and for many.
    """
    logs = filtered(given, log_evidence)
    given.emit[:] = 0.0
    draws = Draws.of(np.where(np.isfinite(log_evidence), weight * assign.draws, 0.0))
    chosen, share = draws.listed()
    steps = np.cumsum(given.lengths[chosen])
    for cut in np.split(np.arange(len(chosen)), np.flatnonzero(np.diff(steps // DRAWN)) + 1):
        if len(cut):
            _draw(given, logs, chosen[cut], share[cut] / assign.draws, assign.rng, start, trans)
    often = np.flatnonzero(draws.many)
    if len(often):
        _draw_many(given, logs, often, draws.many[often], draws.each[often] / assign.draws, assign.rng, start, trans)


def _draw_many(
    given: Potentials,
    logs: Floats,
    chosen: NDArray[np.int64],
    times: NDArray[np.int64],
    each: Floats,
    rng: Any,
    start: Floats,
    trans: Floats,
) -> None:
    """Draw many paths of each of the chosen sequences at once and add their usage.

    Backwards, those in state j at t + 1 are spread over states i at t by p(i at t | observed up to t) trans[i, j].
    """
    moves = _possible(given.trans - given.trans.max()).T  # [j, i]
    ends = np.cumsum(given.lengths)[chosen]
    reached = np.zeros((len(chosen), len(given.start)), dtype=np.int64)
    for t in range(int(given.lengths[chosen].max())):
        some = np.flatnonzero(given.lengths[chosen] > t)
        rows = ends[some] - 1 - t
        now = np.exp(logs[rows])
        if t == 0:
            reached[some] = spread(times[some], now, rng)
        else:
            drawn = spread(reached[some], now[:, None] * moves, rng)  # (B, j, i)
            trans += np.einsum("bji,b->ij", drawn, each[some])
            reached[some] = drawn.sum(axis=1)
        used = reached[some] * each[some, None]
        given.emit[rows] += used
        start += used[given.lengths[chosen[some]] == t + 1].sum(axis=0)


def _draw(
    given: Potentials,
    logs: Floats,
    chosen: NDArray[np.int64],
    share: Floats,
    rng: Any,
    start: Floats,
    trans: Floats,
) -> None:
    """Draw a path for each of the chosen sequences and add its usage."""
    rows, lengths = rows_of(given.lengths, chosen), given.lengths[chosen]
    path = np.empty(len(rows), dtype=np.int64)
    kernels.chain_draw(given.trans, lengths, logs[rows], rng.random(len(rows)), path)
    by_step = np.repeat(share, lengths)
    np.add.at(given.emit, (rows, path), by_step)
    firsts = np.cumsum(lengths) - lengths
    start += np.bincount(path[firsts], share, minlength=len(start))
    inside = np.ones(len(rows), dtype=bool)
    inside[firsts] = False
    later = np.flatnonzero(inside)
    pairs = path[later - 1] * len(start) + path[later]
    trans += np.bincount(pairs, by_step[later], minlength=trans.size).reshape(trans.shape)


def _probabilities(given: Potentials) -> tuple[tuple[Floats, Floats], Floats]:
    """Return starts and transitions as probabilities, and what logs above 0 add to the evidence of each sequence."""
    high, higher = max(0.0, given.start.max()), max(0.0, given.trans.max())
    shift = high + (given.lengths - 1) * higher
    return (_possible(given.start - high), _possible(given.trans - higher)), shift


def _possible(logs: Floats) -> Floats:
    """Return probabilities, zero for those of the impossible only: the kernels are careful with what is too small."""
    return np.where(logs > -np.inf, np.maximum(np.exp(logs), LEAST), np.exp(logs))
