"""Many fits of one small table in one call of a kernel: bootstrap samples, or starts.

A pass over a small table takes microseconds, and the loop around it in Python hundreds. Here a kernel makes whole runs:
E-step, M-step, extrapolation and stopping rule. An optimisation, never a second model: runs end at the maxima that
those of `engine.loop.run` reach, by the same rule; a run that fails is left to these.

It serves mixtures of plain columns of categories, independent normal columns with a floor under their variances, and
counts, all free, without prior and labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from halfseen.data import Table
from halfseen.engine.loop.model import Model
from halfseen.kernels import active as kernels
from halfseen.leaves import Categorical, Cells, Gaussian, Poisson, Product
from halfseen.leaves.gaussian import GaussianParams, lowest_variances
from halfseen.leaves.leaf import Floats, Leaf, frozen
from halfseen.leaves.limits import FREE, Limits, Params
from halfseen.leaves.wrappers import Floored
from halfseen.structures.independent import Independent
from halfseen.sums import Runner, serial

MOST_ROWS = 4096  # beyond, the passes of the engine, over several rows at once, are quicker
LARGE_COUNT = 4096.0  # from which on logs of Poisson densities need the leaf's own formula
TOGETHER = 8  # runs in a call: workers share them out
CONVERGED, CAPPED = 0, 1  # how a run ended; anything else has failed


class Ended(NamedTuple):
    """The end of a run: its parameters, None where it failed; their log-likelihood; passes; whether it converged."""

    params: Params
    loglik: float
    n_passes: int
    converged: bool


class Batch:
    """A mixture over a small table, as the kernel reads it."""

    def __init__(self, model: Model, emit: Product, table: Table) -> None:
        self._model, self._emit, self._n_components = model, emit, emit.n_components
        self._leaves: dict[str, Leaf] = {name: _inside(leaf) for name, leaf in emit.leaves.items()}
        kinds: tuple[type[Leaf], ...] = (Categorical, Gaussian, Poisson)
        self._names = {kind: [name for name, leaf in self._leaves.items() if isinstance(leaf, kind)] for kind in kinds}
        codes, values, counts = (self._beside(table, kind) for kind in kinds)
        categories: list[Any] = [self._leaves[name] for name in self._names[Categorical]]
        sizes = [size for leaf in categories for size in leaf.cardinalities]
        self.weight = np.ascontiguousarray(table.weight)
        self._rows = (
            np.ascontiguousarray(codes, dtype=np.int32),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.ascontiguousarray(values, dtype=np.float64),
            np.ascontiguousarray(counts, dtype=np.float64),
            -np.nansum(gammaln(counts + 1.0), axis=1) if counts.shape[1] else np.zeros(len(counts)),
        )
        self._units, self._lowest = self._in_units(), self._floors()

    @classmethod
    def find(cls, model: Model, table: Table | None) -> Batch | None:
        """Return the plan for a model and its rows; None where the kernel cannot serve them."""
        if table is None or table.evidence is not None or not 0 < table.n_rows <= MOST_ROWS:
            return None
        if model.structure != Independent() or type(model.leaves["mix"]) is not Cells:
            return None
        emit = model.leaves["emit"]
        if not isinstance(emit, Product) or model.prior(model.blank()) is not None:
            return None
        if not all(type(_inside(leaf)) in (Categorical, Gaussian, Poisson) for leaf in emit.leaves.values()):
            return None
        for name, leaf in emit.leaves.items():
            if isinstance(_inside(leaf), Poisson) and np.nanmax(table.blocks[name], initial=0.0) >= LARGE_COUNT:
                return None
        return cls(model, emit, table)

    def run(
        self,
        weights: Floats,
        which: NDArray[np.int64],
        starts: Sequence[Params],
        tol: float,
        max_iter: int,
        runner: Runner = serial,
    ) -> list[Ended]:
        """Run EM from every start.

        Parameters
        ----------
        weights : (W, N) array       weightings of the rows of the table
        which : (B,) array           which of them each run has
        starts : B params
        tol : float                  estimated remaining gain at which a run stops
        max_iter : int
        """
        weights = np.ascontiguousarray(weights)
        vectors = np.array([self._packed(start) for start in starts])
        found = np.empty((len(vectors), 3))

        def task(first: int) -> None:
            part = slice(first, first + TOGETHER)
            own = np.ascontiguousarray(which[part], dtype=np.int64)
            kernels.batch_em(
                *self._rows, weights, own, self._units, self._lowest, tol, max_iter, vectors[part], found[part]
            )

        for _ in runner(task, range(0, len(vectors), TOGETHER)):
            pass
        return [self._ended(vector, *end) for vector, end in zip(vectors, found.tolist(), strict=True)]

    def _ended(self, vector: Floats, loglik: float, n_passes: float, how: float) -> Ended:
        params = self._unpacked(vector) if how in (CONVERGED, CAPPED) else None
        return Ended(params, loglik, int(n_passes), how == CONVERGED)

    def _beside(self, table: Table, kind: type[Leaf]) -> NDArray[Any]:
        """Return the columns of the blocks of a kind, side by side."""
        blocks = [table.blocks[name] for name in self._names[kind]]
        return np.concatenate(blocks, axis=1) if blocks else np.zeros((table.n_rows, 0))

    def _packed(self, params: Params) -> Floats:
        """Return parameters as the kernel reads them: one vector, components last."""
        emit = params["emit"]
        parts = [params["mix"].T, *(emit[name].T for name in self._names[Categorical])]
        for part in (0, 1):
            parts += [emit[name][part].T for name in self._names[Gaussian]]
        parts += [emit[name].T for name in self._names[Poisson]]
        return np.concatenate([np.ravel(part) for part in parts])

    def _unpacked(self, vector: Floats) -> Params:
        """Invert `_packed`."""
        size, at = self._n_components, 0

        def following(name: str) -> Floats:
            nonlocal at
            n_columns = self._leaves[name].stats_shape[-1]
            at += n_columns * size
            return frozen(vector[at - n_columns * size : at].reshape(n_columns, size).T.copy())

        at = size
        emit: dict[str, Any] = {name: following(name) for name in self._names[Categorical]}
        means = {name: following(name) for name in self._names[Gaussian]}
        emit |= {name: GaussianParams(means[name], following(name)) for name in self._names[Gaussian]}
        emit |= {name: following(name) for name in self._names[Poisson]}
        ordered = {name: emit[name] for name in self._emit.leaves}
        return {"mix": frozen(vector[:size].copy()[None]), "emit": ordered}

    def _in_units(self) -> Floats:
        """Return the unit of every parameter: those in which `Leaf.pack` gives them."""
        ones = np.ones((1, self._n_components))
        gaussian: list[Any] = [self._leaves[name] for name in self._names[Gaussian]]
        poisson: list[Any] = [self._leaves[name] for name in self._names[Poisson]]
        parts = [np.ones(1), np.ones(int(self._rows[1][-1]))]
        parts += [leaf.scale**power for power in (1, 2) for leaf in gaussian]
        parts += [leaf.scale for leaf in poisson]
        return np.ravel(np.concatenate(parts)[:, None] * ones)

    def _floors(self) -> Floats:
        """Return the smallest variance of every column of numbers."""
        floors = [_lowest(self._emit.leaves[name]) for name in self._names[Gaussian]]
        return np.concatenate([np.zeros(0), *floors])


def _inside(leaf: Leaf) -> Leaf:
    """Return a normal leaf without its floor, which the kernel has too; any other leaf as it is."""
    return leaf.leaf if isinstance(leaf, Floored) and type(leaf.leaf) is Gaussian else leaf


def _lowest(leaf: Leaf) -> Floats:
    """Return the smallest variances of a normal leaf, (D,)."""
    limits = Limits(floor=leaf.floor) if isinstance(leaf, Floored) else FREE
    return np.asarray(lowest_variances(_inside(leaf), limits), dtype=np.float64)
