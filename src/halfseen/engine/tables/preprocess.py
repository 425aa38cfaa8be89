"""Preprocess data for many passes: rows with a known component are counted once, the others are packed into chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce as fold
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Chunk, Evidence, Table
from halfseen.data.rows import Rows
from halfseen.engine.loop.expected import Expected, Step
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.fused import FusedMixture
from halfseen.engine.tables.fused_normal import FusedNormal
from halfseen.engine.tables.fused_text import FusedText
from halfseen.engine.tables.mixture import Mixture
from halfseen.kernels import active as kernels
from halfseen.leaves.exact import Joined, Weights, unit_of
from halfseen.leaves.limits import Params
from halfseen.sums import Runner, serial


def reduce(model: Mixture, table: Any, runner: Runner = serial) -> Reduced:
    """Return the chunks in which something is hidden, and the statistics of the rows in which nothing is.

    A row whose labels leave one component has the same usage under any parameters. With labels for all rows nothing
    is left to iterate over, and EM is counting.
    """
    if not isinstance(table, Table):  # rows that others hold
        reduced: Reduced = table.reduced(model)
        return reduced
    table = arranged(model, table)
    if table.evidence is None:
        return _packed(model, table)
    counted, rest = known_apart(model, table, runner)
    if counted is None:
        return Reduced(table.chunks())
    reduced = Reduced([]) if rest is None else _packed(model, rest)
    return replace(reduced, known=counted, about=model.blank())


def known_apart(model: Mixture, table: Table, runner: Runner = serial) -> tuple[Expected | None, Table | None]:
    """Return the statistics of the rows in which nothing is hidden, about `model.blank()`, and the table of the others.

    None for no such rows.
    """
    if table.evidence is None:
        return None, table
    known, rest = apart(model, table)
    return None if known is None else _counted(model, known, model.blank(), runner), rest


def apart(model: Mixture, table: Table) -> tuple[Table | None, Table | None]:
    """Return the rows of a table with labels in which nothing is hidden, and the others; None for no rows."""
    if all_countable(model, table):
        return table, None
    known = _countable(model, table)
    if not known.any():
        return None, table
    return table.take(np.flatnonzero(known)), table.take(np.flatnonzero(~known))


def _countable(model: Mixture, table: Table) -> NDArray[np.bool_]:
    """Whether each row has the same statistics under any parameters: its component is known, nothing else is hidden."""
    assert table.evidence is not None
    settled = _settled(model, table)
    known = certain(table.evidence)
    return known if settled is None else known & settled


def all_countable(model: Mixture, table: Table) -> bool:
    """Whether all rows have the same statistics under any parameters; without reading them where labels suffice."""
    assert table.evidence is not None
    settled = _settled(model, table)
    return all_certain(table.evidence) and (settled is None or bool(settled.all()))


def _settled(model: Mixture, table: Table) -> NDArray[np.bool_] | None:
    """Whether the statistics of each row are the same under any parameters, given its component; None: of all rows."""
    found = [leaf.settled(table.blocks) for leaf in model.leaves.values()]
    masks = [mask for mask in found if mask is not None]
    return np.logical_and.reduce(masks) if masks else None


def certain(evidence: Evidence) -> NDArray[np.bool_]:
    """Whether the labels of each row leave one component, with evidence 1; never so with one component in all."""
    return _single(evidence)[evidence.index]


def all_certain(evidence: Evidence) -> bool:
    """Whether the labels of all rows do."""
    single = _single(evidence)
    if evidence.complete and single[1:].all():  # pattern 0 is that of rows without a label
        return True
    return bool(single[evidence.index].all())


def _single(evidence: Evidence) -> NDArray[np.bool_]:
    """Whether each pattern leaves one component, with evidence 1."""
    patterns = evidence.patterns
    single = ((patterns != -np.inf).sum(axis=1) == 1) & (patterns.max(axis=1) == 0)
    return single & (patterns.shape[1] > 1)


def _counted(model: Mixture, table: Table, about: Params, runner: Runner) -> Expected:
    """Return the statistics of rows whose components are known: the same bits in any order of the rows.

    Their sums have no rounding, so that rows are counted in the order in which they come. Where a leaf has no such
    sums, rows are put in order first. Weights are measured in a power of two near the largest: so all weights times a
    power of two give the same bits.
    """
    unit = unit_of(table.weight)
    prepared, cut = model.prepare(about), Weights(table.weight[:1] if _alike(table) else table.weight, unit)

    def tally(chunk: Chunk) -> Joined | None:
        own = chunk if unit == 1 else replace(chunk, weight=chunk.weight / unit)
        return model.tallied(prepared, own, _components(table, chunk), cut)

    sums: Joined | None = None
    for part in runner(tally, table.chunks(light=True)):
        if part is None:
            break
        sums = part if sums is None else sums + part
    else:
        assert sums is not None
        return Expected(sums.total() * unit, 0.0)
    ordered = table.canonical()
    parts: Iterable[Expected] = runner(
        lambda chunk: model.known(prepared, chunk, _components(ordered, chunk)), ordered.chunks(light=True)
    )
    return fold(add, parts, Expected.zero(model.stats_shape[0]))


def _alike(table: Table) -> bool:
    """Whether all weights are one number."""
    return table.weight.strides == (0,)


def _components(table: Table, chunk: Chunk) -> NDArray[np.int64]:
    """Return the component of each row of a chunk whose components are known."""
    assert table.evidence is not None
    assert chunk.evidence is not None
    component = np.empty(chunk.n_rows, dtype=np.int64)
    owner = table.evidence.patterns.argmax(axis=1)
    kernels.components_of(owner, np.ascontiguousarray(chunk.evidence.index, np.int32), component)
    return component


def counted(model: Mixture, data: Reduced, params: Params) -> Params:
    """Return the M-step on the statistics of known rows; what limits fix is taken from `params`."""
    assert data.known is not None
    stats = model.recentre(data.known.stats, data.about, params)
    return model.improved(Step(params, Expected(stats, 0.0)))


def arranged(model: Mixture, table: Table) -> Table:
    """Return the table with rows that have the same cells missing next to each other: they share work."""
    order = model.leaves["emit"].arrange(table.blocks)
    return table if order is None else table.take(order)


def _packed(model: Mixture, table: Table) -> Reduced:
    """Return the chunks of a table, packed for the fused path where there is one and no row has labels."""
    if table.evidence is not None and not table.evidence.index.any():  # pattern 0: no label
        table = replace(table, evidence=None)
    path = path_of(model, table) if table.evidence is None else None
    chunks = table.chunks()
    if path is None:
        return Reduced(chunks)
    packed = Later(chunks, path.pack) if table.memory_limit is not None else [path.pack(chunk) for chunk in chunks]
    return Reduced(packed, path=path)


def path_of(model: Mixture, table: Rows) -> Any:
    """Return the fused path for a model over rows without labels; None where there is none."""
    return FusedText.find(model) or FusedNormal.find(model) or FusedMixture.find(model, table)


class Later(Sequence[Any]):
    """Chunks that are packed on access, each time: those of a table that does not fit into memory."""

    def __init__(self, chunks: Sequence[Any], make: Callable[[Any], Any]) -> None:
        self._chunks = chunks
        self._make = make

    def __len__(self) -> int:
        return len(self._chunks)

    def __getitem__(self, i: Any) -> Any:
        return Later(self._chunks[i], self._make) if isinstance(i, slice) else self._make(self._chunks[i])
