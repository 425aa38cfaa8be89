"""Ordered categories with proportional odds: components share thresholds, and each has a shift.

    P(x <= v | k) = expit(threshold[v] - shift[k])

A column is one of categories whose order is known: numbers, declared levels (ordered pandas categories, Polars Enum),
or text with an order in the kind's name, "ordinal(low<medium<high)". What is known of the cells is the same as of
categories; parameters are shown as the probability of each category.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from halfseen.data.columns import Block, Category, Column, canonical_values, distinct_numbers
from halfseen.data.frames import CodedColumn, RawColumn
from halfseen.errors import DataError, ParameterError
from halfseen.kinds.categorical import CategoricalKind
from halfseen.kinds.kind import Kind
from halfseen.kinds.records import Build, ColumnProfile, Estimate, Figures, MStep
from halfseen.kinds.wording import number
from halfseen.leaves.categorical import Categorical
from halfseen.leaves.leaf import Floats, Leaf
from halfseen.leaves.ordinal import Ordinal, departure, median_of
from halfseen.registry import kinds

MOST_LEVELS = 100  # beyond, numbers are quantities: each level has a threshold
TYPED = 0.05  # by how much the log odds of probabilities that were typed may differ from proportional ones
_EXAMPLE = "columns={'pain': 'ordinal(none<mild<severe)'}"


class OrdinalKind(CategoricalKind):
    """Ordered categories; `order` is the one that the name says, lowest first."""

    name = "ordinal"
    treatments = ("fixed", "tied")
    domain = "one of ordered categories"

    def __init__(self, order: tuple[str, ...] | None = None) -> None:
        self.order = order
        if order is not None:
            self.name = f"ordinal({'<'.join(order)})"

    def with_argument(self, argument: str) -> Kind:
        """Return the kind of columns whose categories have this order: "low<medium<high"."""
        order = tuple(part.strip() for part in argument.split("<"))
        if len(order) < 2 or not all(order) or len(set(order)) < len(order):
            raise ParameterError(
                f"'ordinal({argument:.60})': name every category once, the lowest first, with '<' between them: "
                f"{_EXAMPLE}."
            )
        return OrdinalKind(order)

    def recognises(self, raw: RawColumn) -> bool:
        """No column: an order of categories is for the user to say."""
        return False

    def learn(self, raw: RawColumn, name: str) -> Column:
        """Return the column with its categories in order, of the kind without the order; refuse what has no order."""
        plain = kinds["ordinal"]
        if self.order is None and raw.type == "text" and not raw.ordered:
            raise DataError(
                f"column {name!r} cannot be ordinal: its cells are text, and nothing says their order. Name it, lowest "
                f"first: columns={{{name!r}: 'ordinal(low<medium<high)'}}, or use an ordered category or Enum."
            )
        found = CategoricalKind.learn(self, raw, name).categories or ()
        if self.order is not None:
            found = self._in_order(raw, name)
        if len(found) > MOST_LEVELS:
            raise DataError(
                f"column {name!r} cannot be ordinal: it has {len(found)} distinct values, more than {MOST_LEVELS}. "
                "Fit it as kind 'gaussian', or put its values into bands."
            )
        return Column(name, plain, found)

    def _in_order(self, raw: RawColumn, name: str) -> tuple[Category, ...]:
        """Return the categories in the order that the name says; refuse cells that it does not name."""
        assert self.order is not None
        if raw.type == "text":
            order: tuple[Category, ...] = self.order
            texts: Any = raw.seen if isinstance(raw, CodedColumn) else set(raw.values[~raw.missing])
            seen = canonical_values(texts, raw.type)
        else:
            order = tuple(self._numbers(name))
            seen = canonical_values(distinct_numbers(raw), "number")
        unknown = sorted(map(str, {*seen} - {*order}))
        if unknown:
            raise DataError(
                f"column {name!r} cannot be {self.name}: it holds {', '.join(map(repr, unknown[:5]))}, which the order "
                "does not name. Name all categories, or make such cells missing."
            )
        return order

    def _numbers(self, name: str) -> list[Category]:
        assert self.order is not None
        try:
            return list(canonical_values(np.array([float(part) for part in self.order]), "number"))
        except ValueError:
            raise DataError(
                f"column {name!r} cannot be {self.name}: its cells are numbers, and the order names texts."
            ) from None

    # ---- the leaf, and parameters given by the user --------------------------------------------------------------

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf; pseudo-rows are those of categories."""
        plain = super().leaf(block, summary, build)
        assert isinstance(plain, Categorical)
        return Ordinal(plain.n_components, plain.cardinalities, plain.pseudo)

    def place(self, params: Any, block: Block, d: int, given: Any, n_components: int) -> None:
        """Write the probabilities of one column; refuse those whose odds are not proportional."""
        super().place(params, block, d, given, n_components)
        first = block.starts[d]
        off = departure(params[:, first : first + block.sizes[d]])
        if not off <= TYPED:
            raise ParameterError(
                f"{block.columns[d].name!r} is ordinal: its components have proportional odds, log P(x <= v) / P(x > v)"
                f" of two components differing by the same number for every v, but these differ by {off:.3g} more at "
                "one v than at another. Give probabilities of a fitted ordinal column, or use the kind 'categorical'."
            )

    def estimates(self, step: MStep) -> Iterator[dict[Any, Estimate]]:
        """Yield nothing: thresholds and shifts are found by Newton's method."""
        for _ in step.block.columns:
            yield {}

    # ---- what a component looks like -----------------------------------------------------------------------------

    def trait(self, column: ColumnProfile, k: int) -> str:
        """Say the median category and the mean of the component, and the mean of the whole."""
        own, whole = _middle(column, column.values[:, k]), _middle(column, column.overall)
        return f"{column.name} median {own[0]}, {own[1]} (all {whole[0]}, {whole[1]})"

    def card(self, column: ColumnProfile, k: int) -> tuple[str, str]:
        """Return median and mean of the component and of the whole."""
        own, whole = (_middle(column, shares) for shares in (column.values[:, k], column.overall))
        return f"median {own[0]}, {own[1]}", f"median {whole[0]}, {whole[1]}"

    def error(self, truth: Any, guess: Any, weight: Floats, left: Any, left_weight: Floats) -> tuple[str, float, float]:
        """Return the mean absolute difference in ranks, and that of the median category of the column."""
        counts = np.bincount(left.astype(np.intp), weights=left_weight)
        middle = int(median_of(counts[None])[0])
        truth = truth.astype(np.float64)
        return "rank error", float(weight @ np.abs(guess - truth)), float(weight @ np.abs(truth - middle))

    def exact(self, truth: Any, guess: Any, weight: Floats) -> float | None:
        """Return the share of guesses that are the category itself."""
        return float(weight @ (guess == truth))


def _middle(column: ColumnProfile, shares: Floats) -> tuple[str, str]:
    """Return the median category, and the mean: of numbers that of the numbers, else the mean rank from 1."""
    if not len(shares):
        return "unknown", "no cell seen"
    median = str(column.rows[int(median_of(shares[None])[0])])
    numbers = all(isinstance(row, int | float) and not isinstance(row, bool) for row in column.rows)
    values = np.array(column.rows, dtype=np.float64) if numbers else 1.0 + np.arange(len(shares))
    mean = number(float(shares @ values))
    return median, f"mean {mean}" if numbers else f"mean rank {mean} of {len(shares)}"
