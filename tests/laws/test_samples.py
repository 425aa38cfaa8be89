"""Laws of sampled completions: seeds decide everything, draws are independent, averages converge."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfseen as hs
from halfseen.assign import SOFT, Assign
from halfseen.engine.loop.em import steps
from halfseen.engine.loop.expected import Step
from halfseen.engine.loop.run import Average
from halfseen.errors import ParameterError
from halfseen.seeds import child
from tests.laws.closeness import close, same_bits
from tests.laws.models import every_model
from tests.laws.test_stops import X, slow_case
from tests.strategies import examples, generators

SAMPLE = Assign("sample")


@every_model()
@examples(3)
@given(data=st.data(), number=st.integers(0, 99))
def test_the_same_seed_and_key_draw_the_same_completions(entry, data, number):
    case = data.draw(entry.cases)
    one, other = (case.step(SAMPLE, size=2, seed=np.random.SeedSequence(number), keys=[(1, 2)]) for _ in range(2))
    same_bits(one.expected.stats, other.expected.stats)


def test_seeds_restarts_iterations_and_chunks_draw_independently():
    """Another seed, restart, iteration or chunk is another generator; no draw repeats."""
    case = slow_case()
    drawn = [
        case.step(SAMPLE, seed=np.random.SeedSequence(seed), keys=[key]).expected.stats.tobytes()
        for seed in (0, 1)
        for key in ((0, 0), (0, 1), (1, 0), (1, 1))
    ]
    assert len(set(drawn)) == len(drawn)


def test_consecutive_steps_draw_anew():
    case = slow_case()
    alike = case.but(params=case.model.blank())
    first, second = islice(steps(alike.model, alike.data(), alike.params, SAMPLE), 2)
    frozen = alike.step(SAMPLE, params=first.params, keys=[(0, 0)])
    same_bits(first.expected.stats, frozen.expected.stats)
    again = alike.step(SAMPLE, params=second.params, keys=[(0, 0)])
    assert not np.array_equal(second.expected.stats, again.expected.stats)


def test_the_seed_of_a_key_does_not_depend_on_what_was_spawned_before():
    seed = np.random.SeedSequence(5)
    before = child(seed, 1, 2).generate_state(4)
    seed.spawn(3)
    np.testing.assert_array_equal(child(seed, 1, 2).generate_state(4), before)
    assert not np.array_equal(child(seed, 2, 1).generate_state(4), before)


def test_only_draws_need_a_generator():
    seed = np.random.SeedSequence(0)
    assert SOFT.seeded(seed, (0, 0)) is SOFT
    assert SAMPLE.seeded(seed, (0, 0)).rng is not None
    assert SAMPLE.rng is None


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (("firm",), "assign='firm' is not one of 'soft', 'hard', 'sample'"),
        (("sample", 0), "draws=0 is not a whole number of at least 1"),
        (("sample", 2.5), "draws=2.5"),
        (("sample", True), "draws=True"),
        (("soft", 3), "draws=3 has no meaning with assign='soft'"),
    ],
)
def test_a_way_to_assign_that_makes_no_sense_is_refused(how, said):
    with pytest.raises(ParameterError, match=said):
        Assign.read(*how)


def test_what_climbs_and_what_does_not():
    assert Assign.read("soft").monotone
    assert Assign.read("hard").monotone
    assert not Assign.read("sample", 3).monotone
    assert not SOFT.cooled(0.5).monotone


@every_model()
@examples(3)
@given(data=st.data())
def test_the_average_of_steps_is_the_step_of_their_average(entry, data):
    """Statistics gathered under different parameters are restated before they are added."""
    case = data.draw(entry.cases)
    average, walk = Average(), []
    params = case.params
    for i in range(3):
        step = case.step(SAMPLE, params, keys=[(0, i)])
        average.add(case.model, step)
        walk.append(step)
        params = case.model.improved(step)
    last = walk[-1].params
    mean = sum(case.model.recentre(step.expected.stats, step.params, last) for step in walk) / 3
    expected = case.model.improved(Step(last, walk[-1].expected * 0.0 + type(walk[-1].expected)(mean, 0.0)))
    close(average.params(case.model), expected, 1e-6)


@examples(3)
@given(rng=generators)
def test_an_average_of_equal_steps_is_that_step(rng):
    case = slow_case()
    case = case.but(params=case.model.jitter(case.params, 0.5, rng))
    step, average = case.step(), Average()
    for _ in range(4):
        average.add(case.model, step)
    close(average.params(case.model), case.model.improved(step))


def test_a_sampled_fit_ends_near_the_soft_one():
    """Averaged over its second half, a sampled run ends within noise of the maximum: 200 rows, 13 parameters."""
    soft = hs.LatentClass(2, random_state=0).fit(X)
    drawn = hs.LatentClass(2, assign="sample", max_iter=200, random_state=0).fit(X)
    assert soft.objective_ - 1.0 < drawn.objective_ <= soft.objective_ + 1e-6
    again = hs.LatentClass(2, assign="sample", max_iter=200, random_state=0).fit(X)
    same_bits(drawn._params, again._params)
    other = hs.LatentClass(2, assign="sample", max_iter=200, random_state=1).fit(X)
    assert not np.array_equal(drawn.weights_, other.weights_)
