"""A structure with its leaves is a model; and a model is itself a leaf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT, Assign
from halfseen.engine.expected import Expected, Step
from halfseen.leaves.leaf import Floats, Leaf, Stats, frozen
from halfseen.leaves.limits import FREE, Limits, Params
from halfseen.leaves.product import Bundle
from halfseen.structures.structure import Inference, Structure


class Chunk(Protocol):
    """What the engine needs to know of a piece of data."""

    @property
    def index(self) -> int:
        """Position among all chunks: chunk i uses the i-th generator."""

    @property
    def blocks(self) -> Any:
        """What the leaves read."""

    @property
    def weight(self) -> Floats:
        """How often each unit counts, (N,)."""

    @property
    def log_evidence(self) -> Floats | None:
        """What labels say about the hidden variable, in logs."""


@dataclass(frozen=True)
class Reduced:
    """Data made ready for many passes: what must be looked at each time, and what need not.

    Attributes
    ----------
    chunks : sequence of chunks
    known : Expected or None
        Statistics of data in which nothing is hidden, counted once under `about`.
    about : params under which `known` was gathered
    path : Path or None
        The fused path that these chunks are packed for, used in soft passes; None: three steps always.
    """

    chunks: Sequence[Chunk]
    known: Expected | None = None
    about: Params = field(default=None, repr=False)
    path: Any = None


@dataclass(frozen=True, eq=False)
class Model(Bundle):
    """A structure and the leaves it reads; `params` is a dict with the parameters of each leaf.

    As a leaf its score is the log-evidence, and its statistics are those of its own leaves, inferred with the usage it
    is given as weights.

    Parameters
    ----------
    structure : Structure
    leaves : mapping from the structure's parts to leaves
    """

    structure: Structure
    leaves: Mapping[str, Leaf]

    def __post_init__(self) -> None:
        if set(self.structure.parts) != set(self.leaves):
            raise ValueError(f"{self.structure} has parts {self.structure.parts}, got leaves {tuple(self.leaves)}.")

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """Components as a leaf: the structure's groups."""
        return self.structure.n_groups

    def joint(self, prepared: Any, data: Any, log_labels: Floats | None = None) -> Floats:
        """Return log p(row, component), (N, G * M): what an independent structure turns into usage."""
        joint = self.leaves["emit"].score(prepared["emit"], data, SOFT)
        joint = joint + np.reshape(self.leaves["mix"].score(prepared["mix"], data, SOFT), -1)
        return joint if log_labels is None else joint + log_labels

    def infer(
        self, prepared: Any, data: Any, outer: Floats, assign: Assign = SOFT, log_labels: Floats | None = None
    ) -> Inference:
        """Score every part, then let the structure turn scores into usage."""
        scores = {name: leaf.score(prepared[name], data, assign) for name, leaf in self.leaves.items()}
        return self.structure.infer(scores, outer, assign, log_labels, data)

    def gather(
        self,
        prepared: Any,
        data: Any,
        outer: Floats,
        assign: Assign,
        out: Stats,
        log_labels: Floats | None = None,
    ) -> Inference:
        """Score, infer, expect: add the statistics of a chunk to `out`."""
        found = self.infer(prepared, data, outer, assign, log_labels)
        parts = self.view(out)
        inside = [
            leaf.expect(found.usage[name], prepared[name], data, assign, parts[name])
            for name, leaf in self.leaves.items()
        ]
        return found._replace(digest=hash((found.digest, *inside)))

    def expected(self, prepared: Any, chunk: Chunk, assign: Assign = SOFT) -> Expected:
        """Return the statistics of a chunk: the task that runners map over the data."""
        stats = np.zeros(self.stats_shape)
        found = self.gather(prepared, chunk.blocks, chunk.weight[:, None], assign, stats, chunk.log_evidence)
        digest = hash((chunk.index, found.digest)) if assign.mode == "hard" else 0
        return Expected(stats, weighted_sum(chunk.weight, found.log_evidence[:, 0]), digest)

    def known(self, prepared: Any, chunk: Chunk, component: NDArray[np.int64]) -> Expected:
        """Return the statistics of a chunk whose rows belong to known components: nothing is inferred."""
        stats = np.zeros(self.stats_shape)
        parts = self.view(stats)
        for name, leaf in self.leaves.items():
            leaf.count(component, chunk.weight, prepared[name], chunk.blocks, parts[name])
        return Expected(stats, 0.0)

    def improved(self, step: Step) -> Params:
        """Return the M-step: the prior's pseudo-statistics are added, then every leaf maximises."""
        return self.maximise(self.with_prior(step), step.params)

    def with_prior(self, step: Step) -> Stats:
        """Return the statistics of a step with the prior's pseudo-statistics added."""
        pseudo = self.prior(step.params)
        return step.expected.stats if pseudo is None else step.expected.stats + pseudo

    def score(self, prepared: Any, data: Any, assign: Assign) -> Floats:
        """Return the log-evidence, (N, G)."""
        outer = np.ones((n_rows(data), self.n_components))
        return self.infer(prepared, data, outer, assign).log_evidence

    def expect(self, usage: Floats, prepared: Any, data: Any, assign: Assign, out: Stats) -> int:
        """Add the statistics of the leaves inside, with `usage` as weights."""
        return self.gather(prepared, data, usage, assign, out).digest

    def settled(self, data: Any) -> NDArray[np.bool_]:
        """No row is: its component in here is hidden."""
        return np.zeros(n_rows(data), dtype=bool)

    def relabel(self, params: Params, order: NDArray[np.int64]) -> Params:
        """Return the parameters with the model's own components in another order."""
        return super().take(params, order)

    def take(self, params: Params, order: NDArray[np.int64]) -> Params:
        """Return the parameters with groups, the components of the model as a leaf, in another order."""
        inner = (np.asarray(order)[:, None] * self._width + np.arange(self._width)).ravel()
        emit = self.leaves["emit"].take(params["emit"], inner)
        return {"mix": frozen(params["mix"][order]), "emit": emit}

    def pool(self, stats: Stats, groups: NDArray[np.int64]) -> Stats:
        """Pool over groups: their m-th components are pooled with each other."""
        parts = self.view(stats)
        inner = (np.asarray(groups)[:, None] * self._width + np.arange(self._width)).ravel()
        emit = self.leaves["emit"].pool(parts["emit"], inner)
        return self._join({"mix": self.leaves["mix"].pool(parts["mix"], groups), "emit": emit})

    def collapsed(self, params: Params, limits: Limits = FREE) -> list[int]:
        """Return the collapsed components, or the groups they belong to."""
        found = super().collapsed(params, limits)
        return found if self.n_components == 1 else sorted({k // self._width for k in found})

    @property
    def _width(self) -> int:
        """Components of the emission leaf in each group."""
        return self.leaves["emit"].n_components // self.n_components

    def sample(self, params: Params, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw rows from a mixture inside the given components."""
        inner = self.draw_components(params, components, rng)
        return self.leaves["emit"].sample(params["emit"], inner, rng)

    def draw_components(self, params: Params, groups: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw a component of the emission leaf for each row, given its group."""
        width = params["mix"].shape[1]
        return groups * width + self.leaves["mix"].sample(params["mix"], groups, rng)[:, 0]

    def impute(self, params: Params, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Fill holes; `resp` is over groups, each is spread over its own components given the row."""
        assign = SOFT if rng is None else Assign("sample", rng=rng)
        inner = self.infer(self.prepare(params), data, resp, assign).usage["emit"]
        return self.leaves["emit"].impute(params["emit"], data, inner, rng)

    def affinity(self, params: Params, other: Params) -> Floats:
        """Return the overlap of groups: log of the cosine under the kernel sum_mm' mix mix' exp(affinity).

        The Bhattacharyya coefficient of two mixtures has no closed form; this one is 0 for equal mixtures too.
        """
        between = self._kernel(params, other)
        own, its = (np.diag(self._kernel(each, each)) for each in (params, other))
        with np.errstate(divide="ignore"):
            return np.log(between / np.sqrt(own[:, None] * its))

    def _kernel(self, params: Params, other: Params) -> Floats:
        overlap = np.exp(self.leaves["emit"].affinity(params["emit"], other["emit"]))
        shape = (self.n_components, self._width)
        return np.einsum("gm,gmhl,hl->gh", params["mix"], overlap.reshape(*shape, *shape), other["mix"])

    def overlap(self, params: Params, other: Params) -> Floats:
        """Return the overlap of the model's own components with those of `other`."""
        return self.leaves["emit"].affinity(params["emit"], other["emit"])


def weighted_sum(weight: Floats, values: Floats) -> float:
    """Return sum of weight * values; a row of weight 0 is absent even where its value is -inf."""
    used = weight > 0
    return float(weight[used] @ values[used])


def n_rows(data: Any) -> int:
    """Return the number of rows of a block, or of the first of several blocks."""
    return len(next(iter(data.values()))) if isinstance(data, Mapping) else len(data)
