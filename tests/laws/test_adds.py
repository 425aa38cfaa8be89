"""The law of addition: any split of the data gives the same statistics, any number of workers the same bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfseen.assign import HARD, SOFT, Assign
from halfseen.engine.loop.em import evaluate
from halfseen.engine.loop.expected import Expected
from halfseen.engine.loop.model import Reduced
from halfseen.runners import runner
from tests.laws.closeness import close, same_bits, same_step
from tests.laws.models import every_model
from tests.strategies import anywhere, examples

MODES = [SOFT, HARD, Assign("sample", draws=2)]


@every_model()
@pytest.mark.parametrize("assign", [SOFT, HARD], ids=lambda assign: assign.mode)
@examples(4)
@given(data=st.data(), size=st.integers(1, 4))
def test_any_split_gives_the_same_statistics(entry, assign, data, size):
    case = data.draw(entry.cases)
    same_step(case.step(assign, size=size), case.step(assign))


@every_model()
@examples(4)
@given(data=st.data())
def test_statistics_of_parts_add_up_to_those_of_the_whole(entry, data):
    case = data.draw(entry.cases)
    cut = data.draw(st.integers(0, len(case.table.weight)))
    parts = [case.but(table=case.table.take(slice(*ends))).step() for ends in ((0, cut), (cut, None))]
    total = parts[0].expected + parts[1].expected
    close(total.stats, case.step().expected.stats)
    close(total.loglik, case.step().loglik)


@every_model()
@pytest.mark.parametrize("assign", MODES, ids=lambda assign: assign.mode)
@examples(2)
@given(data=st.data())
def test_any_number_of_workers_gives_the_same_bits(entry, assign, data):
    case = data.draw(entry.cases)
    found = []
    for n_jobs in (1, 2, 5):
        with runner(n_jobs, n_chunks=5) as run:
            found.append(case.step(assign, size=1, runner=run, seed=np.random.SeedSequence(3)))
    for step in found[1:]:
        same_bits(step.expected.stats, found[0].expected.stats)
        assert (step.objective, step.expected.digest) == (found[0].objective, found[0].expected.digest)


@every_model()
@pytest.mark.parametrize("assign", MODES, ids=lambda assign: assign.mode)
@examples(3)
@given(data=st.data())
def test_candidates_in_one_pass_do_not_disturb_each_other(entry, assign, data):
    case = data.draw(entry.cases)
    candidates = [case.params, *(anywhere(case.model, np.random.default_rng(i)) for i in range(2))]
    keys = [(i, 5) for i in range(3)]
    together = evaluate(case.model, case.data(2), candidates, assign, keys=keys)
    for params, key, step in zip(candidates, keys, together, strict=True):
        [alone] = evaluate(case.model, case.data(2), [params], assign, keys=[key])
        same_bits(step.expected.stats, alone.expected.stats)
        assert step.objective == alone.objective


expecteds = st.builds(
    lambda stats, loglik, digest: Expected(np.array(stats), loglik, digest),
    st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
    st.floats(-1e6, 1e6),
    st.integers(0, 2**64 - 1),
)


@given(expecteds, expecteds, expecteds, st.floats(-4, 4))
def test_statistics_form_a_vector_space(a, b, c, factor):
    def equal(one, other):
        close(one.stats, other.stats)
        close(one.loglik, other.loglik)

    equal(a + Expected.zero(3), a)
    equal(a + b, b + a)
    equal((a + b) + c, a + (b + c))
    equal(factor * (a + b), factor * a + factor * b)
    equal(2 * a, a + a)
    equal(a * factor, factor * a)
    assert ((a + b) + c).digest == (a + (b + c)).digest


@every_model()
@examples(1)
@given(data=st.data())
def test_no_data_has_no_statistics(entry, data):
    case = data.draw(entry.cases)
    for nothing in (Reduced([]), Reduced(case.table.take(slice(0, 0)).chunks())):
        [step] = evaluate(case.model, nothing, [case.params])
        assert not step.expected.stats.any()
        assert step.loglik == 0
