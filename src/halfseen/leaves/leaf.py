"""The leaf protocol: a block of parameters with pure functions.

A leaf turns usage (posterior marginals, expected counts) into sufficient statistics, and these into parameters. It has
no state: what it knows (sizes, a prior,
the scale of a column) is fixed when it is built, and parameters are values that come in and go out.

You implement
-------------
n_components, stats_shape    how many components; the shape of its statistics (float64, they add)
blank                        legal parameters before any data is seen, alike in all components
score                        log-probability of each (row, component)
expect                       E-step: add the usage-weighted statistics of a chunk to `out`
maximise                     M-step: the best parameters for given statistics, exactly, within limits
complete                     expected complete-data log-likelihood as a function of the statistics; it is the
                             log-likelihood itself where nothing is latent
jitter, conform              random neighbours of parameters; parameters projected onto limits
sample, impute               draw rows; impute missing cells
n_free, affinity             number of free parameters; log Bhattacharyya overlap of components

You declare
-----------
has_latent                   whether the E-step completes something inside the leaf, given the component: missing cells
                             of a joint normal, the gamma behind a negative binomial. The statistics of such rows
                             depend on the parameters, so that they are gathered anew in every iteration. Latent
                             content is integrated, also in hard mode; with `assign.latent` it is drawn
settled                      with latent content: which rows have none (default: every row has)
latent                       with latent content: its entropy and divergence, for the lower bound

You may implement
-----------------
free, freed, slope           unconstrained coordinates, and the gradient in them (`engine.loop.gradient`)
slopes                       the gradient row by row, for standard errors in one pass
coupled                      which coordinates belong together, so that others can be moved at the same time
draw, average, quantile      draws from the posterior, its mean and quantiles (`engine.loop.gibbs`)

The density that `draw` draws from is proportional to exp(complete(stats, about, .)), with respect to the parameters
themselves: with a prior's pseudo-statistics in `stats`, the posterior. Each of the six obeys `limits`, or refuses.

You get for free
----------------
rounding                     how far the objective may fall without a bug, from `complete`
log_prior, prior             from `complete` and the pseudo-statistics you return from `prior` (default: none)
prepare                      the identity; override to take logs or factors once per step
flaw                         whether parameters from outside are finite; override to check more
pack, unpack, feasible       the parameters as one raw vector, for acceleration
count                        statistics of rows of a known component, from `expect`; override to do less work
tally                        the same as sums that do not depend on the order of the rows, where you have them
arrange                      an order of the rows in which neighbours share work (default: any)
take, reorder                parameters and statistics with components in another order
pool, recentre               , tying, and statistics restated about another pivot
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.assign import SOFT, Assign
from halfseen.errors import FitError, ParameterError
from halfseen.leaves.exact import Joined, Moments, Shares, Weights
from halfseen.leaves.limits import FREE, Limits, Params

Floats = NDArray[np.float64]
Stats = NDArray[np.float64]

ROUNDING = 1e-12  # share of a sum of logs by which rounding may change it
NO_MASS = 1e-100  # below this a component has no mass: ratios of smaller numbers lose all their digits

AT_FLOOR = 1e-9  # a value this close to its floor, relatively, is on it


class Latent(NamedTuple):
    """Entropy of latent variables under one set of parameters, and divergence from their distribution under another.

    Of a density, the entropy may be below 0.
    """

    entropy: float = 0.0
    kl: float = 0.0

    def plus(self, other: Latent) -> Latent:
        """Return the sums: of other rows, or of variables that are independent given the component."""
        return Latent(self.entropy + other.entropy, self.kl + other.kl)


class Slopes(NamedTuple):
    """Gradients of the log-probabilities of rows in one component.

    Attributes
    ----------
    at : (Q,) array          which coordinates the component has
    values : (N, Q) array    the gradient of each row in them
    """

    at: NDArray[np.intp]
    values: Floats


class Leaf(ABC):
    """A block of parameters with pure functions; see the module's lists."""

    n_components: int
    axes: tuple[int, ...] = (0,)  # which axes of the parameter arrays run over components
    stats_axis: int = 0  # which axis of the statistics runs over components
    has_latent: bool = False  # whether the E-step completes something inside: statistics then depend on the parameters
    shares_parameters: bool = False  # whether components have some in common: then tied ones count once in the M-step
    exact: bool = True  # whether `maximise` is a maximiser: then the objective never falls

    @property
    def integrates(self) -> bool:
        """Whether latent content is integrated in hard mode too: then EM goes on when assignments are unchanged."""
        return self.has_latent

    @property
    @abstractmethod
    def stats_shape(self) -> tuple[int, ...]:
        """Shape of the statistics."""

    @abstractmethod
    def blank(self) -> Params:
        """Return legal parameters, alike in all components: what the first statistics are gathered about."""

    def prepare(self, params: Params) -> Any:
        """Derive logs and factors once per step; the result is passed on and never stored."""
        return params

    @abstractmethod
    def score(self, prepared: Any, data: Any, assign: Assign) -> Floats:
        """Return the (N, K) log-probabilities of rows in components; a missing cell adds nothing."""

    @abstractmethod
    def expect(self, usage: Floats, prepared: Any, data: Any, assign: Assign, out: Stats) -> int:
        """Add the statistics of a chunk, weighted by `usage` (N, K), to `out`.

        Return a fingerprint of the hidden choices made inside the leaf in hard mode; 0 where nothing is hidden.
        """

    def count(self, component: NDArray[np.int64], weight: Floats, prepared: Any, data: Any, out: Stats) -> None:
        """Add the statistics of rows whose component is known, (N,), to `out`; override where that is quicker."""
        usage = np.zeros((len(component), self.n_components))
        usage[np.arange(len(component)), component] = weight
        self.expect(usage, prepared, data, SOFT, out)

    def tally(
        self, component: NDArray[np.int64], weight: Floats, cut: Weights, prepared: Any, data: Any
    ) -> Moments | Shares | Joined | None:
        """Return the statistics of rows whose component is known as sums without rounding; None where there are none.

        Rows of a leaf without them are put in order before they are counted. Components of `prepared` are all alike.
        """
        return None

    def settled(self, data: Any) -> NDArray[np.bool_] | None:
        """Whether the statistics of each row, (N,), are the same under any parameters; None where they all are."""
        return np.zeros(n_rows(data), dtype=bool) if self.has_latent else None

    def latent(self, about: Any, params: Any, data: Any, usage: Floats) -> Latent:
        """Return entropy and divergence of the latent content of a chunk, each row used `usage` (N, K) times.

        With q = p(latent | row, component, about) and p = p(latent | row, component, params), both prepared parameters:

            entropy = -sum_nk usage[n, k] E_q[log q],   kl = sum_nk usage[n, k] E_q[log q - log p]
        """
        if self.has_latent:
            raise lacking(self, "latent", "The lower bound and the entropy of hidden variables need it.")
        return Latent()

    def arrange(self, data: Any) -> NDArray[np.intp] | None:
        """Return an order of the rows in which neighbours share work; None where none is better.

        Only leaves with latent content are asked: the work on other leaves is the same in any order.
        """
        return None

    @abstractmethod
    def maximise(self, stats: Stats, params: Params, limits: Limits = FREE) -> Params:
        """Return argmax over parameters of complete(stats, params, .) within `limits`.

        `params` are those under which the statistics were gathered; a component with no mass keeps them.
        """

    @abstractmethod
    def complete(self, stats: Stats, about: Params, params: Params) -> float:
        """Return the expected complete-data log-likelihood of `params`, for statistics gathered under `about`."""

    def prior(self, params: Params) -> Stats | None:
        """Return pseudo-statistics, as if gathered under `params`; None for maximum likelihood."""
        return None

    def log_prior(self, params: Params) -> float:
        """Return the log-density of the prior, up to a constant: complete(prior, params, params)."""
        pseudo = self.prior(params)
        return 0.0 if pseudo is None else self.complete(pseudo, params, params)

    def rounding(self, stats: Stats, params: Params) -> float:
        """Return how much rounding may change complete(stats, params, params): a share of the terms that it adds up.

        Logs of numbers near 1 have the digits of the numbers: so the counts are terms too. Override where terms of
        both signs cancel, where parameters are known to few digits only, or where statistics are no counts.
        """
        return ROUNDING * (abs(self.complete(stats, params, params)) + float(np.abs(stats).sum()))

    @abstractmethod
    def jitter(self, params: Params, amount: float, rng: np.random.Generator) -> Params:
        """Return parameters moved at random by about `amount`, relative to the spread of the data."""

    @abstractmethod
    def conform(self, params: Params, like: Params, limits: Limits = FREE) -> Params:
        """Return `params` projected onto `limits`; fixed entries are taken from `like`."""

    @abstractmethod
    def sample(self, params: Params, components: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Draw one row for each entry of `components`."""

    @abstractmethod
    def impute(self, params: Params, data: Any, resp: Floats, rng: np.random.Generator | None) -> Any:
        """Return data with missing cells imputed: the mean or likeliest category under `resp`; drawn with `rng`.

        With `rng`, `resp` must be one-hot: the caller has drawn the component of each row, once for all columns.
        """

    @abstractmethod
    def n_free(self, limits: Limits = FREE) -> int:
        """Return the number of free parameters."""

    def n_tied(self, n_groups: int, limits: Limits = FREE) -> int:
        """Return the number of free parameters where components are tied in so many groups."""
        return self.n_free(limits) * n_groups // self.n_components

    @abstractmethod
    def affinity(self, params: Params, other: Params) -> Floats:
        """Return the (K, K') log Bhattacharyya coefficients between two sets of components; 0 = equal."""

    def collapsed(self, params: Params, limits: Limits = FREE) -> list[int]:
        """Return the components with a variance on its floor: the likelihood would grow without bound."""
        return []

    def feasible(self, params: Params, limits: Limits = FREE) -> bool:
        """Whether extrapolated parameters are legal."""
        return True

    def flaw(self, params: Params) -> str | None:
        """Return what is wrong with given parameters of the right shape, in words; None if they are legal."""
        finite = all(np.isfinite(array).all() for array in arrays(params))
        return None if finite else f"{type(self).__name__}: parameters must be finite."

    def pack(self, params: Params) -> Floats:
        """Return the parameters as one raw vector; continuous ones in units of the data's scale."""
        return np.concatenate([array.ravel() for array in arrays(params)])

    def unpack(self, vector: Floats, like: Params) -> Params:
        """Return parameters shaped as `like` from a vector made by `pack`."""
        return rebuild(like, vector)

    def free(self, params: Params, limits: Limits = FREE) -> Floats:
        """Return the parameters as a vector of unconstrained coordinates, such as logits and logs.

        What may not move has coordinates too, which `freed` does not read.
        """
        raise lacking(self, "free", 'Gradient methods need it; use method="em".')

    def freed(self, vector: Floats, like: Params, limits: Limits = FREE) -> Params:
        """Return the parameters at coordinates `vector`; what may not move is taken from `like`, bit for bit.

        Coordinates that lead below a floor lead to the floor.
        """
        raise lacking(self, "freed", 'Gradient methods need it; use method="em".')

    def slope(self, stats: Stats, params: Params, limits: Limits = FREE) -> Floats:
        """Return d complete(stats, params, .) at `params` in the coordinates of `free`.

        By Fisher's identity this is the gradient of the log-likelihood where `stats` are soft statistics gathered
        under `params`. It is zero for what may not move: fixed entries, probabilities and rates of exactly zero, and
        entries on a floor that would go below it.
        """
        raise lacking(self, "slope", 'Gradient methods need it; use method="em".')

    def slopes(self, params: Params, data: Any, component: int, limits: Limits = FREE) -> Slopes | None:
        """Return d log p(row | component) in the coordinates of `free`, row by row; None where it is not known so.

        For rows in which nothing is latent, given the component. Coordinates on a floor are not left out.
        """
        return None

    def coupled(self, params: Params, limits: Limits = FREE) -> NDArray[np.intp]:
        """Return a number for each coordinate of `free`: coordinates with different numbers are not coupled.

        They move different parameters, and `complete` is a sum of terms that depend on one number each.
        """
        return np.zeros(len(self.free(params, limits)), dtype=np.intp)

    def draw(self, stats: Stats, about: Params, rng: np.random.Generator, limits: Limits = FREE) -> Params:
        """Return parameters drawn from the density proportional to exp(complete(stats, about, .)).

        What is fixed is taken from `about`. Raises `FitError` where the density has no finite integral.
        """
        raise lacking(self, "draw", "Posterior draws need it.")

    def average(self, stats: Stats, about: Params, limits: Limits = FREE) -> Params:
        """Return the mean of every parameter under the density of `draw`; infinite where it is."""
        raise lacking(self, "average", "Posterior means need it.")

    def quantile(self, stats: Stats, about: Params, q: float, limits: Limits = FREE) -> Params:
        """Return the q-quantile of every parameter's own marginal under the density of `draw`."""
        raise lacking(self, "quantile", "Posterior intervals need it.")

    def take(self, params: Params, order: NDArray[np.int64]) -> Params:
        """Return the parameters with components in another order (or a subset)."""
        return map_arrays(lambda array: _take(array, order, self.axes), params)

    def reorder(self, stats: Stats, order: NDArray[np.int64]) -> Stats:
        """Return statistics with components in another order, as `take` does for parameters."""
        return np.take(stats, order, axis=self.stats_axis)

    def pool(self, stats: Stats, groups: NDArray[np.int64]) -> Stats:
        """Return statistics in which each component has the sum over its group."""
        member = (groups[:, None] == groups).astype(np.float64)
        pooled = np.tensordot(member, stats, axes=(1, self.stats_axis))
        return np.moveaxis(pooled, 0, self.stats_axis)

    def recentre(self, stats: Stats, about: Params, onto: Params) -> Stats:
        """Return statistics gathered under `about` restated as if gathered under `onto`; most need no change."""
        return stats


def lacking(leaf: Leaf, method: str, remedy: str) -> ParameterError:
    """Return the error for a method that a leaf may leave out, with what to do instead."""
    return ParameterError(f"the leaf {type(leaf).__name__} does not implement `{method}`. {remedy}")


def refuse_improper(what: str, improper: NDArray[np.bool_], mass: Floats, needed: str) -> None:
    """Refuse a posterior density without a finite integral; `improper` and `mass` are (K, D)."""
    if improper.any():
        k, d = np.argwhere(improper)[0]
        raise FitError(
            f"{what} of component {k}, column {d} of its block, has no posterior: it rests on a mass of "
            f"{mass[k, d]:.4g} (prior included) and needs {needed}. Use a prior, fewer components or more rows."
        )


def _take(array: Floats, order: NDArray[np.int64], axes: tuple[int, ...]) -> Floats:
    for axis in axes:
        array = np.take(array, order, axis=axis)
    return frozen(array)


def frozen(array: Any) -> Floats:
    """Return a read-only float64 array: parameters are values."""
    array = np.asarray(array, dtype=np.float64)
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


def n_rows(data: Any) -> int:
    """Return the number of rows of a block, or of the first of several blocks."""
    return len(next(iter(data.values()))) if isinstance(data, Mapping) else len(data)


def arrays(params: Params) -> list[Floats]:
    """Return the arrays of a tree of parameters, in a fixed order."""
    if isinstance(params, Mapping):
        return [array for name in params for array in arrays(params[name])]
    if isinstance(params, tuple):
        return [array for part in params for array in arrays(part)]
    return [params]


def map_arrays(function: Any, params: Params, *others: Params) -> Params:
    """Apply `function` to every array of a tree of parameters, and the arrays in the same place of other trees."""
    if isinstance(params, Mapping):
        return {name: map_arrays(function, params[name], *(other[name] for other in others)) for name in params}
    if isinstance(params, tuple):
        return type(params)(*(map_arrays(function, *parts) for parts in zip(params, *others, strict=True)))
    return function(params, *others)


def rebuild(like: Params, vector: Floats) -> Params:
    """Return a tree shaped as `like` filled from `vector`."""
    position = 0

    def cut(array: Floats) -> Floats:
        nonlocal position
        position += array.size
        return frozen(vector[position - array.size : position].reshape(array.shape))

    return map_arrays(cut, like)
