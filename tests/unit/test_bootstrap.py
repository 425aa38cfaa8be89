"""The bootstrap: closed forms, refits that equal ordinary fits, every family, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import halfseen as hs
from halfseen.errors import BootstrapWarning, DataError, ParameterError
from halfseen.families.network.fit import permuted
from halfseen.inference.bootstrap import at_maximum
from halfseen.inference.refits import refit

FINE = {"random_state": 0, "n_init": 2, "tol": 1e-10}


def people(n_rows=300):
    rng = np.random.default_rng(1)
    z = rng.integers(0, 2, n_rows)
    frame = pd.DataFrame({"size": rng.normal(3.0 * z), "weight": rng.normal(2.0 * z, 1.5)})
    frame["color"] = np.where(
        rng.random(n_rows) < 0.7, np.array(["red", "blue"])[z], rng.choice(["red", "green", "blue"], n_rows)
    )
    frame["visits"] = rng.poisson(1 + 4 * z)
    frame.loc[rng.random(n_rows) < 0.1, "size"] = np.nan
    frame.loc[rng.random(n_rows) < 0.2, "color"] = None
    return frame, z


PEOPLE, CLASS = people()
LABELS = np.where(np.arange(len(CLASS)) % 3 == 0, CLASS, -1)
SENTENCES = ["a b", "a", "b a a", "a a", "b", "a a b a"] * 4
MIXED = PEOPLE[["size", "color", "visits"]]


def fitted():
    """Yield a model of every family with what it was fitted to, and how its data are read."""
    kinds = {"visits": "poisson"}
    yield "classes", hs.LatentClass(2, columns=kinds, **FINE), (MIXED,), {}
    yield "labels", hs.LatentClass(2, **FINE), (PEOPLE[["size", "color"]],), {"labels": LABELS}
    for shape in ("full", "tied", "spherical"):
        yield shape, hs.GaussianMixture(2, covariance_type=shape, **FINE), (PEOPLE[["size", "weight"]],), {}
    naive = hs.NaiveBayes(unlabeled_weight=0.5, guard=False, **FINE)
    yield "naive Bayes", naive, (PEOPLE[["size", "color"]], LABELS), {"labels": LABELS}
    normal = hs.GaussianClassifier(random_state=0)
    yield "normal classes", normal, (PEOPLE[["weight"]], CLASS), {"labels": CLASS}
    yield "states", hs.HMM(2, **FINE), (PEOPLE[["size"]], [100, 100, 60, 40]), {"lengths": [100, 100, 60, 40]}
    hidden = hs.BayesNet("color <- C; visits <- C; big <- C", hidden={"C": 2}, **FINE)
    table = PEOPLE[["color"]].assign(visits=PEOPLE["visits"] > 2, big=PEOPLE["weight"] > 1)
    yield "network", hidden, (table,), {}
    yield "grammar", hs.PCFG("S -> 'a' S [0.4] | 'b' S [0.2] | 'a' | 'b'", random_state=0), (SENTENCES,), {}


CASES = {name: (model, given, how) for name, model, given, how in fitted()}


@pytest.fixture(params=list(CASES), scope="module")
def case(request):
    model, given, how = CASES[request.param]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the small tables
        model.fit(*given, **(how if request.param == "labels" else {}))
    return model, given[0], how


@pytest.fixture(scope="module")
def classes():
    return hs.LatentClass(2, columns={"visits": "poisson"}, prior=None, **FINE).fit(MIXED)


@pytest.mark.parametrize("kind", ["nonparametric", "parametric"])
def test_every_family(case, kind):
    model, X, how = case
    found = hs.bootstrap(model, X, draws=6, kind=kind, random_state=0, **how)
    assert found.draws.shape == (6 - found.n_failed, len(model._named_parameters().values))
    assert found.labels == model._named_parameters().labels
    assert np.isfinite(found.draws).all()
    assert found.n_capped == 0
    moved = found.se > 0
    assert moved.any()
    far = np.abs(found.draws.mean(axis=0) - found.estimate)[moved] / found.se[moved]
    assert far.max() < 6  # matched to the components of the estimate


@pytest.mark.parametrize("kind", ["nonparametric", "parametric"])
def test_the_standard_error_of_a_share_and_of_a_mean(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(2, 3, 400), "y": ["a"] * 100 + ["b"] * 300})
    model = hs.LatentClass(1, prior=None).fit(X)
    frame = hs.bootstrap(model, X, draws=800, kind=kind, random_state=1).errors().to_frame().set_index("value")
    assert_allclose(frame.loc["a", "se"], np.sqrt(0.25 * 0.75 / 400), rtol=0.1)
    assert_allclose(frame.loc["mean", "se"], X["x"].std(ddof=0) / 20, rtol=0.1)
    assert_allclose(frame.loc["a", ["low", "high"]].astype(float), [0.2076, 0.2924], atol=0.006)


def test_the_same_bits_for_any_number_of_workers(classes):
    one, two = (hs.bootstrap(classes, MIXED, draws=20, random_state=3, n_jobs=jobs) for jobs in (1, 2))
    assert_array_equal(one.draws, two.draws)
    other = hs.bootstrap(classes, MIXED, draws=20, random_state=4)
    assert (other.draws != one.draws).any()


def test_a_refit_is_the_fit_with_these_frequencies(classes):
    units = classes._resampled(MIXED)
    frequency = np.random.default_rng(0).multinomial(units.n_units, units.frequency / units.n_units).astype(float)
    found = refit(units.model, units.weighted(frequency), units.off_bounds(units.params))
    table = units.table
    numbers = classes._decoded(dict(table.blocks.items()))
    frame = pd.DataFrame(dict(zip(MIXED.columns, numbers, strict=True)))
    kinds = {"visits": "poisson", "color": "categorical", "size": "gaussian"}
    own = hs.LatentClass(2, prior=None, columns=kinds, **FINE).fit(frame, sample_weight=frequency)
    assert_allclose(found.loglik, own.loglik_, atol=1e-6)


def test_drawn_rows_lack_the_values_that_the_data_lack(classes):
    units = classes._resampled(MIXED)
    table = units.drawn(units.params, np.random.default_rng(0)).table
    own, theirs = (
        np.unique(np.repeat(one.missing, one.weight.astype(int), axis=0), axis=0, return_counts=True)
        for one in (units.table, table)
    )
    assert_array_equal(own[0], theirs[0])
    assert_array_equal(own[1], theirs[1])


def test_drawn_labels_are_known_where_those_of_the_data_are():
    X = PEOPLE[["size", "color"]]
    model = hs.LatentClass(2, **FINE).fit(X, labels=LABELS)
    table = model._resampled(X, labels=LABELS).drawn(model._params, np.random.default_rng(0)).table
    known = table.evidence.patterns[table.evidence.index]
    assert_allclose(table.weight[(known == -np.inf).any(axis=1)].sum(), (LABELS >= 0).sum())


def test_weights_are_frequencies():
    X = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": ["u", "v", "v", "u"]})
    weight = np.array([30, 25, 6, 4])
    model = hs.LatentClass(2, prior=None, **FINE).fit(X, sample_weight=weight)
    short = hs.bootstrap(model, X, draws=5, random_state=0, sample_weight=weight)
    long = hs.bootstrap(model, X.loc[np.repeat(np.arange(4), weight)], draws=5, random_state=0)
    assert_array_equal(short.draws, long.draws)


def test_a_posterior_mode_is_moved_to_maximum_likelihood(classes):
    with_prior = hs.LatentClass(2, columns={"visits": "poisson"}, prior=5.0, **FINE).fit(MIXED)
    found = hs.bootstrap(with_prior, MIXED, draws=2, random_state=0)
    assert_allclose(found.estimate, classes._named_parameters().values, atol=1e-3)
    assert np.abs(found.estimate - with_prior._named_parameters().values).max() > 0.01


def test_a_start_leaves_no_probability_at_zero():
    X = pd.DataFrame({"a": ["x"] * 20 + ["y"] * 20, "b": ["u"] * 20 + ["v"] * 20})
    model = hs.LatentClass.from_params([0.5, 0.5], {"a": {"x": [1, 0], "y": [0, 1]}, "b": {"u": [1, 0], "v": [0, 1]}})
    units = model._resampled(X)
    assert min(units.off_bounds(units.params)["emit"]["categorical"].ravel()) > 1e-3
    assert_allclose(at_maximum(model, units).loglik, 40 * np.log(0.5), atol=1e-6)


def test_standard_errors_by_the_bootstrap(classes):
    own = hs.standard_errors(classes, MIXED, kind="bootstrap", draws=10, random_state=0)
    assert_array_equal(own.se, hs.bootstrap(classes, MIXED, draws=10, random_state=0).errors().se)
    assert own.kind == "bootstrap"
    assert list(own.to_frame()) == [*own.labels, "estimate", "se", "low", "high", "note"]


def test_boundary_fixed_and_the_table_of_draws():
    X = pd.DataFrame({"a": ["x"] * 50, "b": list("uv") * 25})
    found = hs.bootstrap(hs.LatentClass(1, prior=None).fit(X), X, draws=8, random_state=0)
    assert found.errors().note == ["boundary", "boundary", "", ""]
    assert list(found.to_frame()) == ["(share) class 0", "a x class 0", "b u class 0", "b v class 0", "log-likelihood"]
    assert len(found.to_frame()) == 8
    assert "nonparametric bootstrap, 8 samples" in str(found)
    low, high = found.interval(0.5)
    assert (low <= high).all()


def test_samples_in_which_a_component_collapses_are_left_out():
    X = pd.DataFrame({"x": np.r_[np.random.default_rng(0).normal(size=30) * 1.1, 40.123, 40.777, 41.331]})
    model = hs.GaussianMixture(2, variance_floor=1e-6, random_state=0, n_init=4).fit(X)
    with pytest.warns(BootstrapWarning, match="failed or collapsed and are left out"):
        found = hs.bootstrap(model, X, draws=40, random_state=0)
    assert found.n_failed > 0
    assert len(found.draws) == 40 - found.n_failed


def test_what_is_refused(classes):
    with pytest.raises(ParameterError, match="KMeans has no bootstrap: it is for models with a likelihood"):
        hs.bootstrap(hs.KMeans(2).fit(PEOPLE[["weight"]]), PEOPLE[["weight"]])
    with pytest.raises(ParameterError, match="fitted with assign='hard'"):
        hs.bootstrap(hs.LatentClass(2, assign="hard", n_init=1).fit(MIXED), MIXED)
    with pytest.raises(DataError, match=r"whole numbers, but one is 0\.5"):
        hs.bootstrap(classes, MIXED, sample_weight=np.full(len(MIXED), 0.5))
    with pytest.raises(ParameterError, match="kind='jackknife'"):
        hs.bootstrap(classes, MIXED, kind="jackknife")
    with pytest.raises(ParameterError, match="draws=1 is not a whole number of at least 2"):
        hs.bootstrap(classes, MIXED, draws=1)
    with pytest.raises(ParameterError, match="lengths= is not known for a LatentClass"):
        hs.bootstrap(classes, MIXED, lengths=[3])
    survey = hs.LatentClass(1, weight_kind="survey").fit(MIXED, sample_weight=np.arange(1, len(MIXED) + 1))
    with pytest.raises(ParameterError, match=r"fitted with survey weights .* frequencies"):
        hs.bootstrap(survey, MIXED)
    with pytest.raises(ParameterError, match="it takes no strata and no clusters"):
        hs.standard_errors(classes, MIXED, kind="bootstrap", cluster=np.arange(len(MIXED)))
    with pytest.raises(DataError, match="nothing is observed"):
        hs.bootstrap(classes, MIXED.assign(size=np.nan, color=None, visits=np.nan))


def test_one_series_has_a_parametric_bootstrap_only():
    X = PEOPLE[["size"]]
    model = hs.HMM(2, n_init=1, random_state=0).fit(X)
    with pytest.raises(ParameterError, match=r"draws sequences with replacement, and there is one"):
        hs.bootstrap(model, X, draws=2)
    assert hs.bootstrap(model, X, draws=2, kind="parametric", random_state=0).draws.shape[0] == 2


def test_texts_and_partly_known_sentences_are_not_drawn():
    texts = pd.DataFrame({"t": ["a cat sat", "a dog ran", "the cat ran"] * 4})
    model = hs.LatentClass(1, columns={"t": "text"}, prior=None).fit(texts)
    assert hs.bootstrap(model, texts, draws=3, random_state=0).draws.shape[0] == 3
    with pytest.raises(ParameterError, match="texts are not drawn, and column 't' has some"):
        hs.bootstrap(model, texts, draws=3, kind="parametric")
    grammar = hs.PCFG("S -> 'a' S [0.5] | 'b' [0.5]").fit([["a", "b"], [None, "b"]])
    with pytest.raises(ParameterError, match="sentences are drawn as a whole"):
        hs.bootstrap(grammar, [["a", "b"], [None, "b"]], draws=3, kind="parametric")


def test_components_are_put_back_in_their_order(case):
    model, X, how = case
    units = model._resampled(X, **how)
    turned = {"classes", "full", "tied", "spherical", "states"} & {
        name for name, own in CASES.items() if own[0] is model
    }
    if turned:  # components without labels
        other = units.model.relabel(units.params, np.array([1, 0]))
    elif isinstance(model, hs.BayesNet):
        tables = permuted(model._graph, units.params["tables"], model._graph.names.index("C"), np.array([1, 0]))
        other = {"tables": tables}
    else:
        pytest.skip("components have labels or names")
    assert (units.named(other) != units.named(units.params)).any()
    assert_array_equal(units.named(units.matched(other, units.params)), units.named(units.params))


def test_data_other_than_those_of_the_fit_are_refused():
    """Refits would begin at the estimate and move to the maximum of the other data, as if it were the model's."""
    rng = np.random.default_rng(0)
    X, other = (pd.DataFrame(rng.integers(0, 2, (60, 4)).astype(str)) for _ in range(2))
    model = hs.LatentClass(2, random_state=0).fit(X)
    for call in (hs.bootstrap, hs.blrt):
        with pytest.raises(DataError, match=r"not the data of the fit: the log-likelihood of the model is -\d"):
            call(model, other, draws=2, random_state=0)
        call(model, X, draws=2, random_state=0)
