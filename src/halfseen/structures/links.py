"""Words linked to their translations: every target word comes from one source word, or from none (NULL).

    log_evidence[p] = sum over the links of pair p of prod over target words j of p(i | .) t(f_j | e_i)
    usage           = how often each cell of the lexicon is used, and the statistics of the place (`kernels.links`)

Parts come as probabilities, not as logs: a lexicon has millions of cells, of which each pair reads a few.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.kernels import active as kernels
from halfseen.kernels.links import DIAGONAL, JUMPS, UNIFORM
from halfseen.structures.structure import Floats, Inference

Ints = NDArray[np.int64]
Words = NDArray[np.int32]

NONE = np.zeros(0)


class Sides(NamedTuple):
    """Pairs in one direction, as the kernels read them: see `kernels.links`."""

    null: bool
    pairs: Ints
    cells: Ints
    target: Words
    slots: Words
    allowed: NDArray[np.uint8]

    def taken(self, chosen: Any) -> Sides:
        """Return some of the pairs; one may be chosen more than once."""
        return self._replace(
            pairs=np.ascontiguousarray(self.pairs[chosen]), cells=np.ascontiguousarray(self.cells[chosen])
        )


class Both(NamedTuple):
    """The same pairs in both directions."""

    ahead: Sides
    back: Sides


@dataclass(frozen=True)
class Links:
    """One direction: parts `lexicon` (1, S) and, for places that have parameters, `place`.

    Parameters
    ----------
    kind : int        of the place: 0 uniform, 1 diagonal, 2 jumps

    Examples
    --------
    The pair (das Haus, the house) with t(the | das) = 0.9, t(house | Haus) = 0.8, without NULL:

    >>> from halfseen.assign import SOFT
    >>> words, cells = np.array([0, 1], np.int32), np.arange(4, dtype=np.int32)
    >>> nothing = np.zeros(0, np.uint8)
    >>> pair = Sides(False, np.array([[0, 2, 0, 2, 0]]), np.zeros(1, np.int64), words, cells, nothing)
    >>> table = np.array([[0.9, 0.1, 0.2, 0.8]])
    >>> Links(0).infer({"lexicon": table}, np.ones((1, 1)), SOFT, data=pair).usage["lexicon"].round(3)
    array([[0.818, 0.111, 0.182, 0.889]])
    """

    kind: int = UNIFORM

    @property
    def parts(self) -> tuple[str, ...]:
        """The lexicon and the place."""
        return ("lexicon",) if self.kind == UNIFORM else ("lexicon", "place")

    @property
    def n_groups(self) -> int:
        """One evidence for each pair."""
        return 1

    def infer(
        self,
        scores: Mapping[str, Floats],
        outer: Floats,
        assign: Assign,
        log_labels: Floats | None = None,
        data: Any = None,
    ) -> Inference:
        """Return usage of the parts, and the log-evidence of every pair."""
        usage = {name: np.zeros(size) for name, size in self._shapes(scores, data).items()}
        log_evidence, digest = self.add(scores, np.ravel(outer), assign, data, usage)
        return Inference(usage, log_evidence[:, None], digest)

    def _shapes(self, scores: Mapping[str, Floats], data: Any) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = {"lexicon": scores["lexicon"].shape}
        if self.kind != UNIFORM:
            head = 2 if self.kind == DIAGONAL else len(scores["place"])
            ends = data.cells + (data.pairs[:, 3] if self.kind == DIAGONAL else data.pairs[:, 1] + 1)
            shapes["place"] = (head + int(ends.max(initial=0)),)
        return shapes

    def add(
        self, parts: Mapping[str, Floats], weight: Floats, assign: Assign, data: Sides, usage: Mapping[str, Floats]
    ) -> tuple[Floats, int]:
        """Add the usage of some pairs; return the log-evidence of each, and the digest of the best links."""
        table, place = parts["lexicon"][0], parts.get("place", NONE)
        counts, stats = usage["lexicon"][0], usage.get("place", np.zeros(0))
        weight = np.ascontiguousarray(weight)
        if assign.mode == "soft":
            log_evidence = np.empty(len(weight))
            kernels.links_soft(self.kind, *data, table, place, weight, counts, stats, log_evidence)
            return log_evidence, 0
        if assign.mode == "hard":
            chosen, log_evidence = best(self.kind, data, table, place)
            add_links(self.kind, data, chosen, _possible(weight, log_evidence), place, counts, stats)
            return log_evidence, zlib.crc32(chosen.tobytes())
        assert assign.rng is not None, "sample mode needs a seeded generator"
        return self._drawn(table, place, weight, assign, data, counts, stats), 0

    def _drawn(
        self, table: Floats, place: Floats, weight: Floats, assign: Assign, data: Sides, counts: Floats, stats: Floats
    ) -> Floats:
        """Add the usage of drawn links: a pair of weight 3 draws three times, a fraction counts as one of a draw."""
        assert assign.rng is not None
        uses = weight * assign.draws
        whole = np.floor(uses).astype(np.int64)
        rest = uses - whole
        times = np.maximum(whole + (rest > 0), 1)  # a pair of weight 0 is drawn once, for its evidence, and not counted
        index = np.repeat(np.arange(len(weight)), times)
        share = np.ones(len(index))
        last = np.cumsum(times) - 1
        share[last[rest > 0]] = rest[rest > 0]
        share[last[uses == 0]] = 0.0
        chosen, log_evidence = draw(self.kind, data.taken(index), table, place, assign.rng)
        add_links(
            self.kind, data.taken(index), chosen, _possible(share / assign.draws, log_evidence), place, counts, stats
        )
        return log_evidence[last]


def _possible(weight: Floats, log_evidence: Floats) -> Floats:
    return np.where(log_evidence > -np.inf, weight, 0.0)


@dataclass(frozen=True)
class Agreed:
    """Both directions, whose links are counted by the product of their posteriors: soft only, and no exact EM.

    Parts are those of `Links`, and the same with `back_` before their names.
    """

    kind: int = UNIFORM

    @property
    def parts(self) -> tuple[str, ...]:
        """Lexicon and place of both directions."""
        own = Links(self.kind).parts
        return (*own, *(f"back_{name}" for name in own))

    @property
    def n_groups(self) -> int:
        """One evidence for each pair."""
        return 1

    def infer(
        self,
        scores: Mapping[str, Floats],
        outer: Floats,
        assign: Assign,
        log_labels: Floats | None = None,
        data: Any = None,
    ) -> Inference:
        """Return usage of the parts, and the sum of both log-evidences of every pair."""
        one = Links(self.kind)._shapes(scores, data.ahead)
        other = Links(self.kind)._shapes(_back(scores), data.back)
        usage = {name: np.zeros(size) for name, size in one.items()}
        usage |= {f"back_{name}": np.zeros(size) for name, size in other.items()}
        log_evidence, digest = self.add(scores, np.ravel(outer), assign, data, usage)
        return Inference(usage, log_evidence[:, None], digest)

    def add(
        self, parts: Mapping[str, Floats], weight: Floats, assign: Assign, data: Both, usage: Mapping[str, Floats]
    ) -> tuple[Floats, int]:
        """Add the usage of some pairs; return the log-evidence of each."""
        assert assign.mode == "soft", "directions agree in expectation only"
        none, log_evidence = np.zeros(0), np.empty(len(weight))
        kernels.links_agree(
            self.kind,
            *data.ahead,
            parts["lexicon"][0],
            parts.get("place", none),
            *data.back[1:],
            parts["back_lexicon"][0],
            parts.get("back_place", none),
            np.ascontiguousarray(weight),
            usage["lexicon"][0],
            usage.get("place", none),
            usage["back_lexicon"][0],
            usage.get("back_place", none),
            log_evidence,
        )
        return log_evidence, 0


def _back(parts: Mapping[str, Floats]) -> dict[str, Floats]:
    return {name.removeprefix("back_"): part for name, part in parts.items() if name.startswith("back_")}


# ---- links of pairs --------------------------------------------------------------------------------------------------


def best(kind: int, sides: Sides, table: Floats, place: Floats) -> tuple[Words, Floats]:
    """Return the source word of every target word in the best links, 0 for NULL, and their log-probability."""
    return _chosen(sides, lambda *out: kernels.links_best(kind, *sides, table, place, *out))


def draw(kind: int, sides: Sides, table: Floats, place: Floats, rng: np.random.Generator) -> tuple[Words, Floats]:
    """Return the source word of every target word in drawn links, and the log-evidence of every pair."""
    uniforms = rng.random(int(sides.pairs[:, 3].sum()))
    return _chosen(sides, lambda *out: kernels.links_draw(kind, *sides, table, place, uniforms, *out))


def _chosen(sides: Sides, kernel: Callable[..., None]) -> tuple[Words, Floats]:
    chosen, logs = np.zeros(int(sides.pairs[:, 3].sum()), dtype=np.int32), np.empty(len(sides.pairs))
    kernel(chosen, logs)
    return chosen, logs


def posterior(kind: int, sides: Sides, table: Floats, place: Floats) -> tuple[list[Floats], Floats]:
    """Return the (n + 1, m) posterior of the links of every pair, NULL first, and the log-evidence."""
    sizes = (sides.pairs[:, 1] + 1) * sides.pairs[:, 3]
    flat, log_evidence = np.empty(int(sizes.sum())), np.empty(len(sides.pairs))
    kernels.links_posterior(kind, *sides, table, place, flat, log_evidence)
    parts = np.split(flat, np.cumsum(sizes)[:-1])
    shapes = sides.pairs[:, [1, 3]].tolist()
    return [part.reshape(n + 1, m) for part, (n, m) in zip(parts, shapes, strict=True)], log_evidence


def add_links(
    kind: int, sides: Sides, chosen: Words, weight: Floats, place: Floats, counts: Floats, stats: Floats
) -> None:
    """Add the usage of given links: the source word of every target word, 0 for NULL."""
    _, n, begin, m, link = sides.pairs.T
    pair = np.repeat(np.arange(len(m)), m)
    j = np.arange(len(pair)) - np.repeat(np.cumsum(m) - m, m)
    used, linked = weight[pair], chosen > 0
    if sides.null:
        counts += np.bincount(sides.target[(begin[pair] + j)[~linked]], used[~linked], minlength=len(counts))
    at, i = pair[linked], chosen[linked].astype(np.int64)
    slots = sides.slots[link[at] + (i - 1) * m[at] + j[linked]]
    counts += np.bincount(slots, used[linked], minlength=len(counts))
    if kind == UNIFORM:
        return
    stats[0] += used[~linked].sum()
    if kind == DIAGONAL:
        stats[1] -= used[linked] @ np.abs(i / n[at] - (j[linked] + 1) / m[at])
        stats[2:] += np.bincount(sides.cells[at] + j[linked], used[linked], minlength=len(stats) - 2)
        return
    before = _before(chosen, np.cumsum(m) - m, pair)[linked]
    n_jumps = len(place) - 1
    jump = np.clip(i - before, -(n_jumps // 2), n_jumps // 2) + n_jumps // 2
    stats[1 : 1 + n_jumps] += np.bincount(jump, used[linked], minlength=n_jumps)
    cells = stats[1 + n_jumps :]
    cells += np.bincount(sides.cells[at] + before, used[linked], minlength=len(cells))


def _before(chosen: Words, firsts: Ints, pair: Ints) -> Ints:
    """Return the last source word, not NULL, before each target word; 0 at the beginning of a pair."""
    place = np.where(chosen > 0, np.arange(len(chosen)), -1)
    last = np.concatenate([[-1], np.maximum.accumulate(place)[:-1]])
    return np.where(last >= firsts[pair], chosen[np.maximum(last, 0)], 0).astype(np.int64)


__all__ = ["DIAGONAL", "JUMPS", "UNIFORM", "Agreed", "Both", "Links", "Sides", "add_links", "best", "draw", "posterior"]
