"""Make data ready for many passes: rows whose component is known are counted once, the others are packed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce as fold
from operator import add

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Evidence, Table
from halfseen.engine.em import Runner, serial
from halfseen.engine.expected import Expected
from halfseen.engine.fused import FusedMixture
from halfseen.engine.mixture import Mixture
from halfseen.engine.model import Reduced
from halfseen.leaves.limits import Params


def reduce(model: Mixture, table: Table, runner: Runner = serial) -> Reduced:
    """Return the chunks in which something is hidden, and the statistics of the rows in which nothing is.

    A row whose labels leave one component has the same usage under any parameters. With labels for all rows nothing
    is left to iterate over, and EM is counting.
    """
    if table.evidence is None:
        return _packed(model, table)
    known = certain(table.evidence)
    if not known.any():
        return Reduced(table.chunks())
    about = model.blank()
    counted = _counted(model, table if known.all() else table.take(np.flatnonzero(known)), about, runner)
    rest = _packed(model, table.take(np.flatnonzero(~known)))
    return replace(rest, known=counted, about=about)


def certain(evidence: Evidence) -> NDArray[np.bool_]:
    """Whether the labels of each row leave one component, with evidence 1; never so with one component in all."""
    patterns = evidence.patterns
    single = (patterns == 0).sum(axis=1) + (patterns != -np.inf).sum(axis=1) == 2
    return (single & (patterns.shape[1] > 1))[evidence.index]


def _counted(model: Mixture, table: Table, about: Params, runner: Runner) -> Expected:
    """Return the statistics of rows whose components are known."""
    assert table.evidence is not None
    owner = table.evidence.patterns.argmax(axis=1)
    prepared = model.prepare(about)
    chunks = table.chunks()
    parts: Iterable[Expected] = runner(
        lambda chunk: model.known(prepared, chunk, owner[chunk.evidence.index].astype(np.int64)), chunks
    )
    return fold(add, parts, Expected.zero(model.stats_shape[0]))


def _packed(model: Mixture, table: Table) -> Reduced:
    """Return the chunks of a table, packed for the fused path where there is one and no row has labels."""
    if table.evidence is not None and not table.evidence.index.any():  # pattern 0: nothing is known
        table = replace(table, evidence=None)
    path = None if table.evidence is not None else FusedMixture.find(model, table)
    chunks = table.chunks()
    return Reduced(chunks) if path is None else Reduced([path.pack(chunk) for chunk in chunks], path=path)
