"""The normal distribution between limits: against integrals, scipy, and what draws must be like."""

import numpy as np
import pytest
from scipy.stats import norm, truncnorm

from halfseen.leaves.truncated import drawn, truncated

NODES, SHARES = np.polynomial.legendre.leggauss(400)
EDGES = [-1e6, -1e3, -40.0, -5.0, -0.5, 0.0, 0.3, 3.0, 50.0, 1e4]


def integrated(low, high):
    """Log-probability and moments by a rule of 400 points, about the edge where most of it lies."""
    near = low if low > 0 else high if high < 0 else 0.0
    reach = 40 / max(abs(near), 1.0)
    low, high = max(low, near - reach), min(high, near + reach)
    x = (low + high) / 2 + (high - low) / 2 * NODES
    density = SHARES * (high - low) / 2 * np.exp(-(x - near) * (x + near) / 2)
    total = density.sum()
    log = np.log(total) - near**2 / 2 - 0.5 * np.log(2 * np.pi)
    return log, (density @ x) / total, (density @ x**2) / total


@pytest.mark.parametrize("width", [1e-7, 1e-3, 0.5, 1.99, 2.01, 6.0, np.inf])
@pytest.mark.parametrize("low", EDGES)
def test_moments_are_those_of_integrals_however_far_out(low, width):
    for edges in ((low, low + width), (-low - width, -low)):
        found, known = truncated(*edges, 0.0, 1.0), integrated(*edges)
        width_kept = 1e-9 if width > 1e-5 else 4 * np.spacing(max(abs(low), 1.0)) / width  # of the edges themselves
        assert float(found.log) == pytest.approx(known[0], rel=1e-10, abs=1e-12 + width_kept)
        assert float(found.first) == pytest.approx(known[1], rel=1e-10, abs=1e-10)
        assert float(found.second) == pytest.approx(known[2], rel=1e-10)


def test_scipy_agrees_where_it_has_digits():
    rng = np.random.default_rng(0)
    low, mean, sd = rng.normal(size=40), rng.normal(size=40), rng.gamma(2.0, size=40)
    high = low + rng.gamma(2.0, size=40)
    found = truncated(low, high, mean, sd)
    np.testing.assert_allclose(found.log, np.log(norm.cdf(high, mean, sd) - norm.cdf(low, mean, sd)), atol=1e-9)
    known = truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd)
    np.testing.assert_allclose(found.first, known.mean() - mean, atol=1e-8)
    np.testing.assert_allclose(found.second - found.first**2, known.var(), atol=1e-7)


def test_the_probabilities_of_all_intervals_add_up_to_one():
    cuts = np.array([-np.inf, -30.0, -3.0, -0.1, 0.0, 1e-9, 2.0, 40.0, np.inf])
    logs = truncated(cuts[:-1], cuts[1:], 0.3, 1.7).log
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("edges", [(-np.inf, -8.0), (8.0, np.inf), (-1.0, 3.0), (100.0, 101.0), (5.0, 5.0 + 1e-9)])
def test_draws_have_the_moments_and_stay_inside(edges):
    x = drawn(*edges, 0.0, 1.0, np.random.default_rng(0).random(40_000))
    assert ((x >= edges[0]) & (x <= edges[1])).all()
    first = float(truncated(*edges, 0.0, 1.0).first)
    assert x.mean() == pytest.approx(first, abs=5 * x.std() / 200)
    assert np.isfinite(drawn(*edges, 0.0, 1.0, np.array([0.0, 1.0]))).all()
