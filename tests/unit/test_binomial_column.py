"""A column of successes in the library: the coins of Do and Batzoglou, what is refused, files, every estimator.

Do and Batzoglou (2008), What is the expectation maximization algorithm? Nature Biotechnology 26, figure 1: five series
of ten tosses, each of one of two coins. They print two digits; those of the limits are from coins/SOURCE.md of the
shared data.
"""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import rel_entr
from scipy.stats import binom

import halfseen as hs
from halfseen.analysis import comparison
from halfseen.analysis.rows import surprising_rows
from halfseen.data import Chunk, Column
from halfseen.engine.loop.em import steps
from halfseen.engine.loop.model import Reduced
from halfseen.engine.tables.mixture import Mixture
from halfseen.errors import DataError, ParameterError
from halfseen.leaves import Binomial, Cells, Frozen
from halfseen.structures.independent import Independent
from tests.shared_data import shared_data

COINS = pd.DataFrame({"heads": [5, 9, 8, 4, 7]})
KIND = {"heads": "binomial(10)"}
START = {"weights": [0.5, 0.5], "heads": [0.6, 0.5]}
LIMIT, SHARE = [0.7967890669, 0.5195831201], [0.5227513169, 0.4772486831]
LIMIT_OF_SHARES = [0.7933676496, 0.5139165912]

RNG = np.random.default_rng(6)
GROUP = np.repeat([0, 1], 150)
X = pd.DataFrame({"heads": RNG.binomial(12, np.array([0.25, 0.7])[GROUP]).astype(float)})
X["answer"] = np.where(RNG.random(300) < 0.15 + 0.7 * GROUP, "yes", "no")
X.loc[::9, "heads"] = np.nan
OF_TWELVE = {"heads": "binomial(12)"}


def coins(**how):
    return hs.LatentClass(2, columns=KIND, start=START, prior=None, **how)


# ---- the coins ------------------------------------------------------------------------------------------------------


def test_the_first_iteration_by_the_engine():
    leaf = Binomial(2, 10, np.array([0.66]))
    mix = Frozen(Cells(1, [2], axes=(1,)))
    model = Mixture(Independent(), {"mix": mix, "emit": leaf})
    rows = Reduced([Chunk(0, COINS.to_numpy(float), np.ones(5))])
    going = steps(model, rows, {"mix": np.array([[0.5, 0.5]]), "emit": np.array([[0.6], [0.5]])})
    first, second = next(going), next(going)
    counts = model.view(first.expected.stats)["emit"]
    assert_allclose(counts[1].round(1), [[21.3], [11.7]])
    assert_allclose(counts[2].round(1), [[8.6], [8.4]])
    assert_allclose(second.params["emit"], [[0.713012], [0.581339]], atol=5e-7)


def test_the_first_iteration_number_by_number():
    explained = hs.explain(coins(fixed=("weights",)), COINS, n_iter=10)
    first = explained.steps[0]
    assert_allclose(first.usage[:, 0].round(2), [0.45, 0.80, 0.73, 0.35, 0.65])
    heads = first.counts.sums["heads"]
    assert_allclose(heads["successes"].round(1), [21.3, 11.7])
    assert_allclose(heads["failures"].round(1), [8.6, 8.4])
    assert_allclose(first.after["heads"]["p"], [0.713012, 0.581339], atol=5e-7)
    assert_allclose(explained.steps[-1].after["heads"]["p"], [0.796744, 0.519659], atol=5e-7)
    lines = str(explained).splitlines()
    assert "  successes of heads  21.297482  11.702518" in lines
    assert "  failures of heads    8.572247   8.427753" in lines
    assert "  p of heads  0.713012  0.581339" in lines


@pytest.mark.parametrize("how", [{}, {"accelerate": False}, {"method": "lbfgs"}], ids=str)
def test_the_limit(how):
    equal = coins(fixed=("weights",), tol=1e-13, **how).fit(COINS)
    assert_allclose(equal.params_["heads"]["p"], LIMIT, atol=1e-6)
    free = coins(tol=1e-13, **how).fit(COINS)
    assert_allclose(free.params_["heads"]["p"], LIMIT_OF_SHARES, atol=2e-6)
    assert_allclose(free.weights_, SHARE, atol=2e-5)


def test_the_file_of_the_coins():
    table = pd.read_csv(shared_data("coins/coins.csv"))
    assert table["heads"].tolist() == COINS["heads"].tolist()
    assert (table["heads"] + table["tails"] == 10).all()


# ---- against other models -------------------------------------------------------------------------------------------


def test_one_class_is_in_closed_form():
    model = hs.LatentClass(1, columns=OF_TWELVE, prior=None).fit(X[["heads"]])
    seen = X["heads"].dropna()
    p = seen.mean() / 12
    assert model.params_["heads"]["p"][0] == pytest.approx(p, rel=1e-12)
    assert model.loglik_ == pytest.approx(binom.logpmf(seen, 12, p).sum(), rel=1e-12)
    assert model.n_parameters_ == 1


def test_one_trial_is_two_categories():
    rng = np.random.default_rng(0)
    group = rng.random(200) < 0.4
    table = pd.DataFrame({f"x{d}": (rng.random(200) < np.where(group, 0.8, 0.25)).astype(float) for d in range(4)})
    table[rng.random(table.shape) < 0.1] = np.nan
    how = {"prior": None, "tol": 1e-12, "random_state": 0}
    start = {f"x{d}": np.array([0.3 + 0.02 * d, 0.6]) for d in range(4)}
    counted = hs.LatentClass(2, columns=dict.fromkeys(table, "binomial(1)"), start=start, **how).fit(table)
    both = {name: {0: 1 - p, 1: p} for name, p in start.items()}
    coded = hs.LatentClass(2, columns=dict.fromkeys(table, "categorical"), start=both, **how).fit(table)
    assert counted.loglik_ == pytest.approx(coded.loglik_, abs=1e-9)
    assert counted.bic() == pytest.approx(coded.bic(), abs=1e-8)
    for name in table:
        assert_allclose(counted.params_[name]["p"], coded.params_[name][1], atol=1e-5)


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("binomial", r"a binomial column needs its number of trials in brackets, as in 'binomial\(10\)'"),
        *(
            (f"binomial({trials})", "the number of trials is a whole number from 1 to 1e\\+15")
            for trials in ("", "0", "-3", "2.5", "ten", "1e3", "nan", "inf", "10, 10", "1" + 15 * "0" + "1", 9999 * "9")
        ),
        ("poisson(3)", "the kind 'poisson' takes nothing in brackets, got 'poisson\\(3\\)'"),
        ("binomal(10)", "unknown kind 'binomal\\(10\\)'. Use one of .*'binomial'"),
        ("binomial(10", "unknown kind 'binomial\\(10'"),
    ],
)
@pytest.mark.parametrize(
    ("fit", "place"),
    [
        (lambda kind: hs.LatentClass(2, columns={"heads": kind}).fit(COINS), "column 'heads': "),
        (lambda kind: hs.NaiveBayes(columns={"heads": kind}).fit(COINS, [0, 1, 1, 0, 1]), "column 'heads': "),
        (lambda kind: hs.HMM(2, "auto", columns={"heads": kind}).fit(COINS), "column 'heads': "),
        (
            lambda kind: hs.LatentClass.from_params([1.0], {"heads": {"kind": kind, "p": [0.5]}}),
            r"columns\['heads'\]: ",
        ),
    ],
    ids=["LatentClass", "NaiveBayes", "HMM", "from_params"],
)
def test_a_number_of_trials_that_is_none_is_refused(fit, place, kind, said):
    with pytest.raises(ParameterError, match=f"{place}.*{said}"):
        fit(kind)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("binomial", "emission='binomial': a binomial column needs its number of trials"),
        ("binomial(0)", r"emission='binomial\(0\)': 'binomial\(0\)': the number of trials"),
        ("poisson(3)", r"emission='poisson\(3\)': the kind 'poisson' takes nothing in brackets"),
        ("binomal(3)", r"emission='binomal\(3\)' is not one of 'auto', 'categorical'"),
    ],
)
def test_an_emission_that_is_none_is_refused_before_data_are_read(kind, said):
    with pytest.raises(ParameterError, match=said):
        hs.HMM(2, kind).fit(None)


@pytest.mark.parametrize(
    ("cell", "said"), [(11, "11"), (-1, "-1"), (2.5, "2.5"), (1e300, r"1e\+300")], ids=["above", "below", "part", "far"]
)
def test_cells_that_are_no_successes_are_refused_by_row_and_value(cell, said):
    table = pd.DataFrame({"heads": [5.0, 9.0, None, cell]})
    message = rf"column 'heads' cannot be binomial\(10\): row 3 is {said}, not a whole number from 0 to 10 \(1 such"
    with pytest.raises(DataError, match=message):
        hs.LatentClass(1, columns=KIND).fit(table)
    with pytest.raises(DataError, match=message):
        coins().fit(COINS).predict(table)


def test_words_are_refused():
    with pytest.raises(DataError, match=r"column 'heads' cannot be binomial\(10\): row 1 is 'nine', not a number"):
        hs.LatentClass(1, columns=KIND).fit(pd.DataFrame({"heads": ["5", "nine"]}))


@pytest.mark.parametrize("given", [[0.2, 1.1], [-0.1, 0.5], [np.nan, 0.5]])
def test_probabilities_are_between_0_and_1(given):
    with pytest.raises(ParameterError, match=r"heads.*p: numbers must be finite and at least 0 and at most 1"):
        hs.LatentClass(2, columns=KIND, start={"heads": given}).fit(COINS)


def test_it_is_never_found_by_the_rule():
    assert hs.LatentClass(1).fit(COINS).columns_ == {"heads": "categorical"}
    assert not any(kind.recognises(hs.data.read(COINS).column(0)) for kind in [hs.registry.kinds["binomial"]])


def test_spaces_make_no_other_kind():
    model = hs.LatentClass(1, columns={"heads": " binomial ( 010 ) "}).fit(COINS)
    assert model.columns_ == {"heads": "binomial(10)"}


# ---- in the library -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"assign": "hard"}, {"assign": "sample"}, {"method": "lbfgs"}, {"prior": 2.0}])
def test_classes_are_found_with_missing_cells(how):
    model = hs.LatentClass(2, columns=OF_TWELVE, random_state=0, n_init=4, **how).fit(X)
    order = np.argsort(model.params_["heads"]["p"])
    assert_allclose(model.params_["heads"]["p"][order], [0.25, 0.7], atol=0.05)
    assert (model.predict(X) == order[GROUP]).mean() > 0.85


def test_columns_of_different_trials_stand_side_by_side():
    table = pd.DataFrame({"a": [1, 2, 3, 1], "b": [30, 10, 20, 40], "c": [3, 3, 0, 1]})
    kinds = {"a": "binomial(3)", "b": "binomial(40)", "c": "binomial(3)"}
    model = hs.LatentClass(1, columns=kinds, prior=None).fit(table)
    assert model.columns_ == kinds
    found = {name: values["p"][0] for name, values in model.params_.items() if name != "weights"}
    assert found == pytest.approx({"a": 7 / 12, "b": 100 / 160, "c": 7 / 12})


def test_a_fixed_cell_a_tied_column_and_a_column_without_failures():
    table = pd.DataFrame({"heads": [5, 9, 8, 4, 7], "all": [3] * 5, "none": [0] * 5})
    kinds = {**KIND, "all": "binomial(3)", "none": "binomial(3)"}
    model = hs.LatentClass(2, columns=kinds, fixed={"heads": {"p": [0.6, None]}}, prior=None, random_state=0).fit(table)
    assert model.params_["heads"]["p"][0] == 0.6
    assert model.params_["all"]["p"].tolist() == [1, 1]
    assert model.params_["none"]["p"].tolist() == [0, 0]
    assert np.isfinite(model.loglik_)
    assert model.sample(4, random_state=0)[0]["all"].tolist() == [3] * 4
    errors = hs.standard_errors(model, table).to_frame().set_index(["column", "class"])["note"]
    assert errors["all"].tolist() == errors["none"].tolist() == ["boundary"] * 2
    tied = hs.LatentClass(2, columns=KIND, tied=["heads"], random_state=0).fit(table[["heads"]])
    assert tied.params_["heads"]["p"].tolist() == pytest.approx([0.66, 0.66])
    smoothed = hs.LatentClass(1, columns=kinds, prior=1.0).fit(table)  # a pseudo-row with half a failure, or success
    assert smoothed.params_["all"]["p"][0] == pytest.approx(17.5 / 18)
    assert smoothed.params_["none"]["p"][0] == pytest.approx(0.5 / 18)
    assert smoothed.params_["heads"]["p"][0] == pytest.approx(0.66)


def test_batches_add_up():
    y = np.array(["few", "many"])[GROUP]
    whole = hs.NaiveBayes(columns=OF_TWELVE).fit(X, y)
    pieces = hs.NaiveBayes(columns=OF_TWELVE)
    for part in (slice(0, 200), slice(200, 300)):
        pieces.partial_fit(X[part], y[part], classes=["few", "many"])
    assert pieces.score(X, y) > 0.85
    for k in (0, 1):
        heads = X["heads"][k == GROUP].dropna()
        assert whole.params_["heads"]["p"][k] == pytest.approx(heads.mean() / 12, abs=0.01)
        assert pieces.params_["heads"]["p"][k] == pytest.approx(whole.params_["heads"]["p"][k], abs=5e-3)


def test_states_emit_successes():
    states = np.repeat(np.arange(20) % 2, 30)
    x = np.random.default_rng(1).binomial(12, np.array([0.25, 0.7])[states]).astype(float)[:, None]
    x[::11] = np.nan
    model = hs.HMM(2, "binomial(12)", random_state=0, n_init=2).fit(x, lengths=[300, 300])
    order = np.argsort(model.params_["x0"]["p"])
    assert_allclose(model.params_["x0"]["p"][order], [0.25, 0.7], atol=0.03)
    assert (model.predict(x, lengths=[300, 300]) == order[states]).mean() > 0.97
    ahead = model.forecast(x, 3, [300, 300]).to_frame()
    assert ahead["x0 mean"].between(0, 12).all()


def test_units_of_transcripts_emit_successes():
    rng = np.random.default_rng(2)
    p = {"a": 0.2, "b": 0.8}
    said = ["a b a", "b a", "b a b", "a b"] * 4
    features = [np.concatenate([rng.binomial(20, p[unit], 6) for unit in words.split()])[:, None] for words in said]
    model = hs.TranscriptAligner(emission="binomial(20)", random_state=0).fit(features, said)
    found = model.align(features[:1], said[:1])[0]
    assert [round(part.start) for part in found.words] == [0, 6, 12]


def test_what_classes_are_like_is_said_in_percent():
    model = coins(fixed=("weights",)).fit(COINS).rename(["A", "B"])
    assert model.describe().splitlines() == ["A (50%): heads 80% of 10 (all 66%)", "B (50%): heads 52% of 10 (all 66%)"]
    frame = model.to_frame().query("column == 'heads'")
    assert frame[["kind", "value"]].to_numpy().tolist() == [["binomial(10)", "p"]]
    odd = surprising_rows(model, pd.DataFrame({"heads": [5, 9, 8, 4, 7, 0]}), top=1)
    assert "heads = 0 of 10, where B has 5.2 on average" in str(odd)


def test_figures_of_a_profile_are_those_of_the_distribution():
    p, weights, x = np.array([0.0, 0.2, 0.7]), np.array([0.2, 0.3, 0.5]), np.arange(13)
    kind = hs.registry.kinds["binomial(12)"]
    profile, chances = kind.profile(Column("heads", kind), {"p": p}, weights), binom.pmf(x, 12, p[:, None])
    mean, var = kind.moments(p=p)
    assert_allclose(mean, chances @ x)
    assert_allclose(var, chances @ x**2 - mean**2, atol=1e-12)
    whole = weights @ chances
    assert_allclose(profile.whole, [whole @ x, np.sqrt(whole @ x**2 - (whole @ x) ** 2)])
    assert_allclose(profile.overall, whole @ x / 12)
    assert_allclose(profile.distance, rel_entr(chances, binom.pmf(x, 12, whole @ x / 12)).sum(axis=1))


def test_two_models_differ_by_their_probabilities():
    weights = [0.5, 0.5]
    one, two = (
        hs.LatentClass.from_params(weights, {"heads": {"kind": "binomial(10)", "p": p}})
        for p in ([0.2, 0.8], [0.2, 0.7])
    )
    [move] = comparison.models(one, two).moves
    assert (move.column, move.value) == ("heads", "p")
    assert move.size == pytest.approx(0.1)


def test_posterior_draws_cover_the_truth():
    model = hs.LatentClass(2, columns=OF_TWELVE, random_state=0, n_init=2).fit(X)
    found = hs.posterior(model, X, n_draws=200, burn_in=50, min_ess=0, random_state=0)
    order = np.argsort(model.params_["heads"]["p"])
    low, high = (bound["heads"]["p"][order] for bound in (found.low, found.high))
    assert np.all((low < [0.25, 0.7]) & (high > [0.25, 0.7]))
    assert np.all((low > 0.1) & (high < 0.85))


def test_bootstrap_and_diagnostics():
    model = hs.LatentClass(2, columns=OF_TWELVE, random_state=0, n_init=2, prior=None).fit(X)
    table = hs.bootstrap(model, X, draws=30, random_state=0).errors().to_frame().set_index(["column", "class"])
    exact = hs.standard_errors(model, X).to_frame().set_index(["column", "class"])
    for k in ("class 0", "class 1"):
        assert table.loc[("heads", k), "se"] == pytest.approx(exact.loc[("heads", k), "se"], rel=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert str(hs.diagnostics(model, X))


def test_outcomes_are_related_to_classes_of_successes():
    model = hs.LatentClass(2, columns=OF_TWELVE, random_state=0, n_init=2, prior=None).fit(X)
    income = pd.DataFrame({"income": np.where(GROUP, 9.0, 4.0) + np.random.default_rng(0).normal(size=300)})
    means = hs.relate(model, X, outcomes=income).to_frame()
    assert sorted(means["estimate"].round())[:1] == [4.0]


# ---- model files ----------------------------------------------------------------------------------------------------


def test_a_model_file_keeps_the_number_of_trials(tmp_path):
    model = hs.LatentClass(2, columns=OF_TWELVE, random_state=0, n_init=2).fit(X)
    hs.save(model, tmp_path / "m.halfseen")
    for again in (hs.load(tmp_path / "m.halfseen"), pickle.loads(pickle.dumps(model))):
        assert again.columns_["heads"] == "binomial(12)"
        assert (again.predict_proba(X) == model.predict_proba(X)).all()
        with pytest.raises(DataError, match="from 0 to 12"):
            again.predict(pd.DataFrame({"heads": [13], "answer": ["yes"]}))
