"""Words linked to their translations: every target word comes from one source word, or from none (NULL).

    log_evidence[p] = sum over the links of pair p of prod over target words j of p(i | .) t(f_j | e_i)
    usage           = how often each cell of the lexicon is used, and the statistics of the place (`kernels.links`)

Parts come as probabilities, not as logs: a lexicon has millions of cells, of which each pair reads a few. Translation
probabilities of all links of a block of pairs (`chance`) are looked up source word by source word; pair by pair they
are replaced by their posterior, and source word by source word this is counted. Each of the three is shared between
threads in parts that depend on the data alone.

- *sides*: all pairs in one direction.
- *block*: neighbouring pairs of them, whose links are in memory at one time.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.kernels import active as kernels
from halfseen.kernels.links import DIAGONAL, JUMPS, SHORT, SPAN_BITS, UNIFORM, links_draws
from halfseen.structures.draws import Draws, spread_by
from halfseen.structures.structure import Floats, Inference

Ints = NDArray[np.int64]
Words = NDArray[np.int32]
Runner = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]

NONE = np.zeros(0)
NO_ORDER = np.zeros(0, dtype=np.int64)
NO_STEPS = np.zeros(0, dtype=np.uint16)
PARTS = 16  # of a block, in which workers share it
LANES = 16  # of a block without a matrix, at most


class Sides(NamedTuple):
    """Pairs in one direction, and the cells of their lexicon: see `kernels.links`; `n_words` target words exist."""

    null: bool
    n_words: int
    firsts: Ints
    columns: Words
    pairs: Ints
    cells: Ints
    source: Words
    target: Words
    allowed: NDArray[np.uint8]

    def block(self, first: int = 0, last: int | None = None, matrix: bool = True) -> Block:
        """Return the pairs first .. last as the kernels read them; Model 1 alone can do without a matrix of chances.

        Without one, pairs stand in the order of their target lengths: loops end where the last ones did, as processors
        foresee.
        """
        pairs, cells = self.pairs[first:last], self.cells[first:last]
        begin, sizes = int(pairs[:1, 4].sum()), (pairs[:, 1] + 1) * pairs[:, 3]
        if begin:
            pairs = pairs - np.array([0, 0, 0, 0, begin])
        lanes = cut(np.concatenate([[0], np.cumsum(sizes)]), 1 if matrix else self._n_lanes(int(sizes.sum())))
        order, target = NO_ORDER, self.target
        if not matrix:
            order = np.lexsort((pairs[:, 3], np.repeat(np.arange(len(lanes) - 1), np.diff(lanes))))
            cells, sizes = cells[order], sizes[order]
            pairs, target = _moved(pairs[order], target)
        stood = np.concatenate([[0], np.cumsum(pairs[:, 1] + self.null)])[lanes]
        ends, spans = np.empty((len(lanes) - 1, len(self.firsts)), dtype=np.int64), np.empty(stood[-1], dtype=np.int64)
        places = np.empty(stood[-1] if matrix else 0, dtype=np.int64)
        for lane, own, at in zip(ends, _slices(lanes), _slices(stood), strict=True):
            kernels.links_find(self.null, pairs[own], self.source, lane, spans[at], places[at])
            lane += at.start
        reached = np.concatenate([[0], np.cumsum(spans & ((1 << SPAN_BITS) - 1))])[ends]
        return Block(
            self.null,
            pairs,
            cells,
            self.allowed[begin : begin + int(sizes.sum())] if len(self.allowed) else self.allowed,
            self.firsts,
            self.columns,
            ends,
            spans,
            places,
            np.zeros((len(ends), 0), dtype=np.int64),
            NO_STEPS,
            target,
            self.n_words,
            cut((reached - reached[:, :1]).sum(axis=0), PARTS),
            cut(np.concatenate([[0], np.cumsum(sizes)]), PARTS),
            lanes,
            order,
        )

    def _n_lanes(self, n_links: int) -> int:
        """Return in how many lanes sums over source words are made, each of which reads the whole lexicon."""
        wanted = n_links // max(len(self.columns), 1)
        return int(np.clip(1 << max(wanted, 1).bit_length() - 1, 2, LANES))  # a power of two, as workers often are


class Block(NamedTuple):
    """Neighbouring pairs in one direction, where their source words stand, and the bounds of what workers share.

    Without a matrix, `order` says which pair of the corpus each of them is.
    """

    null: bool
    pairs: Ints
    cells: Ints
    allowed: NDArray[np.uint8]
    firsts: Ints
    columns: Words
    ends: Ints
    spans: Ints
    places: Ints
    step_ends: Ints
    steps: NDArray[np.uint16]
    target: Words
    n_words: int
    word_parts: Ints
    pair_parts: Ints
    lanes: Ints
    order: Ints

    @property
    def lexicon(self) -> tuple[Any, ...]:
        """What kernels read of the lexicon, and of where its words stand."""
        return self.lexicon_of(slice(None))

    def lexicon_of(self, lanes: slice) -> tuple[Any, ...]:
        """Return the same of some lanes."""
        standing = (self.ends[lanes], self.spans, self.places, self.step_ends[lanes], self.steps)
        return (self.firsts, self.columns, *standing, self.target, self.n_words)

    def with_steps(self, run: Runner = map) -> Block:
        """Return the same with the cell of every link in the row of its source word: 2 bytes a link, quicker passes.

        What they lead to has the same bits. Long rows have none.
        """
        reached = np.concatenate([[0], np.cumsum(self.spans & ((1 << SPAN_BITS) - 1))])[self.ends]
        sizes = np.where(np.diff(self.firsts) <= SHORT, np.diff(reached, axis=1), 0)
        ends = np.zeros(self.ends.shape, dtype=np.int64)
        np.cumsum(sizes, axis=1, out=ends[:, 1:])
        ends += (np.cumsum(ends[:, -1]) - ends[:, -1])[:, None]
        steps, block = np.empty(int(sizes.sum()), dtype=np.uint16), self._replace(step_ends=ends)
        _each(run, self.word_parts, lambda words: kernels.links_steps(*block.lexicon, *words, steps))
        return block._replace(steps=steps)

    @property
    def without_steps(self) -> Block:
        """The same without the cells of links."""
        return self._replace(steps=NO_STEPS, step_ends=self.step_ends[:, :0])

    @property
    def has_matrix(self) -> bool:
        """Whether links have a place for what belongs to them."""
        return len(self.places) == len(self.spans)

    @property
    def size(self) -> int:
        """Size of all matrices."""
        return int(((self.pairs[:, 1] + 1) * self.pairs[:, 3]).sum())

    def of_pairs(self, part: slice) -> tuple[Any, ...]:
        """Return what kernels read of some pairs, between their kind and the parameters of the place."""
        return (self.null, self.pairs[part], self.cells[part], self.allowed)


class Room:
    """Memory that passes use one after the other: fresh memory is dear."""

    def __init__(self) -> None:
        self._held: dict[str, Floats] = {}

    def empty(self, name: str, size: int) -> Floats:
        """Return an array of so many numbers, the same memory each time for one name."""
        if len(self._held.get(name, NONE)) < size:
            self._held.pop(name, None)
            self._held[name] = np.empty(size)
        return self._held[name][:size]

    def clear(self) -> None:
        """Release the memory."""
        self._held.clear()


class Both(NamedTuple):
    """The same pairs in both directions."""

    ahead: Sides
    back: Sides

    def block(self, first: int = 0, last: int | None = None) -> BothBlocks:
        """Return the pairs first .. last of both."""
        return BothBlocks(self.ahead.block(first, last), self.back.block(first, last))


class BothBlocks(NamedTuple):
    """Neighbouring pairs in both directions."""

    ahead: Block
    back: Block


def cut(reached: Ints, n_parts: int) -> Ints:
    """Return bounds that cut what `reached[k]` counts up to k into about equal parts, none of them empty."""
    wanted = reached[-1] * np.arange(1, n_parts) / n_parts
    return np.unique(np.concatenate([[0], np.searchsorted(reached, wanted), [len(reached) - 1]]))


def _moved(pairs: Ints, target: Words) -> tuple[Ints, Words]:
    """Return pairs whose target words stand in the order of the pairs, and these words."""
    m = pairs[:, 3]
    firsts = np.cumsum(m) - m
    at = np.repeat(pairs[:, 2] - firsts, m)
    at += np.arange(len(at))
    pairs[:, 2] = firsts
    return pairs, target[at]


def _slices(bounds: Ints) -> list[slice]:
    return [slice(first, last) for first, last in pairwise(bounds.tolist())]


@dataclass(frozen=True)
class Links:
    """One direction: parts `lexicon` (1, S) and, for places that have parameters, `place`.

    Parameters
    ----------
    kind : int        of the place: 0 uniform, 1 diagonal, 2 jumps
    run : callable    maps a task over parts, results in their order

    Examples
    --------
    The pair (das Haus, the house) with t(the | das) = 0.9, t(house | Haus) = 0.8, without NULL:

    >>> from halfseen.assign import SOFT
    >>> source, target = np.array([1, 2], np.int32), np.array([0, 1], np.int32)
    >>> firsts, columns = np.array([0, 0, 2, 4]), np.array([0, 1, 0, 1], np.int32)
    >>> pairs, cells, nothing = np.array([[0, 2, 0, 2, 0]]), np.zeros(1, np.int64), np.zeros(0, np.uint8)
    >>> sides = Sides(False, 2, firsts, columns, pairs, cells, source, target, nothing)
    >>> table = np.array([[0.9, 0.1, 0.2, 0.8]])
    >>> Links(0).infer({"lexicon": table}, np.ones((1, 1)), SOFT, data=sides.block()).usage["lexicon"].round(3)
    array([[0.818, 0.111, 0.182, 0.889]])
    """

    kind: int = UNIFORM
    run: Runner = field(default=map, repr=False, compare=False)
    room: Room = field(default_factory=Room, repr=False, compare=False)

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
        self, parts: Mapping[str, Floats], weight: Floats, assign: Assign, data: Block, usage: Mapping[str, Floats]
    ) -> tuple[Floats, int]:
        """Add the usage of some pairs; return the log-evidence of each, and the digest of the best links.

        Where there is no matrix, write it: such a block has all pairs.
        """
        table, place = parts["lexicon"][0], parts.get("place", NONE)
        counts, stats = usage["lexicon"][0], usage.get("place", np.zeros(0))
        weight = np.ascontiguousarray(weight)
        if not data.has_matrix:
            assert (self.kind, assign.mode) == (UNIFORM, "soft"), "only Model 1 can do without a matrix"
            return use_uniform(data, table, weight, counts, self.run, self.room), 0
        chance, digest = chances(data, table, self.run, self.room.empty("chance", data.size)), 0
        if assign.mode == "soft":
            log_evidence = to_posterior(self.kind, data, place, weight, chance, stats, self.run)
        elif assign.mode == "hard":
            chosen, log_evidence = best_of(self.kind, data, place, chance, self.run)
            to_chosen(data.pairs, chosen, _possible(weight, log_evidence), chance)
            add_places(self.kind, data, chosen, _possible(weight, log_evidence), place, stats)
            digest = zlib.crc32(chosen.tobytes())
        else:
            log_evidence = self._drawn(place, weight, assign, data, chance, stats)
        count(data, chance, counts, self.run)
        return log_evidence, digest

    def _drawn(
        self, place: Floats, weight: Floats, assign: Assign, data: Block, chance: Floats, stats: Floats
    ) -> Floats:
        """Turn chances into drawn links: a pair of weight 3 draws three times; see `structures.draws`."""
        assert assign.rng is not None, "sample mode needs a seeded generator"
        draws = Draws.of(weight * assign.draws)
        none = draws.single == 0  # such a pair is drawn once, for its evidence, and not counted
        draws = draws._replace(single=draws.single + none, share=np.where(none, 0.0, draws.share))
        index, share = draws.listed()
        many = data._replace(pairs=np.ascontiguousarray(data.pairs[index]), cells=data.cells[index])
        chosen, log_evidence = draw_from(self.kind, many, place, chance, assign.rng, self.run)
        used, found = _possible(share / assign.draws, log_evidence), log_evidence[np.cumsum(draws.single) - 1]
        often = np.flatnonzero((draws.many > 0) & (found > -np.inf))
        at_once = np.zeros(len(chance) if len(often) else 0)
        if len(often):
            block = data._replace(pairs=np.ascontiguousarray(data.pairs[often]), cells=data.cells[often])
            each = draws.each[often] / assign.draws
            _, pairs, cells, allowed = block.of_pairs(slice(0, len(often)))
            links_draws(
                self.kind,
                block.null,
                pairs,
                cells,
                allowed,
                place,
                chance,
                draws.many[often],
                each,
                spread_by(assign.rng),
                at_once,
                stats,
            )
        to_chosen(many.pairs, chosen, used, chance)
        add_places(self.kind, many, chosen, used, place, stats)
        if len(often):
            chance += at_once
        return found


def _possible(weight: Floats, log_evidence: Floats) -> Floats:
    return np.where(log_evidence > -np.inf, weight, 0.0)


@dataclass(frozen=True)
class Agreed:
    """Both directions, whose links are counted by the product of their posteriors: soft only, and no exact EM.

    Residual posterior mass of a word goes to NULL. Without NULL it has nowhere to go: links that serve both directions
    would pair all words with all words, which is impossible for sentences of different lengths.

    Parts are those of `Links`, and the same with `back_` before their names.
    """

    kind: int = UNIFORM
    run: Runner = field(default=map, repr=False, compare=False)
    room: Room = field(default_factory=Room, repr=False, compare=False)

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
        self, parts: Mapping[str, Floats], weight: Floats, assign: Assign, data: BothBlocks, usage: Mapping[str, Floats]
    ) -> tuple[Floats, int]:
        """Add the usage of some pairs; return the log-evidence of each."""
        assert assign.mode == "soft", "directions agree in expectation only"
        assert data.ahead.null, "agreement needs NULL, to which the residual posterior mass goes"
        places = parts.get("place", NONE), parts.get("back_place", NONE)
        stats = usage.get("place", np.zeros(0)), usage.get("back_place", np.zeros(0))
        weight, log_evidence = np.ascontiguousarray(weight), np.empty(len(weight))
        rooms = self.room.empty("chance", data.ahead.size), self.room.empty("back", data.back.size)
        chance = chances(data.ahead, parts["lexicon"][0], self.run, rooms[0])
        back = chances(data.back, parts["back_lexicon"][0], self.run, rooms[1])

        def agree(part: slice) -> tuple[Floats, Floats]:
            own = np.zeros_like(stats[0]), np.zeros_like(stats[1])
            both = (*data.ahead.of_pairs(part), places[0], *data.back.of_pairs(part)[1:], places[1])
            kernels.links_agree(self.kind, *both, weight[part], chance, own[0], back, own[1], log_evidence[part])
            return own

        for own in self.run(agree, _slices(data.ahead.pair_parts)):
            for total, part in zip(stats, own, strict=True):
                total += part
        count(data.ahead, chance, usage["lexicon"][0], self.run)
        count(data.back, back, usage["back_lexicon"][0], self.run)
        return log_evidence, 0


def _back(parts: Mapping[str, Floats]) -> dict[str, Floats]:
    return {name.removeprefix("back_"): part for name, part in parts.items() if name.startswith("back_")}


# ---- from the lexicon to links, and back -----------------------------------------------------------------------------


def chances(block: Block, table: Floats, run: Runner = map, out: Floats | None = None) -> Floats:
    """Return t(f_j | e_i) of every link, (n + 1, m) of every pair, one after the other."""
    chance = np.empty(block.size) if out is None else out
    _each(run, block.word_parts, lambda words: kernels.links_chances(*block.lexicon, *words, table, chance))
    return chance


def count(block: Block, usage: Floats, counts: Floats, run: Runner = map) -> None:
    """Add the usage of every link to its cell."""
    _each(run, block.word_parts, lambda words: kernels.links_counts(*block.lexicon, *words, usage, counts))


def _each(run: Runner, bounds: Ints, task: Callable[[tuple[int, int]], None]) -> None:
    for _ in run(task, list(pairwise(bounds.tolist()))):
        pass


def use_uniform(
    block: Block, table: Floats, weight: Floats, counts: Floats, run: Runner = map, room: Room | None = None
) -> Floats:
    """Write the usage of cells under Model 1, without chances of single links; return the log-evidence of pairs."""
    weight, log_evidence = weight[block.order], np.empty(len(weight))
    sums = (room or Room()).empty("sums", len(block.target))

    def add(lane: int) -> None:
        first, last = block.lanes[lane : lane + 2].tolist()
        sums[block.pairs[first, 2] : block.pairs[last - 1, 2] + block.pairs[last - 1, 3]] = 0.0
        kernels.links_sums(*block.lexicon_of(slice(lane, lane + 1)), 0, len(block.firsts) - 1, table, sums)

    def divide(part: slice) -> None:
        kernels.links_uniform(block.null, block.pairs[part], weight[part], sums, log_evidence[part])

    for task, parts in ((add, range(len(block.ends))), (divide, _slices(block.pair_parts))):
        for _ in run(task, parts):
            pass
    _each(run, block.word_parts, lambda words: kernels.links_shares(*block.lexicon, *words, table, sums, counts))
    of_corpus = np.empty(len(weight))
    of_corpus[block.order] = log_evidence
    return of_corpus


# ---- links of pairs --------------------------------------------------------------------------------------------------


def to_posterior(
    kind: int, block: Block, place: Floats, weight: Floats, chance: Floats, stats: Floats, run: Runner = map
) -> Floats:
    """Turn chances of links into weight times their posterior, in place; add to `stats`, return the log-evidence."""
    log_evidence = np.empty(len(block.pairs))

    def task(part: slice) -> Floats:
        own = np.zeros_like(stats)
        kernels.links_posterior(kind, *block.of_pairs(part), place, weight[part], chance, own, log_evidence[part])
        return own

    for own in run(task, _slices(block.pair_parts)):
        stats += own
    return log_evidence


def best_of(kind: int, block: Block, place: Floats, chance: Floats, run: Runner = map) -> tuple[Words, Floats]:
    """Return the source word of every target word in the best links, 0 for NULL, and their log-probability."""

    def task(part: slice, words: slice, *out: Any) -> None:
        kernels.links_best(kind, *block.of_pairs(part), place, chance, *out)

    return _chosen(block, task, run)


def draw_from(
    kind: int, block: Block, place: Floats, chance: Floats, rng: np.random.Generator, run: Runner = map
) -> tuple[Words, Floats]:
    """Return the source word of every target word in drawn links, and the log-evidence of every pair."""
    uniforms = rng.random(int(block.pairs[:, 3].sum()))

    def task(part: slice, words: slice, *out: Any) -> None:
        kernels.links_draw(kind, *block.of_pairs(part), place, chance, uniforms[words], *out)

    return _chosen(block, task, run)


def _chosen(block: Block, kernel: Callable[..., None], run: Runner) -> tuple[Words, Floats]:
    ends = np.concatenate([[0], np.cumsum(block.pairs[:, 3])])
    chosen, logs = np.zeros(int(ends[-1]), dtype=np.int32), np.empty(len(block.pairs))

    def task(part: slice) -> None:
        words = slice(int(ends[part.start]), int(ends[part.stop]))
        kernel(part, words, chosen[words], logs[part])

    for _ in run(task, _slices(cut(ends, PARTS))):
        pass
    return chosen, logs


def best(kind: int, block: Block, table: Floats, place: Floats, run: Runner = map) -> tuple[Words, Floats]:
    """Return the best links of pairs, as `best_of`, from the probabilities of a lexicon."""
    return best_of(kind, block, place, chances(block, table, run), run)


def draw(
    kind: int, block: Block, table: Floats, place: Floats, rng: np.random.Generator, run: Runner = map
) -> tuple[Words, Floats]:
    """Return drawn links of pairs, as `draw_from`, from the probabilities of a lexicon."""
    return draw_from(kind, block, place, chances(block, table, run), rng, run)


def posterior(kind: int, block: Block, table: Floats, place: Floats, run: Runner = map) -> tuple[list[Floats], Floats]:
    """Return the (n + 1, m) posterior of the links of every pair, NULL first, and the log-evidence."""
    flat = chances(block, table, run)
    log_evidence = to_posterior(kind, block, place, np.ones(len(block.pairs)), flat, np.zeros(0), run)
    found = [flat[at : at + (n + 1) * m].reshape(n + 1, m) for _, n, _, m, at in block.pairs.tolist()]
    return found, log_evidence


def to_chosen(pairs: Ints, chosen: Words, weight: Floats, chance: Floats) -> None:
    """Write usage over chances: the weight of its pair for every chosen link, 0 for others."""
    m = pairs[:, 3]
    j = np.arange(len(chosen)) - np.repeat(np.cumsum(m) - m, m)
    chance[:] = 0.0
    np.add.at(chance, np.repeat(pairs[:, 4], m) + chosen * np.repeat(m, m) + j, np.repeat(weight, m))


def add_places(kind: int, block: Block, chosen: Words, weight: Floats, place: Floats, stats: Floats) -> None:
    """Add the places of given links: the source word of every target word, 0 for NULL."""
    if kind == UNIFORM:
        return
    n, m = block.pairs[:, 1], block.pairs[:, 3]
    pair = np.repeat(np.arange(len(m)), m)
    j = np.arange(len(pair)) - np.repeat(np.cumsum(m) - m, m)
    used, linked = weight[pair], chosen > 0
    at, i = pair[linked], chosen[linked].astype(np.int64)
    stats[0] += used[~linked].sum()
    if kind == DIAGONAL:
        stats[1] -= used[linked] @ np.abs(i / n[at] - (j[linked] + 1) / m[at])
        stats[2:] += np.bincount(block.cells[at] + j[linked], used[linked], minlength=len(stats) - 2)
        return
    before = _before(chosen, np.cumsum(m) - m, pair)[linked]
    n_jumps = len(place) - 1
    jump = np.clip(i - before, -(n_jumps // 2), n_jumps // 2) + n_jumps // 2
    stats[1 : 1 + n_jumps] += np.bincount(jump, used[linked], minlength=n_jumps)
    cells = stats[1 + n_jumps :]
    cells += np.bincount(block.cells[at] + before, used[linked], minlength=len(cells))


def _before(chosen: Words, firsts: Ints, pair: Ints) -> Ints:
    """Return the last source word, not NULL, before each target word; 0 at the beginning of a pair."""
    place = np.where(chosen > 0, np.arange(len(chosen)), -1)
    last = np.concatenate([[-1], np.maximum.accumulate(place)[:-1]])
    return np.where(last >= firsts[pair], chosen[np.maximum(last, 0)], 0).astype(np.int64)


__all__ = [
    "DIAGONAL",
    "JUMPS",
    "UNIFORM",
    "Agreed",
    "Block",
    "Both",
    "BothBlocks",
    "Links",
    "Sides",
    "best",
    "cut",
    "draw",
    "posterior",
]
