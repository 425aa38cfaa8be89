"""The law of the bound: loglik = q + entropy + kl, for every model, whatever the two sets of parameters."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halfseen.analysis.bound import lower_bound
from tests.laws.closeness import close
from tests.laws.models import every_model
from tests.strategies import examples

ROUNDING = 1e-9  # relative to the largest part: four sums of different terms


def parts_of(case, params):
    return lower_bound(case.model, case.table.chunks(), case.params, params)


def slack(*values):
    return ROUNDING * max(1.0, *map(abs, values))


def elsewhere(case, data):
    """Parameters at some distance."""
    return case.model.jitter(case.params, data.draw(st.sampled_from([0.01, 0.3, 2.0])), np.random.default_rng(0))


@every_model("rows", "closed")
@examples(5)
@given(data=st.data())
def test_the_parts_add_up_to_the_likelihood(entry, data):
    case = data.draw(entry.cases)
    there = elsewhere(case, data)
    parts = parts_of(case, there)
    assert abs(parts.bound + parts.kl - parts.loglik) <= slack(parts.q, parts.kl, parts.loglik)
    assert parts.kl >= 0
    if case.model.leaves["emit"].settled(case.table.blocks) is None:  # hidden numbers may have an entropy below 0
        assert parts.entropy >= -1e-12
    close(parts.loglik, case.step(params=there).loglik)


@every_model("rows")
@examples(5)
@given(data=st.data())
def test_the_bound_touches_at_its_own_parameters(entry, data):
    case = data.draw(entry.cases)
    parts = parts_of(case, case.params)
    assert parts.kl == 0
    assert abs(parts.q + parts.entropy - parts.loglik) <= slack(parts.q, parts.loglik)


@every_model("rows")
@examples(5)
@given(data=st.data())
def test_the_m_step_raises_the_bound(entry, data):
    """With a prior it raises bound + log_prior; and it beats any other parameters that obey the same limits."""
    case = data.draw(entry.cases)
    here = parts_of(case, case.params)
    step = parts_of(case, case.model.improved(case.step()))
    other = parts_of(case, elsewhere(case, data))
    for worse in (here, other):
        assert step.q + step.log_prior >= worse.q + worse.log_prior - slack(worse.q, worse.log_prior)
        assert step.bound + step.log_prior >= worse.bound + worse.log_prior - slack(worse.q, worse.log_prior)
    assert step.loglik >= step.bound - slack(step.q)
