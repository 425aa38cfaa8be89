"""The paragraph on methods: every number in it is one of the fitted model."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app
from halfseen.errors import ParameterError

NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")


def numbers(text):
    return [float(found.replace(",", "").rstrip(".")) for found in NUMBER.findall(text)]


@pytest.fixture(scope="module")
def penguins():
    data = hs.load_penguins().drop(columns=["species", "year"])
    data.loc[0] = None  # a row without any value
    return data


def test_every_number_is_of_the_model(penguins):
    model = hs.LatentClass([1, 2, 3], prior=None, random_state=0).fit(penguins)
    text = hs.methods_paragraph(model)
    before, software = text.split("The analysis was done with ")
    n_incomplete = int((penguins.isna().any(axis=1) & ~penguins.isna().all(axis=1)).sum())
    n = int((~penguins.isna().all(axis=1)).sum())
    expected = [
        *(len(model.class_names_), 6, 2, 4),  # classes; columns: categorical, gaussian
        *(1, 2, 3),  # tried
        *(model.restarts_["n_init"], model.restarts_["n_reached_best"], model.n_iter_),
        *(n, n_incomplete, 1, model.n_parameters_),
        *(round(model.loglik_, 2), round(model.aic(), 2), round(model.bic(), 2), n, round(model.sabic(), 2)),
        round(model.entropy(), 3),
    ]
    assert numbers(before) == pytest.approx(expected)
    assert software.startswith(f"halfseen {hs.__version__} (the halfseen developers, github.com/")
    assert "maximum likelihood" in before
    assert "chosen by BIC among 1, 2, 3." in before
    assert "missing at random" in before


def test_the_count_of_missing_values_is_saved(penguins, tmp_path):
    model = hs.LatentClass(2, random_state=0).fit(penguins, sample_weight=np.full(len(penguins), 2.0))
    hs.save(model, tmp_path / "m.halfseen")
    assert hs.methods_paragraph(hs.load(tmp_path / "m.halfseen")) == hs.methods_paragraph(model)
    assert "22 rows had missing values" in hs.methods_paragraph(model)
    assert "mode of the posterior (EM algorithm; prior: one pseudo-row in all" in hs.methods_paragraph(model)
    done = CliRunner().invoke(app, ["info", str(tmp_path / "m.halfseen"), "--methods"])
    assert done.stdout.strip() == hs.methods_paragraph(model)


def test_without_missing_values():
    model = hs.GaussianMixture(2, random_state=0).fit(np.random.default_rng(0).normal(size=(50, 2)))
    text = hs.methods_paragraph(model)
    assert "There were no missing values." in text
    assert "with 2 classes and full covariances" in text


def test_sequences_networks_and_sentences():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    X[3] = np.nan
    states = hs.HMM(2, random_state=0).fit([X[:30], X[30:]])
    text = hs.methods_paragraph(states)
    assert "N = 59 steps in 2 sequences." in text
    assert "1 step had missing values and was kept" in text
    assert f"BIC {states.bic():,.2f} (N = 59 steps)" in text
    assert f"BIC {states.bic(unit='sequences'):,.2f} (N = 2 sequences)" in text
    rows = [["a", "x"], ["b", None], ["a", "y"]] * 5
    net = hs.BayesNet([("C", "x0"), ("C", "x1")], hidden={"C": 2}, random_state=0).fit(rows)
    assert "5 rows had missing values" in hs.methods_paragraph(net)
    assert "one pseudo-row in every table" in hs.methods_paragraph(net)
    rules = hs.PCFG.from_string("S -> S S [0.5] | 'a' [0.5]").fit(["a a", "a"])
    assert "N = 2 sentences." in hs.methods_paragraph(rules)


def test_a_fit_that_did_not_converge_says_so(penguins):
    with pytest.warns(Warning, match="no convergence"):
        model = hs.LatentClass(3, max_iter=2, n_init=1, random_state=0).fit(penguins)
    assert "did not converge (stopped after 2 iterations)" in hs.methods_paragraph(model)
    assert "There was one start." in hs.methods_paragraph(model)


def test_what_has_no_likelihood_is_refused(penguins):
    with pytest.raises(ParameterError, match="KMeans without a likelihood"):
        hs.methods_paragraph(hs.KMeans(2, random_state=0).fit(penguins[["bill_length_mm"]]))
    with pytest.raises(ParameterError, match="not fitted to data as a whole"):
        hs.methods_paragraph(hs.LatentClass.from_params([1.0], {"x": {"a": [0.5], "b": [0.5]}}))


def test_the_report_has_it(penguins):
    model = hs.LatentClass(2, random_state=0).fit(penguins)
    page = hs.report(model, penguins)
    assert "For a paper" in page
    assert hs.methods_paragraph(model) in page
