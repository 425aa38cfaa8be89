"""Make data ready for many passes: rows whose component is known are counted once, the others are packed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from halfseen.data import Table
from halfseen.engine.em import evaluate
from halfseen.engine.fused import FusedMixture
from halfseen.engine.model import Model, Reduced


def reduce(model: Model, table: Table) -> Reduced:
    """Return the chunks in which something is hidden, and the statistics of the rows in which nothing is.

    A row whose labels leave one component has the same usage under any parameters. With labels for all rows nothing
    is left to iterate over, and EM is counting.
    """
    if table.evidence is None:
        return _packed(model, table)
    patterns = table.evidence.patterns
    certain = (patterns == 0).sum(axis=1) + (patterns != -np.inf).sum(axis=1) == 2  # one component, evidence 1
    known = certain[table.evidence.index] & (patterns.shape[1] > 1)
    if not known.any():
        return Reduced(table.chunks())
    about = model.blank()
    [counted] = evaluate(model, _packed(model, table.take(np.flatnonzero(known))), [about])
    rest = _packed(model, table.take(np.flatnonzero(~known)))
    return replace(rest, known=counted.expected, about=about)


def _packed(model: Model, table: Table) -> Reduced:
    """Return the chunks of a table, packed for the fused path where there is one and no row has labels."""
    if table.evidence is not None and not table.evidence.index.any():  # pattern 0: nothing is known
        table = replace(table, evidence=None)
    path = None if table.evidence is not None else FusedMixture.find(model, table)
    chunks = table.chunks()
    return Reduced(chunks) if path is None else Reduced([path.pack(chunk) for chunk in chunks], path=path)
