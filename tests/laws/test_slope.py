"""The law of the slope: in the coordinates a leaf calls free, `slope` is the gradient; and gradient methods obey.

A direction in which a model may move is the slope of some statistics: it is zero for what is fixed or on its floor,
and equal for what is tied.
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from halfseen.engine.loop.em import em, evaluate
from halfseen.engine.loop.gradient import GradientRun, sure_gain
from halfseen.engine.loop.model import Model
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.squarem import Squarem
from halfseen.engine.loop.stopping import gain
from halfseen.leaves import (
    Binomial,
    Categorical,
    Floored,
    Frozen,
    Gaussian,
    GaussianParams,
    Leaf,
    Normal,
    Ordinal,
    Poisson,
    Tied,
)
from halfseen.leaves.leaf import arrays, map_arrays
from halfseen.leaves.limits import FREE
from halfseen.leaves.wrappers import Wrapped, unwrapped
from tests.laws.closeness import close
from tests.laws.models import MODELS, every_model, mixtures, tied_components
from tests.strategies import anywhere, examples, generators

BY_NAME = {entry.name: entry.cases for entry in MODELS}
H = 1e-5  # half the distance of the two points of a difference


def off_the_floor(case):
    """Return the case half-way to the blank parameters: on a floor the derivative has two sides."""
    middle = map_arrays(lambda one, other: (one + other) / 2, case.params, case.model.blank())
    half = case.but(params=case.model.conform(middle, middle))
    stats = half.step().expected.stats
    assume(np.array_equal(half.model.slope(-stats, half.params), -half.model.slope(stats, half.params)))
    return half


def difference(case, h, value, rng):
    """Return what `value` changes by between two points a little apart, and what the slope says of it, two ways.

    The distance of the points is that of the coordinates given, or of those that come back: near 1e8 the former are
    lost in rounding, and the latter do not see a slope that points out of the rows that sum to one.
    """
    model, at = case.model, case.model.free(case.params)
    way = model.slope(case.step(params=model.jitter(case.params, 1.0, rng)).expected.stats, case.params)
    way = h * way / max(1.0, np.abs(way).max(initial=0.0))
    up, down = (model.freed(at + moved, case.params) for moved in (way, -way))
    slope = model.slope(model.with_prior(case.step()), case.params)
    far = max(np.abs(array).max(initial=0.0) for array in arrays(case.params)) > 1e6
    return value(up) - value(down), [slope @ (model.free(up) - model.free(down)), *([] if far else [slope @ (2 * way)])]


@every_model()
@examples(5)
@given(data=st.data(), rng=generators)
def test_the_slope_is_the_gradient_of_the_complete_loglik(entry, data, rng):
    case = off_the_floor(data.draw(entry.cases))
    stats = case.model.with_prior(case.step())
    found, told = difference(case, H, lambda params: case.model.complete(stats, case.params, params), rng)
    largest = max(1.0, np.abs(stats).max(initial=0.0), abs(case.step().objective))
    for one in told:
        np.testing.assert_allclose(one, found, rtol=1e-4, atol=(1e-5 * H + 1e-14) * largest)


@every_model()
@examples(5)
@given(data=st.data(), rng=generators)
def test_the_slope_is_the_gradient_of_the_objective(entry, data, rng):
    """Fisher: the same, though the statistics move with the parameters; and the prior counts."""
    case = off_the_floor(data.draw(entry.cases))
    found, told = difference(case, H, lambda params: case.step(params=params).objective, rng)
    largest = max(1.0, abs(case.step().objective))
    for one in told:
        np.testing.assert_allclose(one, found, rtol=1e-4, atol=(1e-5 * H + 1e-14) * largest)


@every_model()
@examples(5)
@given(data=st.data())
def test_coordinates_lead_back_to_the_parameters(entry, data):
    case = data.draw(entry.cases)
    close(case.model.freed(case.model.free(case.params), case.params), case.params, 1e-12)


# ---- whole runs -----------------------------------------------------------------------------------------------------


def run(case, chain):
    for _ in em(lambda chains: evaluate(case.model, case.data(), [chains[0].params]), [chain]):
        pass
    return chain


def climbed(case, method, max_iter=30, rule=None):
    how = {} if rule is None else {"rule": rule}
    return run(case, GradientRun(case.model, case.params, method=method, max_iter=max_iter, **how))


methods = pytest.mark.parametrize("method", ["gradient", "lbfgs"])


@pytest.mark.thorough
@every_model()
@methods
@examples(2)
@given(data=st.data())
def test_accepted_steps_never_fall(entry, method, data):
    case = data.draw(entry.cases)
    chain = climbed(case, method)
    assert np.all(np.diff(chain.trace) >= 0)
    close(case.step(params=chain.accepted.params).objective, chain.objective)


@pytest.mark.thorough
@every_model()
@examples(2)
@given(data=st.data())
def test_nothing_is_left_to_maximise_where_lbfgs_ends(entry, data):
    """The end of a gradient method is a fixed point of EM: the M-step from there promises next to nothing."""
    case = data.draw(entry.cases)
    chain = climbed(case, "lbfgs", 2000, gain(1e-7))
    if collapsing(case.model, chain.accepted.params) or chain.reason == "max_iter":
        return  # a component that shrinks onto one row has no end to compare
    assert sure_gain(case.model, case.model.with_prior(chain.accepted), chain.accepted.params) < 1e-5


def collapsing(model, params):
    """Whether a component leans on a variance floor, or, where a floor is under eigenvalues, is about to."""
    emit, inside = model.leaves["emit"], params["emit"]
    if isinstance(emit, Model):
        emit, inside = emit.leaves["emit"], inside["emit"]
    near = [
        floored.leaf.collapsed(inside[name], FREE.with_floor(2 * floored.floor))
        for name, leaf in getattr(emit, "leaves", {}).items()
        if isinstance(unwrapped(leaf), Normal) and (floored := floor_of(leaf)) is not None
    ]
    return model.collapsed(params) or any(near)


def floor_of(leaf):
    """Return the floor among the wrappers of a leaf, if there is one."""
    while isinstance(leaf, Wrapped) and not isinstance(leaf, Floored):
        leaf = leaf.leaf
    return leaf if isinstance(leaf, Floored) else None


def pairs(case, kind, method):
    """Return the wrapped leaves of a kind, each with its parameters before and after a run."""
    after = climbed(case, method).accepted.params
    for name, leaf in case.model.leaves["emit"].leaves.items():
        while isinstance(leaf, Wrapped):
            if isinstance(leaf, kind):
                yield leaf, case.params["emit"][name], after["emit"][name]
            leaf = leaf.leaf


@methods
@examples(5)
@given(case=BY_NAME["frozen blocks"])
def test_frozen_leaves_keep_every_bit(method, case):
    for _, before, after in pairs(case, Frozen, method):
        for one, other in zip(arrays(before), arrays(after), strict=True):
            np.testing.assert_array_equal(one, other, strict=True)


@methods
@examples(5)
@given(case=BY_NAME["frozen entries"])
def test_frozen_entries_keep_every_bit(method, case):
    for leaf, before, after in pairs(case, Frozen, method):
        for mask, one, other in zip(arrays(leaf.fixed), arrays(before), arrays(after), strict=True):
            np.testing.assert_array_equal(one[mask], other[mask], strict=True)


@methods
@examples(5)
@given(case=mixtures(wrap=tied_components, prior="row"))
def test_tied_components_stay_equal_to_the_last_bit(method, case):
    for leaf, _, after in pairs(case, Tied, method):
        groups = np.array(leaf.components)
        for array in arrays(after):
            for group in set(leaf.components):
                assert np.all(array[groups == group] == array[groups == group][0])


@methods
@examples(5)
@given(case=BY_NAME["tied cells"])
def test_tied_cells_stay_equal_to_the_last_bit(method, case):
    for leaf, _, after in pairs(case, Tied, method):
        for group in leaf.cells:
            assert np.all(after[:, group] == after[:, group[:1]])


@methods
@examples(10)
@given(case=BY_NAME["floored"])
def test_nothing_falls_below_its_floor(method, case):
    for leaf, _, after in pairs(case, Floored, method):
        inner = leaf.leaf
        while isinstance(inner, Wrapped):
            inner = inner.leaf
        power = {Categorical: 0, Gaussian: 2}.get(type(inner), 1)
        lowest = leaf.floor if power == 0 else leaf.floor * inner.scale**power
        assert np.all(arrays(after)[-1] >= np.multiply(lowest, 1 - 1e-12))


@examples(10)
@given(case=mixtures("c", prior="row"), rng=generators)
def test_a_probability_of_zero_stays_zero(case, rng):
    table = np.array(case.params["emit"]["categorical"])
    leaf = case.model.leaves["emit"].leaves["categorical"]
    table[0, leaf.offsets[:-1][np.diff(leaf.offsets) > 1]] = 0.0  # the first category of every column
    table = leaf.maximise(table, table)
    moved = leaf.freed(leaf.free(table) + rng.normal(size=table.size), table)
    assert np.all((moved == 0) == (table == 0))
    assert np.all(leaf.slope(rng.gamma(1.0, size=table.shape), table)[(table == 0).ravel()] == 0)


def test_what_stands_on_its_floor_pushes_only_upward():
    """At a constrained maximum the slope is zero; where more is wanted of what is on the floor, it rises."""
    table = Floored(Categorical(1, [3]), 0.1)
    best = np.array([[0.1, 0.3, 0.6]])
    close(table.slope(np.array([[0.0, 3.0, 6.0]]), best), np.zeros(3))
    rising = table.slope(np.array([[5.0, 3.0, 6.0]]), best)
    close(rising, np.array([5.0, 3.0, 6.0]) - 14.0 * best[0])
    assert rising[0] > 0
    rate, low = Floored(Poisson(1, np.ones(1)), 0.5), np.array([[0.5]])
    assert rate.slope(np.array([[[4.0]], [[1.0]], [[0.0]]]), low) == 0.0
    assert rate.slope(np.array([[[4.0]], [[3.0]], [[0.0]]]), low) == 1.0
    chance = Floored(Binomial(1, 9, np.full(1, 0.4)), 0.5)  # between 0.2 and 0.7
    for at, stats, pushes in ((0.2, (1, 9), 0), (0.2, (3, 7), 1), (0.7, (9, 1), 0), (0.7, (6, 4), -1)):
        known = np.array([1.0, *stats, 0.0]).reshape(4, 1, 1)
        close(chance.slope(known, np.array([[at]])), np.array([pushes], dtype=float))
    normal, narrow = Floored(Gaussian(1, np.zeros(1), np.ones(1)), 0.5), GaussianParams(np.zeros((1, 1)), low)
    close(normal.slope(np.array([4.0, 0.0, 1.0, 0.0]).reshape(4, 1, 1), narrow), np.zeros(2))
    close(normal.slope(np.array([4.0, 0.0, 3.0, 0.0]).reshape(4, 1, 1), narrow), np.array([0.0, 1.0]))


def test_what_is_frozen_has_no_slope_and_what_is_tied_follows_whatever_the_coordinates_say():
    rng = np.random.default_rng(0)
    table, stats = anywhere(Categorical(3, [2, 3]), rng), rng.gamma(1.0, size=(3, 5))
    frozen = Frozen(Categorical(3, [2, 3]))
    assert not frozen.slope(stats, table).any()
    assert frozen.freed(rng.normal(size=15), table) is table
    tied = Tied(Categorical(3, [2, 3]), components=[0, 1, 0], cells=[[2, 4]])
    moved = tied.freed(rng.normal(size=15), tied.conform(table, table))
    np.testing.assert_array_equal(moved[0], moved[2])
    np.testing.assert_array_equal(moved[:, 2], moved[:, 4])
    assert np.any(moved[0] != moved[1])


@pytest.mark.parametrize(
    "inside",
    [
        Categorical(3, [2, 3]),
        Gaussian(3, np.zeros(2), np.ones(2)),
        Poisson(3, np.ones(2)),
        Binomial(3, 9, np.full(2, 0.4)),
        Ordinal(3, [2, 4]),
    ],
)
def test_the_slope_of_tied_components_is_the_gradient_along_every_coordinate(inside):
    """Also along those that move nothing: curvatures are differences of slopes along single coordinates."""
    rng = np.random.default_rng(1)
    tied = Tied(inside, components=[0, 1, 0])
    params = tied.conform(anywhere(inside, rng), anywhere(inside, rng))
    stats = rng.gamma(2.0, size=inside.stats_shape)
    at, slope = tied.free(params), tied.slope(stats, params)
    for j in range(len(at)):
        up, down = (
            tied.complete(stats, params, tied.freed(at + side * H * np.eye(len(at))[j], params)) for side in (1, -1)
        )
        np.testing.assert_allclose(slope[j], (up - down) / (2 * H), rtol=1e-5, atol=1e-6)


# ---- against EM, from the same start --------------------------------------------------------------------------------


@pytest.mark.thorough
@every_model()
@examples(2)
@given(data=st.data())
def test_the_slope_is_zero_where_em_ends(entry, data):
    """Up to what is left: the slope is about the root of twice that times the curvature, below 1e5 on a floor."""
    case = data.draw(entry.cases)
    chain = run(case, EMRun(case.model, case.params, rule=gain(1e-8), squarem=Squarem(), max_iter=2000))
    if case.model.collapsed(chain.accepted.params) or chain.reason == "max_iter":
        return
    slope = case.model.slope(case.model.with_prior(chain.accepted), chain.accepted.params)
    assert np.abs(slope).max(initial=0.0) < 0.05


@examples(5)
@given(rng=generators)
def test_the_slope_of_means_of_unit_variance_is_the_sum_of_weighted_differences(rng):
    """d l / d mean_i = sum_l h_il (x_l - mean_i); EM's new mean is a step of 1 / N_i along it (source 004)."""
    x = rng.normal(size=(8, 1)) + 3 * rng.integers(0, 2, (8, 1))
    leaf = Gaussian(2, np.zeros(1), np.ones(1))
    unit = type(leaf.blank())(rng.normal(size=(2, 1)), np.ones((2, 1)))
    logits = -0.5 * (x - unit.mean.T) ** 2
    resp = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    stats = np.zeros(leaf.stats_shape)
    leaf.expect(resp, unit, x, None, stats)
    slope = leaf.slope(stats, unit)[:2]
    close(slope, (resp * (x - unit.mean.T)).sum(axis=0))
    close(leaf.maximise(stats, unit).mean[:, 0], unit.mean[:, 0] + slope / resp.sum(axis=0))


def test_a_leaf_without_coordinates_says_so():
    class Plain(Gaussian):
        free, slope = Leaf.free, Leaf.slope

    plain = Plain(1, np.zeros(1), np.ones(1))
    with pytest.raises(ValueError, match=r'Plain does not implement `free`.*method="em"'):
        plain.free(plain.blank())
    with pytest.raises(ValueError, match=r"Plain does not implement `slope`"):
        plain.slope(np.zeros(plain.stats_shape), plain.blank())
