"""Mixtures over shared densities: against mixtures that share nothing, sums over components, and the laws of EM."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from halfseen.assign import SOFT
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import ParameterError
from halfseen.leaves import Cells, Floored, Gaussian, GaussianParams
from halfseen.leaves.codebooks import Codebooks
from halfseen.leaves.leaf import frozen
from halfseen.structures.independent import Independent

BOOKS, STREAMS, WIDTH = [0, 1, 0], (2, 1), 3


def leaf_and_params(seed=0, books=BOOKS, streams=STREAMS, width=WIDTH):
    """A leaf with random parameters, none of its weights alike."""
    rng = np.random.default_rng(seed)
    n_columns, n_densities = sum(streams), (max(books) + 1) * width
    emit = Gaussian(n_densities, np.full(n_columns, 0.5), np.ones(n_columns))
    leaf = Codebooks.of(books, streams, Floored(emit, 1e-3))
    mix = rng.dirichlet(np.ones(width), len(books) * len(streams))
    mean, var = rng.normal(size=(n_densities, n_columns)), rng.uniform(0.3, 2.0, (n_densities, n_columns))
    return leaf, {"mix": frozen(mix), "emit": GaussianParams(frozen(mean), frozen(var))}, rng


def directly(leaf, params, x, state):
    """The density of a row from the formula."""
    total, first = 1.0, 0
    for f, n in enumerate(leaf.streams):
        columns = range(first, first + n)
        first += n
        parts = 0.0
        for m in range(leaf.width):
            k = leaf.books[state] * leaf.width + m
            density = np.prod(
                [
                    norm.pdf(x[d], params["emit"].mean[k, d], np.sqrt(params["emit"].var[k, d]))
                    for d in columns
                    if x[d] == x[d]
                ]
            )
            parts += params["mix"][state * len(leaf.streams) + f, m] * density
        total *= parts
    return total


def test_scores_are_sums_over_the_components_of_every_stream():
    leaf, params, rng = leaf_and_params()
    data = rng.normal(size=(7, 3))
    data[2, 1] = data[3, 2] = np.nan
    data[4] = np.nan
    scores = leaf.score(leaf.prepare(params), data, SOFT)
    expected = [[np.log(directly(leaf, params, x, s)) for s in range(3)] for x in data]
    assert_allclose(scores, expected, rtol=1e-10, atol=1e-12)


def test_more_rows_than_a_block_holds_change_nothing():
    leaf, params, rng = leaf_and_params()
    data, prepared = rng.normal(size=(1100, 3)), leaf.prepare(params)
    parts = [leaf.score(prepared, data[i : i + 100], SOFT) for i in range(0, 1100, 100)]
    assert_allclose(leaf.score(prepared, data, SOFT), np.concatenate(parts), rtol=1e-10)


def test_a_density_of_weight_zero_does_not_hide_the_others():
    leaf, params, _ = leaf_and_params(books=[0], streams=(1,), width=2)
    emit = GaussianParams(frozen([[0.0], [60.0]]), frozen([[1.0], [1.0]]))
    params = {"mix": frozen([[1.0, 0.0]]), "emit": emit}
    prepared, data = leaf.prepare(params), np.array([[60.0]])
    [[score]] = leaf.score(prepared, data, SOFT)
    assert_allclose(score, norm.logpdf(60.0), rtol=1e-12)
    stats = np.zeros(leaf.stats_shape)
    leaf.expect(np.ones((1, 1)), prepared, data, SOFT, stats)
    assert_allclose(leaf.view(stats)["mix"], [[1.0, 0.0]])


def test_densities_that_nobody_shares_are_those_of_a_mixture():
    """One stream and a codebook for each state: scores and statistics of an ordinary mixture in each state."""
    leaf, params, rng = leaf_and_params(books=[0, 1, 2], streams=(3,))
    emit = Gaussian(9, np.full(3, 0.5), np.ones(3))
    mixture = Mixture(Independent(3), {"mix": Cells(3, [WIDTH]), "emit": emit})
    data, usage = rng.normal(size=(20, 3)), rng.uniform(size=(20, 3))
    data[rng.random(data.shape) < 0.2] = np.nan
    ours, theirs = np.zeros(leaf.stats_shape), np.zeros(mixture.stats_shape)
    assert_allclose(
        leaf.score(leaf.prepare(params), data, SOFT), mixture.score(mixture.prepare(params), data, SOFT), 1e-10, 1e-12
    )
    leaf.expect(usage, leaf.prepare(params), data, SOFT, ours)
    mixture.expect(usage, mixture.prepare(params), data, SOFT, theirs)
    assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)
    found = leaf.latent(leaf.prepare(params), leaf.prepare(params), data, usage)
    expected = mixture.latent(mixture.prepare(params), mixture.prepare(params), data, usage)
    assert_allclose(found.entropy, expected.entropy, rtol=1e-9)
    assert_allclose(found.kl, 0.0, atol=1e-10)


def test_em_climbs_and_finds_the_weights_it_was_drawn_from():
    leaf, params, rng = leaf_and_params(3)
    states = np.repeat(np.arange(3), 3000)
    data, usage = leaf.sample(params, states, rng), np.eye(3)[states]
    now, trace = leaf.jitter(params, 0.3, rng), []
    for _ in range(40):
        prepared, stats = leaf.prepare(now), np.zeros(leaf.stats_shape)
        trace.append(float((leaf.score(prepared, data, SOFT) * usage).sum()))
        leaf.expect(usage, prepared, data, SOFT, stats)
        now = leaf.maximise(stats, now)
    assert (np.diff(trace) > -1e-8 * abs(trace[0])).all()
    true = float((leaf.score(leaf.prepare(params), data, SOFT) * usage).sum())
    assert trace[0] < true - 50
    assert trace[-1] > true - 20


def test_statistics_are_the_gradient_of_the_scores():
    """By Fisher's identity the slope of `complete` at the parameters is that of the log-likelihood."""
    leaf, params, rng = leaf_and_params(1)
    data, usage = rng.normal(size=(15, 3)), rng.uniform(size=(15, 3))
    stats = np.zeros(leaf.stats_shape)
    leaf.expect(usage, leaf.prepare(params), data, SOFT, stats)
    slope, at, h = leaf.slope(stats, params), leaf.free(params), 1e-6
    for i in rng.choice(len(at), 25, replace=False):
        up, down = at.copy(), at.copy()
        up[i] += h
        down[i] -= h
        ends = [
            float((leaf.score(leaf.prepare(leaf.freed(each, params)), data, SOFT) * usage).sum()) for each in (up, down)
        ]
        assert_allclose(slope[i], (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["take", "reorder", "pool"])
def test_states_stay_with_their_codebooks(method):
    leaf, params, _ = leaf_and_params()
    with pytest.raises(ParameterError, match=f"Codebooks does not implement `{method}`"):
        getattr(leaf, method)(params, np.arange(3))
