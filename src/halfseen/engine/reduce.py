"""Make data ready for many passes: rows whose component is known are counted once."""

from __future__ import annotations

import numpy as np

from halfseen.data import Table
from halfseen.engine.em import evaluate
from halfseen.engine.model import Model, Reduced


def reduce(model: Model, table: Table) -> Reduced:
    """Return the chunks in which something is hidden, and the statistics of the rows in which nothing is.

    A row whose labels leave one component has the same usage under any parameters. With labels for all rows nothing
    is left to iterate over, and EM is counting.
    """
    if table.evidence is None:
        return Reduced(table.chunks())
    patterns = table.evidence.patterns
    certain = (patterns == 0).sum(axis=1) + (patterns != -np.inf).sum(axis=1) == 2  # one component, evidence 1
    known = certain[table.evidence.index] & (patterns.shape[1] > 1)
    if not known.any():
        return Reduced(table.chunks())
    about = model.blank()
    [counted] = evaluate(model, Reduced(table.take(np.flatnonzero(known)).chunks()), [about])
    return Reduced(table.take(np.flatnonzero(~known)).chunks(), counted.expected, about)
