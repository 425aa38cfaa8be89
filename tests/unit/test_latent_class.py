"""LatentClass: every method, every fitted attribute, every option, and what is said when one of them makes no sense."""

import warnings
from copy import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import norm, poisson
from sklearn.exceptions import ConvergenceWarning

import halfseen as hs
from halfseen.engine.loop import search
from halfseen.errors import (
    DataError,
    FitError,
    ImpossibleRowWarning,
    InterruptedWarning,
    ParameterError,
    UnknownCategoryWarning,
)

N = 150


@pytest.fixture(scope="module")
def table():
    """Three hidden kinds of customer behind text, flags, numbers and counts, with holes."""
    rng = np.random.default_rng(0)
    hidden = rng.choice(3, N, p=[0.5, 0.3, 0.2])
    frame = pd.DataFrame(
        {
            "city": np.array(["Rome", "Oslo", "Lima"])[np.where(rng.random(N) < 0.85, hidden, rng.integers(0, 3, N))],
            "member": (rng.random(N) < np.array([0.9, 0.2, 0.5])[hidden]).astype(object),
            "spend": rng.normal(np.array([1.0, 5.0, 9.0])[hidden]),
            "visits": rng.poisson(np.array([2.0, 9.0, 30.0])[hidden]).astype(float),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.12)


POISSON = {"visits": "poisson"}


def fitted(X, n_components=3, **options):
    """Few starts and a fixed seed: quick, and the same every time."""
    fit = {key: options.pop(key) for key in ("labels", "classes", "unlabeled", "sample_weight") if key in options}
    return hs.LatentClass(n_components, **{"n_init": 4, "random_state": 0} | options).fit(X, **fit)


@pytest.fixture(scope="module")
def model(table):
    return fitted(table, columns=POISSON)


def cells(model, column):
    """Parameters of a column as an array, one row per category or number, one column per class."""
    frame = model.to_frame()
    return frame.loc[frame["column"] == column, list(model.class_names_)].to_numpy()


GIVEN = {
    "city": {"Lima": [0.2, 0.6], "Oslo": [0.3, 0.4], "Rome": [0.5, 0.0]},
    "spend": {"mean": [0.0, 4.0], "sd": [1.0, 2.0]},
    "visits": {"rate": [1.0, 5.0]},
}


@pytest.fixture
def given():
    """A small model made by hand."""
    return hs.LatentClass.from_params([0.25, 0.75], GIVEN)


# ------------------------------------------------------------------------------------- rows in, answers out, by formula

ROWS = [["Lima", 1.0, 2.0], ["Rome", None, 0.0], [None, 3.5, None], [None, None, None]]


def by_formula(rows):
    """Log of weights[k] prod_d p(x[d] | k), (N, K), with the observed columns only."""
    joint = np.tile(np.log([0.25, 0.75]), (len(rows), 1))
    for n, (city, spend, visits) in enumerate(rows):
        if city is not None:
            with np.errstate(divide="ignore"):
                joint[n] += np.log(GIVEN["city"][city])
        if spend is not None:
            joint[n] += norm.logpdf(spend, GIVEN["spend"]["mean"], GIVEN["spend"]["sd"])
        if visits is not None:
            joint[n] += poisson.logpmf(visits, GIVEN["visits"]["rate"])
    return joint


def test_score_samples_is_the_log_of_the_mixture(given):
    assert_allclose(given.score_samples(ROWS), logsumexp(by_formula(ROWS), axis=1), rtol=1e-12, atol=1e-15)
    assert abs(given.score_samples(ROWS)[-1]) < 1e-15  # nothing observed: log 1, to the rounding of the shares


def test_predict_proba_is_bayes_rule(given):
    joint = by_formula(ROWS)
    assert_allclose(given.predict_proba(ROWS), np.exp(joint - logsumexp(joint, axis=1, keepdims=True)), rtol=1e-12)


def test_predict_is_the_most_probable_class(given):
    assert_array_equal(given.predict(ROWS), given.predict_proba(ROWS).argmax(axis=1))
    assert given.predict(ROWS).dtype == np.int64


def test_score_is_the_weighted_mean_per_row(given):
    logliks = given.score_samples(ROWS)
    assert given.score(ROWS) == pytest.approx(logliks.mean(), rel=1e-12)
    assert given.score(ROWS, sample_weight=[4, 3, 2, 0]) == pytest.approx(np.average(logliks, weights=[4, 3, 2, 0]))
    with pytest.raises(ValueError, match=r"\(2,\), expected \(4,\)"):
        given.score(ROWS, sample_weight=[1, 1])


def test_criteria_by_formula(given):
    """K - 1 shares, 2 x 2 categories, 2 x 2 normal parameters, 2 rates; a row without any value does not count."""
    loglik, resp = given.score_samples(ROWS).sum(), given.predict_proba(ROWS[:3])
    uncertain = -np.sum(resp * np.log(np.where(resp > 0, resp, 1.0)))
    assert given.n_parameters_ == 1 + 4 + 4 + 2
    assert given.bic(ROWS) == pytest.approx(-2 * loglik + 11 * np.log(3))
    assert given.aic(ROWS) == pytest.approx(-2 * loglik + 22)
    assert given.icl(ROWS) == pytest.approx(-2 * loglik + 11 * np.log(3) + 2 * uncertain)
    assert given.entropy(ROWS) == pytest.approx(1 - uncertain / (3 * np.log(2)))


def test_criteria_without_data_are_those_of_the_training_data(table, model):
    for criterion in ("bic", "aic", "icl", "entropy"):
        assert getattr(model, criterion)() == pytest.approx(getattr(model, criterion)(table), rel=1e-10)


def test_n_in_bic_is_the_sum_of_the_weights(table):
    weight = np.linspace(0.5, 2.5, N)
    model = fitted(table, sample_weight=weight)
    assert model.bic() == pytest.approx(-2 * model.loglik_ + model.n_parameters_ * np.log(weight.sum()))


def test_entropy_of_one_class_and_of_sure_classes():
    rows = [["a", "b"]] * 10 + [["c", "d"]] * 10
    assert fitted(rows, 1).entropy() == 1.0
    assert fitted(rows, 2, prior=None).entropy() == pytest.approx(1.0, abs=1e-4)


def test_an_impossible_row_is_said_and_gets_the_shares(given):
    rows = [["Oslo", 0.0, 1.0], ["Oslo", 0.0, 1.0]]
    impossible = hs.LatentClass.from_params([0.4, 0.6], {"x": {"a": [1.0, 1.0], "b": [0.0, 0.0]}})
    with pytest.warns(ImpossibleRowWarning, match="1 row"):
        proba = impossible.predict_proba([["a"], ["b"]])
    assert_allclose(proba, [[0.4, 0.6], [0.4, 0.6]])
    assert_array_equal(impossible.score_samples([["a"], ["b"]]), [0.0, -np.inf])
    assert np.isfinite(given.score_samples(rows)).all()


def test_an_unknown_category_warns_once_and_counts_as_missing(table, model):
    for method, city in (("predict_proba", "Atlantis"), ("score_samples", "Camelot")):
        odd = table.head(3).assign(city=["Rome", city, city])
        with pytest.warns(UnknownCategoryWarning, match=rf"'city': '{city}' \(2") as caught:
            found = getattr(model, method)(odd)
        assert len(caught) == 1
        assert_array_equal(found, getattr(model, method)(odd.assign(city=["Rome", None, None])))
        model.predict(odd)  # said before


def test_columns_are_checked_when_used(table, model):
    with pytest.raises(DataError, match=r"Missing: 'city'\. New: 'town'\. If 'town' is the column 'city'"):
        model.predict(table.rename(columns={"city": "town"}))
    with pytest.raises(DataError, match=r"Missing: .*Add what is missing"):
        model.predict(table[["city", "spend"]])
    with pytest.raises(DataError, match=r"New: 'species'\. Leave out what is new: X = X\[\['city'"):
        model.predict(table.assign(species="x"))


# ---------------------------------------------------------------------------------------------------- what a fit leaves


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
@pytest.mark.parametrize("prior", ["row", None, 1.0])
def test_loglik_belongs_to_the_returned_parameters(table, assign, prior):
    model = fitted(table, columns=POISSON, assign=assign, prior=prior, max_iter=60 if assign == "sample" else 1000)
    assert_allclose(model.loglik_, model.score_samples(table).sum(), rtol=1e-10)


@pytest.mark.parametrize("assign", ["soft", "hard"])
@pytest.mark.parametrize("prior", ["row", None, 1.0])
@pytest.mark.parametrize("accelerate", [True, False])
def test_trace_climbs_to_the_objective(table, assign, prior, accelerate):
    model = fitted(table, columns=POISSON, assign=assign, prior=prior, accelerate=accelerate)
    assert np.diff(model.trace_).min() >= -1e-9 * abs(model.objective_)
    assert model.objective_ == model.trace_[-1]
    assert 1 <= len(model.trace_) <= model.n_iter_
    assert model.converged_
    if assign == "soft" and prior is None:
        assert model.objective_ == model.loglik_


def test_hard_objective_is_the_best_joint(table):
    model = fitted(table, columns=POISSON, assign="hard", prior=None)
    joint = model.score_samples(table) + np.log(model.predict_proba(table).max(axis=1))
    assert_allclose(model.objective_, joint.sum(), rtol=1e-10)
    assert model.objective_ < model.loglik_
    assert model.stop_reason_ == "assignments unchanged"


def test_map_objective_is_loglik_plus_log_prior():
    """prior=1 adds one to every count: the log-prior is the sum of the logs of all probabilities."""
    X = [["a", "x"], ["b", "y"], ["a", "x"], ["a", "y"]]
    model = fitted(X, 2, prior=1.0)
    probabilities = np.concatenate([model.weights_, cells(model, "x0").ravel(), cells(model, "x1").ravel()])
    assert_allclose(model.objective_ - model.loglik_, np.log(probabilities).sum(), rtol=1e-10)


def test_classes_stand_in_order_of_their_weight(table):
    for seed in range(5):
        assert np.all(np.diff(fitted(table, random_state=seed).weights_) <= 0)


def test_fitted_attributes(table, model):
    assert model.columns_ == {
        "city": "categorical",
        "member": "categorical",
        "spend": "gaussian",
        "visits": "poisson",
    }
    assert model.class_names_ == ("class 0", "class 1", "class 2")
    assert model.n_features_in_ == 4
    assert_array_equal(model.feature_names_in_, table.columns)
    assert model.n_parameters_ == 2 + 3 * (2 + 1 + 2 + 1)
    assert model.events_ == []
    assert abs(model.weights_.sum() - 1) < 1e-12
    assert not model.weights_.flags.writeable
    assert {"n_init", "n_finalists", "n_reached_best", "objectives"} <= set(model.restarts_)
    assert model.restarts_["n_init"] == 4
    assert model.restarts_["n_finalists"] == len(model.restarts_["objectives"]) <= 4
    assert model.restarts_["objectives"] == sorted(model.restarts_["objectives"], reverse=True)
    assert 1 <= model.restarts_["n_reached_best"] <= 4


def test_events_name_columns_that_say_nothing():
    X = pd.DataFrame({"same": ["a"] * 6, "empty": [None] * 6, "x": [1, 2, 1, 2, 1, 2]})
    events = " | ".join(fitted(X, 2).events_)
    assert "'same' is constant" in events
    assert "'empty' has no observed cell" in events


def test_one_class_is_the_closed_form(table):
    """Shares of the observed cells, mean and standard deviation, mean count."""
    model = fitted(table, 1, columns=POISSON, prior=None)
    assert_allclose(cells(model, "city")[:, 0], table["city"].value_counts(normalize=True).sort_index())
    assert_allclose(cells(model, "spend")[:, 0], [table["spend"].mean(), table["spend"].std(ddof=0)])
    assert_allclose(cells(model, "visits")[:, 0], [table["visits"].mean()])
    assert_array_equal(model.predict(table), 0)


def test_fit_predict_is_fit_then_predict(table, model):
    again = hs.LatentClass(3, columns=POISSON, n_init=4, random_state=0)
    assert_array_equal(again.fit_predict(table), model.predict(table))


def test_fit_predict_takes_what_fit_takes(table):
    options = {"sample_weight": np.linspace(0.5, 1.5, N), "labels": ["x", "y"] + [None] * (N - 2)}
    again = hs.LatentClass(2, n_init=2, random_state=0)
    assert_array_equal(again.fit_predict(table, **options), fitted(table, 2, n_init=2, **options).predict(table))


# ------------------------------------------------------------------------------------------------------- when to stop


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"tol": 1e-5}, "tolerance"),
        ({"stop": "gain", "tol": 1e-2}, "tolerance"),
        ({"stop": "counts", "tol": 1e-3}, "counts stable"),
        ({"stop": "parameters", "tol": 1e-4}, "parameters stable"),
        ({"assign": "hard"}, "assignments unchanged"),
        ({"assign": "hard", "stop": "assignments"}, "assignments unchanged"),
        ({"assign": "hard", "stop": "counts", "tol": 1e-3}, "counts stable"),
        ({"assign": "hard", "stop": "parameters", "tol": 1e-4}, "parameters stable"),
        ({"tol": 0.0, "max_iter": 100_000}, "rounding"),
    ],
)
def test_stop_reasons_that_are_convergence(table, options, reason):
    model = fitted(table, 2, **options)
    assert (model.stop_reason_, model.converged_) == (reason, True)


def test_the_default_tolerance_is_where_the_digits_of_this_table_end(table):
    model = fitted(table, 2)
    assert model.stop_reason_ in ("tolerance", "rounding")
    assert model.converged_


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
def test_stop_after_exactly_so_many_iterations(table, assign):
    model = fitted(table, 2, stop="iterations", max_iter=7, assign=assign)
    assert (model.stop_reason_, model.converged_, model.n_iter_) == ("iterations", False, 7)


def test_stop_by_the_cap_warns(table):
    with pytest.warns(ConvergenceWarning, match="max_iter=3 .*Raise max_iter or tol"):
        model = fitted(table, max_iter=3, tol=1e-10)
    assert (model.stop_reason_, model.converged_, model.n_iter_) == ("max_iter", False, 3)


def test_counts_rule_means_what_it_says(table):
    """When it stops no expected count moves by tol or more."""
    model = fitted(table, 2, prior=None, stop="counts", tol=1e-3, accelerate=False)
    before = fitted(table, 2, prior=None, stop="iterations", max_iter=model.n_iter_ - 1, accelerate=False)
    moved = np.abs(model.predict_proba(table).sum(axis=0) - before.predict_proba(table).sum(axis=0))
    assert moved.max() < 1e-3


def test_a_tighter_tolerance_never_ends_lower(table):
    objectives = [fitted(table, n_init=1, tol=tol).objective_ for tol in (1.0, 1e-2, 1e-4, 1e-6)]
    assert np.all(np.diff(objectives) >= 0)
    assert objectives[-1] - objectives[2] < 1e-3


def test_max_iter_counts_every_pass_annealing_too(table):
    model = fitted(table, 2, anneal=(0.5,), stop="iterations", max_iter=15)
    assert model.n_iter_ == 15
    with pytest.raises(ParameterError, match="max_iter=10"):
        fitted(table, 2, anneal=(0.3, 0.5, 0.8), max_iter=10)


@pytest.mark.parametrize("when", [2, 9, 11])
def test_an_interrupt_keeps_the_best_so_far(table, monkeypatch, when):
    """Ctrl-C while runs are compared or polished: a model all the same, said by a warning and by its stop reason."""
    passes = iter(range(1, 1000))
    whole_pass = search.evaluate

    def interrupted(*args, **how):
        if next(passes) == when:
            raise KeyboardInterrupt
        return whole_pass(*args, **how)

    monkeypatch.setattr(search, "evaluate", interrupted)
    with pytest.warns(InterruptedWarning, match="best model so far"):
        model = fitted(table, tol=1e-12)
    assert (model.stop_reason_, model.converged_) == ("interrupted", False)
    assert model.n_iter_ <= when
    assert_allclose(model.loglik_, model.score_samples(table).sum(), rtol=1e-10)
    assert model.impute(table).notna().all(axis=None)


def test_an_interrupt_before_anything_was_learned_is_an_interrupt(table, monkeypatch):
    def interrupted(*args, **how):
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fitted(table)


# ------------------------------------------------------------------------------------------------------------- assign


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
def test_one_class_is_the_same_in_every_mode(table, assign):
    model = fitted(table, 1, assign=assign, prior=None, max_iter=50)
    assert_allclose(model.loglik_, fitted(table, 1, prior=None).loglik_, rtol=1e-12)


def test_hard_assignment_with_equal_spread_is_k_means():
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 1, (40, 2)), rng.normal(7, 1, (40, 2)), rng.normal((0, 9), 1, (40, 2))])
    model = fitted(X, assign="hard", prior=None)
    clusters = KMeans(3, n_init=4, random_state=0).fit_predict(X)
    assert len({*zip(model.predict(X).tolist(), clusters.tolist(), strict=True)}) == 3


def test_a_hard_fit_ends_at_a_fixed_point(table):
    """'Assignments unchanged' is true: the parameters are the counts of the assignments they lead to."""
    for seed in range(6):
        model = fitted(table, columns=POISSON, assign="hard", prior=None, random_state=seed, n_init=1)
        best = model.predict(table)
        assert_allclose(model.weights_, np.bincount(best, minlength=3) / N, rtol=1e-10)
        for k in np.unique(best):  # a class that lost all its rows keeps its parameters
            assert_allclose(cells(model, "spend")[0, k], table["spend"][best == k].mean(), rtol=1e-10)


def test_sampled_fits_agree_with_soft_ones_on_average(table, model):
    """The mean statistics of the second half: near the soft optimum, nearer with more draws."""
    sampled = fitted(table, columns=POISSON, assign="sample", draws=20, max_iter=120).match_to(model)
    assert_allclose(sampled.weights_, model.weights_, atol=0.03)
    assert model.loglik_ - sampled.loglik_ < 1.0
    assert sampled.stop_reason_ == "iterations"


@pytest.mark.parametrize("n_init", [1, 4, 16])
def test_sampled_fits_take_the_mean_of_the_second_half(table, n_init):
    """However many starts raced: one noisy draw (trace_[-1]) is not what is returned."""
    model = fitted(table, assign="sample", max_iter=30, n_init=n_init)
    assert len(model.trace_) == model.n_iter_ == 30
    assert model.objective_ > np.median(model.trace_[15:])


def test_the_same_seed_draws_the_same(table):
    first, second = (fitted(table, assign="sample", max_iter=20, draws=2) for _ in range(2))
    assert first.trace_ == second.trace_
    assert first.trace_ != fitted(table, assign="sample", max_iter=20, draws=2, random_state=1).trace_


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
def test_threads_give_the_same_bits(assign):
    X = np.random.default_rng(0).normal(size=(9000, 2))
    options = {"assign": assign, "stop": "iterations", "max_iter": 6, "n_init": 2}
    one, two, all_cores = (fitted(X, 2, n_jobs=jobs, **options) for jobs in (1, 2, -1))
    assert one.trace_ == two.trace_ == all_cores.trace_
    assert_array_equal(one.predict_proba(X), two.predict_proba(X))


# ----------------------------------------------------------------------------------------------------------- priors


def test_prior_none_is_maximum_likelihood(table):
    best = fitted(table, prior=None, tol=1e-8).loglik_
    assert best >= fitted(table, prior="row", tol=1e-8).loglik_
    assert best >= fitted(table, prior=1.0, tol=1e-8).loglik_


def test_prior_zero_is_none(table):
    assert fitted(table, 2, prior=0).trace_ == fitted(table, 2, prior=None).trace_


def test_prior_one_is_add_one():
    """One class: (count + 1) / (n + number of categories)."""
    model = fitted([["a"], ["a"], ["b"], ["a"]], 1, prior=1.0)
    assert_allclose(cells(model, "x0")[:, 0], [4 / 6, 2 / 6])


def test_prior_row_leaves_no_probability_at_zero():
    X = [["a", "x"]] * 8 + [["b", "y"]] * 8
    model = fitted(X, 2)
    assert cells(model, "x0").min() > 0
    assert np.isfinite(model.score_samples([["a", "y"]])).all()
    assert fitted(X, 2, prior=None).score_samples([["a", "y"]])[0] < -20


# ---------------------------------------------------------------------------------------------- start, fixed, tied


START = {
    "weights": [0.2, 0.8],
    "city": {"Lima": [0.1, 0.5], "Oslo": [0.2, 0.25], "Rome": [0.7, 0.25]},
    "member": [[0.5, 0.5], [0.3, 0.7]],
    "spend": {"mean": [1.0, 6.0], "sd": [1.0, 2.0]},
    "visits": [2.0, 12.0],
}


def test_a_complete_start_is_evaluated_first(table):
    model = fitted(table, 2, columns=POISSON, start=START, prior=None, stop="iterations", max_iter=1)
    assert_allclose(model.weights_, START["weights"])
    assert_allclose(cells(model, "city"), list(START["city"].values()))
    assert_allclose(cells(model, "member").T, START["member"])
    assert_allclose(cells(model, "spend"), list(START["spend"].values()))
    assert_allclose(cells(model, "visits"), [START["visits"]])
    assert model.restarts_["n_init"] == 1


@pytest.mark.parametrize("name", list(START))
def test_any_subset_of_a_start_will_do(table, name):
    model = fitted(table, 2, columns=POISSON, start={name: START[name]}, stop="iterations", max_iter=1)
    found = model.weights_ if name == "weights" else cells(model, name)
    wanted = fitted(table, 2, columns=POISSON, start=START, stop="iterations", max_iter=1)
    assert_allclose(found, wanted.weights_ if name == "weights" else cells(wanted, name), rtol=1e-12)


def test_a_start_may_give_only_the_means(table):
    model = fitted(table, 2, start={"spend": {"mean": [1.0, 6.0]}}, stop="iterations", max_iter=1)
    assert_allclose(cells(model, "spend")[0], [1.0, 6.0])


def test_a_start_keeps_the_order_of_its_classes(table):
    """The rare class first: canonical order is for our own starts only."""
    model = fitted(table, 2, columns=POISSON, start=START)
    swapped = dict(START)
    swapped["weights"], swapped["spend"] = [0.8, 0.2], {"mean": [6.0, 1.0], "sd": [2.0, 1.0]}
    swapped["city"] = {city: row[::-1] for city, row in START["city"].items()}
    swapped["member"], swapped["visits"] = START["member"][::-1], [12.0, 2.0]
    other = fitted(table, 2, columns=POISSON, start=swapped)
    assert_allclose(model.weights_, other.weights_[::-1], rtol=1e-6)
    assert_allclose(model.loglik_, other.loglik_, rtol=1e-12)


@pytest.mark.parametrize("name", list(START))
def test_fixed_parts_keep_their_start_and_the_rest_moves(table, name):
    model = fitted(table, 2, columns=POISSON, start={name: START[name]}, fixed=[name])
    free = fitted(table, 2, columns=POISSON)
    if name == "weights":
        assert_array_equal(model.weights_, START["weights"])
    else:
        kept = START[name].values() if isinstance(START[name], dict) else np.atleast_2d(np.transpose(START[name]))
        assert_array_equal(cells(model, name), list(kept))
        assert not np.allclose(model.weights_, 0.5)
    lost = {"weights": 1, "city": 4, "member": 2, "spend": 4, "visits": 2}[name]
    assert model.n_parameters_ == free.n_parameters_ - lost
    assert model.converged_


def test_fixed_numbers_need_both_mean_and_spread(table):
    """What was not given cannot be kept: a spread from a random start would be frozen otherwise."""
    with pytest.raises(ParameterError, match=r"'spend'.*(sd|var)"):
        fitted(table, 2, start={"spend": {"mean": [1.0, 6.0]}}, fixed=["spend"])


@pytest.mark.parametrize("name", ["city", "member", "spend", "visits"])
def test_tied_columns_are_the_same_in_all_classes(table, name):
    model = fitted(table, 2, columns=POISSON, tied=[name])
    values = cells(model, name)
    assert_array_equal(values[:, 0], values[:, 1])
    free = fitted(table, 2, columns=POISSON)
    assert model.n_parameters_ == free.n_parameters_ - {"city": 2, "member": 1, "spend": 2, "visits": 1}[name]
    assert model.loglik_ < free.loglik_


def test_a_tied_column_has_the_marginals_of_the_table(table):
    """Nothing about the class is in it, so it is fitted as in one class."""
    model = fitted(table, 2, tied=["city"], prior=None)
    assert_allclose(cells(model, "city"), cells(fitted(table, 1, prior=None), "city").repeat(2, axis=1), rtol=1e-10)


# ------------------------------------------------------------------------------------------------------------ labels


LABELLED = pd.DataFrame({"x": ["a", "a", "b", "b", "b", "a"], "y": [0.0, 1.5, 9.0, 8.5, 10.0, None]})
ALL = ["low", "low", "high", "high", "high", "low"]


def test_all_rows_labelled_is_counting():
    """Nothing is hidden: the closed form, in one step."""
    model = fitted(LABELLED, 2, prior=None, labels=ALL)
    assert model.class_names_ == ("high", "low")
    assert_allclose(model.weights_, [0.5, 0.5])
    assert_allclose(cells(model, "x"), [[0, 1], [1, 0]], atol=1e-12)
    assert_allclose(cells(model, "y"), [[27.5 / 3, 0.75], [np.std([9, 8.5, 10]), 0.75]])
    assert model.n_iter_ <= 3
    assert model.converged_


@pytest.mark.parametrize("assign", ["soft", "hard", "sample"])
def test_all_rows_labelled_is_the_same_in_every_mode(assign):
    model = fitted(LABELLED, 2, prior=None, labels=ALL, assign=assign, max_iter=20)
    assert_allclose(cells(model, "y"), [[27.5 / 3, 0.75], [np.std([9, 8.5, 10]), 0.75]])


@pytest.mark.parametrize(
    ("labels", "options", "names"),
    [
        (["high", None, None, "low", None, np.nan], {}, ("high", "low")),
        (["high", None, None, "low", None, None], {"classes": ["low", "high"]}, ("low", "high")),
        ([0, None, None, 1, None, None], {}, ("class 0", "class 1")),
        ([0, -1, -1, 1, -1, -1], {}, ("class 0", "class 1")),
        ([0, 9, 9, 1, 9, 9], {"unlabeled": 9}, ("class 0", "class 1")),
        ([{"high"}, {"high", "low"}, None, "low", ["low", "high"], None], {}, ("high", "low")),
        (pd.Series(["high", None, None, "low", None, None]), {}, ("high", "low")),
        (pl.Series(["high", None, None, "low", None, None]), {}, ("high", "low")),
        ([True, None, None, False, None, None], {}, ("False", "True")),
        (np.array([[1, 0], [1, 1], [1, 1], [0, 1], [1, 1], [1, 1]]), {}, ("class 0", "class 1")),
        (np.array([[3, 0], [1, 1], [2, 2], [0, 0.1], [1, 1], [1, 1]]), {}, ("class 0", "class 1")),
    ],
    ids=[
        "text",
        "classes",
        "numbers",
        "minus-one",
        "unlabeled",
        "sets",
        "pandas",
        "polars",
        "bool",
        "evidence",
        "soft",
    ],
)
def test_labels_in_every_form(labels, options, names):
    """Row 0 is of one class and row 3 of the other, the rest is open: each form pins the same two."""
    model = fitted(LABELLED, 2, labels=labels, **options)
    assert model.class_names_ == names
    first = model.predict(LABELLED)[0]
    flipped = names in (("low", "high"), ("False", "True"))
    assert first == (1 if flipped else 0)
    assert model.predict(LABELLED)[3] == 1 - first


def test_labels_pull_the_classes_their_way(table):
    """A few labels name the classes; without them their names are only numbers."""
    truth = np.where(table["spend"] > 4, "big", "small")
    labels = np.where(np.arange(N) % 10 == 0, truth, None)
    model = fitted(table, 2, labels=labels)
    assert model.class_names_ == ("big", "small")
    agree = np.mean(np.array(model.class_names_)[model.predict(table)] == truth)
    assert agree > 0.85


def test_a_labelled_row_counts_in_its_class_only():
    """Against its own looks: evidence of zero is never overruled."""
    rows = [["a", "a"]] * 5 + [["b", "b"]] * 5
    model = fitted(rows, 2, prior=None, labels=[1] + [None] * 4 + [0] + [None] * 4)
    assert np.isfinite(model.loglik_)


def test_no_label_at_all_is_no_labels(table):
    assert fitted(table, 2, labels=[None] * N).trace_ == fitted(table, 2).trace_


def test_labels_may_leave_classes_without_any(table):
    model = fitted(table, 3, labels=["x"] * 3 + [None] * (N - 3))
    assert model.class_names_ == ("x", "class 1", "class 2")


def test_soft_evidence_multiplies_the_model():
    """Evidence (2, 1) for one class over the other turns the odds by two, in the first E-step."""
    start = {"weights": [0.5, 0.5], "x0": [[0.9, 0.1], [0.2, 0.8]]}
    evidence = np.array([[2.0, 1.0], [1.0, 1.0]])
    options = {"start": start, "prior": None, "accelerate": False, "stop": "iterations"}
    model = hs.LatentClass(2, **options, max_iter=2).fit([["a"], ["b"]], labels=evidence)
    resp = np.array([[2 * 0.9, 0.2], [0.1, 0.8]])
    resp /= resp.sum(axis=1, keepdims=True)
    assert_allclose(model.weights_, resp.mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("soft", [[0.6, 0.4], [0.5, 0.5], [0.3, 0.5, 0.0]], ids=str)
@pytest.mark.parametrize("model", ["LatentClass", "GaussianMixture", "NaiveBayes", "GaussianClassifier"])
def test_soft_evidence_of_two_classes_is_no_certainty(model, soft):
    """Evidence is what it is up to a factor: with a largest value of 1 or of less, a row stays open."""
    n_components = len(soft)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 3.0 * np.repeat(np.arange(n_components), 60 // n_components)[:, None]
    evidence = np.tile(soft, (60, 1))
    evidence[::5] = np.eye(n_components)[np.arange(12) % n_components]
    whole = evidence / evidence.max(axis=1, keepdims=True)
    if model in ("NaiveBayes", "GaussianClassifier"):
        made = getattr(hs, model)(guard=False, n_init=2, random_state=0)
        one, other = (copy(made).fit(X, y) for y in (evidence, whole))
    else:
        made = getattr(hs, model)(n_components, n_init=2, random_state=0)
        one, other = (copy(made).fit(X, labels=labels) for labels in (evidence, whole))
    assert_allclose(one.weights_, other.weights_, rtol=1e-3)
    shift = np.log(evidence.max(axis=1)).sum()
    assert_allclose(one.loglik_, other.loglik_ + shift, rtol=1e-5)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["a", "b"], {}, "2 entries, but X has 6 rows"),
        (["a", "b", "c", "a", "b", "c"], {}, "3 distinct labels .* 2 components"),
        (["a", 1, "b", None, None, None], {}, "mix text .* and numbers"),
        (["a", "z", None, None, None, None], {"classes": ["a", "b"]}, "row 1 .* 'z'"),
        (np.zeros((6, 2)), {}, "row 0 is all zeros"),
        (np.full((6, 2), -1.0), {}, "row 0, column 0 is -1.0"),
        (np.ones((6, 3)), {}, "3 columns .* 2 components"),
        ([0.5] * 6, {}, "row 0 is 0.5"),
        ("aabbaa", {}, "not a str"),
    ],
)
def test_wrong_labels_are_refused_with_the_place(labels, options, message):
    with pytest.raises(DataError, match=message):
        fitted(LABELLED, 2, labels=labels, **options)


@pytest.mark.parametrize("option", [{"classes": ["a", "b"]}, {"unlabeled": -1}])
def test_options_of_labels_without_labels_are_refused(table, option):
    with pytest.raises(ParameterError, match=f"{next(iter(option))}.*labels"):
        fitted(table, 2, **option)


# ----------------------------------------------------------------------------------------- other options of a fit


def test_weights_are_repeated_rows(table):
    weight = np.arange(N) % 3
    repeated = table.loc[table.index.repeat(weight)]
    assert fitted(table, 2, sample_weight=weight).trace_ == fitted(repeated, 2).trace_


def test_annealing_changes_the_path_and_ends_at_an_optimum(table, model):
    annealed = fitted(table, columns=POISSON, anneal=(0.4, 0.6, 0.8))
    assert annealed.converged_
    assert annealed.n_iter_ > 30
    assert annealed.objective_ == annealed.trace_[-1]
    assert np.all(np.diff(annealed.trace_) >= -1e-9 * abs(annealed.objective_))
    assert_allclose(annealed.objective_, model.objective_, atol=0.01)


def test_columns_overrides_the_rule_by_name_and_by_position(table):
    assert fitted(table, 2).columns_["visits"] == "gaussian"
    assert fitted(table, 2, columns={"visits": "poisson"}).columns_["visits"] == "poisson"
    assert fitted(table, 2, columns={3: "poisson"}).columns_["visits"] == "poisson"
    few = table.assign(visits=table["visits"] % 4)
    assert fitted(few, 2).columns_["visits"] == "categorical"
    assert fitted(few, 2, columns={"visits": "gaussian"}).columns_["visits"] == "gaussian"


def test_variance_floor_bounds_the_variance(table):
    floor = 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(table, 8, prior=None, variance_floor=floor, columns=POISSON)
    lowest = floor * table["spend"].var(ddof=0)
    assert np.all(cells(model, "spend")[1] ** 2 >= lowest * (1 - 1e-9))


@pytest.mark.parametrize("init", ["mixed", "rows", "spread", "parameters", "posteriors"])
def test_every_way_to_start_leads_to_the_optimum(table, model, init):
    found = fitted(table, columns=POISSON, init=init, n_init=8)
    assert_allclose(found.objective_, model.objective_, atol=0.01)


def test_acceleration_ends_where_plain_em_ends(table):
    plain, fast = (fitted(table, columns=POISSON, accelerate=leap, n_init=1, tol=1e-8) for leap in (False, True))
    assert_allclose(fast.objective_, plain.objective_, atol=1e-5)
    assert fast.n_iter_ <= plain.n_iter_


def test_more_starts_are_never_worse(table):
    """Starts are drawn one by one from the seed: the first four of sixteen are those of n_init=4."""
    objectives = [fitted(table, 4, n_init=n, tol=1e-7).objective_ for n in (1, 4, 16)]
    assert objectives[0] <= objectives[2] + 1e-4


WRONG = [
    ("n_components", 0),
    ("n_components", 2.5),
    ("n_components", "three"),
    ("n_components", True),
    ("columns", ["visits"]),
    ("columns", {"visits": "weird"}),
    ("columns", {"nothing": "gaussian"}),
    ("columns", {"city": "gaussian"}),
    ("assign", "medium"),
    ("draws", 0),
    ("draws", 3),
    ("prior", "rows"),
    ("prior", -1.0),
    ("prior", np.inf),
    ("prior", True),
    ("prior", np.array([1.0, 2.0])),
    ("init", "random"),
    ("init", None),
    ("init", ["rows"]),
    ("start", [1, 2]),
    ("start", {"nothing": [0.5, 0.5]}),
    ("start", {"weights": [0.5, 0.6]}),
    ("start", {"weights": [0.2, 0.3, 0.5]}),
    ("start", {"weights": [-0.5, 1.5]}),
    ("start", {"city": [[0.5, 0.5], [0.5, 0.5]]}),
    ("start", {"city": {"Rome": [0.5, 0.5], "Paris": [0.5, 0.5]}}),
    ("start", {"spend": {"mean": [1.0, 2.0], "sd": [1.0, 0.0]}}),
    ("start", {"spend": {"mean": [1.0, 2.0], "sd": [1.0, 1.0], "var": [1.0, 1.0]}}),
    ("start", {"spend": {"mean": [1.0, np.nan]}}),
    ("start", {"spend": [1.0, 2.0]}),
    ("fixed", "city"),
    ("fixed", ["nothing"]),
    ("fixed", ["city"]),
    ("fixed", 3),
    ("tied", ["nothing"]),
    ("tied", ["weights"]),
    ("n_init", 0),
    ("n_init", 1.5),
    ("stop", "never"),
    ("stop", "assignments"),
    ("tol", -1),
    ("tol", np.nan),
    ("tol", "small"),
    ("tol", None),
    ("max_iter", 0),
    ("max_iter", None),
    ("accelerate", "yes"),
    ("accelerate", None),
    ("anneal", 0.5),
    ("anneal", None),
    ("anneal", (0.8, 0.4)),
    ("anneal", (0.5, 1.0)),
    ("anneal", ("hot",)),
    ("variance_floor", -1e-3),
    ("variance_floor", 1.0),
    ("variance_floor", "low"),
    ("n_jobs", 0),
    ("n_jobs", 1.5),
    ("random_state", "seed"),
    ("random_state", -1),
]


@pytest.mark.parametrize(("option", "value"), WRONG, ids=lambda value: repr(value)[:40])
def test_a_wrong_option_is_refused_and_named(table, option, value):
    """The message names the option (or the column it is about) and is a ValueError."""
    with pytest.raises((ParameterError, DataError)) as caught:
        fitted(table, **{"n_components": 2, option: value})
    about = [option, *(value if isinstance(value, dict) else ())]
    assert any(str(word) in str(caught.value) for word in about)


@pytest.mark.parametrize(
    ("option", "value", "shown"),
    [
        ("n_components", 0, "n_components=0"),
        ("assign", "medium", "assign='medium'"),
        ("prior", "rows", "prior='rows'"),
        ("init", "random", "init='random'"),
        ("stop", "never", "stop='never'"),
        ("tol", -1, "tol=-1"),
        ("max_iter", 0, "max_iter=0"),
        ("anneal", 0.5, "anneal=0.5"),
        ("variance_floor", "low", "variance_floor='low'"),
        ("accelerate", "yes", "accelerate='yes'"),
        ("n_jobs", 0, "n_jobs=0"),
        ("random_state", "seed", "random_state='seed'"),
        ("start", [1, 2], r"start=\[1, 2\]"),
        ("columns", ["visits"], r"columns=\['visits'\]"),
        ("columns", {"nothing": "gaussian"}, "columns: .*'nothing'"),
        ("start", {"weights": [0.5, 0.6]}, "weights: .*1.1"),
        ("start", {"city": [[0.5, 0.5], [0.5, 0.5]]}, r"'city'.*\(2, 3\), got \(2, 2\)"),
    ],
)
def test_the_message_shows_the_value_received(table, option, value, shown):
    with pytest.raises(ParameterError, match=shown):
        fitted(table, **{"n_components": 2, option: value})


@pytest.mark.parametrize(
    "options",
    [
        {"draws": 3},
        {"draws": 3, "assign": "hard"},
        {"stop": "assignments"},
        {"stop": "counts", "assign": "sample"},
        {"stop": "parameters", "assign": "sample"},
        {"anneal": (0.5,), "assign": "hard"},
        {"fixed": ["city"]},
        {"fixed": ["city"], "tied": ["city"], "start": {"city": START["city"]}},
    ],
)
def test_options_that_would_be_ignored_are_refused(table, options):
    with pytest.raises(ParameterError):
        fitted(table, 2, **options)


def test_numpy_numbers_are_numbers(table):
    plain = fitted(table, 2, max_iter=50, tol=1e-3, n_jobs=2)
    numpy = fitted(
        table, np.int64(2), max_iter=np.int32(50), tol=np.float64(1e-3), n_init=np.int8(4), n_jobs=np.int64(2)
    )
    assert plain.trace_ == numpy.trace_


def test_a_start_that_makes_rows_impossible_is_said():
    start = {"weights": [0.5, 0.5], "x0": {"a": [1.0, 1.0], "b": [0.0, 0.0]}}
    with pytest.raises(FitError, match="the start makes some row impossible"):
        hs.LatentClass(2, prior=None, start=start).fit([["a"], ["b"], ["a"]])


def test_wrong_weights_are_refused_with_the_row(table):
    bad = np.ones(N)
    bad[7] = -2.0
    with pytest.raises(ValueError, match="row 7 is -2"):
        fitted(table, 2, sample_weight=bad)
    with pytest.raises(ValueError, match=r"\(3,\), expected \(150,\)"):
        fitted(table, 2, sample_weight=[1, 1, 1])


def test_infinity_is_refused_with_its_place(table):
    with pytest.raises(ValueError, match=r"'spend', row 4 is inf"):
        fitted(table.assign(spend=table["spend"].where(table.index != 4, np.inf)), 2)


# ---------------------------------------------------------------------------------------------------------- sample


def test_sample_looks_like_the_training_table(table, model):
    X, labels = model.sample(200, random_state=1)
    assert list(X.columns) == list(table.columns)
    assert set(X["city"]) <= {"Lima", "Oslo", "Rome"}
    assert set(X["member"]) <= {True, False}
    assert labels.shape == (200,)
    assert set(labels) <= {0, 1, 2}
    assert len(X) == 200


def test_sample_has_the_model_behind_it(model):
    """A law of large numbers, loosely: shares within 0.02, means within a tenth of a spread."""
    X, labels = model.sample(20_000, random_state=0)
    assert_allclose(np.bincount(labels) / 20_000, model.weights_, atol=0.02)
    for k in range(3):
        assert abs(X["spend"][labels == k].mean() - cells(model, "spend")[0, k]) < 0.1
        assert_allclose((X["city"][labels == k] == "Rome").mean(), cells(model, "city")[2, k], atol=0.03)
    refit = hs.LatentClass(3, columns=POISSON, n_init=2, random_state=0).fit(X.head(2000)).match_to(model)
    assert_allclose(refit.weights_, model.weights_, atol=0.05)


def test_sample_is_repeatable_and_seeded(model):
    pd.testing.assert_frame_equal(model.sample(9, random_state=5)[0], model.sample(9, random_state=5)[0])
    pd.testing.assert_frame_equal(model.sample(9)[0], model.sample(9, random_state=0)[0])  # the estimator's own seed
    assert not model.sample(9, random_state=5)[0].equals(model.sample(9, random_state=6)[0])


@pytest.mark.parametrize("n_samples", [0, -1, 2.5, "ten", True, None])
def test_sample_refuses_a_wrong_size(model, n_samples):
    with pytest.raises(ParameterError, match="n_samples="):
        model.sample(n_samples)


# ---------------------------------------------------------------------------------------------------------- impute


def test_impute_by_formula(given):
    """Numbers: sum_k resp[k] mean[k]. Categories: the most probable."""
    rows = np.array([["Lima", None, None]], dtype=object)
    resp = given.predict_proba(rows)[0]
    [[city, spend, visits]] = given.impute(rows).tolist()
    assert city == "Lima"
    assert spend == pytest.approx(resp @ GIVEN["spend"]["mean"])
    assert visits == pytest.approx(resp @ GIVEN["visits"]["rate"])
    filled = given.impute(np.array([[None, 4.0, 6.0]], dtype=object))
    resp = given.predict_proba([[None, 4.0, 6.0]])[0]
    best = max(GIVEN["city"], key=lambda city: resp @ GIVEN["city"][city])
    assert filled[0, 0] == best


@pytest.mark.parametrize("draw", [False, True])
def test_impute_leaves_what_was_observed(table, model, draw):
    filled = model.impute(table, draw=draw, random_state=0)
    assert filled.notna().all(axis=None)
    assert (filled.dtypes == table.dtypes).all()
    assert filled.index.equals(table.index)
    seen = table.notna()
    pd.testing.assert_frame_equal(filled.where(seen), table.where(seen))
    assert table.isna().any(axis=None)


def test_impute_draws_with_the_spread_of_the_model(table, model):
    """Draws vary and keep relations; expected values do not vary, and are pulled together."""
    hidden = table.assign(spend=np.nan)
    expected = model.impute(hidden)["spend"]
    drawn = [model.impute(hidden, draw=True, random_state=seed)["spend"] for seed in range(2)]
    assert not drawn[0].equals(drawn[1])
    pd.testing.assert_series_equal(drawn[0], model.impute(hidden, draw=True, random_state=0)["spend"])
    assert drawn[0].std() > expected.std()
    assert abs(drawn[0].mean() - expected.mean()) < 0.5


def test_impute_leaves_an_unknown_category_as_it_is(table, model):
    odd = table.head(2).assign(city=["Utopia", None])
    with pytest.warns(UnknownCategoryWarning, match="Utopia"):
        filled = model.impute(odd)
    assert filled["city"].iloc[0] == "Utopia"
    assert filled["city"].iloc[1] in {"Lima", "Oslo", "Rome"}


def test_impute_without_holes_is_a_copy(table, model):
    whole = table.dropna()
    filled = model.impute(whole)
    pd.testing.assert_frame_equal(filled, whole)
    assert filled is not whole


CONTAINERS = {
    "pandas": lambda frame: frame,
    "pandas-nullable": lambda frame: frame.convert_dtypes(),
    "pandas-category": lambda frame: frame.astype({"city": "category"}),
    "polars": lambda frame: pl.from_pandas(frame.astype({"member": "boolean"})),
    "polars-categorical": lambda frame: pl.from_pandas(frame.astype({"member": "boolean"})).with_columns(
        pl.col("city").cast(pl.Categorical)
    ),
    "arrow": lambda frame: pa.Table.from_pandas(frame.astype({"member": "boolean"}), preserve_index=False),
    "array": lambda frame: frame.astype(object).where(frame.notna(), None).to_numpy(),
    "list": lambda frame: frame.astype(object).where(frame.notna(), None).to_numpy().tolist(),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_in_and_out(table, container):
    """The same numbers from each, and each back as it came, full, with its own dtypes."""
    X = CONTAINERS[container](table)
    columns = {3: "poisson"}
    model = fitted(X, 2, columns=columns)
    assert model.trace_ == fitted(table, 2, columns=columns).trace_
    filled = model.impute(X)
    drawn, _ = model.sample(4, random_state=0)
    if container in ("array", "list"):
        assert isinstance(filled, np.ndarray)
        assert isinstance(drawn, np.ndarray)
        assert not pd.isna(filled).any()
        return
    assert type(filled) is type(drawn) is type(X)
    if container.startswith("pandas"):
        assert (filled.dtypes == X.dtypes).all()
        assert filled.notna().all(axis=None)
    elif container.startswith("polars"):
        assert filled.schema == X.schema
        assert sum(filled.null_count().row(0)) == 0
    else:
        assert filled.schema.equals(X.schema)
        assert sum(column.null_count for column in filled.columns) == 0


def test_whole_numbers_stay_whole(table):
    """A nullable integer column gets rounded numbers, a float column the expected value."""
    X = table.assign(visits=table["visits"].astype("Int64"))
    filled = fitted(X, 2, columns=POISSON).impute(X)
    assert filled["visits"].dtype == "Int64"


def test_results_come_in_the_library_of_the_data(table):
    assert isinstance(fitted(table, 2).to_frame(), pd.DataFrame)
    assert isinstance(fitted(CONTAINERS["polars"](table), 2).to_frame(), pl.DataFrame)
    assert isinstance(fitted(CONTAINERS["arrow"](table), 2).to_frame(), pa.Table)


# ------------------------------------------------------------------------------------- tables, words, order and names


def test_to_frame_has_every_parameter(model):
    frame = model.to_frame()
    assert list(frame.columns) == ["column", "kind", "value", "overall", "class 0", "class 1", "class 2"]
    assert frame["column"].tolist() == ["(share)"] + ["city"] * 3 + ["member"] * 2 + ["spend"] * 2 + ["visits"]
    assert frame["value"].tolist() == ["", "Lima", "Oslo", "Rome", "False", "True", "mean", "sd", "rate"]
    assert_allclose(frame.iloc[0, 4:].astype(float), model.weights_)
    assert_allclose(cells(model, "city").sum(axis=0), 1)
    categories = frame["kind"] == "categorical"
    mean = frame.loc[categories, list(model.class_names_)].to_numpy() @ model.weights_
    assert_allclose(frame.loc[categories, "overall"], mean)


def test_describe_says_what_sets_each_class_apart(model):
    text = model.rename(["locals", "tourists", "fans"]).describe(top=2)
    lines = text.splitlines()
    assert [line.split(" (")[0] for line in lines] == ["locals", "tourists", "fans"]
    for line, share in zip(lines, model.weights_, strict=True):
        assert f"({share:.0%})" in line
        assert "all " in line
    assert "visits" in text
    assert len(model.describe(top=1)) < len(model.describe(top=4))


@pytest.mark.parametrize("top", [-1, "two", 1.5])
def test_describe_refuses_a_wrong_number(model, top):
    with pytest.raises(ParameterError, match="top="):
        model.describe(top=top)


def test_relabel_permutes_everything_and_changes_nothing(table, model):
    moved = model.relabel([2, 0, 1])
    assert_array_equal(moved.weights_, model.weights_[[2, 0, 1]])
    assert_allclose(moved.predict_proba(table), model.predict_proba(table)[:, [2, 0, 1]], rtol=1e-12)
    assert_allclose(moved.score_samples(table), model.score_samples(table), rtol=1e-12)
    assert moved.bic() == model.bic()
    assert np.all(np.diff(model.weights_) <= 0)  # the original stays as it was
    assert moved.class_names_ == ("class 0", "class 1", "class 2")
    named = model.rename(["a", "b", "c"]).relabel([2, 0, 1])
    assert named.class_names_ == ("c", "a", "b")


@pytest.mark.parametrize("order", [[0, 1], [0, 0, 1], [0, 1, 3], "abc", [0.5, 1, 2]])
def test_relabel_refuses_what_is_no_order(model, order):
    with pytest.raises(ParameterError, match="order="):
        model.relabel(order)


def test_match_to_undoes_any_relabelling(model):
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        back = model.relabel(order).match_to(model)
        assert_array_equal(back.weights_, model.weights_)


def test_match_to_looks_at_the_spread_and_not_only_at_the_mean():
    narrow_first = hs.LatentClass.from_params([0.5, 0.5], {"y": {"mean": [0.0, 0.1], "sd": [1.0, 5.0]}})
    wide_first = hs.LatentClass.from_params([0.5, 0.5], {"y": {"mean": [0.0, 0.1], "sd": [5.0, 1.0]}})
    matched = wide_first.match_to(narrow_first)
    assert_allclose(cells(matched, "y"), [[0.1, 0.0], [1.0, 5.0]])


def test_match_to_aligns_fits_of_different_halves(table):
    """Bootstraps without it inflate standard errors (ferx-core#1145)."""
    halves = [fitted(table.iloc[part::2], columns=POISSON) for part in (0, 1)]
    shuffled = halves[1].relabel([2, 0, 1]).match_to(halves[0])
    assert np.abs(cells(shuffled, "visits") - cells(halves[0], "visits")).max() < 8
    assert np.abs(cells(shuffled, "spend")[0] - cells(halves[0], "spend")[0]).max() < 2


def test_match_to_refuses_another_table(table, model):
    with pytest.raises(ParameterError, match="differ"):
        model.match_to(fitted(table[["city"]], 3))
    with pytest.raises(ParameterError, match="differ"):
        model.match_to(fitted(table, 2, columns=POISSON))


def test_rename_reaches_every_table_and_text(model):
    named = model.rename(["a", "b", "c"])
    assert named.class_names_ == ("a", "b", "c")
    assert list(named.to_frame().columns[-3:]) == ["a", "b", "c"]
    assert model.class_names_ == ("class 0", "class 1", "class 2")


@pytest.mark.parametrize("names", [["a", "b"], ["a", "a", "b"], []])
def test_rename_refuses_too_few_or_equal_names(model, names):
    with pytest.raises(ParameterError, match="give each of "):
        model.rename(names)


# ----------------------------------------------------------------------------------------------------- from_params


def test_from_params_is_the_model_it_was_given(given):
    assert_array_equal(given.weights_, [0.25, 0.75])
    frame = given.to_frame().set_index(["column", "value"])[["class 0", "class 1"]]
    assert_allclose(frame.loc[("city", "Rome")], [0.5, 0.0])
    assert_allclose(frame.loc[("spend", "sd")], [1.0, 2.0])
    assert_allclose(frame.loc[("visits", "rate")], [1.0, 5.0])
    assert "city" in given.describe()


def test_from_params_reads_frames_by_their_names(given):
    frame = pd.DataFrame(ROWS, columns=["city", "spend", "visits"])
    assert_allclose(given.predict_proba(frame), given.predict_proba(ROWS), rtol=1e-12)
    with pytest.raises(DataError, match=r"another order.*X = X\[\['city', 'spend', 'visits'\]\]"):
        given.predict_proba(frame[["spend", "city", "visits"]])


def test_from_params_round_trip(table, model):
    """A fitted model rebuilt from its own table answers the same."""
    frame = model.to_frame().set_index("column")[list(model.class_names_)]
    columns = {
        "city": dict(zip(["Lima", "Oslo", "Rome"], frame.loc["city"].to_numpy(), strict=True)),
        "member": dict(zip([False, True], frame.loc["member"].to_numpy(), strict=True)),
        "spend": dict(zip(["mean", "sd"], frame.loc["spend"].to_numpy(), strict=True)),
        "visits": {"rate": frame.loc["visits"].to_numpy()},
    }
    again = hs.LatentClass.from_params(model.weights_, columns)
    assert_allclose(again.score_samples(table), model.score_samples(table), rtol=1e-10)
    assert again.n_parameters_ == model.n_parameters_
    assert again.bic(table) == pytest.approx(model.bic(), rel=1e-10)


def test_from_params_without_data_says_so(given):
    for criterion in ("bic", "aic", "icl", "entropy"):
        with pytest.raises(ValueError, match=r"without data|give X|pass X"):
            getattr(given, criterion)()


def test_from_params_samples_and_imputes(given):
    X, labels = given.sample(50, random_state=0)
    assert np.shape(X)[0] == len(labels) == 50
    assert np.isfinite(given.score_samples(X)).all()


@pytest.mark.parametrize(
    ("weights", "columns", "message"),
    [
        ([0.5, 0.6], GIVEN, "weights: .*1.1"),
        ([0.5, 0.5], {"c": {"a": [0.5, 0.5], "b": [0.5, 0.4]}}, r"'c': the probabilities of component 1 sum to 0.9"),
        ([0.5, 0.5], {"y": {"mean": [0, 1, 2], "sd": [1, 1, 1]}}, r"'y'.*\(2,\), got \(3,\)"),
        ([0.5, 0.5], {"y": {"mean": [0, 1], "sd": [1, -1]}}, r"'y'.*above 0"),
        ([0.5, 0.5], {"y": {"rate": [1, -1]}}, r"'y'.*at least 0"),
        ([0.5, 0.5], {"y": [0.5, 0.5]}, r"'y'"),
    ],
)
def test_from_params_refuses_what_is_no_model(weights, columns, message):
    with pytest.raises(ParameterError, match=message):
        hs.LatentClass.from_params(weights, columns)


def test_a_column_may_be_called_weights(table):
    """Then `start={"weights": ...}` could mean two things, and is refused; everything else works."""
    odd = table.rename(columns={"spend": "weights"})
    assert fitted(odd, 2).columns_["weights"] == "gaussian"
    with pytest.raises(ParameterError, match="weights"):
        fitted(odd, 2, start={"weights": [0.5, 0.5]})


def test_a_table_without_any_seen_cell_is_imputed_with_text_too():
    """An array of holes alone reads as numbers; what the model fills in need not be one."""
    model = hs.LatentClass(2, random_state=0).fit([["a", 1.5], ["b", 2.5], ["a", 1.1], ["b", 9.9]])
    [[letter, number]] = model.impute([[None, None]])
    assert letter in ("a", "b")
    assert np.isfinite(number)


def test_numbers_whose_variance_overflows_are_named():
    with pytest.raises(ValueError, match="column 'x0': its numbers are so large"):
        hs.LatentClass(2).fit([[1e300], [-1e300], [1e299], [3.3]])
