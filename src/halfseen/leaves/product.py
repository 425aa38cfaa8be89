"""A product of leaves is a leaf: scores add, statistics stand side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import Assign
from halfseen.leaves.exact import Joined, Weights
from halfseen.leaves.leaf import Floats, Latent, Leaf, Slopes, Stats
from halfseen.leaves.limits import FREE, Limits, Params


class Bundle(Leaf):
    """Named leaves with one flat vector of statistics: what a product of leaves and a model have in common.

    The parameters are a dict: name of the leaf -> its parameters.
    """

    leaves: Mapping[str, Leaf]

    @cached_property
    def _slices(self) -> dict[str, slice]:
        slices, position = {}, 0
        for name, leaf in self.leaves.items():
            size = prod(leaf.stats_shape)
            slices[name] = slice(position, position + size)
            position += size
        return slices

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """One flat vector: the statistics of the leaves, one after the other."""
        return (sum(prod(leaf.stats_shape) for leaf in self.leaves.values()),)

    @property
    def has_latent(self) -> bool:  # type: ignore[override]
        """Whether any leaf has."""
        return any(leaf.has_latent for leaf in self.leaves.values())

    @property
    def integrates(self) -> bool:
        """Whether any leaf does; the component inside a model is assigned, not integrated."""
        return any(leaf.integrates for leaf in self.leaves.values())

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether every leaf maximises."""
        return all(leaf.exact for leaf in self.leaves.values())

    def view(self, stats: Stats) -> dict[str, Stats]:
        """Return the leaves' own statistics as views of the flat vector."""
        return {name: stats[self._slices[name]].reshape(leaf.stats_shape) for name, leaf in self.leaves.items()}

    def _join(self, parts: Mapping[str, Stats]) -> Stats:
        flat = [np.ravel(parts[name]) for name in self.leaves]
        return np.concatenate(flat) if len(flat) > 1 else flat[0]

    def blank(self) -> Params:
        """Return legal parameters of every leaf."""
        return {name: leaf.blank() for name, leaf in self.leaves.items()}

    def prepare(self, params: Params) -> Any:
        """Prepare every leaf."""
        return {name: leaf.prepare(params[name]) for name, leaf in self.leaves.items()}

    def maximise(self, stats: Stats, params: Params, limits: Limits = FREE) -> Params:
        """Maximise every leaf on its own statistics."""
        parts = self.view(stats)
        return {name: leaf.maximise(parts[name], params[name], limits.of(name)) for name, leaf in self.leaves.items()}

    def complete(self, stats: Stats, about: Params, params: Params) -> float:
        """Return the sum over leaves."""
        parts = self.view(stats)
        return sum(leaf.complete(parts[name], about[name], params[name]) for name, leaf in self.leaves.items())

    def rounding(self, stats: Stats, params: Params) -> float:
        """Return the sum over leaves."""
        parts = self.view(stats)
        return sum(leaf.rounding(parts[name], params[name]) for name, leaf in self.leaves.items())

    def prior(self, params: Params) -> Stats | None:
        """Return the pseudo-statistics of all leaves; None if no leaf has any."""
        found = {name: leaf.prior(params[name]) for name, leaf in self.leaves.items()}
        present = {name: pseudo for name, pseudo in found.items() if pseudo is not None}
        if not present:
            return None
        absent = {name: np.zeros(self.leaves[name].stats_shape) for name in found if name not in present}
        return self._join(present | absent)

    def coupled(self, params: Params, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return those of every leaf: leaves are not coupled with each other."""
        found: list[NDArray[np.intp]] = []
        first = 0
        for name, leaf in self.leaves.items():
            own = leaf.coupled(params[name], limits.of(name))
            found.append(first + own)
            first += int(own.max(initial=-1)) + 1
        return np.concatenate(found) if found else np.zeros(0, dtype=np.intp)

    def log_prior(self, params: Params) -> float:
        """Return the sum over leaves."""
        return sum(leaf.log_prior(params[name]) for name, leaf in self.leaves.items())

    def jitter(self, params: Params, amount: float, rng: np.random.Generator) -> Params:
        """Jitter every leaf."""
        return {name: leaf.jitter(params[name], amount, rng) for name, leaf in self.leaves.items()}

    def conform(self, params: Params, like: Params, limits: Limits = FREE) -> Params:
        """Project every leaf's parameters onto its limits."""
        return {name: leaf.conform(params[name], like[name], limits.of(name)) for name, leaf in self.leaves.items()}

    def n_free(self, limits: Limits = FREE) -> int:
        """Return the sum over leaves."""
        return sum(leaf.n_free(limits.of(name)) for name, leaf in self.leaves.items())

    def collapsed(self, params: Params, limits: Limits = FREE) -> list[int]:
        """Return the components that any leaf reports."""
        found = [leaf.collapsed(params[name], limits.of(name)) for name, leaf in self.leaves.items()]
        return sorted({k for components in found for k in components})

    def feasible(self, params: Params, limits: Limits = FREE) -> bool:
        """Whether every leaf's parameters are legal."""
        return all(leaf.feasible(params[name], limits.of(name)) for name, leaf in self.leaves.items())

    def flaw(self, params: Params) -> str | None:
        """Return the first flaw of a leaf."""
        found = ((name, leaf.flaw(params[name])) for name, leaf in self.leaves.items())
        return next((f"{name}: {flaw}" for name, flaw in found if flaw is not None), None)

    def pack(self, params: Params) -> Floats:
        """Return the leaves' vectors, one after the other."""
        return np.concatenate([leaf.pack(params[name]) for name, leaf in self.leaves.items()] or [np.zeros(0)])

    def unpack(self, vector: Floats, like: Params) -> Params:
        """Invert `pack`."""
        params, position = {}, 0
        for name, leaf in self.leaves.items():
            size = leaf.pack(like[name]).size
            params[name] = leaf.unpack(vector[position : position + size], like[name])
            position += size
        return params

    def free(self, params: Params, limits: Limits = FREE) -> Floats:
        """Return the leaves' coordinates, one after the other."""
        parts = [leaf.free(params[name], limits.of(name)) for name, leaf in self.leaves.items()]
        return np.concatenate(parts or [np.zeros(0)])

    def freed(self, vector: Floats, like: Params, limits: Limits = FREE) -> Params:
        """Invert `free`."""
        params, position = {}, 0
        for name, leaf in self.leaves.items():
            size = leaf.free(like[name], limits.of(name)).size
            params[name] = leaf.freed(vector[position : position + size], like[name], limits.of(name))
            position += size
        return params

    def slope(self, stats: Stats, params: Params, limits: Limits = FREE) -> Floats:
        """Return the leaves' slopes, one after the other."""
        parts = self.view(stats)
        slopes = [leaf.slope(parts[name], params[name], limits.of(name)) for name, leaf in self.leaves.items()]
        return np.concatenate(slopes or [np.zeros(0)])

    def draw(self, stats: Stats, about: Params, rng: np.random.Generator, limits: Limits = FREE) -> Params:
        """Draw every leaf's parameters, which are independent given the statistics."""
        parts = self.view(stats)
        return {name: leaf.draw(parts[name], about[name], rng, limits.of(name)) for name, leaf in self.leaves.items()}

    def average(self, stats: Stats, about: Params, limits: Limits = FREE) -> Params:
        """Average every leaf."""
        parts = self.view(stats)
        return {name: leaf.average(parts[name], about[name], limits.of(name)) for name, leaf in self.leaves.items()}

    def quantile(self, stats: Stats, about: Params, q: float, limits: Limits = FREE) -> Params:
        """Return the quantiles of every leaf."""
        parts = self.view(stats)
        return {name: leaf.quantile(parts[name], about[name], q, limits.of(name)) for name, leaf in self.leaves.items()}

    def take(self, params: Params, order: NDArray[np.int64]) -> Params:
        """Reorder the components of every leaf."""
        return {name: leaf.take(params[name], order) for name, leaf in self.leaves.items()}

    def reorder(self, stats: Stats, order: NDArray[np.int64]) -> Stats:
        """Reorder the components of every leaf."""
        parts = self.view(stats)
        return self._join({name: leaf.reorder(parts[name], order) for name, leaf in self.leaves.items()})

    def pool(self, stats: Stats, groups: NDArray[np.int64]) -> Stats:
        """Pool every leaf."""
        parts = self.view(stats)
        return self._join({name: leaf.pool(parts[name], groups) for name, leaf in self.leaves.items()})

    def recentre(self, stats: Stats, about: Params, onto: Params) -> Stats:
        """Recentre every leaf."""
        parts = self.view(stats)
        return self._join(
            {name: leaf.recentre(parts[name], about[name], onto[name]) for name, leaf in self.leaves.items()}
        )


@dataclass(frozen=True, eq=False)
class Product(Bundle):
    """Blocks of columns, independent given the component: one leaf per block, one row of scores.

    Parameters
    ----------
    n_components : int
    leaves : mapping from the name of a block of data to its leaf
    """

    n_components: int
    leaves: Mapping[str, Leaf]

    def score(self, prepared: Any, data: Any, assign: Assign) -> Floats:
        """Return the sum over blocks; `data` maps names of blocks to their rows."""
        parts = [leaf.score(prepared[name], data[name], assign) for name, leaf in self.leaves.items()]
        total = parts[0]
        for part in parts[1:]:
            total += part
        return total

    def expect(self, usage: Floats, prepared: Any, data: Any, assign: Assign, out: Stats) -> int:
        """Add each block's statistics."""
        parts = self.view(out)
        inside = [
            leaf.expect(usage, prepared[name], data[name], assign, parts[name]) for name, leaf in self.leaves.items()
        ]
        return hash(tuple(inside)) if any(inside) else 0

    def count(self, component: NDArray[np.int64], weight: Floats, prepared: Any, data: Any, out: Stats) -> None:
        """Add each block's statistics."""
        parts = self.view(out)
        for name, leaf in self.leaves.items():
            leaf.count(component, weight, prepared[name], data[name], parts[name])

    def tally(
        self, component: NDArray[np.int64], weight: Floats, cut: Weights, prepared: Any, data: Any
    ) -> Joined | None:
        """Return the statistics of all blocks without rounding, if every block has them."""
        found: list[Any] = []
        for name, leaf in self.leaves.items():
            own = leaf.tally(component, weight, cut, prepared[name], data[name])
            if own is None:
                return None
            found.append(own)
        return Joined(found)

    def slopes(self, params: Params, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """Return those of all blocks side by side, if every block knows them."""
        found = []
        first = 0
        for name, leaf in self.leaves.items():
            own = leaf.slopes(params[name], data[name], component, limits.of(name))
            if own is None:
                return None
            found.append(Slopes(own.at + first, own.values))
            first += len(leaf.free(params[name], limits.of(name)))
        return Slopes(np.concatenate([own.at for own in found]), np.concatenate([own.values for own in found], axis=1))

    def settled(self, data: Any) -> NDArray[np.bool_] | None:
        """Whether a row is settled in every block."""
        found = [leaf.settled(data[name]) for name, leaf in self.leaves.items() if leaf.has_latent]  # others: all rows
        masks = [mask for mask in found if mask is not None]
        return np.logical_and.reduce(masks) if masks else None

    def arrange(self, data: Any) -> NDArray[np.intp] | None:
        """Return the order that the first block with a preference asks for."""
        found = (leaf.arrange(data[name]) for name, leaf in self.leaves.items() if leaf.has_latent)
        return next((order for order in found if order is not None), None)

    def latent(self, about: Any, params: Any, data: Any, usage: Floats) -> Latent:
        """Return the sum over blocks."""
        parts = (leaf.latent(about[b], params[b], data[b], usage) for b, leaf in self.leaves.items())
        return reduce(Latent.plus, parts, Latent())

    def sample(self, params: Params, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw rows, block by block."""
        return {name: leaf.sample(params[name], components, rng) for name, leaf in self.leaves.items()}

    def impute(self, params: Params, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Impute the missing cells of every block."""
        return {name: leaf.impute(params[name], data[name], resp, rng) for name, leaf in self.leaves.items()}

    def affinity(self, params: Params, other: Params) -> Floats:
        """Return the sum over blocks."""
        return sum(
            (leaf.affinity(params[name], other[name]) for name, leaf in self.leaves.items()),
            np.zeros((1, 1)),
        )
