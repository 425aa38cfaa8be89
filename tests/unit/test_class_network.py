"""Networks of latent classes: groups, items that vary, items that depend, and the test of what they restrict."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

import halfseen as hs
from halfseen.errors import FitError, ParameterError
from halfseen.families.network.latent_classes import latent_class_edges

ITEMS = ["q1", "q2", "q3", "q4"]


def survey(n=600, differs=0.0, seed=0):
    """Draw two classes in two countries; q3 is answered 'yes' more often by `differs` in the second one."""
    rng = np.random.default_rng(seed)
    country = rng.integers(0, 2, n)
    member = rng.random(n) < np.array([0.3, 0.6])[country]
    p = np.where(member[:, None], [0.9, 0.8, 0.55, 0.7], [0.2, 0.3, 0.15, 0.1])
    p[:, 2] += differs * country
    answers = pd.DataFrame(np.where(rng.random((n, 4)) < p, "yes", "no"), columns=ITEMS)
    return answers.mask(rng.random((n, 4)) < 0.05).assign(country=np.array(["A", "B"])[country])


TABLE = survey()


def ml(*how, X=TABLE, **options):
    return hs.BayesNet.latent_classes(*how, prior=None, random_state=0, **options).fit(X)


@pytest.fixture(scope="module")
def invariant():
    return ml(2, ITEMS, group="country")


# ---- the graph ------------------------------------------------------------------------------------------------------


def test_edges():
    assert latent_class_edges(("a", "b"), "C") == [("C", "a"), ("C", "b")]
    found = latent_class_edges(["a", "b"], "C", "g", "all", [("a", "b")])
    assert found == [("g", "C"), ("C", "a"), ("g", "a"), ("C", "b"), ("g", "b"), ("a", "b")]
    assert latent_class_edges(pd.Index(["a", "b"]), "C", None, None, None) == latent_class_edges(["a", "b"], "C")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"items": "q1"}, "items='q1' is not a list of columns"),
        ({"items": ["q1"]}, "at least two columns"),
        ({"items": ["q1", 2]}, "items: 2 is not the name"),
        ({"items": ["q1", "q1"]}, "'q1' is named twice"),
        ({"name": "q2"}, "name='q2' is a column too"),
        ({"name": ""}, "name='' is not a name"),
        ({"group": "q2"}, "group='q2' is not the name of a column beside the items"),
        ({"group": ["a", "b"]}, "group=.* is not the name of a column"),
        ({"vary": ["q1"]}, r"vary=\['q1'\] needs groups"),
        ({"vary": "all"}, "vary=.* needs groups"),
        ({"group": "g", "vary": "q1"}, r"vary='q1' is not a list of items, nor 'all'. For one item: vary=\['q1'\]"),
        ({"group": "g", "vary": 3}, "vary=3 is not a list"),
        ({"group": "g", "vary": ["q9"]}, "vary: 'q9' is not one of the items: q1, q2"),
        ({"depend": "q1"}, "depend='q1' is not a list of pairs"),
        ({"depend": [("q1",)]}, "is not a pair of items"),
        ({"depend": ["q1"]}, "depend: 'q1' is not a pair"),
        ({"depend": [("q1", "q9")]}, "depend: 'q9' is not one of the items"),
        ({"depend": [("q1", "q1")]}, "'q1' is paired with itself"),
        ({"depend": [("q1", "q2"), ("q2", "q1")]}, "is named twice"),
        ({"hidden": {"C": 2}}, "hidden= follows from items"),
        ({"edges": "A -> B"}, "edges= follows from items"),
    ],
)
def test_bad_input_is_refused(how, message):
    with pytest.raises(ParameterError, match=message):
        hs.BayesNet.latent_classes(2, **{"items": ["q1", "q2"], **how})


def test_a_circle_of_pairs_is_refused_by_the_fit():
    circle = [("q1", "q2"), ("q2", "q3"), ("q3", "q1")]
    with pytest.raises(ValueError, match="go round in a circle: q1 -> q2 -> q3 -> q1"):
        hs.BayesNet.latent_classes(2, ITEMS, depend=circle).fit(TABLE[ITEMS])


# ---- the model ------------------------------------------------------------------------------------------------------


def test_without_groups_it_is_a_latent_class_model():
    net, classes = ml(2, ITEMS, X=TABLE[ITEMS]), hs.LatentClass(2, prior=None, random_state=0).fit(TABLE[ITEMS])
    assert net.n_parameters_ == classes.n_parameters_ == 9
    assert_allclose(net.loglik_, classes.loglik_, atol=1e-6)
    assert_allclose(net.params_["class"], classes.weights_, atol=1e-4)
    assert_allclose(net.predict_proba(TABLE[ITEMS]), classes.predict_proba(TABLE[ITEMS]), atol=1e-3)
    assert_allclose(net.bic(), classes.bic(), atol=1e-5)


def test_with_everything_varying_it_is_one_model_for_each_group():
    """Then the log-likelihood is the sum of those of the groups, and that of the group itself."""
    net = ml(2, ITEMS, group="country", vary="all")
    apart = [hs.LatentClass(2, prior=None, random_state=0).fit(own[ITEMS]) for _, own in TABLE.groupby("country")]
    n = TABLE["country"].value_counts().to_numpy()
    assert net.n_parameters_ == sum(one.n_parameters_ for one in apart) + 1
    assert_allclose(net.loglik_, sum(one.loglik_ for one in apart) + (n * np.log(n / n.sum())).sum(), atol=1e-5)


def test_shares_differ_between_groups_and_items_do_not(invariant):
    assert invariant.n_parameters_ == 1 + 2 + 8
    assert invariant.params_["class"].shape == (2, 2)
    assert abs(invariant.params_["class"][0, 0] - invariant.params_["class"][1, 0]) > 0.1
    assert {invariant.params_[item].shape for item in ITEMS} == {(2, 2)}
    assert ml(2, ITEMS, group="country", vary=["q3"]).params_["q3"].shape == (2, 2, 2)


def test_the_largest_class_comes_first(invariant):
    shares = np.asarray(invariant.query("class"))
    assert shares[0] >= shares[1]
    named = ml(["low", "high"], ITEMS, group="country")
    assert named.states_["class"] == ("low", "high")
    assert_allclose(named.loglik_, invariant.loglik_, atol=1e-6)


def test_a_range_of_classes_is_tried():
    net = ml(range(1, 4), ITEMS, group="country")
    assert net.selection_["class"].tolist() == [1, 2, 3]
    assert len(net.states_["class"]) == 2


def test_a_missing_group_is_summed_over(invariant):
    row = TABLE[TABLE[ITEMS].notna().all(axis=1)].iloc[[0]]
    p = invariant.params_["country"]
    each = [invariant.score_samples(row.assign(country=one))[0] for one in ("A", "B")]
    joint = np.logaddexp(*each)
    assert_allclose(invariant.score_samples(row.assign(country=None))[0], joint, rtol=1e-12)
    assert_allclose(p.sum(), 1)


def test_model_file_and_standard_errors(invariant, tmp_path):
    hs.save(invariant, tmp_path / "m.halfseen")
    loaded = hs.load(tmp_path / "m.halfseen")
    assert (loaded.predict(TABLE) == invariant.predict(TABLE)).all()
    errors = hs.standard_errors(loaded, TABLE)
    assert errors.note == [""] * len(errors.note)
    n, p = len(TABLE), invariant.params_["country"][0]
    assert_allclose(errors.se[0], np.sqrt(p * (1 - p) / n), rtol=1e-4)


# ---- the test of a restriction --------------------------------------------------------------------------------------


def test_invariance_is_tested(invariant):
    general = ml(2, ITEMS, group="country", vary="all")
    found = hs.likelihood_ratio(invariant, general)
    assert found.df == 8
    assert_allclose(found.statistic, 2 * (general.loglik_ - invariant.loglik_))
    assert found.p > 0.01
    table = survey(differs=0.35)
    one, other = ml(2, ITEMS, group="country", X=table), ml(2, ITEMS, group="country", vary=["q3"], X=table)
    found = hs.likelihood_ratio(one, other)
    assert found.p < 1e-6
    assert_allclose(found.p, chi2.sf(found.statistic, 2))
    assert "2 degrees of freedom, p < 0.0001" in str(found)


def test_local_dependence_is_tested():
    rng = np.random.default_rng(1)
    member = rng.random(1000) < 0.5
    table = pd.DataFrame({name: rng.random(1000) < np.where(member, 0.85, 0.15) for name in "abcde"})
    table["b"] = np.where(rng.random(1000) < 0.3, table["a"], table["b"])
    one, other = ml(2, list("abcde"), X=table), ml(2, list("abcde"), depend=[("a", "b")], X=table)
    assert other.n_parameters_ == one.n_parameters_ + 2
    assert hs.likelihood_ratio(one, other).p < 1e-6


def test_the_order_of_a_pair_does_not_matter():
    one, other = (ml(2, ITEMS, X=TABLE[ITEMS], depend=[pair]) for pair in (("q1", "q2"), ("q2", "q1")))
    assert_allclose(one.loglik_, other.loglik_, atol=1e-5)


def test_models_that_cannot_be_compared_are_refused(invariant):
    with pytest.raises(ParameterError, match="give the model with fewer first"):
        hs.likelihood_ratio(ml(2, ITEMS, group="country"), invariant)
    with pytest.raises(ParameterError, match="same number of classes"):
        hs.likelihood_ratio(invariant, ml(3, ITEMS, group="country"))
    with pytest.raises(ParameterError, match="same rows"):
        hs.likelihood_ratio(invariant, ml(2, ITEMS, group="country", vary="all", X=TABLE[:500]))
    with pytest.raises(ParameterError, match="an edge that the general one has not, q1 -> q2"):
        hs.likelihood_ratio(
            ml(2, ITEMS, group="country", depend=[("q1", "q2")]), ml(2, ITEMS, group="country", vary="all")
        )
    with pytest.raises(ParameterError, match="general: its parameters are not those of maximum likelihood"):
        hs.likelihood_ratio(invariant, hs.BayesNet.latent_classes(2, ITEMS, group="country", vary="all").fit(TABLE))
    with pytest.raises(ParameterError, match="are not nested"):
        hs.likelihood_ratio(invariant, hs.LatentClass(2, prior=None).fit(TABLE))
    with pytest.raises(ParameterError, match="no log-likelihood"):
        hs.likelihood_ratio(hs.KMeans(2), invariant)


def test_a_local_maximum_of_the_general_model_is_refused(invariant):
    general = ml(2, ITEMS, group="country", vary="all")
    general.loglik_ = invariant.loglik_ - 1.0
    with pytest.raises(FitError, match="local maximum"):
        hs.likelihood_ratio(invariant, general)
