"""The law of the gradient: soft usage is the derivative of the total log-evidence in the scores."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import logsumexp

from halfseen.assign import HARD, SOFT
from halfseen.structures.independent import Independent
from tests.laws.closeness import close
from tests.laws.models import every_model
from tests.strategies import examples, seeds

H = 1e-5  # step of the central difference: error about H^2 times the third derivative, and rounding / H
NUMERICAL = 1e-7


def infer(structure, scores, outer, assign, log_labels=None):
    """Infer from copies: structures may overwrite scores."""
    return structure.infer({name: array.copy() for name, array in scores.items()}, outer, assign, log_labels)


@pytest.mark.parametrize("beta", [1.0, 0.3, 2.5])
@examples(15)
@given(
    seed=seeds, n_rows=st.integers(1, 3), n_groups=st.integers(1, 3), width=st.integers(1, 3), impossible=st.booleans()
)
def test_soft_usage_is_the_gradient_of_the_evidence(beta, seed, n_rows, n_groups, width, impossible):
    rng = np.random.default_rng(seed)
    structure, assign = Independent(n_groups), SOFT.cooled(beta)
    scores = {"mix": rng.normal(size=(n_groups, width)), "emit": 2 * rng.normal(size=(n_rows, n_groups * width))}
    if impossible and width > 1:
        scores["emit"][0, 0] = -np.inf
    outer = rng.gamma(1.0, size=(n_rows, n_groups))

    def evidence(moved):
        return np.sum(outer * infer(structure, moved, outer, assign).log_evidence)

    usage = infer(structure, scores, outer, assign).usage
    for name, array in scores.items():
        slope = np.zeros(array.shape)
        for cell in np.ndindex(array.shape):
            up, down = ({**scores, name: array + sign * H * _unit(array.shape, cell)} for sign in (1, -1))
            slope[cell] = (evidence(up) - evidence(down)) / (2 * H)
        close(usage[name], slope, NUMERICAL)


@pytest.mark.parametrize("beta", [1.0, 0.3, 2.5])
@given(seed=seeds)
def test_the_evidence_at_a_temperature_is_the_scaled_sum(beta, seed):
    """log_evidence = log(sum_k exp(beta scores)) / beta: plain at beta = 1, the best score as beta grows."""
    scores = np.random.default_rng(seed).normal(size=(4, 3))
    found = infer(Independent(), {"mix": np.zeros((1, 3)), "emit": scores}, np.ones((4, 1)), SOFT.cooled(beta))
    close(found.log_evidence[:, 0], logsumexp(beta * scores, axis=1) / beta)


@every_model()
@pytest.mark.parametrize("assign", [SOFT, HARD], ids=lambda assign: assign.mode)
@examples(4)
@given(data=st.data())
def test_statistics_give_the_gradient_of_the_loglik_in_the_parameters(entry, assign, data):
    """Fisher: d loglik(theta) = d complete(stats(theta), theta, .) at theta, along any direction."""
    case = data.draw(entry.cases)
    model = case.model
    centre = model.pack(case.params)
    assume(len(centre))
    here = case.step(assign)
    size = np.abs(centre)
    size = np.where(size < 1, np.minimum(size, 1 - size), size)  # probabilities next to 1 have little room
    direction = np.random.default_rng(0).normal(size=len(centre)) * size
    h = 1e-6 / max(1.0, np.abs(direction).max())
    up, down = (model.unpack(centre + sign * h * direction, case.params) for sign in (1, -1))
    if assign is HARD:  # at a change of assignments the objective has a kink
        assume(case.step(assign, up).expected.digest == case.step(assign, down).expected.digest)
    slope = (case.step(assign, up).loglik - case.step(assign, down).loglik) / (2 * h)
    stats = here.expected.stats
    expected = (model.complete(stats, case.params, up) - model.complete(stats, case.params, down)) / (2 * h)
    noise = 1e-15 * max(1.0, abs(here.loglik)) / h  # rounding of the objective, divided by the step
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-5 + 10 * noise)


def _unit(shape, cell):
    unit = np.zeros(shape)
    unit[cell] = 1.0
    return unit
