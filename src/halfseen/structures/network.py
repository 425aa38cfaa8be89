"""Bayesian networks: any cells of a row may be unobserved, and each family of variables has a table.

    log_evidence[n] = log sum over the states of a case's variables of prod over families of table[cell]
    usage[cell]     = expected number of cases in which the family is in this state

A *case* is a component of unobserved variables with what was observed around it (`elimination`). Equal cases of all
rows are one, with a weight: a row has the sum of its cases' log-evidence, plus the logs of its observed families.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.kernels import active as kernels
from halfseen.kernels.network import network_best, network_draw, network_draws, network_room, network_soft_log
from halfseen.structures.draws import Draws, spread_by
from halfseen.structures.elimination import Scheme
from halfseen.structures.structure import Floats, Inference

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

DRAWN = 1 << 20  # families of the cases drawn together


class Cases(NamedTuple):
    """Cases as the kernels read them: see `kernels.network`.

    `soft` are logs of the likelihoods of soft evidence: more cells, after those of the tables. `room` is how many
    numbers the kernel needs to work.
    """

    schemes: Ints
    buckets: Ints
    factors: Ints
    local: Shorts
    base: Shorts
    soft: Floats
    room: int

    @classmethod
    def packed(cls, groups: Sequence[tuple[Scheme, NDArray[np.integer]]], soft: Floats) -> Cases:
        """Return the cases of some components: for each its scheme, and the (n, F) bases of its cases."""
        schemes: list[tuple[int, ...]] = []
        buckets: list[tuple[int, ...]] = []
        factors: list[tuple[int, ...]] = []
        local: list[Shorts] = []
        bases: list[NDArray[np.integer]] = []
        n_cases = n_base = n_local = 0
        for scheme, base in groups:
            schemes.append((n_cases, len(base), n_base, base.shape[1], len(buckets), len(scheme.buckets)))
            first_entry = 0
            first_message: list[int] = []
            for bucket in scheme.buckets:
                size = bucket.n_sent * bucket.n_summed
                first_message.append(sum(other.n_sent for other in scheme.buckets[: len(first_message)]))
                buckets.append(
                    (bucket.n_sent, bucket.n_summed, len(factors), len(bucket.factors), first_entry, first_message[-1])
                )
                for factor in bucket.factors:
                    message = -1 if factor.family >= 0 else first_message[factor.bucket]
                    factors.append((factor.family, message, n_local))
                    local.append(factor.local)
                    n_local += size
                first_entry += size
            bases.append(np.ravel(base))
            n_cases += len(base)
            n_base += base.size
        own_schemes = np.array(schemes, dtype=np.int64).reshape(-1, 6)
        own_buckets = np.array(buckets, dtype=np.int64).reshape(-1, 6)
        return cls(
            own_schemes,
            own_buckets,
            np.array(factors, dtype=np.int64).reshape(-1, 3),
            np.concatenate([np.zeros(0, dtype=np.int32), *local]),
            np.concatenate([np.zeros(0, dtype=np.int64), *bases]).astype(np.int32),
            soft,
            network_room(own_schemes, own_buckets),
        )

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return int(self.schemes[:, 1].sum())

    @property
    def widths(self) -> Ints:
        """Number of families of each case."""
        return np.repeat(self.schemes[:, 3], self.schemes[:, 1])

    def taken(self, chosen: Ints) -> Cases:
        """Return the chosen cases, numbers ascending; one may be chosen more than once."""
        schemes = self.schemes.copy()
        bounds = np.searchsorted(chosen, np.append(schemes[:, 0], self.n_cases))
        parts, at = [], 0
        for p, (first, n_cases, first_base, n_families, *_) in enumerate(self.schemes.tolist()):
            own = chosen[bounds[p] : bounds[p + 1]] - first
            base = self.base[first_base : first_base + n_cases * n_families].reshape(n_cases, n_families)[own]
            schemes[p, :3] = bounds[p], len(own), at
            parts.append(base.ravel())
            at += base.size
        base = np.concatenate([np.zeros(0, dtype=np.int32), *parts])
        kept = schemes[schemes[:, 1] > 0]
        return self._replace(schemes=kept, base=base)

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Shorts, Shorts]:
        """What every kernel takes."""
        return self.schemes, self.buckets, self.factors, self.local, self.base


@dataclass(frozen=True)
class Network:
    """Families of variables: part `tables` (1, S), the logs of all cells of all tables.

    Examples
    --------
    Y -> X with Y unobserved and X = 1, for P(Y) = (0.7, 0.3), P(X | Y) = ((0.9, 0.1), (0.2, 0.8)):

    >>> import numpy as np
    >>> from halfseen.assign import SOFT
    >>> from halfseen.structures.elimination import Space, scheme
    >>> from halfseen.structures.graph import Graph
    >>> graph = Graph(("Y", "X"), (2, 2), ((), (0,)))
    >>> own = scheme(Space.of(graph), [0], [0, 1])
    >>> cases = Cases.packed([(own, np.array([[0, 2 + 1]]))], np.zeros(0))
    >>> scores = {"tables": np.log([[0.7, 0.3, 0.9, 0.1, 0.2, 0.8]])}
    >>> found = Network().infer(scores, np.ones((1, 1)), SOFT, data=cases)
    >>> np.exp(found.log_evidence).round(3), found.usage["tables"].round(3)
    (array([[0.31]]), array([[0.226, 0.774, 0.   , 0.226, 0.   , 0.774]]))
    """

    n_groups: int = 1

    @property
    def parts(self) -> tuple[str, ...]:
        """The cells of all tables."""
        return ("tables",)

    def infer(
        self,
        scores: Mapping[str, Floats],
        outer: Floats,
        assign: Assign,
        log_labels: Floats | None = None,
        data: Any = None,
    ) -> Inference:
        """Return usage of the cells, and the log-evidence of every case."""
        log_table = np.concatenate([scores["tables"][0], data.soft])
        if assign.beta != 1.0:
            log_table = log_table * assign.beta
        weight = np.ravel(outer)
        digest = 0
        if assign.mode == "soft":
            counts, log_evidence = soft(log_table, data, weight)
        elif assign.mode == "hard":
            cells, log_evidence = best(log_table, data)
            digest = zlib.crc32(cells.tobytes())
            counts = _counted(cells, data, np.where(np.isfinite(log_evidence), weight, 0.0), len(log_table))
        else:
            assert assign.rng is not None, "sample mode needs a seeded generator"
            counts, log_evidence = drawn(log_table, data, weight, assign.draws, assign.rng)
        usage = counts[: scores["tables"].shape[1]][None]
        return Inference({"tables": usage}, (log_evidence / assign.beta)[:, None], digest)


def soft(log_table: Floats, cases: Cases, weight: Floats) -> tuple[Floats, Floats]:
    """Return expected uses of all cells, and the log-evidence of every case."""
    return sums(np.exp(log_table), lambda: log_table, cases, np.ascontiguousarray(weight))


def sums(table: Floats, log_table: Callable[[], Floats], cases: Cases, weight: Floats) -> tuple[Floats, Floats]:
    """Do the same with a table of probabilities; its logs are used where numbers become too small."""
    counts, log_evidence = np.zeros(len(table)), np.empty(len(weight))
    kernels.network_soft(table, *cases.arrays, weight, np.empty(cases.room), counts, log_evidence)
    left = np.flatnonzero(np.isnan(log_evidence))
    if len(left):
        evidence = np.empty(len(left))
        network_soft_log(log_table(), *cases.taken(left).arrays, weight[left], counts, evidence)
        log_evidence[left] = evidence
    return counts, log_evidence


def best(log_table: Floats, cases: Cases) -> tuple[Ints, Floats]:
    """Return the cell of each family in the most probable state of every case, one after the other, and its log."""
    cells, log_evidence = np.empty(len(cases.base), dtype=np.int64), np.empty(cases.n_cases)
    network_best(log_table, *cases.arrays, cells, log_evidence)
    return cells, log_evidence


def draw(log_table: Floats, cases: Cases, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """Return the cell of each family in a state drawn for every case, and the log-evidence of every case."""
    cells, log_evidence = np.empty(len(cases.base), dtype=np.int64), np.empty(cases.n_cases)
    uniforms = rng.random((cases.n_cases, int(cases.schemes[:, 5].max(initial=0))))
    network_draw(log_table, *cases.arrays, uniforms, cells, log_evidence)
    return cells, log_evidence


def drawn(
    log_table: Floats, cases: Cases, weight: Floats, draws: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return uses of all cells in states drawn for cases used `weight` times; the mean of `draws` repetitions.

    A case of weight 3 draws three states; see `structures.draws` for fractions and for many.
    """
    counts, log_evidence = soft(log_table, cases, np.zeros(cases.n_cases))
    draws_of = Draws.of(np.where(np.isfinite(log_evidence), weight * draws, 0.0))
    chosen, share = draws_of.listed()
    work = np.cumsum(cases.widths[chosen])
    for cut in np.split(np.arange(len(chosen)), np.flatnonzero(np.diff(work // DRAWN)) + 1):
        if len(cut):
            own = cases.taken(chosen[cut])
            counts += _counted(draw(log_table, own, rng)[0], own, share[cut] / draws, len(counts))
    often = np.flatnonzero(draws_of.many)
    if len(often):
        each = draws_of.each[often] / draws
        network_draws(log_table, *cases.taken(often).arrays, draws_of.many[often], each, spread_by(rng), counts)
    return counts, log_evidence


def _counted(cells: Ints, cases: Cases, weight: Floats, size: int) -> Floats:
    return np.bincount(cells, np.repeat(weight, cases.widths), minlength=size).astype(np.float64, copy=False)
