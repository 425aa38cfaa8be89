"""Kinds of counts with structural zeros: what `zip` and `zinb` share; the counts themselves are of another kind."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from halfseen.data.columns import Block, Column
from halfseen.export.formula import Formula, Language
from halfseen.kinds import by_numbers
from halfseen.kinds.arithmetic import figure
from halfseen.kinds.counting import NEAR, Counting, Zeros
from halfseen.kinds.records import Build, ColumnProfile, Estimate, Figures, Fitted, MStep
from halfseen.kinds.wording import number, percent
from halfseen.leaves.inflated import ZeroInflated, moment_share
from halfseen.leaves.leaf import Floats, Leaf, arrays


class Inflated(Counting):
    """Counts of which a share `zero` are structural zeros, and the others of the kind `counts`.

    The first of the other parameters is the mean of the others.
    """

    counts: ClassVar[Counting]
    title: ClassVar[str]  # of its density

    @abstractmethod
    def within(self, mean: Floats, var: Floats, zero: Floats) -> Floats:
        """Return the variance of the counts that are no structural zeros, given moments of all and their own mean."""

    def leaf(self, block: Block, summary: Figures, build: Build) -> Leaf:
        """Return the leaf: around counts that have, with the structural zeros, mean and variance of the column."""
        mean = np.where(summary["mean"] > 0, summary["mean"], 1.0)
        share = moment_share(mean, summary["var"])
        inside = {"mean": mean / (1 - share), "var": self.within(mean, summary["var"], share)}
        return ZeroInflated(self.counts.leaf(block, inside, build), share, build.pseudo_rows)

    def arrays(self, params: Any) -> dict[str, Floats]:
        """Return the share, and the parameters of the counts inside."""
        return dict(zip(self.parameters, arrays(params), strict=True))

    def inside(self, values: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the parameters of the counts that are no structural zeros."""
        return {name: array for name, array in values.items() if name != "zero"}

    def moments(self, **parameters: Floats) -> tuple[Floats, Floats]:
        """mean = (1 - zero) inner mean,  var = (1 - zero) (inner var + zero inner mean^2)."""
        mean, var = self.counts.moments(**self.inside(parameters))
        zero = parameters["zero"]
        return (1 - zero) * mean, (1 - zero) * (var + zero * mean**2)

    # ---- what a component looks like -----------------------------------------------------------------------------

    def whole(self, values: Mapping[str, Floats], weights: Floats, mean: float, var: float) -> Floats:
        """zero = sum_k weights[k] zero[k], and the parameters of counts with which the whole has its moments."""
        zero = float(np.clip(weights @ values["zero"], 0.0, 1.0))
        left = max(1 - zero, 1e-300)
        inner = mean / left
        about = float(self.within(*(np.array([each]) for each in (mean, var, zero)))[0])
        return np.concatenate([[zero], self.counts.whole(self.inside(values), weights, inner, about)])

    def trait(self, column: ColumnProfile, k: int) -> str:
        """Say the mean of the counts that are no structural zeros, and the share of these."""
        own, whole = self.card(column, k)
        return f"{column.name} {own} (all {whole})"

    def card(self, column: ColumnProfile, k: int) -> tuple[str, str]:
        """Return the mean of all cells, and the share of structural zeros."""
        assert column.whole is not None
        mean, _ = column.moments
        own, whole = number(float(mean[k])), number(column.whole[0])
        zero, zeros = percent(column.values[0, k]), percent(column.overall[0])
        return f"{own} on average, structural zeros {zero}", f"{whole}, {zeros}"

    def misfits(self, fitted: Fitted, cells: Any, weight: Floats) -> Iterator[str]:
        """Name the columns without more zeros than the counts inside have: the share has nothing to describe."""
        for d, values in enumerate(self.named(fitted.block, fitted.params)):
            plain = self.counts.chance_of_zero(self.inside(values))
            zeros = Zeros.of(cells[:, d], weight, float(fitted.weights @ plain))
            if zeros.apart < NEAR:
                name = fitted.block.columns[d].name
                yield (
                    f"column {name!r}: no zero inflation found: {zeros} of {self.counts.name} counts alone; "
                    f"columns={{{name!r}: {self.counts.name!r}}} needs no share of structural zeros"
                )

    # ---- number by number, and in other languages ----------------------------------------------------------------

    def density(self, column: Column, value: Any, parameters: Mapping[Any, float], who: str) -> str:
        """Return the density by its parameters."""
        given = ", ".join(f"{name} {figure(value)}" for name, value in parameters.items())
        return f"{self.title}({column.name} = {value}; {given})"

    def estimates(self, step: MStep) -> Iterator[dict[Any, Estimate]]:
        """zero = structural zeros / mass,  mean of the others = events / others."""
        mean = next(name for name in self.parameters if name != "zero")
        for own, pseudo in by_numbers.counted(self, step):
            mass, structural, others, events = ((own[name], pseudo[name]) for name in self.statistics[:4])
            yield {
                "zero": by_numbers.quotient(structural, mass),
                mean: by_numbers.quotient(events, others),
            }

    def exported_tail(self, count: Formula, values: Mapping[str, Floats], language: Language) -> Formula:
        """Return log(1 - zero) and the log-density of the counts inside."""
        with np.errstate(divide="ignore"):  # nothing but structural zeros
            some = np.log1p(-values["zero"])
        return self.counts.exported_tail(count, self.inside(values), language) + some
