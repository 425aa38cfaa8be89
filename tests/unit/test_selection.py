"""How many classes: ranges, "auto", criteria, what is shown."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.engine.loop import search
from halfseen.errors import DataError, ParameterError


@pytest.fixture(scope="module")
def three():
    """Three classes, far apart."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 3, 300)
    return pd.DataFrame({"a": rng.normal(6.0 * hidden), "b": rng.normal(-5.0 * hidden), "c": hidden > 1})


@pytest.mark.parametrize("sizes", [range(1, 6), [5, 1, 3, 2, 4], np.arange(1, 6), "auto"])
def test_the_best_is_kept(three, sizes):
    model = hs.LatentClass(sizes, random_state=0, n_init=4).fit(three)
    assert model.n_components_ == 3
    assert len(model.weights_) == 3
    table = model.selection_
    assert table["n_components"].tolist() == [1, 2, 3, 4, 5]
    assert table["chosen"].tolist() == [False, False, True, False, False]
    assert table["bic"].idxmin() == 2
    assert model.bic() == pytest.approx(table["bic"][2])
    assert model.aic() == pytest.approx(table["aic"][2])
    assert model.icl() == pytest.approx(table["icl"][2])
    assert model.entropy() == pytest.approx(table["entropy"][2])
    assert model.loglik_ == pytest.approx(table["loglik"][2])
    assert model.n_parameters_ == table["n_parameters"][2]


def test_one_class_is_among_them():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = hs.LatentClass("auto", random_state=0, n_init=2).fit(X)
    assert model.n_components_ == 1
    assert model.selection_["n_components"].tolist() == [1, 2, 3]  # it rose twice
    assert model.predict(X).max() == 0


def test_more_classes_never_fit_worse(three):
    """Each number of classes may begin at the solution with one less."""
    likelihoods = hs.LatentClass(range(1, 7), prior=None, random_state=0, n_init=3).fit(three).selection_["loglik"]
    assert (np.diff(likelihoods) > -1e-3).all()


def test_a_single_number_has_a_table_too(three):
    model = hs.LatentClass(2, random_state=0, n_init=2).fit(three)
    assert model.selection_["n_components"].tolist() == [2]
    assert model.selection_["chosen"].tolist() == [True]


def test_criteria_may_differ(three):
    for criterion in ("bic", "aic", "icl"):
        table = hs.LatentClass(range(1, 5), criterion=criterion, random_state=0, n_init=2).fit(three).selection_
        assert table["chosen"].idxmax() == table[criterion].idxmin()


def test_labels_and_ranges(three):
    labels = [None] * 295 + ["x", "x", "y", "y", "y"]
    model = hs.LatentClass(range(2, 5), random_state=0, n_init=2).fit(three, labels=labels)
    assert model.class_names_[:2] == ("x", "y")
    with pytest.raises(DataError, match="2 distinct labels"):
        hs.LatentClass(range(1, 3)).fit(three, labels=labels)


def test_fewer_rows_than_classes_end_the_search():
    assert hs.LatentClass("auto", random_state=0, n_init=1).fit([[0.5], [1.5]]).n_components_ <= 2


@pytest.mark.parametrize("wrong", ["all", 0, 2.5, [], [1, 0], [1, 2.5], [1, "a"], [1, [2]], np.array(2.5), True, None])
def test_nonsense_is_refused(three, wrong):
    with pytest.raises(ParameterError, match="n_components="):
        hs.LatentClass(wrong).fit(three)


def test_a_start_has_one_number_of_classes(three):
    with pytest.raises(ParameterError, match="one number of classes"):
        hs.LatentClass([2, 3], start={"weights": [0.5, 0.5]}).fit(three)
    with pytest.raises(ParameterError, match="criterion='best'"):
        hs.LatentClass([2, 3], criterion="best").fit(three)


# ---- rows that come in pieces ----------------------------------------------------------------------------------------


def stream(seed, n_rows, shift=0.0):
    rng = np.random.default_rng(seed)
    hidden = rng.random(n_rows) < 0.3
    X = pd.DataFrame(
        {
            "a": pd.Categorical(np.where(rng.random(n_rows) < np.where(hidden, 0.9, 0.2), "x", "y"), ["x", "y", "z"]),
            "b": rng.normal(np.where(hidden, 4.0 + shift, 0.0)),
            "c": rng.poisson(np.where(hidden, 1.0, 6.0)).astype(float),
        }
    )
    return X.mask(rng.random(X.shape) < 0.1)


def test_batches_come_near_one_fit():
    options = {"columns": {"c": "poisson"}, "random_state": 0, "n_init": 4}
    whole = hs.LatentClass(2, **options).fit(stream(0, 4000))
    pieces = hs.LatentClass(2, **options)
    table = stream(0, 4000)
    for first in range(0, 4000, 250):
        pieces.partial_fit(table[first : first + 250])
    assert pieces.n_rows_seen_ == 4000
    assert pieces.score(table) > whole.score(table) - 5e-3
    assert_allclose(pieces.weights_, whole.weights_, atol=0.03)
    with pytest.raises(ParameterError, match="in pieces"):
        pieces.bic()
    assert not hasattr(pieces, "loglik_")
    again = hs.LatentClass(2, **options).fit(table).partial_fit(table[:10])
    assert_allclose(again.weights_, whole.weights_, atol=0.01)
    assert again.fit(table).loglik_ == whole.loglik_


def test_forgetting_follows_the_drift():
    options = {"columns": {"c": "poisson"}, "random_state": 0, "n_init": 4}
    slow, quick = (hs.LatentClass(2, **options).partial_fit(stream(0, 5000)) for _ in range(2))
    for seed in range(1, 5):
        quick.partial_fit(stream(seed, 300, shift=4.0), forget=0.3)
        slow.partial_fit(stream(seed, 300, shift=4.0))
    assert max(quick.params_["b"]["mean"]) == pytest.approx(8.0, abs=0.4)
    assert max(slow.params_["b"]["mean"]) < max(quick.params_["b"]["mean"]) - 0.5


def test_row_by_row_works_too():
    model = hs.LatentClass(2, columns={"c": "poisson"}, random_state=0, n_init=4).partial_fit(stream(0, 500))
    before = model.weights_.copy()
    table = stream(1, 40)
    for i in range(40):
        model.partial_fit(table[i : i + 1])
    assert_allclose(model.weights_, before, atol=0.05)
    assert model.n_rows_seen_ == 540


def test_pieces_refused():
    with pytest.raises(ParameterError, match="at least 10"):
        hs.LatentClass(2).partial_fit(stream(0, 9))
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'"):
        hs.LatentClass([1, 2]).partial_fit(stream(0, 100))
    with pytest.raises(ParameterError, match="forget=1"):
        hs.LatentClass(2).partial_fit(stream(0, 100), forget=1.0)
    built = hs.LatentClass.from_params([1.0], {"x": {"mean": [0.0], "sd": [1.0]}})
    with pytest.raises(ParameterError, match="no statistics"):
        built.partial_fit([[1.5]] * 30)


# ---- why -------------------------------------------------------------------------------------------------------------


def test_parts_add_up_to_the_log_odds():
    table = stream(0, 300)
    y = np.where(np.arange(300) % 2, "p", "q")
    for model in (hs.LatentClass(3, random_state=0, n_init=2).fit(table), hs.NaiveBayes().fit(table, y)):
        for i in range(20):
            row = table[i : i + 1]
            found = model.why(row)
            proba = np.sort(model.predict_proba(row)[0])[::-1]
            assert found.log_odds == pytest.approx(np.log(proba[0] / proba[1]))
            assert sum(found.contributions.values()) == pytest.approx(found.log_odds)
            assert found.together == pytest.approx(0, abs=1e-9)
            seen = [name for name in table if not row[name].isna().any()]
            assert set(found.contributions) == {"(share)", *seen}


def test_why_in_words():
    model = hs.NaiveBayes().fit(
        pd.DataFrame({"sky": ["sun", "sun", "rain", "rain"], "wind": [1.5, 2.5, 7.5, 8.5]}), ["out", "out", "in", "in"]
    )
    text = str(model.why(pd.DataFrame({"sky": ["sun"], "wind": [None]})))
    assert text.splitlines()[0] == "out (75%) rather than in (25%): log-odds +1.10"
    assert "sky = sun  3.0 times as probable in out" in text
    assert "not seen: wind" in text
    against = model.why(pd.DataFrame({"sky": ["sun"], "wind": [8.1]}), against="out")
    assert against.target == "in"


def test_several_components_say_something_together():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) + rng.choice([-5.0, 5.0], (400, 1)) * [1, 1]
    X[200:, 1] *= -1
    y = np.repeat([0, 1], 200)  # the classes differ in how the columns go together, in neither column alone
    model = hs.NaiveBayes(components_per_class=2, random_state=0).fit(X, y)
    found = model.why([[5.0, 5.0]])
    assert found.target == "0"
    assert abs(found.contributions["x0"] + found.contributions["x1"] - found.log_odds) > 1
    assert "together" in str(found)


def test_why_refused():
    model = hs.NaiveBayes().fit([["a"], ["b"]], [0, 1])
    with pytest.raises(DataError, match="one row, got 2"):
        model.why([["a"], ["b"]])
    with pytest.raises(ParameterError, match="is not one of the classes 0, 1"):
        model.why([["a"]], against=5)
    with pytest.raises(ParameterError, match="most probable class itself"):
        model.why([["a"]], against=0)


def test_pieces_go_on_after_relabelling():
    options = {"columns": {"c": "poisson"}, "random_state": 0, "n_init": 4}
    straight, turned = (hs.LatentClass(2, **options).fit(stream(0, 500)) for _ in range(2))
    turned = turned.relabel([1, 0]).partial_fit(stream(1, 500))
    assert_allclose(turned.weights_, straight.partial_fit(stream(1, 500)).weights_[::-1], rtol=1e-12)


@pytest.mark.parametrize("pass_", [1, 10])
def test_an_interrupt_keeps_the_sizes_found_so_far(monkeypatch, pass_):
    """Ctrl-C while a later size is fitted, at its first pass or in its middle, keeps the best of the earlier ones."""
    X = hs.load_votes().drop(columns="party")
    sizes = []
    evaluate = search.evaluate

    def interrupting(model, *rest, **how):
        sizes.append(model.leaves["emit"].n_components)
        if sizes.count(3) == pass_:
            raise KeyboardInterrupt
        return evaluate(model, *rest, **how)

    monkeypatch.setattr(search, "evaluate", interrupting)
    with pytest.warns(hs.errors.InterruptedWarning, match="best model so far"):
        model = hs.LatentClass(range(1, 6), random_state=0).fit(X)
    assert model.n_components_ in (2, 3)
    assert max(sizes) == 3


@pytest.mark.parametrize("pass_", [1, 10])
def test_an_interrupt_keeps_the_networks_found_so_far(monkeypatch, pass_):
    """Ctrl-C while a later number of hidden states is fitted keeps the best of the earlier ones."""
    X = hs.load_votes().drop(columns="party").iloc[:, :4]
    edges = "; ".join(f"C -> {name}" for name in X.columns)
    sizes = []
    evaluate = search.evaluate

    def interrupting(model, *rest, **how):
        sizes.append(model.leaves["tables"].stats_shape)
        if sizes.count(sizes[-1]) == pass_ and len(set(sizes)) == 2:
            raise KeyboardInterrupt
        return evaluate(model, *rest, **how)

    monkeypatch.setattr(search, "evaluate", interrupting)
    with pytest.warns(hs.errors.InterruptedWarning, match="best model so far"):
        model = hs.BayesNet(edges, hidden={"C": [2, 3, 4]}, random_state=0).fit(X)
    assert model.selection_["C"].tolist() == ([2] if pass_ == 1 else [2, 3])
