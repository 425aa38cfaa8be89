"""How each class differs from the whole, on one scale for all columns.

    numbers, counts   (mean[k] - mean) / sd            in standard deviations of the whole table
    categories        (p[k] - p) / sqrt(p (1 - p))     the same for an indicator
    words             as counts, of a text of average length; as categories where they are there or not

Of a text only the words that differ most between the classes are used. Values are also given in the column's own unit,
as text. How a column is compared depends on its kind (`Kind.contrasts`).
"""

from __future__ import annotations

from collections.abc import Sequence

from halfseen.estimators.table.profile import profiles
from halfseen.estimators.table.table_mixture import TableMixture
from halfseen.kinds.records import Contrast


def contrasts(model: TableMixture) -> list[Contrast]:
    """Return every number and category in every class, in the order of the table.

    Examples
    --------
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"a": [0.9, 0.1], "b": [0.1, 0.9]}})
    >>> first = contrasts(model)[0]
    >>> first.label, first.shown, first.overall, first.contrast
    ('x = a', ['90%', '10%'], '50%', array([ 0.8, -0.8]))
    """
    return [found for column in profiles(model) for found in column.kind.contrasts(column, model.weights_)]


def strongest(rows: Sequence[Contrast], top: int) -> list[Contrast]:
    """Return the rows that differ most between the classes, in their order."""
    order = sorted(range(len(rows)), key=lambda i: -rows[i].spread)[:top]
    return [rows[i] for i in sorted(order)]
