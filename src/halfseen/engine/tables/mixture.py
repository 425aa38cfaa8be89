"""Mixtures: models in which every row has one hidden component, independently of the other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from halfseen.assign import SOFT, Assign
from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Chunk, Model
from halfseen.leaves.exact import Joined, Weights
from halfseen.leaves.leaf import Floats, Latent, Stats, frozen
from halfseen.leaves.limits import FREE, Limits, Params


class Mixture(Model):
    """A model over the structure `Independent`, with leaves `mix` and `emit`.

    As a leaf with G components, component g is a mixture of its own M components of the emission leaf: a class with
    several components, a state with a mixture emission.

    Examples
    --------
    >>> import numpy as np
    >>> from halfseen.leaves import Categorical, Cells
    >>> from halfseen.structures.independent import Independent
    >>> coins = Mixture(Independent(), {"mix": Cells(1, [2], axes=(1,)), "emit": Categorical(2, [2])})
    >>> params = {"mix": np.array([[0.5, 0.5]]), "emit": np.array([[0.9, 0.1], [0.5, 0.5]])}
    >>> np.exp(coins.joint(coins.prepare(params), np.array([[1]]))).round(3)
    array([[0.05, 0.25]])
    """

    def joint(self, prepared: Any, data: Any, log_labels: Floats | None = None) -> Floats:
        """Return log p(row, component), (N, G * M): what an independent structure turns into usage."""
        joint = self.leaves["emit"].score(prepared["emit"], data, SOFT)
        mix = self.leaves["mix"].score(prepared["mix"], data, SOFT)
        joint = joint + (mix if mix.shape == joint.shape else np.reshape(mix, -1))
        return joint if log_labels is None else joint + log_labels

    def log_posterior(self, prepared: Any, data: Any, log_labels: Floats | None = None) -> Floats:
        """Return log p(component | row, group), (N, G, M); -inf throughout for a row that is impossible."""
        joint = self.joint(prepared, data, log_labels)
        joint = joint.reshape(len(joint), self.n_components, -1)
        evidence = logsumexp(joint, axis=2, keepdims=True)
        return joint - np.where(np.isneginf(evidence), 0.0, evidence)

    def latent(self, about: Any, params: Any, data: Any, usage: Floats, log_labels: Floats | None = None) -> Latent:
        """Return entropy and divergence of the components of every (row, group), and of latent content inside these.

        In logs: a posterior too small for a float64 is small, not zero.
        """
        log_q, log_p = (self.log_posterior(ready, data, log_labels) for ready in (about, params))
        resp = np.exp(log_q) * np.reshape(usage, (len(log_q), -1, 1))
        used = resp > 0
        own = Latent(-float(resp[used] @ log_q[used]), float(resp[used] @ (log_q[used] - log_p[used])))
        inside = self.leaves["emit"].latent(about["emit"], params["emit"], data, resp.reshape(len(resp), -1))
        return own.plus(inside)

    def known(self, prepared: Any, chunk: Chunk, component: NDArray[np.int64]) -> Expected:
        """Return the statistics of a chunk whose rows belong to known components: nothing is inferred."""
        stats = np.zeros(self.stats_shape)
        parts = self.view(stats)
        for name, leaf in self.leaves.items():
            leaf.count(component, chunk.weight, prepared[name], chunk.blocks, parts[name])
        return Expected(stats, 0.0)

    def tallied(self, prepared: Any, chunk: Chunk, component: NDArray[np.int64], cut: Weights) -> Joined | None:
        """Return the same as sums without rounding, in the order of the leaves; None where a leaf has none."""
        found = [
            leaf.tally(component, chunk.weight, cut, prepared[name], chunk.blocks) for name, leaf in self.leaves.items()
        ]
        return None if any(own is None for own in found) else Joined(found)

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
        """Impute missing cells; `resp` is over groups, each is spread over its own components given the row."""
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
