"""The arithmetic of EM number by number: for every number that `explain` shows, what it was computed from.

    joint            P(class) times the density of every cell, which the kinds of the columns name
    responsibility   joint / sum of the joints of the row; hard: the largest; sampled: drawn
    count            the sum of the weights; of numbers, of the weighted numbers and squares
    parameter        a count over a sum of counts; mean = sum / mass, sd = sqrt(squares / mass)
    objective        the sum of the logs of the rows' sums; hard: of their largest joints

Figures have six digits, so that each line can be computed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from halfseen.assign import Assign
from halfseen.engine.loop.model import Chunk
from halfseen.estimators.table.emission_builder import tied_groups
from halfseen.estimators.table.profile import blocks_of
from halfseen.families.mixture.unsupervised import UnsupervisedMixture
from halfseen.kinds.arithmetic import Factor, Term, figure, of_log, product, times, total
from halfseen.kinds.by_numbers import shares_of_counts
from halfseen.kinds.records import Addends, Density, Estimate, Fitted, MStep
from halfseen.leaves.leaf import Floats, Stats
from halfseen.leaves.limits import Params
from halfseen.leaves.wrappers import fixed_entries

NOTHING = 1e-8  # share of the largest term of a sum below which a term is left out
AGREE = 1e-6  # relative: a formula and what the M-step made of it, in the figures shown

ByColumn = dict[str, dict[Any, list[str]]]  # column -> {name: a line for each class}


class Pass(NamedTuple):
    """What an iteration computed with: parameters before and after it, and the statistics between them.

    Attributes
    ----------
    before, after : Params
    stats : Stats
    pseudo : Stats or None     those that the prior adds
    log_joint, log_joint_after : (N, K) arrays    log P(row, class) under the parameters before and after
    usage : (N, K) array       how much of each row counts in each class
    log_prior, log_prior_after : float
    """

    before: Params
    after: Params
    stats: Stats
    pseudo: Stats | None
    log_joint: Floats
    log_joint_after: Floats
    usage: Floats
    log_prior: float
    log_prior_after: float


def number(value: float) -> str:
    """Return a number as it is shown."""
    return f"{value:.6f}"


@dataclass(frozen=True, eq=False)
class Workings:
    """The arithmetic of iterations of one model on some rows, a line for each number."""

    model: UnsupervisedMixture
    chunk: Chunk
    assign: Assign

    # ---- E-step --------------------------------------------------------------------------------------------------

    def joint(self, done: Pass) -> list[list[str]]:
        """Return for each row the product of each class, then their sum."""
        names, log_mix = self.model.class_names_, self._log_weights(done.before)
        densities, labels = self._densities(done.before), self.chunk.log_evidence
        lines = []
        for n, log_joint in enumerate(done.log_joint):
            line = []
            for k, name in enumerate(names):
                factors = [Factor(f"P({name})", log_mix[k])]
                factors += [Factor(density.names[k], float(density.log[k])) for density in densities[n]]
                if labels is not None and labels[n].any():
                    factors.append(Factor("its label", float(labels[n, k])))
                line.append(f"{product(factors)} = {of_log(log_joint[k])}")
            lines.append([*line, f"{_added(log_joint)} = {of_log(logsumexp(log_joint))}"])
        return lines

    def _log_weights(self, params: Params) -> list[float]:
        with np.errstate(divide="ignore"):
            return list(np.log(params["mix"][0]).tolist())

    def _densities(self, params: Params) -> list[list[Density]]:
        """Return the factors of every row, in the order of the columns."""
        found: list[list[Density]] = [[] for _ in self.chunk.weight]
        for fitted in self._blocks(params):
            cells = self.chunk.blocks[fitted.block.name]
            own = fitted.block.kind.densities(fitted, cells, self.model.class_names_)
            for densities, more in zip(found, own, strict=True):
                densities += more
        return [sorted(densities, key=lambda density: density.member) for densities in found]

    def responsibilities(self, done: Pass) -> Iterator[str]:
        """Yield for each row and class why it counts as much as it does."""
        for n, k in np.ndindex(done.usage.shape):
            yield self._responsibility(done.log_joint[n], float(done.usage[n, k]), float(self.chunk.weight[n]), k)

    def _responsibility(self, log_joint: Floats, used: float, weight: float, k: int) -> str:
        own = of_log(log_joint[k])
        if self.assign.mode == "hard":
            return f"{_largest(log_joint, k, bool(used))}: {number(used)}"
        share = f"{own} / ({_added(log_joint)})"
        if self.assign.mode == "soft":
            return f"{times(weight, share)} = {number(used)}"
        chance = f"{share} = {figure(np.exp(log_joint[k] - logsumexp(log_joint)))}"
        draws = weight * self.assign.draws
        if draws <= 1:
            return f"{'drawn' if used else 'not drawn'}, with probability {chance}: {number(used)}"
        of_weight = f" for a row of weight {figure(weight)}" if weight != 1 else ""
        drawn = f"{figure(used * self.assign.draws)} of {figure(draws)} draws{of_weight}"
        return f"{drawn}, each with probability {chance}: {number(used)}"

    def completions(self, done: Pass, components: Sequence[int]) -> tuple[str, str]:
        """Return how the two probabilities of a line of the joint table come about."""
        logs = done.log_joint[np.arange(len(components)), list(components)]
        own, every = of_log(logs.sum()), of_log(logsumexp(done.log_joint, axis=1).sum())
        posterior = np.exp(logs.sum() - logsumexp(done.log_joint, axis=1).sum())
        joint = f"{' × '.join(map(of_log, logs))} = {own}"
        return joint, f"{own} / {every}, the sum over all ways = {number(posterior)}"

    # ---- counts --------------------------------------------------------------------------------------------------

    def rows(self, done: Pass) -> list[str]:
        """Return how the rows of each class were counted."""
        ones = Addends(np.ones_like(done.usage), [["1"] * done.usage.shape[1]] * len(done.usage))
        pseudo = None if done.pseudo is None else self.model._model.view(done.pseudo)["mix"][0]
        return _counted(done.usage, ones, pseudo)

    def counts(self, done: Pass) -> ByColumn:
        """Return how every statistic of every column was added up."""
        found: ByColumn = {}
        leaf, model = self._emission, self.model._model
        stats = leaf.view(model.view(done.stats)["emit"])
        pseudo = None if done.pseudo is None else leaf.view(model.view(done.pseudo)["emit"])
        for fitted in self._blocks(done.before):
            block, kind = fitted.block, fitted.block.kind
            added = kind.addends(fitted, self.chunk.blocks[block.name], stats[block.name])
            more: Iterator[Any] = iter([{}] * len(block.members))
            if pseudo is not None:
                more = kind.counted(block, fitted.leaf, pseudo[block.name], fitted.params)
            for column, own, extra in zip(block.columns, added, more, strict=True):
                found[column.name] = {
                    name: _counted(done.usage, addends, extra.get(name)) for name, addends in own.items()
                }
        return found

    # ---- M-step --------------------------------------------------------------------------------------------------

    def weights(self, done: Pass) -> list[str]:
        """Return how the shares of the classes follow from the counts."""
        leaf, model = self.model._model.leaves["mix"], self.model._model
        parts = [None if stats is None else model.view(stats)["mix"] for stats in (done.stats, done.pseudo)]
        before, after = done.before["mix"], done.after["mix"]
        own = _by_class(parts[0])
        pseudo = _by_class(np.zeros_like(before) if parts[1] is None else parts[1])
        fixed = fixed_entries(leaf, before)
        found = shares_of_counts(own, pseudo, _by_class(fixed), _by_class(before))
        return [_estimated(found[k], 0, float(after[0, k])) for k in found]

    def estimates(self, done: Pass, after: dict[str, Any]) -> ByColumn:
        """Return how the parameters of every column follow from the counts; `after` is what they are, by name."""
        found: ByColumn = {}
        leaf, model, names = self._emission, self.model._model, self.model.class_names_
        for block in self.model._schema.each_block():
            own = leaf.leaves[block.name]
            parts = [
                None if stats is None else leaf.view(model.view(stats)["emit"])[block.name]
                for stats in (done.stats, done.pseudo)
            ]
            groups = tied_groups(block.treatment, len(names))
            if groups is not None:
                parts = [None if part is None else own.leaf.pool(part, np.asarray(groups)) for part in parts]
            before, reached = done.before["emit"][block.name], done.after["emit"][block.name]
            step = MStep(block, own, before, reached, parts[0], parts[1])  # type: ignore[arg-type]
            fixed = block.kind.named(block, fixed_entries(own, before))
            for column, estimates, held in zip(block.columns, block.kind.estimates(step), fixed, strict=True):
                found[column.name] = {
                    name: [
                        f"fixed: {number(value)}"
                        if name in held and held[name][k]
                        else f"{_shared(groups, names, k)}{_estimated(estimates.get(name), k, value)}"
                        for k, value in enumerate(values.tolist())
                    ]
                    for name, values in after[column.name].items()
                }
        return found

    # ---- objective -----------------------------------------------------------------------------------------------

    def objective(self, done: Pass) -> str:
        """Return how the objective before and after the iteration comes about."""
        parts = ((done.log_joint, done.log_prior), (done.log_joint_after, done.log_prior_after))
        before, after = (self._sum_of_logs(*part) for part in parts)
        return f"before: {before}; after: {after}"

    def _sum_of_logs(self, log_joint: Floats, log_prior: float) -> str:
        best = log_joint.max(axis=1) if self.assign.mode == "hard" else logsumexp(log_joint, axis=1)
        weighted = zip(self.chunk.weight.tolist(), best.tolist(), strict=True)
        terms = [Term(times(weight, f"log {of_log(log)}"), weight * log) for weight, log in weighted]
        loglik = float(self.chunk.weight @ best)
        prior = f", log-prior {number(log_prior)}: {loglik + log_prior:.7f}" if log_prior else ""
        return f"{total(terms)} = {loglik:.7f}{prior}"

    # ---- parts of the model --------------------------------------------------------------------------------------

    @property
    def _emission(self) -> Any:
        return self.model._model.leaves["emit"]

    def _blocks(self, params: Params) -> Iterator[Fitted]:
        return blocks_of(self.model._schema, self._emission, params["emit"], params["mix"][0])


def _added(log_joint: Floats) -> str:
    """Return the sum of the joints of a row in figures."""
    return total([Term(of_log(log), float(np.exp(log))) for log in log_joint])


def _largest(log_joint: Floats, k: int, used: bool) -> str:
    """Return why a row is given in full to class k, or not."""
    own, joints = of_log(log_joint[k]), ", ".join(map(of_log, log_joint))
    if log_joint[k] < log_joint.max():
        return f"{own} is not the largest of {joints}"
    if used:
        tie = ", the first of equal ones" if (log_joint == log_joint[k]).sum() > 1 else ""
        return f"{own} is the largest of {joints}{tie}"
    return f"{own} is not the first of the largest of {joints}"


def _by_class(table: Any) -> dict[Any, Any]:
    """Return a row of a table as arrays of one number for each class."""
    return {k: table[:, k] for k in range(table.shape[1])}


def _counted(usage: Floats, addends: Addends, pseudo: Floats | None) -> list[str]:
    """Return the sum over the rows of each class, and what the prior adds to it."""
    lines = []
    for k in range(usage.shape[1]):
        values, used = usage[:, k] * addends.values[:, k], usage[:, k] > 0
        some = np.abs(values) > NOTHING * np.abs(values).max(initial=0.0)
        told = [n for n in np.flatnonzero(some if some.any() else used).tolist() if addends.texts[n][k] != "0"]
        terms = [Term(times(float(usage[n, k]), addends.texts[n][k]), float(values[n])) for n in told]
        line = f"{total(terms)} = {number(values.sum())}" if terms else f"nothing to add: {number(0.0)}"
        more = 0.0 if pseudo is None else float(pseudo[k])
        lines.append(f"{line}; the prior adds {figure(more)}" if more else line)
    return lines


def _estimated(estimate: Estimate | None, k: int, after: float) -> str:
    """Return how a parameter of class k came to be what it is after the M-step."""
    if estimate is None:
        return f"no quotient; found from the counts by the M-step: {number(after)}"
    text, value = estimate.texts[k], float(estimate.values[k])
    if not text:
        return f"no row counts here, so that it stays: {number(after)}"
    if np.isnan(value):
        return f"fixed: {number(after)}"
    if np.isclose(value, after, rtol=AGREE, atol=AGREE**2):
        return f"{text} = {number(after)}"
    moved = "raises" if after > value else "lowers"
    return f"{text} = {figure(value)}; a limit of the model {moved} it to {number(after)}"


def _shared(groups: list[int] | None, names: Sequence[str], k: int) -> str:
    """Name the classes that share a parameter with class k."""
    own = [] if groups is None else [names[j] for j, group in enumerate(groups) if group == groups[k]]
    return f"{', '.join(own[:-1])} and {own[-1]} together: " if len(own) > 1 else ""
