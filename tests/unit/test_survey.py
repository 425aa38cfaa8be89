"""Survey weights, strata and clusters: linearised errors against closed forms, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t

import halfseen as hs
from halfseen.errors import DataError, ParameterError

RNG = np.random.default_rng(5)
FINE = {"prior": None, "random_state": 0, "n_init": 2}


def sample(n_clusters=30, size=20):
    """Return a sample of clusters that differ, in two strata, with unequal weights."""
    cluster = np.repeat(np.arange(n_clusters), size)
    stratum = np.where(cluster < 10, "north", "south")
    lean = RNG.normal(size=n_clusters)[cluster] + (cluster < 10)
    z = RNG.random(n_clusters * size) < 1 / (1 + np.exp(-lean))
    X = pd.DataFrame({f"q{j}": np.where(RNG.random(len(z)) < np.where(z, 0.85, 0.2), "yes", "no") for j in range(4)})
    return X.assign(psu=cluster, stratum=stratum, w=1.0 + 4 * RNG.random(len(z)) * (1 + (cluster < 10)))


SAMPLE = sample()
ITEMS = SAMPLE[["q0", "q1", "q2", "q3"]]
DESIGN = {"strata": SAMPLE["stratum"], "cluster": SAMPLE["psu"]}


def of(errors, value="yes"):
    return errors.to_frame().set_index(["column", "value"]).loc[("q0", value)]


def test_a_share_has_the_textbook_variance():
    one, w = SAMPLE[["q0"]], SAMPLE["w"].to_numpy()
    model = hs.LatentClass(1, weight_kind="survey", **FINE).fit(one, sample_weight=w)
    y = (one["q0"] == "yes").to_numpy()
    share = np.average(y, weights=w)
    residual = pd.Series(w * (y - share)).groupby(SAMPLE["psu"]).sum()
    variance = 0.0
    for _, own in residual.groupby(SAMPLE.groupby("psu")["stratum"].first()):
        variance += len(own) / (len(own) - 1) * ((own - own.mean()) ** 2).sum()
    found = of(hs.standard_errors(model, one, sample_weight=w, **DESIGN))
    assert_allclose(found["estimate"], share, rtol=1e-9)
    assert_allclose(found["se"], np.sqrt(variance) / w.sum(), rtol=1e-6)
    assert_allclose(found["deff"], variance / w.sum() ** 2 / (share * (1 - share) / len(y)), rtol=1e-5)
    assert found["deff"] > 1.5


def test_without_a_design_weights_alone_linearise():
    one, w = SAMPLE[["q0"]], SAMPLE["w"].to_numpy()
    model = hs.LatentClass(1, weight_kind="survey", **FINE).fit(one, sample_weight=w)
    y = (one["q0"] == "yes").to_numpy()
    share, n = np.average(y, weights=w), len(y)
    by_hand = np.sqrt(n / (n - 1) * ((w * (y - share)) ** 2).sum()) / w.sum()
    assert_allclose(of(hs.standard_errors(model, one, sample_weight=w))["se"], by_hand, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_the_scale_of_weights_changes_nothing(scale):
    w = SAMPLE["w"].to_numpy()
    model = hs.LatentClass(range(1, 4), weight_kind="survey", random_state=0).fit(ITEMS, sample_weight=scale * w)
    plain = hs.LatentClass(range(1, 4), weight_kind="survey", random_state=0).fit(ITEMS, sample_weight=w)
    assert model.n_components_ == plain.n_components_ == 2
    assert_allclose(model.loglik_, plain.loglik_, rtol=1e-12)
    assert_allclose(model.bic(), plain.bic(), rtol=1e-12)
    assert_allclose(
        hs.standard_errors(model, ITEMS, sample_weight=scale * w, **DESIGN).se,
        hs.standard_errors(plain, ITEMS, sample_weight=w, **DESIGN).se,
        rtol=1e-6,
    )


def test_n_is_the_effective_number_of_rows():
    w = SAMPLE["w"].to_numpy()
    model = hs.LatentClass(2, weight_kind="survey", **FINE).fit(ITEMS, sample_weight=w)
    effective = w.sum() ** 2 / (w**2).sum()
    assert_allclose(model.bic(), -2 * model.loglik_ + model.n_parameters_ * np.log(effective), rtol=1e-12)
    assert_allclose(model.score(ITEMS, sample_weight=w), model.loglik_ / effective, rtol=1e-9)


def test_equal_weights_are_those_of_a_plain_fit():
    plain = hs.LatentClass(2, **FINE).fit(ITEMS)
    survey = hs.LatentClass(2, weight_kind="survey", **FINE).fit(ITEMS, sample_weight=np.full(len(ITEMS), 7.0))
    assert_allclose(survey.loglik_, plain.loglik_, rtol=1e-12)
    n = len(ITEMS)
    robust = hs.standard_errors(plain, ITEMS, "robust")
    designed = hs.standard_errors(survey, ITEMS, sample_weight=np.full(n, 7.0))
    assert_allclose(designed.se, robust.se * np.sqrt(n / (n - 1)), rtol=1e-5)


def test_clusters_of_any_family_and_by_name():
    model = hs.LatentClass(2, **FINE).fit(ITEMS)
    named = hs.standard_errors(model, SAMPLE.drop(columns="w"), strata="stratum", cluster="psu")
    given = hs.standard_errors(model, ITEMS, **DESIGN)
    assert_array_equal(named.se, given.se)
    assert named.kind == "robust"
    assert str(named.design) == "2 strata, 30 clusters"
    assert named.design.freedom == 28
    assert "deff" in str(named)
    network = hs.BayesNet("q1 <- q0", prior=None).fit(ITEMS[["q0", "q1"]])
    errors = hs.standard_errors(network, ITEMS[["q0", "q1"]], cluster=SAMPLE["psu"])
    assert (errors.effect[~np.isnan(errors.effect)] > 1).any()


def test_clusters_of_sequences():
    rng = np.random.default_rng(2)
    X, lengths = rng.normal(size=(900, 1)) + 3 * (np.arange(900)[:, None] // 5 % 2), [10] * 90
    model = hs.HMM(2, prior=None, random_state=0, n_init=2).fit(X, lengths=lengths)
    by_unit = hs.standard_errors(model, X, lengths=lengths, cluster=np.arange(90))
    robust = hs.standard_errors(model, X, "robust", lengths=lengths)
    known = np.array([not note for note in robust.note])
    assert_allclose(by_unit.se[known], robust.se[known] * np.sqrt(90 / 89), rtol=1e-3)
    pairs = hs.standard_errors(model, X, lengths=lengths, cluster=np.arange(90) // 2)
    assert pairs.design.freedom == 44


def test_intervals_use_t_with_clusters_less_strata():
    X = pd.DataFrame({"x": RNG.normal(size=60)})
    model = hs.LatentClass(1, **FINE).fit(X)
    found = hs.standard_errors(model, X, strata=np.arange(60) // 30, cluster=np.arange(60) // 6).to_frame()
    mean = found[found["value"] == "mean"].iloc[0]
    assert_allclose((mean["high"] - mean["low"]) / 2, t.isf(0.025, 8) * mean["se"], rtol=1e-9)


def test_two_copies_of_every_row_in_one_cluster_give_the_errors_of_one():
    once = ITEMS.iloc[:200]
    twice = pd.concat([once, once], ignore_index=True)
    model = hs.LatentClass(2, **FINE).fit(once)
    double = hs.LatentClass(2, **FINE).fit(twice)
    alone = hs.standard_errors(model, once, cluster=np.arange(200))
    together = hs.standard_errors(double, twice, cluster=np.tile(np.arange(200), 2))
    assert_allclose(together.se, alone.se, rtol=1e-3)


BAD = {
    "length": ({"cluster": [1, 2]}, "one value for each of the 600 units"),
    "missing": ({"strata": np.where(np.arange(600) == 7, None, "a")}, "unit 7 has a missing value"),
    "one cluster": ({"cluster": np.ones(600)}, "there is one cluster"),
    "lonely": ({"strata": np.where(SAMPLE["psu"] == 3, "x", "y"), "cluster": SAMPLE["psu"]}, "stratum 'x' has one"),
    "crossing": ({"strata": np.arange(600) % 2, "cluster": SAMPLE["psu"]}, "has units of several strata"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_designs_are_refused(name):
    given, message = BAD[name]
    model = hs.LatentClass(1, **FINE).fit(ITEMS)
    with pytest.raises(DataError, match=message):
        hs.standard_errors(model, ITEMS, **given)


def test_what_cannot_be_honoured_is_refused():
    model = hs.LatentClass(1, weight_kind="survey", **FINE).fit(ITEMS, sample_weight=SAMPLE["w"])
    with pytest.raises(ParameterError, match='Use kind="robust"'):
        hs.standard_errors(model, ITEMS, "hessian", sample_weight=SAMPLE["w"])
    with pytest.raises(ParameterError, match="no column of X"):
        hs.standard_errors(model, ITEMS, cluster="school", sample_weight=SAMPLE["w"])
    with pytest.raises(ParameterError, match="not for partial_fit"):
        hs.LatentClass(1, weight_kind="survey").partial_fit(ITEMS)
    with pytest.raises(ParameterError, match="weight_kind"):
        hs.LatentClass(1, weight_kind="population").fit(ITEMS)


def test_diagnostics_are_by_the_effective_number_of_rows():
    w = SAMPLE["w"].to_numpy()
    model = hs.LatentClass(2, weight_kind="survey", **FINE).fit(ITEMS, sample_weight=w)
    found = hs.diagnostics(model, ITEMS, w)
    assert_allclose(found.n, w.sum() ** 2 / (w**2).sum())
    assert_allclose(found.criteria["bic"], model.bic())
    assert "with survey weights G2 and X2 are not chi-square" in str(found)


def test_the_kind_of_weights_is_kept_in_the_file(tmp_path):
    model = hs.LatentClass(2, weight_kind="survey", **FINE).fit(ITEMS, sample_weight=SAMPLE["w"])
    hs.save(model, tmp_path / "m.halfseen")
    assert hs.load(tmp_path / "m.halfseen").weight_kind == "survey"
