"""The law of climbing: soft and hard objectives never fall, with or without a prior, walking or leaping."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfseen.assign import HARD, SOFT
from halfseen.engine.loop.em import em, evaluate
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.squarem import Squarem
from tests.laws.closeness import close
from tests.laws.models import every_model
from tests.strategies import examples

TOLERANCE = 1e-9  # relative: what rounding may take away


def falls(trace):
    """Return the steps at which the objective fell by more than rounding."""
    slack = TOLERANCE * np.maximum(1.0, np.abs(trace[:-1]))
    return np.flatnonzero(np.diff(trace) < -slack)


@every_model()
@pytest.mark.parametrize("assign", [SOFT, HARD], ids=lambda assign: assign.mode)
@examples(10)
@given(data=st.data())
def test_no_step_lowers_the_objective(entry, assign, data):
    case = data.draw(entry.cases)
    trace, params = [], case.params
    for _ in range(6):
        step = case.step(assign, params)
        trace.append(step.objective)
        params = case.model.improved(step)
    assert not len(falls(trace)), trace


@every_model()
@examples(4)
@given(data=st.data())
def test_leaping_climbs_too_and_ends_no_lower_than_walking_began(entry, data):
    case = data.draw(entry.cases)
    chain = EMRun(case.model, case.params, squarem=Squarem(), max_iter=25)
    for _ in em(lambda chains: evaluate(case.model, case.data(), [chains[0].params]), [chain]):
        pass
    assert not len(falls(chain.trace)), chain.trace
    assert chain.n_passes == 25
    close(case.step(params=chain.accepted.params).objective, chain.objective)  # what is reported belongs to the params


@every_model()
@examples(5)
@given(data=st.data())
def test_the_bound_touches_the_likelihood_and_stays_below_it(entry, data):
    """ln P(theta) - ln P(theta') >= Q(theta | theta') - Q(theta' | theta'), with equality at theta = theta'."""
    case = data.draw(entry.cases)
    here = case.step()
    stats = here.expected.stats
    elsewhere = case.model.jitter(case.params, data.draw(st.sampled_from([0.01, 0.3, 2.0])), np.random.default_rng(0))
    gained = case.model.complete(stats, case.params, elsewhere) - case.model.complete(stats, case.params, case.params)
    rise = case.step(params=elsewhere).loglik - here.loglik
    assert rise >= gained - TOLERANCE * max(1.0, abs(gained), abs(here.loglik))
