"""HMM with every covariance type: shapes, starts, priors, holes, use; and failures reported of other tools."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import halfseen as hs
from halfseen.errors import CollapseWarning, ParameterError

SHAPES = ["full", "tied", "diag", "spherical"]
START, TRANS = np.array([0.6, 0.4]), np.array([[0.9, 0.1], [0.2, 0.8]])
MEANS = np.array([[0.0, 1.0, 0.0], [3.0, -1.0, 2.0]])
FULL = np.array(
    [[[1.0, 0.6, 0.2], [0.6, 1.5, 0.0], [0.2, 0.0, 0.8]], [[0.7, -0.4, 0.0], [-0.4, 1.0, 0.3], [0.0, 0.3, 1.2]]]
)
COVARIANCES = {
    "full": FULL,
    "tied": FULL[0],
    "diag": np.diagonal(FULL, axis1=1, axis2=2),
    "spherical": np.array([0.8, 1.3]),
}
N_COVARIANCES = {"full": 2 * 6, "tied": 6, "diag": 2 * 3, "spherical": 2}
each_shape = pytest.mark.parametrize("shape", SHAPES)


def truth(shape="full"):
    return hs.HMM.from_params(START, TRANS, means=MEANS, covariances=COVARIANCES[shape], covariance_type=shape)


def squares(shape):
    """Return the covariances of a type as (K, D, D)."""
    given = COVARIANCES[shape]
    if shape == "spherical":
        given = np.repeat(given[:, None], 3, axis=1)
    return given[:, :, None] * np.eye(3) if given.shape == (2, 3) else np.broadcast_to(given, (2, 3, 3))


def drawn(shape="full", n_steps=400, holes=0.0, seed=0):
    X, states = truth(shape).sample(lengths=[n_steps // 4] * 4, random_state=seed)
    X[np.random.default_rng(seed).random(X.shape) < holes] = np.nan
    return X, states, [n_steps // 4] * 4


# ---- what is in it --------------------------------------------------------------------------------------------------


@each_shape
def test_shapes_and_parameters_are_those_of_the_type(shape):
    X, _, lengths = drawn(shape)
    model = hs.HMM(2, covariance_type=shape, n_init=2, random_state=0).fit(X, lengths)
    assert model.covariance_type_ == shape
    assert model.means_.shape == (2, 3)
    assert model.covars_.shape == COVARIANCES[shape].shape
    assert model.n_parameters_ == 1 + 2 + 6 + N_COVARIANCES[shape]
    model = model.match_to(truth(shape))
    assert_allclose(model.covars_, COVARIANCES[shape], atol=0.45)
    assert_allclose(model.means_, MEANS, atol=0.35)
    assert_allclose(model.relabel([1, 0]).score(X, lengths), model.loglik_)


@each_shape
def test_shapes_of_mixtures_have_an_axis_more(shape):
    X, _, lengths = drawn(shape, holes=0.1)
    how = {"covariance_type": shape, "n_mix": 2, "n_init": 1, "max_iter": 5, "stop": "iterations", "random_state": 0}
    model = hs.HMM(2, prior="row", **how).fit(X, lengths)
    given = COVARIANCES[shape]
    expected = given.shape if shape == "tied" else (2, 2, *given.shape[1:])
    assert model.means_.shape == (2, 2, 3)
    assert model.covars_.shape == expected
    how |= {"start": {**model.params_, "means": model.means_, "covariances": model.covars_}, "max_iter": 1}
    again = hs.HMM(2, prior="row", **how).fit(X, lengths)
    assert_allclose(again.loglik_, model.loglik_)
    assert again.relabel([1, 0]).covars_.shape == expected
    assert_allclose(again.relabel([1, 0]).score(X, lengths), model.loglik_)


@each_shape
def test_parameters_are_a_start(shape):
    X, _, lengths = drawn(shape, holes=0.1)
    model = hs.HMM(2, covariance_type=shape, n_init=2, random_state=0).fit(X, lengths)
    how = {"covariance_type": shape, "n_init": 1, "max_iter": 1, "stop": "iterations"}
    for start in (model.params_, {**model.params_, "means": model.means_, "covariances": model.covars_}):
        assert_allclose(hs.HMM(2, start=start, **how).fit(X, lengths).loglik_, model.loglik_)
    other = hs.HMM(2, start={**model.params_, "means": model.means_ + 1}, **how).fit(X, lengths)
    assert_allclose(other.means_, model.means_ + 1)


def test_one_column_has_no_covariances():
    X = drawn()[0][:, 0]
    found = {shape: hs.HMM(2, covariance_type=shape, n_init=2, random_state=0).fit(X) for shape in SHAPES}
    assert found["full"].loglik_ == found["diag"].loglik_
    assert_allclose(found["spherical"].loglik_, found["diag"].loglik_)
    assert found["tied"].loglik_ < found["diag"].loglik_  # one variance for all states is less
    assert [found[shape].covars_.shape for shape in SHAPES] == [(2, 1, 1), (1, 1), (2, 1), (2,)]
    assert found["full"].n_parameters_ == found["diag"].n_parameters_ == 1 + 2 + 4
    assert "covariances" not in found["full"].params_


@pytest.mark.parametrize("emission", ["categorical", "poisson"])
def test_without_numbers_every_type_is_the_same(emission):
    X = np.random.default_rng(0).integers(0, 3, (60, 2))
    found = [
        hs.HMM(2, emission, covariance_type=shape, n_init=1, max_iter=5, stop="iterations", random_state=0).fit(X)
        for shape in SHAPES
    ]
    assert len({model.loglik_ for model in found}) == 1
    with pytest.raises(AttributeError, match="no single block of gaussian columns"):
        _ = found[0].covars_
    with pytest.raises(ParameterError, match="'means' has no meaning: no column of numbers is free"):
        hs.HMM(2, emission, start={"means": np.zeros((2, 2))}).fit(X)


def test_a_column_of_that_name_is_a_column():
    frame = pd.DataFrame(drawn()[0], columns=["means", "b", "covariances"])
    start = {"means": {"mean": [0, 3], "sd": [1, 1]}}
    model = hs.HMM(2, start=start, fixed=["means"], n_init=1, random_state=0).fit(frame)
    assert model.params_["means"]["mean"].tolist() == [0, 3]
    assert set(model.params_) == {"startprob", "transmat", "means", "b", "covariances"}


# ---- against sums over all paths ------------------------------------------------------------------------------------


def every_path(X, shape):
    """Return the log-probabilities of all paths of a sequence, from densities of the observed cells alone."""
    emit = np.zeros((len(X), 2))
    for t, k in np.ndindex(emit.shape):
        seen = ~np.isnan(X[t])
        if seen.any():
            cov = squares(shape)[k][np.ix_(seen, seen)]
            emit[t, k] = multivariate_normal.logpdf(X[t, seen], MEANS[k, seen], cov)
    paths = np.array(list(itertools.product([0, 1], repeat=len(X))))
    joint = np.log(START)[paths[:, 0]] + np.log(TRANS)[paths[:, :-1], paths[:, 1:]].sum(axis=1)
    return paths, joint + emit[np.arange(len(X)), paths].sum(axis=1)


@each_shape
def test_scores_states_and_paths_are_those_of_all_paths(shape):
    X, _, _ = drawn(shape, 24, holes=0.3)
    X = X[:6]
    X[2] = np.nan  # and a whole step
    model, (paths, joint) = truth(shape), every_path(X, shape)
    chances = np.exp(joint - logsumexp(joint))
    assert_allclose(model.score(X), logsumexp(joint), rtol=1e-10)
    assert_allclose(model.predict_proba(X)[:, 1], chances @ paths, rtol=1e-9)
    assert model.predict(X).tolist() == paths[joint.argmax()].tolist()
    assert_allclose(model.decode(X).log_probability, joint.max(), rtol=1e-10)


@each_shape
def test_one_step_is_the_mean_over_all_paths(shape):
    """Complete rows: weighted means and scatters; the types differ in what of the scatters they keep."""
    X = drawn(shape, 24)[0][:6]
    paths, joint = every_path(X, shape)
    chances = np.exp(joint - logsumexp(joint))
    usage = np.stack([chances @ (paths == k) for k in (0, 1)], axis=1)
    start = {"startprob": START, "transmat": TRANS, "means": MEANS, "covariances": COVARIANCES[shape]}
    how = {"covariance_type": shape, "n_init": 1, "max_iter": 2, "stop": "iterations", "accelerate": False}
    model = hs.HMM(2, start=start, variance_floor=0.0, **how).fit(X)
    means = usage.T @ X / usage.sum(axis=0)[:, None]
    scatter = np.stack([(usage[:, k, None] * (X - means[k])).T @ (X - means[k]) for k in (0, 1)])
    each = scatter / usage.sum(axis=0)[:, None, None]
    variances = np.diagonal(each, axis1=1, axis2=2)
    truths = {"full": each, "tied": scatter.sum(axis=0) / 6, "diag": variances, "spherical": variances.mean(axis=1)}
    assert_allclose(model.means_, means, rtol=1e-8)
    assert_allclose(model.covars_, truths[shape], rtol=1e-8, atol=1e-10)


# ---- fits -----------------------------------------------------------------------------------------------------------


@each_shape
@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
def test_states_are_found_again(assign, shape):
    X, states, lengths = drawn(shape, 800, holes=0.1)
    model = hs.HMM(2, covariance_type=shape, assign=assign, n_init=3, max_iter=40, random_state=0).fit(X, lengths)
    model = model.match_to(truth(shape))
    assert (model.predict(X, lengths) == states).mean() > 0.9
    assert_allclose(model.means_, MEANS, atol=0.4)


def test_types_and_numbers_of_states_are_chosen_together():
    X, _, lengths = drawn("full", 800)
    model = hs.HMM([1, 2], covariance_type=["diag", "full", "tied"], n_init=2, random_state=0).fit(X, lengths)
    assert (model.covariance_type_, model.n_components_) == ("full", 2)
    table = model.selection_
    assert table["covariance"].tolist() == ["diag", "diag", "full", "full", "tied", "tied"]
    assert table["chosen"].tolist() == [False, False, False, True, False, False]
    assert_allclose(table["bic"][3], model.bic())
    assert model.covars_.shape == (2, 3, 3)


@each_shape
@pytest.mark.parametrize("kept", ["means", "covariances"])
def test_what_is_fixed_stays_to_the_bit(kept, shape):
    X, _, lengths = drawn(shape)
    start = {"means": MEANS + 0.1, "covariances": 1.1 * COVARIANCES[shape]}
    how = {"start": start, "fixed": [kept], "n_init": 1, "random_state": 0}
    model = hs.HMM(2, covariance_type=shape, **how).fit(X, lengths)
    values = {"means": model.means_, "covariances": model.covars_}
    assert_array_equal(values.pop(kept), start[kept])
    [(moved, value)] = values.items()
    assert not np.allclose(value, start[moved], rtol=1e-6)
    free = 1 + 2 + (N_COVARIANCES[shape] if kept == "means" else 6)
    assert model.n_parameters_ == free


@each_shape
def test_columns_fixed_or_tied_one_by_one_are_independent(shape):
    X, _, lengths = drawn()
    start = {"x0": {"mean": [0, 3], "sd": [1, 1]}}
    how = {"covariance_type": shape, "start": start, "n_init": 1, "random_state": 0}
    model = hs.HMM(2, fixed=["x0"], **how).fit(X, lengths)
    assert model.params_["x0"]["mean"].tolist() == [0, 3]
    assert model.params_["x0"]["sd"].tolist() == [1, 1]
    alike = hs.HMM(2, tied=["x2"], **how).fit(X, lengths)
    assert alike.params_["x2"]["mean"][0] == alike.params_["x2"]["mean"][1]
    again = hs.HMM(2, tied=["x2"], **{**how, "start": alike.params_}, max_iter=1, stop="iterations").fit(X, lengths)
    assert_allclose(again.loglik_, alike.loglik_)


@each_shape
def test_with_all_states_known_estimates_are_those_of_the_rows(shape):
    X, states, lengths = drawn(shape)
    model = hs.HMM(2, covariance_type=shape, n_init=1).fit(X, lengths, labels=states)
    parts = [X[states == k] for k in (0, 1)]
    each = np.stack([np.cov(part.T, bias=True) for part in parts])
    variances = np.diagonal(each, axis1=1, axis2=2)
    pooled = sum(len(part) * cov for part, cov in zip(parts, each, strict=True)) / len(X)
    truths = {"full": each, "tied": pooled, "diag": variances, "spherical": variances.mean(axis=1)}
    assert_allclose(model.means_, [part.mean(axis=0) for part in parts])
    assert_allclose(model.covars_, truths[shape], atol=1e-12)


def test_the_prior_is_pseudo_rows_about_the_mean():
    X = drawn("full", 40)[0]
    model = hs.HMM(1, prior=5.0, n_init=1).fit(X)
    scatter = len(X) * np.cov(X.T, bias=True)
    assert_allclose(model.covars_[0], (scatter + 5.0 * np.diag(X.var(axis=0))) / (len(X) + 5.0), rtol=1e-6)
    assert_allclose(model.means_[0], X.mean(axis=0))


@pytest.mark.parametrize("shape", ["full", "tied"])
def test_the_number_of_threads_does_not_change_a_bit(shape):
    X, _, lengths = drawn(shape, 9000, holes=0.05)
    how = {"covariance_type": shape, "n_init": 1, "max_iter": 3, "stop": "iterations", "random_state": 0}
    one, two = (hs.HMM(2, n_jobs=n_jobs, **how).fit(X, lengths) for n_jobs in (1, 2))
    assert one.loglik_ == two.loglik_
    assert_array_equal(one.covars_, two.covars_)


# ---- use ------------------------------------------------------------------------------------------------------------


@each_shape
def test_draws_have_the_moments_of_their_states(shape):
    X, states = truth(shape).sample(20_000, random_state=1)
    for k in (0, 1):
        assert_allclose(X[states == k].mean(axis=0), MEANS[k], atol=0.06)
        assert_allclose(np.cov(X[states == k].T), squares(shape)[k], atol=0.08)


@each_shape
def test_forecasts_and_tables_read_the_diagonal(shape):
    model, X = truth(shape), drawn(shape, 40)[0]
    ahead = model.forecast(X, steps=2)
    share, variances = ahead.states[0, 1], np.diagonal(squares(shape), axis1=1, axis2=2)
    for d in range(3):
        mean = share @ MEANS[:, d]
        found = ahead.observations[f"x{d}"]
        assert_allclose(found["mean"][0, 1], mean)
        assert_allclose(found["sd"][0, 1] ** 2, share @ (variances[:, d] + MEANS[:, d] ** 2) - mean**2)
    table = model.to_frame()
    sds = table[(table["kind"] == "gaussian") & (table["value"] == "sd")][["state 0", "state 1"]]
    assert_allclose(sds.to_numpy().T, np.sqrt(variances))
    assert "x0" in model.describe()
    assert_allclose(model.filter(X)[-1], model.predict_proba(X)[-1])


@each_shape
def test_timelines(shape):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    model, X = truth(shape), drawn(shape, 40, holes=0.2)[0]
    ax = hs.plot_timeline(model, X)
    assert_allclose(ax.patches[0].get_data().values, model.predict_proba(X)[:, 0])
    pyplot.close("all")


def test_models_from_parameters_have_other_columns_too():
    model = hs.HMM.from_params(
        START, TRANS, {"mood": {"low": [0.9, 0.2], "high": [0.1, 0.8]}}, means=MEANS, covariances=FULL
    )
    assert list(model.columns_) == ["x0", "x1", "x2", "mood"]
    row = pd.DataFrame([[0.5, None, 0.1, "high"]], columns=list(model.columns_))
    seen = [0, 2]
    parts = [multivariate_normal.pdf([0.5, 0.1], MEANS[k, seen], FULL[k][np.ix_(seen, seen)]) for k in (0, 1)]
    assert_allclose(np.exp(model.score(row)), START @ (np.array(parts) * [0.1, 0.8]))
    for wrong, said in [
        ({"means": MEANS}, "must be given together"),
        ({"means": MEANS, "covariances": FULL[0]}, r"covariances: expected shape \(2, 3, 3\), got \(3, 3\)"),
        ({"means": MEANS[:1], "covariances": FULL}, r"means: expected shape \(2, 3\)"),
        ({"means": MEANS, "covariances": FULL, "covariance_type": "round"}, "covariance_type='round'"),
        ({"columns": {"x0": {"a": [1, 1]}}, "means": MEANS, "covariances": FULL}, r"columns\['x0'\]"),
    ]:
        with pytest.raises(ParameterError, match=said):
            hs.HMM.from_params(START, TRANS, **wrong)


# ---- failures of others ---------------------------------------------------------------------------------------------


@each_shape
def test_a_constant_segment_and_a_column_that_is_constant_in_one_state(shape):
    """dynamax#316, sklearn#24732: a state that fits it has no variance, and it is said."""
    X, states, lengths = drawn()
    X[states == 1, 0] = 3.0
    X[50:60] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        model = hs.HMM(2, covariance_type=shape, n_init=3, random_state=0).fit(X, lengths)
    assert np.isfinite(model.loglik_)
    assert np.isfinite(model.predict_proba(X, lengths)).all()
    smooth = hs.HMM(2, covariance_type=shape, prior=1.0, n_init=2, random_state=0).fit(X, lengths)
    assert not any("collapsed" in event for event in smooth.events_)


@each_shape
def test_the_place_and_the_unit_of_numbers_change_nothing(shape):
    """sklearn#5349: large offset, tiny spread; hmmlearn#365: small variances swamped by a fixed prior."""
    X, _, lengths = drawn(shape)
    means, given = np.stack([MEANS - 0.5, MEANS + 0.5], axis=1), COVARIANCES[shape]
    given = given if shape == "tied" else np.stack([given, 1.2 * given], axis=1)

    def fit(place, unit):
        start = {"startprob": START, "transmat": TRANS, "mixture": [[0.5, 0.5], [0.4, 0.6]]}
        start |= {"means": place + unit * means, "covariances": unit**2 * given}
        how = {"n_init": 1, "max_iter": 30, "stop": "iterations", "accelerate": False, "prior": "row"}
        return hs.HMM(2, covariance_type=shape, n_mix=2, start=start, **how).fit(place + unit * X, lengths)

    plain, small, far = fit(0.0, 1.0), fit(0.0, 1e-6), fit(1e6, 1.0)
    assert_allclose(small.loglik_, plain.loglik_ + X.size * np.log(1e6), rtol=1e-9)
    assert_allclose(1e12 * small.covars_, plain.covars_, rtol=1e-7, atol=1e-8)
    assert_allclose(far.loglik_, plain.loglik_, rtol=1e-7)  # 1e6 + x has lost six digits of x
    assert_allclose(far.covars_, plain.covars_, rtol=1e-5, atol=1e-6)


@each_shape
def test_a_state_that_is_never_visited_keeps_its_parameters(shape):
    """hmmlearn#169, #285: rows of zeros and NaN."""
    X, _, lengths = drawn(shape)
    given = COVARIANCES[shape]
    start = {
        "startprob": [0.5, 0.5, 0.0],
        "means": np.vstack([MEANS, [9.0, 9.0, 9.0]]),
        "covariances": given if shape == "tied" else np.concatenate([given, given[:1]]),
    }
    allowed = np.array([[1, 1, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
    model = hs.HMM(3, covariance_type=shape, transitions=allowed, start=start, n_init=1).fit(X, lengths)
    assert_allclose(model.transmat_.sum(axis=1), 1)
    assert model.means_[2].tolist() == [9, 9, 9]
    if shape != "tied":
        assert_allclose(model.covars_[2], given[0], rtol=1e-14)
    assert any("without any expected steps" in event for event in model.events_)
    assert np.isfinite(model.score(X, lengths))


@each_shape
@pytest.mark.parametrize("n_mix", [1, 2])
def test_twice_the_same_is_weight_two(n_mix, shape):
    """hmmlearn#410, #377, #455: with mixtures as emissions, statistics were those of the last sequence alone."""
    X, Y = np.split(drawn(shape, 200, holes=0.1)[0], 2)
    how = {"covariance_type": shape, "n_mix": n_mix, "n_init": 1, "max_iter": 12, "prior": 1.0, "random_state": 0}
    twice, heavy = hs.HMM(2, stop="iterations", **how), hs.HMM(2, stop="iterations", **how)
    twice.fit([X, Y, X, Y]), heavy.fit([X, Y], sample_weight=[2, 2])
    assert_allclose(twice.loglik_, heavy.loglik_, rtol=1e-8)
    assert_allclose(twice.transmat_, heavy.transmat_, rtol=1e-5)
    assert_allclose(twice.covars_, heavy.covars_, rtol=1e-5, atol=1e-6)


def test_a_hundred_thousand_steps_and_one_outlier():
    """statsmodels#4125, mlpack#160, a question about RHmm: filters in linear space return 0 or NaN."""
    same = hs.HMM.from_params(START, [START, START], means=MEANS, covariances=FULL)
    mixture = hs.GaussianMixture.from_params(START, MEANS, FULL)
    X = np.random.default_rng(0).normal(size=(100_000, 3))
    X[5000] = 100.0
    assert_allclose(same.score(X), mixture.score(X) * len(X), rtol=1e-10)
    fitted = hs.HMM(2, n_init=1, max_iter=3, stop="iterations", prior=0.1, random_state=0).fit(X[:10_000])
    assert np.isfinite(fitted.loglik_)
    assert_allclose(fitted.score(X[:10_000]), fitted.loglik_, rtol=1e-9)


@each_shape
def test_sequences_of_one_step_are_a_mixture(shape):
    """pomegranate#1049, #1023, latrend#94."""
    X, _, _ = drawn(shape, 200)
    chain = hs.HMM(2, covariance_type=shape, random_state=0, n_init=4).fit(X, [1] * 200)
    mixture = hs.GaussianMixture(2, covariance_type=shape, n_init=4, random_state=0).fit(X)
    assert_allclose(chain.loglik_, mixture.loglik_, atol=1e-3)
    unequal = hs.HMM(2, covariance_type=shape, random_state=0, n_init=2).fit(X, [1, 2, 7, 90, 100])
    assert np.isfinite(unequal.loglik_)
