"""The law of fitting: `maximise` is at least as good as a numerical optimiser, for every leaf and constraint.

The optimiser works on unconstrained numbers u; `point` turns them into parameters that obey the constraint by
construction (softmax or exp above a floor, one u for what is tied), written here and not taken from the leaf.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import minimize

from halfseen.leaves import (
    Binomial,
    Categorical,
    Cells,
    Floored,
    Frozen,
    Gaussian,
    GaussianParams,
    Normal,
    NormalParams,
    Poisson,
    Product,
    PseudoRows,
    Tied,
)
from halfseen.leaves.beta import Beta, BetaParams
from halfseen.leaves.gamma import Gamma, GammaParams
from halfseen.leaves.inflated import InflatedParams, ZeroInflated
from halfseen.leaves.leaf import arrays, rebuild
from halfseen.leaves.negbin import LEAST_SIZE, NegBin, NegBinParams
from halfseen.leaves.per_column import PerColumn
from halfseen.leaves.wrappers import unwrapped
from tests.laws.closeness import close
from tests.strategies import anywhere, examples, generators

K = 3
SIZES = (3, 1, 2)
D = 2
OPTIMISER = 1e-6  # what a numerical optimiser may seem to gain: its own and our rounding
NEIGHBOUR = 1e-10  # what a random neighbour may seem to gain


class Problem(NamedTuple):
    """A leaf, the leaf inside that has the parameters, and the constraint in words the test understands."""

    leaf: Any
    inside: Any
    fixed: Any = None
    floor: float = 0.0
    groups: Any = None
    cells: Any = ()


def table(**constraint):
    return _wrapped(Categorical(K, SIZES), **constraint)


def normal(**constraint):
    return _wrapped(Gaussian(K, np.array([1.0, -2.0]), np.array([0.5, 3.0])), **constraint)


def counts(**constraint):
    return _wrapped(Poisson(K, np.array([0.5, 4.0])), **constraint)


def successes(**constraint):
    return _wrapped(Binomial(K, 9, np.array([0.1, 0.6])), **constraint)


def clustered(**constraint):
    return _wrapped(NegBin(K, np.array([0.5, 4.0]), np.array([2.0, 0.5])), **constraint)


def positive(**constraint):
    return _wrapped(Gamma(K, np.array([0.5, 4.0]), np.array([2.0, 0.5])), **constraint)


def shares(**constraint):
    return _wrapped(Beta(K, np.array([0.2, 0.7]), np.array([2.0, 9.0])), **constraint)


def inflated(inside, **constraint):
    return _wrapped(ZeroInflated(inside, np.array([0.2, 0.6])), **constraint)


def _wrapped(inside, **constraint):
    """Wrap in the order frozen(floored(tied(leaf)))."""
    leaf = inside
    if "groups" in constraint or "cells" in constraint:
        leaf = Tied(leaf, components=constraint.get("groups"), cells=constraint.get("cells", ()))
    if "floor" in constraint:
        leaf = Floored(leaf, constraint["floor"])
    if "fixed" in constraint:
        leaf = Frozen(leaf, constraint["fixed"])
    return Problem(leaf, inside, **constraint)


SOME_CELLS = np.array([[1, 0, 0, 0, 0, 1], [1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 1, 0]], dtype=bool)
SOME = np.array([[True, False], [False, False], [True, True]])
ALL, NONE = np.ones((K, D), dtype=bool), np.zeros((K, D), dtype=bool)

POISSON = Poisson(K, np.array([0.5, 4.0]))
NEGBIN = NegBin(K, np.array([0.5, 4.0]), np.array([2.0, 0.5]))

PROBLEMS = {
    "table": table(),
    "table, fixed cells": table(fixed=SOME_CELLS),
    "table, floor": table(floor=0.1),
    "table, high floor": table(floor=0.25),
    "table, fixed cells, floor": table(fixed=SOME_CELLS, floor=0.02),
    "table, tied components": table(groups=[0, 1, 0]),
    "table, tied cells": table(cells=[[0, 2], [4, 5]]),
    "table, tied components and cells, floor": table(groups=[0, 0, 1], cells=[[0, 1]], floor=0.1),
    "normal": normal(),
    "normal, fixed means": normal(fixed=GaussianParams(ALL, NONE)),
    "normal, fixed variances": normal(fixed=GaussianParams(NONE, ALL)),
    "normal, fixed entries": normal(fixed=GaussianParams(SOME, ~SOME)),
    "normal, floor": normal(floor=0.5),
    "normal, fixed entries, floor": normal(fixed=GaussianParams(SOME, SOME), floor=0.3),
    "normal, tied": normal(groups=[0, 1, 1]),
    "normal, tied, floor": normal(groups=[0, 1, 1], floor=0.7),
    "poisson": counts(),
    "poisson, fixed": counts(fixed=SOME),
    "poisson, floor": counts(floor=0.5),
    "poisson, tied": counts(groups=[0, 0, 0]),
    "binomial": successes(),
    "binomial, fixed": successes(fixed=SOME),
    "binomial, floor": successes(floor=0.5),
    "binomial, tied, floor": successes(groups=[0, 1, 1], floor=0.9),
    "gamma": positive(),
    "gamma, fixed means": positive(fixed=GammaParams(ALL, NONE)),
    "gamma, fixed entries, floor": positive(fixed=GammaParams(SOME, ~SOME), floor=0.5),
    "gamma, tied, floor": positive(groups=[0, 1, 1], floor=0.99),
    "beta": shares(),
    "beta, fixed precisions": shares(fixed=BetaParams(NONE, ALL)),
    "beta, fixed entries, floor": shares(fixed=BetaParams(SOME, ~SOME), floor=0.5),
    "beta, tied, floor": shares(groups=[0, 1, 1], floor=0.99),
    "negative binomial": clustered(),
    "negative binomial, fixed means": clustered(fixed=NegBinParams(ALL, NONE)),
    "negative binomial, fixed sizes": clustered(fixed=NegBinParams(NONE, ALL)),
    "negative binomial, fixed entries, floor": clustered(fixed=NegBinParams(SOME, ~SOME), floor=0.5),
    "negative binomial, high floor": clustered(floor=0.99),
    "negative binomial, tied, floor": clustered(groups=[0, 1, 1], floor=0.5),
    "zero-inflated Poisson": inflated(POISSON),
    "zero-inflated Poisson, fixed entries, floor": inflated(POISSON, fixed=InflatedParams(SOME, ~SOME), floor=0.5),
    "zero-inflated Poisson, tied": inflated(POISSON, groups=[0, 1, 1]),
    "zero-inflated negative binomial": inflated(NEGBIN),
    "zero-inflated negative binomial, fixed shares": inflated(
        NEGBIN, fixed=InflatedParams(ALL, NegBinParams(NONE, SOME))
    ),
}


def point(problem, u, params):
    """Return the parameters at u, within the constraint."""
    if isinstance(problem.inside, Categorical):
        return _table_at(problem, u, params)
    if isinstance(problem.inside, ZeroInflated):
        return _inflated_at(problem, u, params)
    first, second = u.reshape(2, K, D)[:, problem.groups or range(K)]
    if isinstance(problem.inside, Binomial):
        inside = problem.floor * problem.inside.rate + (1 - problem.floor) / (1 + np.exp(-first))
        return _kept(problem.fixed, params, inside)
    if isinstance(problem.inside, PerColumn):
        most = problem.inside.conc / problem.floor if problem.floor else np.inf
        fixed, mean = problem.fixed or (None, None), problem.inside.unlink(first)
        conc = np.clip(np.exp(second), 1e-8, most)
        return type(params)(_kept(fixed[0], params[0], mean), _kept(fixed[1], params[1], conc))
    scale = problem.inside.scale
    lowest = problem.floor * (scale**2 if isinstance(problem.inside, Gaussian) else scale)
    if isinstance(problem.inside, Poisson):
        return _kept(problem.fixed, params, lowest + np.exp(first))
    fixed = problem.fixed or (None, None)
    if isinstance(problem.inside, NegBin):
        size = np.clip(np.exp(second), LEAST_SIZE, problem.inside.most)
        return NegBinParams(_kept(fixed[0], params.mean, lowest + np.exp(first)), _kept(fixed[1], params.size, size))
    var = lowest + np.exp(second)
    return GaussianParams(_kept(fixed[0], params.mean, 3 * first), _kept(fixed[1], params.var, var))


def _inflated_at(problem, u, params):
    """Shares by the first third of u, the parameters of the leaf inside by the others."""
    own, rest = np.split(u, [K * D])
    fixed = problem.fixed or InflatedParams(None, None)
    zero = _kept(fixed.zero, params.zero, 1 / (1 + np.exp(-own.reshape(K, D)[problem.groups or range(K)])))
    inside = problem._replace(inside=problem.inside.inner, fixed=fixed.counts)
    return InflatedParams(zero, point(inside, rest, params.counts))


def _kept(fixed, old, new):
    return new if fixed is None else np.where(fixed, old, new)


def _table_at(problem, u, params):
    logits = u.reshape(K, -1)[problem.groups or range(K)].copy()
    for group in problem.cells:
        logits[:, group] = logits[:, group].mean(axis=1, keepdims=True)
    free = np.ones(params.shape, dtype=bool) if problem.fixed is None else ~problem.fixed
    soft = np.exp(logits - logits.max()) * free
    spare = 1 - _row_sums(np.where(free, problem.floor, params))
    return np.where(free, problem.floor + spare * soft / np.maximum(_row_sums(soft), 1e-300), params)


def _row_sums(cells):
    """Return, for each cell, the sum over the row it stands in."""
    return np.repeat(np.add.reduceat(cells, (0, 3, 4), axis=1), SIZES, axis=1)


def some_stats(leaf, about, rng):
    """Return statistics that some data could have: random rows with random usage, under `about`."""
    if isinstance(leaf, Product):
        return np.concatenate([some_stats(part, about[name], rng).ravel() for name, part in leaf.leaves.items()])
    if isinstance(leaf, Categorical):
        return rng.gamma(0.5, size=leaf.stats_shape) * (rng.random(leaf.stats_shape) < 0.8) * rng.choice([1e-3, 1, 50])
    usage = rng.dirichlet(np.full(K, 0.4), size=6) * rng.choice([1e-3, 1, 50])
    data = rng.integers(0, 9, (6, D)) + (rng.random((6, D)) if isinstance(leaf, Gaussian) else 0.0)
    if isinstance(inside := unwrapped(leaf), PerColumn):
        data = (data + 0.5) / (10 if isinstance(inside, Beta) else 1)
    data[2:][rng.random((4, D)) < 0.2] = np.nan  # two different numbers are seen: no variance is zero
    out = np.zeros(leaf.stats_shape)
    leaf.expect(usage, leaf.prepare(about), data, None, out)
    if isinstance(leaf, Gaussian) and rng.random() < 0.5:  # a prior on the variance: pseudo-rows about the mean
        out += replace(leaf, pseudo=PseudoRows(rng.gamma(1.0, size=K), rng.gamma(1.0, size=D))).prior(about)
    return out


def a_problem(problem, rng):
    """Return legal parameters and statistics gathered under them."""
    fixed = anywhere(problem.inside, rng)
    if isinstance(problem.inside, Categorical):
        fixed = (fixed + problem.inside.blank()) / 2  # so that what is fixed leaves room for floors
    about = point(problem, rng.normal(size=_size(problem)), fixed)
    return about, some_stats(problem.inside, about, rng)


def _size(problem):
    return (
        K * sum(SIZES)
        if isinstance(problem.inside, Categorical)
        else (2 + isinstance(problem.inside, ZeroInflated)) * K * D
    )


@pytest.mark.thorough
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@examples(1)
@given(rng=generators)
def test_no_optimiser_beats_maximise(problem, rng):
    about, stats = a_problem(problem, rng)
    size = _size(problem)

    def loss(u):
        return -problem.inside.complete(stats, about, point(problem, u, about))

    best = -problem.leaf.complete(stats, about, problem.leaf.maximise(stats, about))
    for _ in range(2):
        found = minimize(
            loss, rng.normal(size=size), method="L-BFGS-B", bounds=[(-25, 25)] * size, options={"maxiter": 200}
        )
        assert best <= found.fun + OPTIMISER * max(1.0, abs(best))


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@examples(4)
@given(rng=generators)
def test_no_neighbour_beats_maximise(problem, rng):
    about, stats = a_problem(problem, rng)
    top = problem.leaf.maximise(stats, about)
    best = problem.leaf.complete(stats, about, top)
    for _ in range(30):
        other = point(problem, rng.normal(size=_size(problem)), about)
        share = 10.0 ** rng.uniform(-6, 0)  # constraints are convex: a blend of two legal points is legal
        blend = [(1 - share) * one + share * two for one, two in zip(arrays(top), arrays(other), strict=True)]
        near = rebuild(top, np.concatenate([part.ravel() for part in blend]))
        assert problem.leaf.complete(stats, about, near) <= best + NEIGHBOUR * max(1.0, abs(best))


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@examples(4)
@given(rng=generators)
def test_maximise_obeys_the_constraint(problem, rng):
    about, stats = a_problem(problem, rng)
    obeys(problem, problem.leaf.maximise(stats, about), about)


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@examples(4)
@given(rng=generators)
def test_jitter_obeys_the_constraint(problem, rng):
    about, _ = a_problem(problem, rng)
    obeys(problem, problem.leaf.jitter(about, 1.0, rng), about)


def obeys(problem, params, before):
    """Assert that fixed entries kept their bits, tied ones are equal, none is below the floor, and rows sum to one."""
    if problem.fixed is not None:
        for mask, new, old in zip(arrays(problem.fixed), arrays(params), arrays(before), strict=True):
            np.testing.assert_array_equal(new[mask], old[mask])
    if problem.groups is not None:
        for array in arrays(params):
            for group in set(problem.groups):
                members = array[np.array(problem.groups) == group]
                assert np.all(members == members[0])
    for group in problem.cells:
        assert np.all(params[:, group] == params[:, group[:1]])
    if isinstance(problem.inside, ZeroInflated):
        assert np.all((params.zero >= 0) & (params.zero <= 1))
        fixed = None if problem.fixed is None else problem.fixed.counts
        obeys(problem._replace(inside=problem.inside.inner, fixed=fixed), params.counts, before.counts)
        return
    floored = 0 if isinstance(problem.inside, NegBin) else -1  # means, or variances
    lowest = arrays(params)[floored]
    if isinstance(problem.inside, Categorical):
        for start, stop in ((0, 3), (3, 4), (4, 6)):
            close(params[:, start:stop].sum(axis=1), np.ones(K))
        free = ~(np.zeros(params.shape, dtype=bool) if problem.fixed is None else problem.fixed)
        assert np.all(lowest[free] >= problem.floor * (1 - 1e-12))
    elif isinstance(problem.inside, Binomial):
        free, rate = np.ones((K, D), dtype=bool) if problem.fixed is None else ~problem.fixed, problem.inside.rate
        assert np.all((lowest >= problem.floor * rate * (1 - 1e-12))[free])
        assert np.all((1 - lowest >= problem.floor * (1 - rate) * (1 - 1e-12))[free])
    elif isinstance(problem.inside, PerColumn):
        free = np.ones((K, D), dtype=bool) if problem.fixed is None else ~problem.fixed[1]
        assert np.all((lowest * problem.floor <= problem.inside.conc * (1 + 1e-12))[free])
    else:
        power = 2 if isinstance(problem.inside, Gaussian) else 1
        free = np.ones((K, D), dtype=bool) if problem.fixed is None else ~arrays(problem.fixed)[floored]
        floor = np.broadcast_to(problem.floor * problem.inside.scale**power, (K, D))
        assert np.all(lowest[free] >= floor[free] * (1 - 1e-12))


# ---- what has no mass keeps its parameters --------------------------------------------------------------------------


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
@examples(2)
@given(rng=generators)
def test_without_mass_nothing_moves(problem, rng):
    about, stats = a_problem(problem, rng)
    close(problem.leaf.maximise(np.zeros_like(stats), about), about, 1e-12)


@examples(5)
@given(rng=generators)
def test_a_component_that_only_a_prior_knows_gets_the_variance_of_the_prior(rng):
    """The mean stays where it was, and the variance is that of the pseudo-rows, though nothing was seen."""
    leaf = replace(PROBLEMS["normal"].inside, pseudo=PseudoRows(np.array([0.1, 1.0, 3.0]), np.array([0.5, 2.0])))
    about = anywhere(leaf, rng)
    fitted = leaf.maximise(leaf.prior(about), about)
    close(fitted.mean, about.mean)
    close(fitted.var, np.tile([0.5, 2.0], (K, 1)))


@pytest.mark.parametrize(
    "name",
    [
        "table",
        "table, floor",
        "normal",
        "normal, floor",
        "poisson",
        "poisson, floor",
        "binomial",
        "negative binomial",
        "zero-inflated Poisson",
    ],
)
@examples(5)
@given(rng=generators)
def test_a_component_without_mass_keeps_its_parameters_while_others_move(name, rng):
    problem = PROBLEMS[name]
    about, stats = a_problem(problem, rng)
    stats = np.moveaxis(stats.copy(), problem.leaf.stats_axis, 0)
    stats[1] = 0.0
    stats = np.moveaxis(stats, 0, problem.leaf.stats_axis)
    for new, old in zip(arrays(problem.leaf.maximise(stats, about)), arrays(about), strict=True):
        np.testing.assert_array_equal(new[1], old[1])


def test_a_product_maximises_every_block_on_its_own():
    rng = np.random.default_rng(0)
    parts = {"a": Categorical(K, SIZES), "b": PROBLEMS["normal"].inside, "c": PROBLEMS["poisson"].inside}
    product = Product(K, parts)
    about = anywhere(product, rng)
    stats = some_stats(product, about, rng)
    views = product.view(stats)
    for name, leaf in parts.items():
        for whole, alone in zip(
            arrays(product.maximise(stats, about)[name]), arrays(leaf.maximise(views[name], about[name])), strict=True
        ):
            np.testing.assert_array_equal(whole, alone)


def test_the_maximum_of_expected_logs_is_the_distribution_itself():
    """argmax_pi E_gamma[ln pi] = gamma (source 003, problems 5 and 6)."""
    gamma = np.array([[0.2, 0.5, 0.3]])
    close(Cells(1, [3]).maximise(gamma, np.full((1, 3), 1 / 3)), gamma)


def test_a_normal_fitted_to_a_weighted_sample_has_its_mean_and_variance():
    x, w = np.array([[1.0], [2.0], [6.0]]), np.array([[0.5], [2.0], [1.5]])
    leaf = Gaussian(1, np.zeros(1), np.ones(1))
    stats = np.zeros(leaf.stats_shape)
    leaf.expect(w, leaf.blank(), x, None, stats)
    fitted = leaf.maximise(stats, leaf.blank())
    mean = np.average(x, weights=w)
    close(fitted.mean[0, 0], mean)
    close(fitted.var[0, 0], np.average((x - mean) ** 2, weights=w))


# ---- jointly normal columns -----------------------------------------------------------------------------------------


def some_moments(leaf, rng):
    """Return statistics of rows that some components use: the last has fewer rows than columns."""
    stats = np.zeros(leaf.stats_shape)
    width = len(leaf.scale)
    for k, total in enumerate(stats):
        rows = rng.normal(size=(9 if k < 2 else 2, width)) * [1.0, 0.02, 2.0]
        used = rng.random(len(rows))
        total[:] = [used.sum(), 0.0, *(used @ rows), *((used[:, None] * rows).T @ rows).ravel()]
    return stats


@pytest.mark.thorough
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("floor", "least"), [(0.05, None), (0.5, None), (0.05, [0.3, 0.0, 1.5])])
@examples(2)
@given(rng=generators)
def test_the_covariance_on_a_floor_beats_an_optimiser(tied, floor, least, rng):
    """cov = floor unit + L L' obeys the floor by construction: no L does better than lifted eigenvalues."""
    least = None if least is None else np.array(least)
    inside = Normal(K, np.zeros(3), np.array([1.0, 0.5, 2.0]), tied=tied, least=least)
    leaf, about = Floored(inside, floor), inside.jitter(inside.blank(), 0.3, rng)
    stats = some_moments(inside, rng)
    count = 1 if tied else K
    unit = np.diag(np.maximum(floor * inside.scale**2, 0.0 if least is None else least))

    def point(u):
        lower = np.zeros((count, 3, 3))
        lower[:, *np.tril_indices(3)] = u[9:].reshape(count, 6)
        cov = np.repeat(unit + lower @ lower.transpose(0, 2, 1), K // count, axis=0)
        return NormalParams(about.mean + u[:9].reshape(K, 3), cov)

    best = inside.complete(stats, about, leaf.maximise(stats, about))
    for _ in range(2):
        start = 0.5 * rng.normal(size=9 + 6 * count)
        found = minimize(lambda u: -inside.complete(stats, about, point(u)), start, method="BFGS")
        assert best >= -found.fun - OPTIMISER * max(1.0, abs(best))
    assert leaf.collapsed(leaf.maximise(stats, about)) or least is not None
