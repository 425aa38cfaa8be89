"""A structure with its leaves is a model; and a model is itself a leaf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT, Assign
from halfseen.engine.loop.expected import WORD, Expected, Step
from halfseen.leaves.leaf import Floats, Leaf, Stats, lacking, n_rows
from halfseen.leaves.limits import Params
from halfseen.leaves.product import Bundle
from halfseen.structures.structure import Inference, Structure
from halfseen.sums import Runner, Task, serial


class Chunk(Protocol):
    """What the engine reads of a chunk of data."""

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
        """Log of the evidence of labels about the hidden variable."""


@dataclass(frozen=True)
class Reduced:
    """Data prepared for many passes: chunks to read in each of them, and statistics that are gathered once.

    Attributes
    ----------
    chunks : sequence of chunks
    known : Expected or None
        Statistics of data in which nothing is hidden, counted once under `about`.
    about : params under which `known` was gathered
    path : Path or None
        The fused path that these chunks are packed for, used in soft passes; None: always score, infer, expect.
    """

    chunks: Sequence[Chunk]
    known: Expected | None = None
    about: Params = field(default=None, repr=False)
    path: Any = None

    def total(self, task: Task, runner: Runner = serial) -> Any:
        """Return the sum of a task over all chunks."""
        elsewhere = getattr(self.chunks, "total", None)
        return runner.total(task, self.chunks) if elsewhere is None else elsewhere(task)


@dataclass(frozen=True, eq=False)
class Model(Bundle):
    """A structure and the leaves it reads; `params` is a dict with the parameters of each leaf.

    As a leaf its score is the log-evidence, and its statistics are those of its own leaves, inferred with the usage it
    is given as weights. What only some structures can do (sampling, imputation) is in the subclass that goes with
    them: `Mixture`, `HiddenMarkov`.

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

    @property
    def spends(self) -> bool:
        """Whether M-steps and passes write over the parameters that were accepted before."""
        return False

    def infer(
        self, prepared: Any, data: Any, outer: Floats, assign: Assign = SOFT, log_labels: Floats | None = None
    ) -> Inference:
        """Score every part; the structure turns scores into usage (posterior marginals, expected counts)."""
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
        digest = hash((chunk.index, found.digest)) & WORD if assign.mode == "hard" else 0
        return Expected(stats, weighted_sum(chunk.weight, found.log_evidence[:, 0]), digest)

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

    @property
    def has_latent(self) -> bool:  # type: ignore[override]
        """As a leaf, yes: the component inside is hidden."""
        return True

    def relabel(self, params: Params, order: NDArray[np.int64]) -> Params:
        """Return the parameters with the model's own components in another order."""
        return super().take(params, order)

    def overlap(self, params: Params, other: Params) -> Floats:
        """Return the overlap of the model's own components with those of `other`."""
        return self.leaves["emit"].affinity(params["emit"], other["emit"])

    def sample(self, params: Params, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw units; implemented by the model of a structure."""
        raise lacking(self, "sample", "Its structure cannot draw rows.")

    def impute(self, params: Params, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Impute missing cells; implemented by the model of a structure."""
        raise lacking(self, "impute", "Its structure cannot impute missing cells.")

    def affinity(self, params: Params, other: Params) -> Floats:
        """Return the overlap of groups; implemented by the model of a structure."""
        raise lacking(self, "affinity", "Its structure has no measure of overlap.")


def weighted_sum(weight: Floats, values: Floats) -> float:
    """Return sum of weight * values; a row of weight 0 is absent even where its value is -inf."""
    used = weight > 0
    return float(weight[used] @ values[used])
