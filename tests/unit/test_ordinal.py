"""The ordinal leaf: proportional odds, their maximum where it is finite and at a bound, and coordinates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import expit

from halfseen.errors import ParameterError
from halfseen.leaves import Floored, Frozen, Ordinal, Tied
from halfseen.leaves.ordinal import departure, median_of
from halfseen.leaves.proportional_odds import cuts, problems, shares_at

RNG = np.random.default_rng(0)


def best(leaf, counts, groups=None):
    """Return the largest log-likelihood that a numerical optimiser finds, over thresholds and shifts."""
    n_components, n_levels = counts.shape
    of = np.arange(n_components) if groups is None else np.array(groups)

    def loss(u):
        thresholds = u[0] + np.append(0.0, np.cumsum(np.exp(u[1 : n_levels - 1])))
        shifts = np.append(0.0, u[n_levels - 1 :])[of]
        below = expit(thresholds - shifts[:, None])
        table = np.diff(below, axis=1, prepend=0.0, append=1.0)
        return -float((counts * np.log(np.maximum(table, 1e-300))).sum())

    size = n_levels - 1 + n_components - 1
    tries = [
        minimize(loss, start, method="L-BFGS-B", bounds=[(-25, 25)] * size)
        for start in (np.zeros(size), RNG.normal(size=size))
    ]
    return -min(found.fun for found in tries)


@pytest.mark.parametrize("seed", range(20))
def test_no_optimiser_beats_maximise(seed):
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 5), rng.integers(3, 7)
    counts = rng.gamma(0.5, size=shape) * (rng.random(shape) < 0.7) * rng.choice([1e-3, 1.0, 50.0])
    leaf = Ordinal(shape[0], [shape[1]])
    found = leaf.maximise(counts, leaf.blank())
    value = leaf.complete(counts, leaf.blank(), found)
    with np.errstate(all="ignore"):
        assert value >= best(leaf, counts) - 1e-6 * max(1.0, abs(value))
    again = leaf.maximise(counts, found)
    assert_allclose(leaf.complete(counts, found, again), value, rtol=1e-13, atol=1e-300)
    assert departure(found) < 1e-6


def test_all_odds_change_by_the_same_factor_and_all_digits_of_the_tails_are_there():
    table = shares_at(np.array([-40.0, -1.0, 0.0, 30.0]), np.array([0.0, 5.0]))[None][0]
    assert_allclose(np.diff(cuts(table), axis=0), [[-5.0] * 4], rtol=1e-12)
    assert_allclose(table[0, 0], np.exp(-40.0), rtol=1e-12)
    assert_allclose(table.sum(axis=1), 1.0, rtol=1e-15)


def test_one_component_has_the_shares():
    counts = np.array([[3.0, 0.0, 5.0, 2.0]])
    leaf = Ordinal(1, [4])
    assert_array_equal(leaf.maximise(counts, leaf.blank()), counts / 10)


def test_two_categories_are_those_of_a_categorical_column():
    counts = RNG.gamma(1.0, size=(3, 2))
    leaf = Ordinal(3, [2])
    assert_allclose(leaf.maximise(counts, leaf.blank()), counts / counts.sum(axis=1, keepdims=True), rtol=1e-15)
    assert leaf.n_free() == 3


def test_separated_components_are_at_the_bound():
    """Nothing ties thresholds 0 and 2: class 0 is estimated alone, class 1 has one category, class 2 the rest."""
    counts = np.array([[3.0, 1.0, 0.0, 0.0], [0.0, 7.0, 0.0, 0.0], [0.0, 0.0, 1.0, 4.0]])
    leaf = Ordinal(3, [4])
    table = leaf.maximise(counts, leaf.blank())
    assert_allclose(table, counts / counts.sum(axis=1, keepdims=True), rtol=1e-15)
    assert leaf.complete(counts, table, table) > best(leaf, counts) - 1e-9
    assert_allclose(leaf.unpack(leaf.pack(table), table), table, rtol=1e-14)
    assert_allclose(leaf.freed(leaf.free(table), table), table, rtol=1e-12)
    assert not leaf.slope(counts, table)[leaf.free(table) == 0].any()


def test_one_category_between_thresholds_has_a_finite_shift():
    counts = np.array([[3.0, 2.0, 4.0], [0.0, 7.0, 0.0]])
    certain, [one] = problems(counts)
    assert (certain, one.members.tolist()) == ([], [0, 1])
    table = Ordinal(2, [3]).maximise(counts, Ordinal(2, [3]).blank())
    assert (table > 0).all()


def test_an_empty_category_has_probability_0_and_the_others_are_as_without_it():
    counts = np.array([[3.0, 0.0, 2.0, 4.0], [1.0, 0.0, 1.0, 9.0]])
    leaf, less = Ordinal(2, [4]), Ordinal(2, [3])
    table = leaf.maximise(counts, leaf.blank())
    assert_array_equal(table[:, 1], 0.0)
    assert_allclose(table[:, [0, 2, 3]], less.maximise(counts[:, [0, 2, 3]], less.blank()), rtol=1e-10)


def test_a_component_without_mass_keeps_its_shift():
    leaf = Ordinal(3, [4])
    start = leaf.jitter(leaf.blank(), 1.0, RNG)
    counts = RNG.gamma(1.0, size=(3, 4))
    counts[1] = 0.0
    table = leaf.maximise(counts, start)
    assert departure(table) < 1e-9
    v = np.abs(cuts(start)[1]).argmin()
    assert_allclose(cuts(table)[1, v], cuts(start)[1, v], rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-90, 1e-6, 1e6, 1e100])
def test_the_unit_of_counts_changes_nothing(scale):
    counts = RNG.gamma(1.0, size=(3, 9)).reshape(3, 9)
    leaf = Ordinal(3, [4, 5])
    assert_allclose(leaf.maximise(scale * counts, leaf.blank()), leaf.maximise(counts, leaf.blank()), rtol=1e-7)


@pytest.mark.parametrize("few", [1e-12, 1e-30, 1e-200])
def test_next_to_no_counts_are_no_bound_and_the_value_does_not_fall(few):
    counts = np.array([[50.0, 10.0, few], [few, 10.0, 50.0]])
    leaf = Ordinal(2, [3])
    table = leaf.maximise(counts, leaf.blank())
    value = leaf.complete(counts, table, table)
    assert np.isfinite(value)
    assert leaf.complete(counts, table, leaf.maximise(counts, table)) >= value - 1e-12 * abs(value)


def test_tied_components_count_once():
    leaf = Tied(Ordinal(3, [4]), components=[0, 0, 2])
    counts = RNG.gamma(1.0, size=(3, 4))
    table = leaf.maximise(counts, leaf.blank())
    assert_array_equal(table[0], table[1])
    value = leaf.complete(counts, table, table)
    assert value >= best(leaf.leaf, np.array([counts[0] + counts[1], counts[2]])) - 1e-7
    assert leaf.n_free() == 3 + 1


def test_the_slope_is_the_gradient():
    leaf, counts = Ordinal(3, [2, 1, 5, 0]), RNG.gamma(1.0, size=(3, 8))
    about = leaf.jitter(leaf.blank(), 1.0, RNG)
    at = leaf.free(about)
    for j, slope in enumerate(leaf.slope(counts, about)):
        up, down = (leaf.complete(counts, about, leaf.freed(at + h * np.eye(len(at))[j], about)) for h in (1e-5, -1e-5))
        assert_allclose(slope, (up - down) / 2e-5, rtol=1e-5, atol=1e-6)
    assert (leaf.n_free(), len(at)) == (1 + 2 + 4 + 2, 1 + 3 + 4 + 3)


def test_probabilities_without_proportional_odds_are_projected():
    leaf = Ordinal(2, [3])
    table = leaf.conform(np.array([[0.6, 0.1, 0.3], [0.2, 0.6, 0.2]]), leaf.blank())
    assert departure(table) < 1e-8
    assert leaf.conform(table, leaf.blank()) is table or (leaf.conform(table, leaf.blank()) == table).all()


def test_what_the_leaf_cannot_honour_is_refused():
    leaf = Ordinal(2, [3])
    for wrapped, said in ((Floored(leaf, 0.1), "have no floor"), (Frozen(leaf, np.eye(2, 3) > 0), "cannot be fixed")):
        with pytest.raises(ParameterError, match=f"ordinal: .*{said}.*Fix the whole column"):
            wrapped.maximise(np.ones((2, 3)), leaf.blank())
    for method in ("average", "quantile"):
        with pytest.raises(ParameterError, match=f"Ordinal does not implement `{method}`.*bootstrap"):
            getattr(leaf, method)(np.ones((2, 3)), leaf.blank(), *([0.5] if method == "quantile" else []))


def test_missing_cells_get_the_median_category():
    leaf, table = Ordinal(2, [3]), np.array([[0.4, 0.2, 0.4], [0.1, 0.2, 0.7]])
    filled = leaf.impute(table, np.array([[-1], [-1], [0]], dtype=np.int8), np.eye(2)[[0, 1, 1]], None)
    assert filled.ravel().tolist() == [1, 2, 0]
    assert median_of(np.array([[0.5, 0.5]])).tolist() == [0]
