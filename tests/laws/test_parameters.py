"""Laws of parameters and statistics as values: packing, relabelling, restating, priors, pooling."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halfseen.assign import SOFT
from halfseen.leaves.leaf import arrays
from tests.laws.closeness import close
from tests.laws.models import every_model
from tests.strategies import anywhere, examples, generators


@every_model()
@examples(4)
@given(data=st.data())
def test_packing_and_unpacking_is_the_identity(entry, data):
    case = data.draw(entry.cases)
    vector = case.model.pack(case.params)
    assert vector.ndim == 1
    close(case.model.unpack(vector, case.params), case.params, 1e-14)
    assert case.model.feasible(case.params)


@every_model()
@examples(4)
@given(data=st.data(), rng=generators)
def test_unpacking_keeps_what_is_fixed_from_the_model_it_looks_like(entry, data, rng):
    """Entries that the vector does not govern come from `like`, those that it does from the vector."""
    case = data.draw(entry.cases)
    other = case.model.maximise(case.step().expected.stats, case.params)
    moved = case.model.unpack(case.model.pack(other), case.params)
    close(moved, other, 1e-14)


@every_model("closed")
@examples(4)
@given(data=st.data(), rng=generators)
def test_statistics_restated_about_another_pivot_say_the_same(entry, data, rng):
    case = data.draw(entry.cases)
    model, stats = case.model, case.step().expected.stats
    onto, anything = anywhere(model, rng), anywhere(model, rng)
    restated = model.recentre(stats, case.params, onto)
    close(model.complete(restated, onto, anything), model.complete(stats, case.params, anything), 1e-7)
    close(model.recentre(restated, onto, case.params), stats, 1e-7)  # squares of the distance between pivots cancel


@every_model()
@examples(4)
@given(data=st.data())
def test_the_log_prior_is_the_loglik_of_the_pseudo_statistics(entry, data):
    case = data.draw(entry.cases)
    pseudo = case.model.prior(case.params)
    expected = 0.0 if pseudo is None else case.model.complete(pseudo, case.params, case.params)
    close(case.model.log_prior(case.params), expected)
    close(case.step().log_prior, expected)


@every_model("closed")
@examples(4)
@given(data=st.data(), rng=generators)
def test_the_prior_is_the_same_wherever_it_is_stated(entry, data, rng):
    """Pseudo-statistics stated about other parameters are the same statistics, restated."""
    case = data.draw(entry.cases)
    other = anywhere(case.model, rng)
    here, there = case.model.prior(case.params), case.model.prior(other)
    if here is not None:
        close(case.model.recentre(here, case.params, other), there, 1e-8)


@every_model()
@examples(3)
@given(data=st.data(), rng=generators)
def test_parameters_are_values(entry, data, rng):
    """Arrays inside are read-only, and a pass or a step leaves them as they were."""
    case = data.draw(entry.cases)
    before = [array.copy() for array in arrays(case.params)]
    step = case.step()
    stats = step.expected.stats.copy()
    after = case.model.improved(step)
    assert all(np.array_equal(one, other) for one, other in zip(arrays(case.params), before, strict=True))
    assert np.array_equal(stats, step.expected.stats)
    assert not any(array.flags.writeable for array in arrays(after))


@every_model("exchangeable")
@examples(3)
@given(data=st.data())
def test_taking_all_components_in_order_is_the_identity(entry, data):
    case = data.draw(entry.cases)
    emit, params = case.model.leaves["emit"], case.params["emit"]
    close(emit.take(params, np.arange(emit.n_components)), params, 0.0)


@every_model("exchangeable")
@examples(3)
@given(data=st.data(), rng=generators)
def test_scores_follow_the_components_that_were_taken(entry, data, rng):
    """Taking components in any order, with repeats, takes the columns of the scores."""
    case = data.draw(entry.cases)
    emit, params, rows = case.model.leaves["emit"], case.params["emit"], case.table.blocks
    order = rng.integers(0, emit.n_components, emit.n_components)
    close(scores(emit, emit.take(params, order), rows), scores(emit, params, rows)[:, order])


@every_model()
@examples(3)
@given(data=st.data())
def test_pooling_everything_gives_every_component_the_total(entry, data):
    """With all components alike, the pooled statistics say K times what the statistics say."""
    case = data.draw(entry.cases)
    emit, alike = case.model.leaves["emit"], case.model.blank()["emit"]
    stats = case.model.view(case.step(params=case.model.blank()).expected.stats)["emit"]
    pooled = emit.pool(stats, np.zeros(emit.n_components, dtype=np.int64))
    close(emit.complete(pooled, alike, alike), emit.n_components * emit.complete(stats, alike, alike), 1e-9)


@every_model()
@examples(4)
@given(data=st.data())
def test_free_parameters_are_the_directions_in_which_parameters_can_move(entry, data):
    """Random neighbours span a space of n_free dimensions (fewer where a floor is in the way)."""
    case = data.draw(entry.cases)
    model, free = case.model, case.model.n_free()
    centre = model.pack(case.params)
    neighbours = [model.jitter(case.params, 1e-3, np.random.default_rng(i)) for i in range(free + 5)]
    moves = np.array([model.pack(params) - centre for params in neighbours])
    moves /= np.maximum(np.abs(moves).max(axis=0), 1e-12)
    rank = np.linalg.matrix_rank(moves, tol=1e-3) if moves.size else 0
    assert rank <= free
    assert rank == free or entry.name == "floored"


def scores(leaf, params, rows):
    return leaf.score(leaf.prepare(params), rows, SOFT)
