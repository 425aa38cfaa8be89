"""Decisions under costs: against brute force, against their invariances, and with errors that name the row."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.errors import DataError, ParameterError
from tests.strategies import examples, generators

RIPE = [[1 - 0.803108, 0.803108]]  # source 002's melon, with add-one smoothing: unripe, ripe


def posteriors(rng, n_rows=7, n_classes=3):
    return rng.dirichlet(np.ones(n_classes), n_rows)


def slow(proba, cost, reject=np.inf):
    """Decisions and risks by the definition, one number at a time."""
    decided = []
    for row in proba:
        risks = [sum(c * p for c, p in zip(line, row, strict=True)) for line in cost]
        i = min(range(len(risks)), key=risks.__getitem__)
        decided.append((-1, reject) if risks[i] > reject else (i, risks[i]))
    return [i for i, _ in decided], [risk for _, risk in decided]


# ------------------------------------------------------------------------------------------------------- worked numbers


def test_the_melon_is_ripe_and_still_not_worth_selling():
    assert hs.decide(RIPE).tolist() == [1]
    cost = [[0, 1], [5, 0]]  # throwing a ripe one away, selling an unripe one
    decision, risk = hs.decide(RIPE, cost, return_risk=True)
    assert decision.tolist() == [0]
    assert_allclose(risk, [0.803108])
    assert hs.decide(RIPE, [[0, 1], [4, 0]]).tolist() == [1]  # 4 * 0.196892 < 0.803108 < 5 * 0.196892


def test_rejecting_is_a_decision_with_a_price():
    proba = [[0.55, 0.45], [0.95, 0.05], [0.75, 0.25]]
    decision, risk = hs.decide(proba, reject=0.25, return_risk=True)
    assert decision.tolist() == [-1, 0, 0]  # a risk equal to the price is taken
    assert_allclose(risk, [0.25, 0.05, 0.25])
    assert decision.dtype == np.int64


def test_more_actions_than_classes():
    """A third action that is never best for sure, and best in doubt."""
    cost = [[0, 10], [10, 0], [2, 2]]
    assert hs.decide([[0.95, 0.05], [0.5, 0.5], [0.05, 0.95]], cost).tolist() == [0, 2, 1]


def test_costs_of_each_row():
    cost = np.array([[[0, 1], [1, 0]], [[0, 9], [1, 0]]])
    assert hs.decide([[0.8, 0.2], [0.8, 0.2]], cost).tolist() == [0, 1]


def test_the_lowest_index_among_equals():
    assert hs.decide([[0.5, 0.5]]).tolist() == [0]
    assert hs.decide([[0.25, 0.75]], [[3, 0], [3, 0], [0, 1]]).tolist() == [0]


def test_bayes_risk_is_the_mean_of_the_least_risks():
    proba = [[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]]
    assert hs.bayes_risk(proba) == pytest.approx(0.25)
    assert hs.bayes_risk(proba, reject=0.3) == pytest.approx((0.25 + 0.3 + 0) / 3)
    assert hs.bayes_risk(proba, sample_weight=[2, 1, 0]) == pytest.approx((2 * 0.25 + 0.5) / 3)


def test_any_table_of_probabilities_will_do():
    frame = pd.DataFrame([[0.2, 0.8], [0.6, 0.4]])
    assert hs.decide(frame).tolist() == hs.decide(frame.to_numpy(dtype=np.float32)).tolist() == [1, 0]
    assert hs.decide(np.zeros((0, 2))).tolist() == []


def test_fitted_classes_are_decided_by_their_posteriors():
    X = [["a", "x"], ["a", "x"], ["b", "y"], ["b", "y"]] * 4
    model = hs.LatentClass(2, random_state=0).fit(X)
    assert_array_equal(hs.decide(model.predict_proba(X)), model.predict(X))


# ----------------------------------------------------------------------------------------------------------- properties


@examples(30)
@given(generators)
def test_zero_one_loss_is_the_most_probable_class(rng):
    proba = posteriors(rng, n_classes=4)
    decision, risk = hs.decide(proba, return_risk=True)
    assert_array_equal(decision, proba.argmax(axis=1))
    assert_array_equal(decision, hs.decide(proba, 1 - np.eye(4)))
    assert_allclose(risk, 1 - proba.max(axis=1), atol=1e-15)


def test_probabilities_that_differ_in_the_last_bit_are_told_apart():
    third = 1 / 3
    proba = [[third, np.nextafter(third, 1), third]]
    assert hs.decide(proba).tolist() == [1]


@examples(30)
@given(generators, st.booleans(), st.sampled_from([np.inf, 0.3]))
def test_decisions_are_those_of_brute_force(rng, own_costs, reject):
    proba, cost = posteriors(rng), rng.normal(size=(4, 3))
    costs = np.tile(cost, (7, 1, 1)) if own_costs else cost
    price = None if reject == np.inf else reject
    decision, risk = hs.decide(proba, costs, price, return_risk=True)
    assert_array_equal(decision, slow(proba, cost, reject)[0])
    assert_allclose(risk, slow(proba, cost, reject)[1], rtol=1e-12)
    assert_allclose(hs.bayes_risk(proba, costs, price), np.mean(slow(proba, cost, reject)[1]), rtol=1e-12)


@examples(30)
@given(generators, st.floats(0.01, 100))
def test_the_unit_of_costs_does_not_matter(rng, factor):
    proba, cost = posteriors(rng), rng.random((3, 3))
    assert_array_equal(hs.decide(proba, cost, 0.4), hs.decide(proba, factor * cost, factor * 0.4))


@examples(30)
@given(generators)
def test_what_every_decision_costs_does_not_matter(rng):
    """A constant in a column is paid whatever is decided."""
    proba, cost = posteriors(rng), rng.random((3, 3))
    assert_array_equal(hs.decide(proba, cost), hs.decide(proba, cost + rng.random(3)))


@examples(30)
@given(generators)
def test_no_decision_rule_has_less_risk(rng):
    proba, cost = posteriors(rng), rng.random((3, 3))
    other = rng.integers(0, 3, len(proba))
    assert hs.bayes_risk(proba, cost) <= np.mean([proba[n] @ cost[i] for n, i in enumerate(other)]) + 1e-12


# --------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("proba", "match"),
    [
        ([0.5, 0.5], r"shape \(2,\)"),
        (np.zeros((3, 0)), r"shape \(3, 0\)"),
        ([[0.5, 0.5], [np.nan, 1.0]], r"row 1 is not finite: \[nan, 1.0\]"),
        ([[0.5, 0.5], [-0.1, 1.1]], "row 1 has a negative probability"),
        ([[0.5, 0.5], [0.5, 0.6], [0.5, 0.7]], r"row 1 sums to 1.1, not 1 \(2 of 3 rows"),
        ([["a", "b"]], "not an array of numbers"),
    ],
)
def test_wrong_probabilities_are_refused_by_row(proba, match):
    with pytest.raises(DataError, match=match):
        hs.decide(proba)
    with pytest.raises(DataError, match=match):
        hs.bayes_risk(proba)


@pytest.mark.parametrize(
    ("cost", "match"),
    [
        ([0, 1], r"shape \(2,\), expected \(decisions, 2\)"),
        ([[0, 1, 2]], r"shape \(1, 3\)"),
        (np.zeros((0, 2)), r"shape \(0, 2\)"),
        (np.zeros((3, 2, 2)), "3 tables, proba has 1 rows"),
        ([[0, np.inf], [1, 0]], r"cost\[0, 1\] is inf"),
        ([["a", 1], [1, 0]], "not an array of numbers"),
    ],
)
def test_wrong_costs_are_refused(cost, match):
    with pytest.raises(ParameterError, match=match):
        hs.decide([[0.5, 0.5]], cost)


@pytest.mark.parametrize("reject", [np.nan, np.inf, "0.3", True])
def test_wrong_prices_of_rejection_are_refused(reject):
    with pytest.raises(ParameterError, match="reject="):
        hs.decide([[0.5, 0.5]], reject=reject)


def test_no_rows_have_no_mean_risk():
    with pytest.raises(DataError, match="no rows"):
        hs.bayes_risk(np.zeros((0, 2)))


def test_a_risk_equal_to_the_cost_of_rejecting_is_taken():
    """1 - 0.7 is a little above 0.3 in floating point; that is no reason to reject."""
    assert hs.decide([[0.7, 0.3]], reject=0.3).tolist() == [0]
    assert hs.decide([[0.7 - 1e-9, 0.3 + 1e-9]], reject=0.3).tolist() == [-1]
