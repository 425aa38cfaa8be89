"""Imputation as inference: proper draws, a scikit-learn transformer, and Rubin's rules."""

import pickle
from copy import copy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import halfseen as hs
from halfseen.errors import ParameterError
from halfseen.inference.imputer import bootstrap_weights


@pytest.mark.thorough
@parametrize_with_checks(
    [
        hs.Imputer(hs.LatentClass(2), draws=2, random_state=0),
        hs.Imputer(hs.GaussianMixture(1, prior="row"), draws=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def birds():
    return hs.load_penguins()[["island", "bill_length_mm", "body_mass_g", "sex"]]


@pytest.fixture(scope="module")
def imputer(birds):
    return hs.Imputer(hs.LatentClass(2, n_init=2), draws=4, random_state=0).fit(birds)


def test_transform_is_single_imputation(imputer, birds):
    filled = imputer.transform(birds)
    pd.testing.assert_frame_equal(filled, imputer.model_.impute(birds))
    assert not filled.isna().any().any()
    assert list(imputer.get_feature_names_out()) == list(birds.columns)
    assert imputer.n_features_in_ == 4


def test_observed_cells_stay_and_draws_differ(imputer, birds):
    tables = list(imputer.multiple(birds))
    assert len(tables) == 4
    for table in tables:
        assert not table.isna().any().any()
        pd.testing.assert_frame_equal(table.where(birds.notna()), birds, check_dtype=False)
    holes = birds["body_mass_g"].isna()
    drawn = np.array([table.loc[holes, "body_mass_g"] for table in tables])
    assert (drawn.std(axis=0) > 0).all()


def test_same_seed_same_tables_and_the_first_of_more(birds):
    model = hs.LatentClass(2, n_init=2)
    one = hs.Imputer(model, draws=2, random_state=3).fit(birds)
    more = hs.Imputer(model, draws=3, random_state=3).fit(birds)
    for a, b in zip(one.multiple(birds), more.multiple(birds, m=2), strict=True):
        pd.testing.assert_frame_equal(a, b)
    again = pickle.loads(pickle.dumps(one))
    pd.testing.assert_frame_equal(next(again.multiple(birds)), next(one.multiple(birds)))
    assert clone(one).get_params()["draws"] == 2
    assert model.random_state is None  # what was given is not changed


def test_the_parameters_of_draws_spread_as_standard_errors_say():
    """With one component and nothing missing: the mean has the standard error s / sqrt(N), the share of yes p q / N."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(5, 2, size=400), "c": np.where(rng.random(400) < 0.3, "yes", "no")})
    imputer = hs.Imputer(hs.LatentClass(1, prior=None), draws=300, random_state=0).fit(X)
    means, shares = [], []
    for params in imputer._params:
        model = hs.LatentClass(1, prior=None, random_state=0)
        model.__dict__.update(imputer.model_.__dict__, _params=params)
        means.append(model.params_["x"]["mean"][0])
        shares.append(model.params_["c"]["yes"][0])
    p = (X["c"] == "yes").mean()
    assert np.std(means) == pytest.approx(X["x"].std() / 20, rel=0.15)  # 300 draws: 4 % standard error
    assert np.std(shares) == pytest.approx(np.sqrt(p * (1 - p) / 400), rel=0.15)
    assert np.mean(means) == pytest.approx(X["x"].mean(), abs=0.03)


def test_draws_of_cells_spread_as_the_conditional_says():
    """A missing y given x: normal with the variance of the residual, plus that of the parameters."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=500)
    y = 2 * x + rng.normal(scale=0.5, size=500)
    y[:250] = np.nan
    X = np.column_stack([x, y])
    imputer = hs.Imputer(hs.GaussianMixture(1), draws=40, random_state=0).fit(X)
    drawn = np.array([table[:250, 1] for table in imputer.multiple(X)])
    residual = drawn - 2 * x[:250]
    assert residual.std() == pytest.approx(0.5, rel=0.1)
    assert np.corrcoef(drawn.ravel(), np.tile(x[:250], 40))[0, 1] > 0.9


def test_every_table_has_its_own_parameters():
    """With no noise around y = a + b x, all that differs between tables are the parameters."""
    x = np.linspace(-1, 1, 60)
    y = x**2  # the line through it depends on the weights of the rows
    y[::3] = np.nan
    X = np.column_stack([x, y])
    imputer = hs.Imputer(hs.GaussianMixture(1), draws=3, random_state=0).fit(X)
    for d, table in enumerate(imputer.multiple(X)):
        model = copy(imputer.model_)
        fixed = model.impute(X, draw=True, random_state=np.random.default_rng(imputer._seed(1, d)))
        model._params = imputer._params[d]
        own = model.impute(X, draw=True, random_state=np.random.default_rng(imputer._seed(1, d)))
        assert_array_equal(table, own)
        assert not np.allclose(table, fixed, atol=0.01)


def test_weights_of_the_bayesian_bootstrap():
    weight = np.array([1.0, 2.0, 5.0])
    drawn = np.array([bootstrap_weights(weight, np.random.default_rng(i)) for i in range(4000)])
    assert (drawn > 0).all()
    assert_allclose(drawn.sum(axis=1), 8.0)
    assert_allclose(drawn.mean(axis=0), weight, rtol=0.05)
    share = weight / 8
    assert_allclose((drawn / 8).var(axis=0), share * (1 - share) / 9, rtol=0.1)  # Dirichlet


def test_frequencies_are_repetitions():
    X = pd.DataFrame({"x": [1.0, 2.0, 4.0, np.nan], "c": ["a", "b", None, "a"]})
    weighted = hs.Imputer(hs.LatentClass(1), draws=0).fit(X, sample_weight=[3, 1, 2, 1])
    repeated = hs.Imputer(hs.LatentClass(1), draws=0).fit(X.iloc[[0, 0, 0, 1, 2, 2, 3]])
    pd.testing.assert_frame_equal(weighted.transform(X), repeated.transform(X))


def test_rows_of_weight_zero_are_absent(birds):
    weight = np.ones(len(birds))
    weight[:50] = 0
    a = hs.Imputer(hs.LatentClass(2, n_init=2), draws=1, random_state=0).fit(birds, sample_weight=weight)
    b = hs.Imputer(hs.LatentClass(2, n_init=2), draws=1, random_state=0).fit(birds[50:])
    new = birds[50:60]
    pd.testing.assert_frame_equal(next(a.multiple(new)), next(b.multiple(new)))


def test_in_a_pipeline_and_with_set_output(birds):
    numbers = birds[["bill_length_mm", "body_mass_g"]]
    known = birds["sex"].notna()
    pipeline = make_pipeline(
        hs.Imputer(hs.GaussianMixture(1), draws=0, random_state=0), LogisticRegression(max_iter=500)
    )
    pipeline.fit(numbers[known], birds.loc[known, "sex"])
    assert pipeline.score(numbers[known], birds.loc[known, "sex"]) > 0.6
    array = numbers.to_numpy()
    imputer = hs.Imputer(hs.GaussianMixture(1), draws=0, random_state=0).set_output(transform="pandas").fit(array)
    found = imputer.transform(array)
    assert isinstance(found, pd.DataFrame)
    assert_array_equal(found.columns, ["x0", "x1"])


def test_polars_comes_back_as_polars(birds):
    pl = pytest.importorskip("polars")
    frame = pl.from_pandas(birds)
    table = next(hs.Imputer(hs.LatentClass(1), draws=1, random_state=0).fit(frame).multiple(frame))
    assert isinstance(table, pl.DataFrame)
    assert table.null_count().sum_horizontal().item() == 0


def test_wrong_use_is_explained(birds, imputer):
    with pytest.raises(ParameterError, match=r"give a model such as LatentClass\(3\).*not KMeans"):
        hs.Imputer(hs.KMeans(2)).fit(birds)
    with pytest.raises(ParameterError, match="not LatentClass"):
        hs.Imputer(hs.LatentClass).fit(birds)
    with pytest.raises(ParameterError, match="draws=-1"):
        hs.Imputer(hs.LatentClass(2), draws=-1).fit(birds)
    with pytest.raises(ParameterError, match=r"m=9: the parameters were drawn 4 times\. Set draws="):
        imputer.multiple(birds, m=9)
    with pytest.raises(ParameterError, match="m=0"):
        imputer.multiple(birds, m=0)


# ---- pooling ---------------------------------------------------------------------------------------------------------


def test_rubins_rules_by_hand():
    """M = 3 tables: within 4, between 1; degrees of freedom of Barnard and Rubin with 20 in a complete table."""
    found = hs.pool([1.0, 2.0, 3.0], [3.0, 4.0, 5.0], df=20)
    total = 4 + 4 / 3
    lost = (4 / 3) / total
    old, observed = 2 / lost**2, 21 / 23 * 20 * (1 - lost)
    df = old * observed / (old + observed)
    r = (4 / 3) / 4
    assert found.estimate == pytest.approx([2.0])
    assert found.se == pytest.approx([np.sqrt(total)])
    assert found.df == pytest.approx([df])
    assert found.missing_information == pytest.approx([(r + 2 / (df + 3)) / (r + 1)])
    assert found.low == pytest.approx([2 - t.ppf(0.975, df) * np.sqrt(total)])
    assert found.high == pytest.approx([2 + t.ppf(0.975, df) * np.sqrt(total)])
    assert hs.pool([1.0, 2.0, 3.0], [3.0, 4.0, 5.0]).df == pytest.approx([old])


def test_nothing_missing_pools_to_the_complete_table():
    found = hs.pool([[2.0, 5.0]] * 4, [[0.25, 1.0]] * 4)
    assert_array_equal(found.df, np.inf)
    assert_array_equal(found.missing_information, 0.0)
    assert_allclose(found.high - found.estimate, 1.959964 * np.array([0.5, 1.0]), rtol=1e-6)
    assert hs.pool([2.0] * 4, [0.25] * 4, df=10).df == pytest.approx([11 / 13 * 10])
    assert list(found.to_frame().columns)[:4] == ["estimate", "se", "low", "high"]


def test_pool_refuses_what_it_cannot_pool():
    with pytest.raises(ParameterError, match="at least two"):
        hs.pool([1.0], [1.0])
    with pytest.raises(ParameterError, match="must be numbers"):
        hs.pool("a", "b")
    with pytest.raises(ParameterError, match="differ in shape"):
        hs.pool([1.0, 2.0], [[1.0, 1.0]] * 2)
    with pytest.raises(ParameterError, match="below 0"):
        hs.pool([1.0, 2.0], [1.0, -1.0])
    with pytest.raises(ParameterError, match="finite numbers"):
        hs.pool([1.0, np.nan], [1.0, 1.0])
    with pytest.raises(ParameterError, match="level=2"):
        hs.pool([1.0, 2.0], [1.0, 1.0], level=2)


@pytest.mark.slow
def test_several_draws_cover_where_one_does_not():
    """A small run of benchmarks/multiple_imputation.py: 95 % intervals for a mean with values missing at random."""
    from benchmarks.multiple_imputation import intervals, made

    rng = np.random.default_rng(0)
    found = [intervals(made(rng, 200), 20, seed) for seed in range(150)]
    rates = {way: np.mean([each[way][0] <= 0 <= each[way][1] for each in found]) for way in found[0]}
    assert rates["drawn, refitted"] > 0.88  # three standard errors below 95 %
    assert rates["filled once"] < 0.85
    assert rates["complete rows"] < 0.5
