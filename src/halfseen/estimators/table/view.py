"""A model over a table while it is fitted, as a person sees it: shares, columns by class, ellipses, rows as points.

The components of a fit that is under way have no names, and an order that may change at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from halfseen.assign import SOFT
from halfseen.data import Schema, Table
from halfseen.engine.tables.mixture import Mixture
from halfseen.estimators.table.profile import blocks_of, profiles_of
from halfseen.estimators.table.scatter import Scatter, ellipses, levels_of, places, places_of, separations
from halfseen.kinds.records import ColumnProfile
from halfseen.leaves import Cells, Leaf
from halfseen.leaves.leaf import Floats, Stats, frozen, map_arrays
from halfseen.leaves.limits import Params
from halfseen.structures.independent import Independent


class ColumnView(NamedTuple):
    """A column in every component.

    Attributes
    ----------
    name, kind : str
    parameters : dict            {category: (K,) probabilities}, {"mean": (K,), "sd": (K,)}, {"rate": (K,)}, ...; empty
                                 for text, whose words are many
    mean, sd : (K,) or None      of numbers and counts; None for categories and text, and where there is no spread
    """

    name: str
    kind: str
    parameters: dict[Any, Floats]
    mean: Floats | None = None
    sd: Floats | None = None


@dataclass(frozen=True, eq=False)
class TableView:
    """What a person sees of a model over a table. Its arrays are its own: any thread may use it.

    Attributes
    ----------
    schema : Schema
    shares : (K,) array              of the components
    columns : list of ColumnView     in the order of the table
    owner : list of int              the class of each component
    places : list of int             columns that are points on an axis: all but text
    separation : (P,) array          how much each of these tells of the component
    means : (K, P) array             of these; NaN where a column is not normal
    covariances : (K, P, P) array    NaN where the model has none
    """

    schema: Schema
    shares: Floats
    columns: list[ColumnView]
    owner: list[int]
    places: list[int]
    separation: Floats
    means: Floats
    covariances: Floats
    _emission: tuple[Leaf, Params] | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        schema: Schema,
        emit: Leaf,
        params: Params,
        shares: Floats,
        stats: Stats | None = None,
        n_inside: int = 1,
    ) -> Self:
        """Return the view of an emission.

        Parameters
        ----------
        schema : Schema
        emit, params : Leaf and its parameters
        shares : (K,) array
        stats : Stats, optional    expected statistics of the leaf under the parameters
        n_inside : int             so many neighbouring components are of one class

        Examples
        --------
        >>> import halfseen as hs
        >>> model = hs.LatentClass.from_params([0.3, 0.7], {"size": {"mean": [1, 5], "sd": [1, 2]}})
        >>> seen = TableView.of(model._schema, model._model.leaves["emit"], model._params["emit"], model.weights_)
        >>> [(column.name, column.mean.tolist(), column.sd.tolist()) for column in seen.columns]
        [('size', [1.0, 5.0], [1.0, 2.0])]
        """
        own = map_arrays(np.array, params)
        blocks = list(blocks_of(schema, emit, own, shares, stats))
        on_axes = places_of(schema)
        return cls(
            schema,
            np.array(shares),
            [_column(profile) for profile in profiles_of(iter(blocks))],
            np.repeat(np.arange(len(shares) // n_inside), n_inside).tolist(),
            on_axes,
            separations(blocks, shares, on_axes),
            *ellipses(blocks, on_axes),
            (emit, own),
        )

    def proba(self, table: Table) -> Floats | None:
        """Return the probability of each component for each row, (N, K): of sequences for each step by itself.

        None where the model gives none.
        """
        if self._emission is None:
            return None
        emit, params = self._emission
        model = Mixture(Independent(), {"mix": Cells(1, [len(self.shares)], axes=(1,)), "emit": emit})
        prepared = model.prepare({"mix": frozen(self.shares[None]), "emit": params})
        found: Floats = model.infer(prepared, table.blocks, np.ones((table.n_rows, 1)), SOFT).usage["emit"]
        return found

    def scatter(self, table: Table, names: Sequence[str] | None = None) -> Scatter:
        """Return rows, encoded by the schema, as points with the probabilities of their classes; with ellipses.

        `names` are those of the classes.
        """
        n_classes = self.owner[-1] + 1
        by_class = np.eye(n_classes)[self.owner]
        proba = self.proba(table)
        return Scatter(
            [self.schema.names[j] for j in self.places],
            levels_of(self.schema, self.places),
            places(table)[1],
            np.full((table.n_rows, n_classes), np.nan) if proba is None else proba @ by_class,
            [f"class {k}" for k in range(n_classes)] if names is None else names,
            self.shares @ by_class,
            self.separation,
            self.means,
            self.covariances,
            self.owner,
            table.n_rows,
            np.arange(table.n_rows),
        )


def _column(profile: ColumnProfile) -> ColumnView:
    kind = profile.kind
    if kind.of_words:
        return ColumnView(profile.name, kind.name, {})
    parameters = {row: np.array(values) for row, values in zip(profile.rows, profile.values, strict=True)}
    if profile.whole is None:
        return ColumnView(profile.name, kind.name, parameters)
    mean, variance = profile.moments
    return ColumnView(profile.name, kind.name, parameters, np.array(mean), np.sqrt(variance))
