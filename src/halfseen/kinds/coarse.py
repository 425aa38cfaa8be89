"""Kinds of numbers that are normal within a component, but were recorded coarsely: what `rounded` and others share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from halfseen.data.columns import Block, Column
from halfseen.data.frames import RawColumn
from halfseen.errors import ParameterError
from halfseen.export.formula import Formula, Language
from halfseen.kinds import by_numbers
from halfseen.kinds.arithmetic import figure
from halfseen.kinds.gaussian import GaussianKind
from halfseen.kinds.kind import Kind
from halfseen.kinds.records import Addends, Build, Density, Estimate, Figures, Fitted, MStep
from halfseen.leaves import Floored, GaussianParams, Leaf, PseudoRows, Ridged
from halfseen.leaves.coarse import Coarse, Coarsening
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.truncated import truncated


class CoarseKind(GaussianKind):
    """Numbers with a mean and a standard deviation, of which cells say where they lie; its name says how."""

    @property
    def coarsening(self) -> Coarsening:
        """How numbers were recorded."""
        raise ParameterError(self.lacks)

    def recognises(self, raw: RawColumn) -> bool:
        """By choice only."""
        return False

    def claims(self, given: Mapping[Any, Any]) -> bool:
        """By name only: parameters are those of gaussian columns."""
        return False

    def floors(self, build: Build, summary: Figures) -> tuple[float, Floats | None]:
        """Return the smallest variance as a share of that of the column, and by how it was recorded, (D,)."""
        raise NotImplementedError

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf; columns are independent given the component."""
        mean, var = summary["mean"], summary["var"]
        pseudo = None if build.pseudo_rows is None else PseudoRows(build.pseudo_rows, var)
        floor, least = (0.0, None) if block.treatment == "fixed" else self.floors(build, summary)
        leaf: Leaf = Coarse(build.n_components, mean, np.sqrt(var), pseudo, least, self.coarsening)
        leaf = Ridged(leaf, build.ridge) if build.ridge > 0 else leaf
        return Floored(leaf, floor) if floor > 0 else leaf

    def summary_from(self, block: Block, leaf: Leaf, stats: Stats, about: Any, mass: float) -> Figures | None:  # type: ignore[override]
        """Return None: statistics are about latent numbers, and the summary about cells."""
        return None

    def lost_digits(self, summary: Figures, rough: Figures) -> bool:
        """Never: there is no summary read off statistics."""
        return False

    def expected_log_density(self, fitted: Fitted) -> tuple[Floats, Floats]:
        """Estimated from draws."""
        return Kind.expected_log_density(self, fitted)

    # ---- number by number ----------------------------------------------------------------------------------------

    def counted(self, block: Block, leaf: Leaf, stats: Stats, about: Any) -> Iterator[dict[Any, Floats]]:
        """Restate moments: mass, the sum of expected numbers, and expected squares about the old mean."""
        mass, first, second, pseudo = stats
        for d in range(len(block.members)):
            total = first[:, d] + about.mean[:, d] * mass[:, d]
            yield {"mass": (mass + pseudo)[:, d], "sum": total, "squares": second[:, d]}

    def density(self, column: Column, value: Any, parameters: Mapping[Any, float], who: str) -> str:
        """Return P(x; mean, sd), x an interval or a number."""
        return f"P({column.name} = {value}; {figure(parameters['mean'])}, {figure(float(np.sqrt(parameters['var'])))})"

    def densities(self, fitted: Fitted, cells: Any, classes: Sequence[str]) -> list[list[Density]]:
        """Return the density of every cell."""
        return by_numbers.cell_densities(self, fitted, cells, classes)

    def addends(self, fitted: Fitted, cells: Any, stats: Stats) -> Iterator[dict[Any, Addends]]:
        """Yield 1, the expected number and its expected square about the old mean for each cell."""
        return by_numbers.addends(self, fitted, cells)

    def estimates(self, step: MStep) -> Iterator[dict[Any, Estimate]]:
        """The sd has no formula in these statistics."""
        yield from ({} for _ in step.block.members)

    # ---- in other languages --------------------------------------------------------------------------------------

    def exported_scores(self, fitted: Fitted, cells: Sequence[Formula], language: Language) -> Iterator[Formula]:
        """Refuse, unless a kind has few intervals."""
        return Kind.exported_scores(self, fitted, cells, language)


def interval_scores(params: GaussianParams, d: int, low: float, high: float) -> Floats:
    """Return log P(low < x < high) of column d in each component, (K,)."""
    return truncated(low, high, params.mean[:, d], np.sqrt(params.var[:, d])).log
