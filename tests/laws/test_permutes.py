"""The law of permutation: components relabelled or rows reordered change nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfseen.assign import HARD, SOFT
from halfseen.data import Evidence, Sequences
from tests.laws.closeness import close, same_step
from tests.laws.models import every_model
from tests.laws.test_weights import fit, rows_of, same_fit
from tests.strategies import examples, generators


def relabelled(case, order):
    """Return the case with component i in the place of order[i], in its parameters and in its labels."""
    evidence = case.table.evidence
    if evidence is not None:
        evidence = Evidence(evidence.patterns[:, order], evidence.index)
    table = relabelled_table(case.table, evidence)
    return case.but(table=table, params=case.model.relabel(case.params, order))


def relabelled_table(table, evidence):
    if isinstance(table, Sequences):
        return replace(table, steps=replace(table.steps, evidence=evidence))
    return replace(table, evidence=evidence)


def n_components(case):
    return case.params["mix" if "mix" in case.params else "start"].shape[1]


@every_model("exchangeable")
@pytest.mark.parametrize("assign", [SOFT, HARD], ids=lambda assign: assign.mode)
@examples(4)
@given(data=st.data())
def test_relabelled_components_are_relabelled_after_the_step(entry, assign, data):
    case = data.draw(entry.cases)
    order = np.roll(np.arange(n_components(case)), 1)
    other = relabelled(case, order)
    before, after = case.step(assign), other.step(assign)
    close(after.objective, before.objective)
    close(case.model.improved(after), case.model.relabel(case.model.improved(before), order), 1e-8)


@every_model("exchangeable")
@examples(3)
@given(data=st.data())
def test_relabelling_there_and_back_is_the_identity(entry, data):
    case = data.draw(entry.cases)
    order = np.roll(np.arange(n_components(case)), 1)
    there = case.model.relabel(case.params, order)
    close(case.model.relabel(there, np.argsort(order)), case.params, 0.0)


@every_model()
@pytest.mark.parametrize("assign", [SOFT, HARD], ids=lambda assign: assign.mode)
@examples(4)
@given(data=st.data(), rng=generators)
def test_the_order_of_rows_does_not_matter(entry, assign, data, rng):
    case = data.draw(entry.cases)
    shuffled = case.but(table=case.table.take(rng.permutation(len(case.table.weight))))
    same_step(shuffled.step(assign), case.step(assign))


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
@examples(3)
@given(rng=generators)
def test_fits_on_shuffled_rows_are_equal_to_the_last_bit(assign, rng):
    X = rows_of(rng)
    order = rng.permutation(len(X))
    weight = rng.choice([0.5, 1.0, 2.0], len(X))
    shuffled = [X[n] for n in order]
    same_fit(fit(X, sample_weight=weight, assign=assign), fit(shuffled, sample_weight=weight[order], assign=assign))


@examples(2)
@given(rng=generators)
def test_fits_with_labels_on_shuffled_rows_are_equal_to_the_last_bit(rng):
    X = rows_of(rng)
    labels = ["p", "q", None] + [[None, "p", "q"][i] for i in rng.integers(0, 3, len(X) - 3)]
    order = rng.permutation(len(X))
    same_fit(fit(X, labels=labels), fit([X[n] for n in order], labels=[labels[n] for n in order]))


def test_a_fit_and_its_relabelled_copy_say_the_same_of_every_row():
    X = rows_of(np.random.default_rng(4))
    model = fit(X, n_components=3)
    order = [2, 0, 1]
    other = model.relabel(order)
    close(other.predict_proba(X), model.predict_proba(X)[:, order])
    close(other.score_samples(X), model.score_samples(X))
    assert other.match_to(model).weights_.tolist() == model.weights_.tolist()


def test_components_come_out_largest_first():
    weights = fit(rows_of(np.random.default_rng(2)), n_components=3).weights_
    assert weights.tolist() == sorted(weights, reverse=True)
