"""The law of weights: weight 2 is the row twice, weight 0 is the row absent."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfseen as hs
from halfseen.assign import HARD, SOFT
from halfseen.data import Sequences
from halfseen.errors import CollapseWarning
from tests.laws.closeness import close, same_bits, same_step
from tests.laws.models import every_model
from tests.strategies import examples, generators


def repeated(table):
    """Return the table with every row as often as its weight says, each of weight 1."""
    units = np.repeat(np.arange(len(table.weight)), table.weight.astype(int))
    return weighted(table.take(units), np.ones(len(units)))


def weighted(table, weight):
    """Return the table, or the sequences, with other weights."""
    if isinstance(table, Sequences):
        return Sequences.of(table.steps, table.lengths, weight)
    return replace(table, weight=weight)


@every_model("whole")
@pytest.mark.parametrize("assign", [SOFT, HARD], ids=lambda assign: assign.mode)
@examples(4)
@given(data=st.data())
def test_a_row_of_weight_two_is_the_row_twice(entry, assign, data):
    case = data.draw(entry.cases)
    same_step(case.but(table=repeated(case.table)).step(assign), case.step(assign))


@every_model()
@examples(4)
@given(data=st.data())
def test_a_row_of_weight_zero_is_absent(entry, data):
    case = data.draw(entry.cases)
    present = case.table.take(np.flatnonzero(case.table.weight))
    same_step(case.but(table=present).step(), case.step())


@every_model("rows")
@examples(4)
@given(data=st.data())
def test_merging_equal_rows_changes_nothing(entry, data):
    case = data.draw(entry.cases)
    same_step(case.but(table=case.table.canonical()).step(), case.step())


@every_model()
@examples(3)
@given(data=st.data())
def test_the_unit_of_weight_only_scales_the_statistics(entry, data):
    case = data.draw(entry.cases)
    scaled = case.but(table=weighted(case.table, 3 * case.table.weight))
    close(scaled.step().expected.stats, 3 * case.step().expected.stats)


def test_an_impossible_row_of_weight_zero_is_absent_too():
    """0 * log 0 is 0: after counting, rows that did not count may be impossible."""
    model = hs.LatentClass.from_params([1.0], {"x": {0: [1.0], 1: [0.0]}})
    assert model.score([[0], [1]], sample_weight=[1, 0]) == 0.0


# ---- whole fits -----------------------------------------------------------------------------------------------------


def rows_of(rng, n_rows=12):
    """Return rows of text, number and count with holes; some rows are equal."""
    rows = [
        [
            rng.choice(["a", "b", "c", None], p=[0.4, 0.3, 0.2, 0.1]),
            rng.choice([1.5, 2.5, 3.25, 7.0, None]),
            rng.choice([0, 1, 4, None]),
        ]
        for _ in range(n_rows)
    ]
    every = [["a", 1.5, 0], ["b", 2.5, 1], ["c", 7.0, 4]]  # so that weights never hide a category or a kind
    return every + rows + rows[:3]


KINDS = {"x1": "gaussian", "x2": "poisson"}


def fit(X, **how):
    """Fit with few and short starts: equal bits do not need convergence."""
    options = {"columns": KINDS, "n_init": 2, "max_iter": 8, "stop": "iterations", "random_state": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        weight = how.pop("sample_weight", None)
        labels = how.pop("labels", None)
        return hs.LatentClass(**options | how).fit(X, sample_weight=weight, labels=labels)


def same_fit(one, other):
    """Assert that two fits are equal to the last bit in everything they publish."""
    same_bits(one._params, other._params)
    assert one.trace_ == other.trace_
    assert (one.loglik_, one.objective_, one.bic()) == (other.loglik_, other.objective_, other.bic())


@pytest.mark.parametrize(
    "how", [{}, {"assign": "hard"}, {"assign": "sample"}, {"prior": None}, {"prior": 1.0}], ids=str
)
@examples(3)
@given(rng=generators)
def test_fits_with_weights_and_with_repeated_rows_are_equal_to_the_last_bit(how, rng):
    X = rows_of(rng)
    weight = np.concatenate([[1, 1, 1], rng.integers(0, 4, len(X) - 3)])
    twice = [row for row, times in zip(X, weight, strict=True) for _ in range(times)]
    same_fit(fit(X, sample_weight=weight, **how), fit(twice, **how))


@examples(2)
@given(rng=generators)
def test_labelled_fits_with_weights_and_with_repeated_rows_are_equal_to_the_last_bit(rng):
    X = rows_of(rng)
    weight = np.concatenate([[1, 1, 1], rng.integers(0, 4, len(X) - 3)])
    labels = [0, 1, None] + [[None, 0, 1, {0, 1}][i] for i in rng.integers(0, 4, len(X) - 3)]
    twice = [(row, label) for row, label, times in zip(X, labels, weight, strict=True) for _ in range(times)]
    rows, marks = map(list, zip(*twice, strict=True))
    same_fit(fit(X, sample_weight=weight, labels=labels), fit(rows, labels=marks))


@pytest.mark.parametrize(
    "stranger",
    [["z", 1.5, 0], ["a", 1e6, 0], [None, None, None], ["a", 2.5, 70]],
    ids=["new category", "outlier", "nothing observed", "large count"],
)
def test_a_row_of_weight_zero_leaves_no_trace_in_a_fit(stranger):
    """Not even in the schema: a category or a value that only such rows have was not seen."""
    X = rows_of(np.random.default_rng(1))
    same_fit(fit([*X, stranger], sample_weight=[1.0] * len(X) + [0.0]), fit(X))


def test_kinds_of_columns_ignore_rows_of_weight_zero():
    """Twelve distinct whole numbers are categories; a thirteenth of weight 0 does not make the column gaussian."""
    X = [[i % 12] for i in range(36)]
    with_stranger = fit([*X, [99]], sample_weight=[1.0] * 36 + [0.0], columns=None)
    assert with_stranger.columns_ == fit(X, columns=None).columns_ == {"x0": "categorical"}
