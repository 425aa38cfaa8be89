"""BIC and its relatives: which units count in N, for every family, container and path."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.data import Schema, read
from halfseen.data.labels import read_labels
from halfseen.errors import AbsentError, ParameterError

CELLS = pd.DataFrame({"a": ["x", "y", None, None, "y"], "b": [1.5, None, 2.25, None, 0.5]})


@pytest.fixture(scope="module")
def people():
    """Two kinds of people, 60 rows of which some cells are missing, none all of them."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, 60)
    frame = pd.DataFrame({"a": rng.normal(4.0 * hidden), "b": rng.normal(-3.0 * hidden)})
    frame["c"] = np.where(rng.random(60) < 0.2 + 0.6 * hidden, "yes", "no")
    frame.loc[::7, "a"] = np.nan
    return frame


def with_blank(frame, n=50):
    """The same table with rows of nothing but missing cells, at both ends."""
    blank = pd.DataFrame({name: [None] * n for name in frame}, dtype=object)
    return pd.concat([blank[: n // 2], frame.astype(object), blank[n // 2 :]], ignore_index=True)


def figures(model, *args):
    return {name: getattr(model, name)(*args) for name in ("bic", "icl", "entropy") if hasattr(model, name)}


# ---- a table knows its N -------------------------------------------------------------------------------------------


def encoded(weight=None, labels=None):
    source = read(CELLS)
    evidence = read_labels(labels, 5, 2)[0]
    return Schema.learn(source).encode(source, weight, evidence)


def test_rows_without_any_observed_cell_do_not_count():
    assert encoded().n_observed == 4
    assert encoded(weight=[1, 2, 3, 10, 0.5]).n_observed == 6.5
    assert encoded().seen().n_rows == 4


def test_a_label_is_an_observation():
    assert encoded(labels=[None, None, None, 1, 0]).n_observed == 5
    assert encoded(labels=[None, None, 0, None, 1]).n_observed == 4


def test_a_table_without_such_rows_is_taken_as_it_is():
    table = encoded(labels=[0, 1, 0, 1, 0])
    assert table.seen() is table
    assert table.n_observed == table.mass


def test_a_text_without_words_is_not_observed_unless_absent_words_count():
    texts = [["a cat"], [""], [None], ["a dog"]]
    model = hs.LatentClass(1, columns={"x0": "text"}).fit(texts)
    assert model._measured(None)[1] == 2
    model = hs.LatentClass(1, columns={"x0": "text"}, text="bernoulli").fit(texts)
    assert model._measured(None)[1] == 4


# ---- tables in memory, in data frames, in files ----------------------------------------------------------------------

FITS = {
    "LatentClass": lambda X: hs.LatentClass(2, random_state=0, n_init=4).fit(X),
    "LatentClass, hard": lambda X: hs.LatentClass(2, random_state=0, n_init=4, assign="hard").fit(X),
    "GaussianMixture": lambda X: hs.GaussianMixture(2, random_state=0, n_init=4).fit(X[["a", "b"]].astype(float)),
    "BayesNet": lambda X: hs.BayesNet("K -> c", hidden={"K": 2}, random_state=0, n_init=4).fit(X[["c"]]),
}


@pytest.mark.parametrize("name", FITS)
def test_blank_rows_change_neither_fit_nor_criteria(people, name):
    fit = FITS[name]
    plain, longer = fit(people), fit(with_blank(people))
    assert longer.loglik_ == pytest.approx(plain.loglik_, abs=1e-6)
    assert longer._measured(None)[1] == 60
    assert figures(longer) == pytest.approx(figures(plain), abs=1e-6)
    columns = list(plain.columns_)
    given = people[columns], with_blank(people)[columns]
    if name == "GaussianMixture":
        given = tuple(X.astype(float) for X in given)
    assert figures(plain, given[1]) == pytest.approx(figures(plain, given[0]), abs=1e-9)
    assert any("50 rows" in note for note in longer.events_)
    assert not any("observed" in note for note in plain.events_)


def test_selection_counts_the_same_rows(people):
    plain, longer = (hs.LatentClass([1, 2], random_state=0, n_init=4).fit(X) for X in (people, with_blank(people)))
    for name in ("bic", "sabic", "aic", "icl", "entropy"):
        assert_allclose(longer.selection_[name], plain.selection_[name], atol=1e-6)


def test_arrays_and_weights(people):
    X = np.vstack([np.full((3, 2), np.nan), people[["a", "b"]].to_numpy()])
    weight = np.r_[[100, 0.5, 3], np.full(60, 2.0)]
    model = hs.LatentClass(2, random_state=0, n_init=4).fit(X, sample_weight=weight)
    assert model._measured(None)[1] == 120
    assert model.bic() == pytest.approx(-2 * model.loglik_ + model.n_parameters_ * np.log(120))


def test_labelled_rows_without_cells_count(people):
    labels = ["yes", *[None] * 108, "no"]
    model = hs.LatentClass(2, random_state=0, n_init=4).fit(with_blank(people), labels=labels)
    assert model._measured(None)[1] == 62
    table = with_blank(people)
    y = [None if cell is None else cell == "yes" for cell in table.pop("c")]
    model = hs.NaiveBayes(unlabeled_weight=1, random_state=0).fit(table, [True, *y[1:]])
    assert model._measured(None)[1] == 61


def test_soft_evidence_is_an_observation():
    evidence = {"K": [[0.9, 0.1], [1, 1], [1, 1], [0.2, 0.8]]}
    model = hs.BayesNet("K -> x0", hidden={"K": 2}, random_state=0)
    model.fit([["x"], [None], ["y"], [None]], evidence=evidence)
    assert model._measured(None)[1] == 3


@pytest.mark.parametrize("memory", [None, 20_000])
def test_files(people, tmp_path, memory):
    path = tmp_path / "t.csv"
    with_blank(pd.concat([people] * 4)).to_csv(path, index=False)
    plain = hs.LatentClass(2, random_state=0, n_init=4).fit(pd.concat([people] * 4))
    model = hs.LatentClass(2, random_state=0, n_init=4).fit(hs.open_table(path, memory=memory))
    assert model._measured(None)[1] == 240
    assert model.bic() == pytest.approx(plain.bic(), abs=1e-6)


def test_a_loaded_model_has_the_same_figures(people, tmp_path):
    model = FITS["LatentClass"](with_blank(people))
    hs.save(model, tmp_path / "m.halfseen")
    assert figures(hs.load(tmp_path / "m.halfseen")) == figures(model)


def test_of_data_without_any_observed_cell_nothing_is_charged(people):
    assert FITS["LatentClass"](people).bic(with_blank(people)[:20]) == 0


def test_learning_goes_on_from_the_rows_that_counted(people):
    """Statistics and number of rows belong together: with blank rows in one only, an update would shrink the rest."""
    plain, longer = (FITS["LatentClass"](X) for X in (people, with_blank(people)))
    for model in (plain, longer):
        model.partial_fit(people[:20])
    assert_allclose(longer.weights_, plain.weights_, atol=1e-6)


# ---- sequences -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def panel():
    """Forty people who are seen up to six times, some of them never."""
    rng = np.random.default_rng(1)
    found = [np.where(rng.random(6) < 0.3, np.nan, rng.normal(4.0 * rng.integers(0, 2, 6))) for _ in range(40)]
    return [*found, np.full(6, np.nan), np.full(3, np.nan)]


def test_n_of_sequences_is_observed_steps_or_sequences(panel):
    model = hs.HMM(2, random_state=0, n_init=4).fit(panel)
    n_steps = int(sum(np.isfinite(one).sum() for one in panel))
    n_seen = sum(np.isfinite(one).any() for one in panel)
    assert n_seen <= 40 < len(panel)
    charge = {name: model.n_parameters_ * np.log(n) for name, n in (("steps", n_steps), ("sequences", n_seen))}
    for unit, cost in charge.items():
        for X in (None, panel):
            assert model.bic(X, unit=unit) == pytest.approx(-2 * model.loglik_ + cost)
    assert model.bic() == model.bic(unit="steps")
    smaller = model.n_parameters_ * np.log((n_seen + 2) / 24)
    assert model.sabic(unit="sequences") == pytest.approx(-2 * model.loglik_ + smaller)
    assert model.icl() - model.bic() == pytest.approx(model.icl(unit="sequences") - model.bic(unit="sequences"))
    assert model.icl(panel) == pytest.approx(model.icl())
    assert model.icl() == pytest.approx(model.selection_["icl"][0])
    assert model.sabic() == pytest.approx(model.selection_["sabic"][0])


def test_the_charge_of_icl_is_the_entropy_of_the_paths():
    """Against all paths of a short sequence, enumerated."""
    model = hs.HMM.from_params([0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]], {"x": {"mean": [0, 2], "sd": [1, 1]}})
    x = np.array([0.3, 1.4, np.nan, 1.1])
    paths = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
    joint = np.log(model.startprob_)[paths[:, 0]]
    joint = joint + np.log(model.transmat_)[paths[:, :-1], paths[:, 1:]].sum(axis=1)
    joint -= np.nansum((x - 2 * paths) ** 2, axis=1) / 2
    proba = np.exp(joint - np.logaddexp.reduce(joint))
    assert model.icl(x) - model.bic(x) == pytest.approx(-2 * proba @ np.log(proba))


def test_a_labelled_step_is_observed():
    steps, labels = [[0.1], [None], [5.0], [None]], ["low", "high", None, None]
    model = hs.HMM(2, random_state=0, n_init=1).fit(steps * 4, labels=labels * 4)
    assert model._units() == {"steps": 12}


def test_the_number_of_sequences_is_in_the_model_file(panel, tmp_path):
    model = hs.HMM(2, random_state=0, n_init=2).fit(panel)
    hs.save(model, tmp_path / "m.halfseen")
    assert hs.load(tmp_path / "m.halfseen").bic(unit="sequences") == model.bic(unit="sequences")


def test_an_older_model_file_does_not_know_its_sequences(panel):
    model = hs.load(Path(__file__).parent / "format_1" / "HMM.halfseen")
    assert np.isfinite(model.bic())
    with pytest.raises(AbsentError, match="does not say how many"):
        model.bic(unit="sequences")


def test_other_units_are_refused(panel):
    model = hs.HMM(1).fit(panel)
    with pytest.raises(ParameterError, match="unit='people'"):
        model.bic(unit="people")


# ---- resumed ---------------------------------------------------------------------------------------------------------


def test_a_resumed_fit_has_the_same_n(people, tmp_path):
    X = with_blank(people)
    plain = FITS["LatentClass"](X)

    def broken(X):
        FITS["LatentClass"](X)
        raise RuntimeError

    with pytest.raises(RuntimeError), hs.checkpoint(tmp_path / "c"):
        broken(X)
    assert (tmp_path / "c").exists()
    with hs.checkpoint(tmp_path / "c"):
        again = FITS["LatentClass"](X)
    assert figures(again) == figures(plain)
    assert again._units() == {"rows": 60}


# ---- named -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "posterior mode"),
        ({"prior": None}, "maximum likelihood"),
        ({"prior": None, "assign": "hard"}, "hard assignment"),
        ({"assign": "sample", "max_iter": 20}, "sampled assignment"),
    ],
)
def test_a_card_in_a_notebook_names_the_estimate_and_n(people, options, said):
    model = hs.LatentClass(2, random_state=0, n_init=2, **options).fit(people)
    assert f"({said}), BIC {model.bic():,.1f} (N = 60)" in model._repr_html_()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "trained to agree"),
        ({"direction": "forward"}, "maximum likelihood"),
        ({"direction": "forward", "dirichlet": 0.01}, "variational posterior"),
        ({"direction": "forward", "assign": "hard"}, "hard assignment"),
    ],
)
def test_what_word_alignment_estimates(options, said):
    pairs = ["das Haus ||| the house", "das Buch ||| the book", "ein Buch ||| a book"]
    assert hs.WordAligner("ibm1", **options).fit(pairs)._estimate == said


@pytest.mark.parametrize(("bics", "said"), [([9.0, 5.0], ""), ([3.0, 5.0], " (lower ones collapsed)")])
def test_the_criterion_prefers_a_size_and_no_more_is_claimed(bics, said):
    from halfseen.app.fits import selection

    rows = {"n_components": [1, 2], "loglik": [-4.0, -2.0], "bic": bics, "entropy": [1.0, 0.9], "chosen": [False, True]}
    model = hs.LatentClass(2)
    model._tried, model._template = rows, read(np.zeros((1, 1)))
    tried, _ = selection(model)
    assert tried["table"]["rows"][1][-1] == f"<- preferred by BIC{said}"
