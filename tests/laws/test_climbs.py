"""The law of climbing: soft and hard objectives never fall, with or without a prior, walking or leaping."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfseen as hs
from halfseen.assign import HARD, SOFT
from halfseen.engine.loop.em import em, evaluate
from halfseen.engine.loop.run import EMRun
from halfseen.engine.loop.squarem import Squarem
from halfseen.errors import FitError
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


@pytest.mark.parametrize(
    "how", [{"tol": 0.0}, {"stop": "iterations"}, {"stop": "parameters", "accelerate": False}], ids=str
)
@pytest.mark.parametrize("shape", ["full", "tied"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::halfseen.errors.HalfseenWarning")
def test_rounding_does_not_lower_the_trace_either_and_the_best_is_returned(shape, how):
    """A column that nearly follows from two others: covariances say their inverses to two or three digits."""
    n_fitted = 0
    for seed in range(6):
        X = np.random.default_rng(seed).standard_normal((200, 3))
        X[:, 2] = X[:, 0] + X[:, 1] + 2e-7 * X[:, 2]
        model = hs.GaussianMixture(2, covariance_type=shape, variance_floor=0.0, n_init=2, random_state=0, max_iter=30)
        try:
            model.set_params(**how).fit(X + 100)
        except FitError:  # singular by rounding
            continue
        n_fitted += 1
        assert np.all(np.diff(model.trace_) >= 0)
        assert model.loglik_ == model.trace_[-1]
        close(model.score_samples(X + 100).sum(), model.loglik_)
        assert model.n_iter_ == 30 or how.get("stop") != "iterations"
    assert n_fitted
