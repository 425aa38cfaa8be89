"""Data and files at the edge, each of which once led to an error of another library, a hang or a false alarm."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

import halfseen as hs
from halfseen.app import plain_values
from halfseen.app.tables import read_costs
from halfseen.engine.loop.em_pair import rate_of
from halfseen.errors import DataError, FitError
from halfseen.leaves import Gaussian, GaussianParams, Poisson
from halfseen.leaves.negbin import NegBin
from halfseen.leaves.normal import Normal, NormalParams

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_a_range_without_end_in_a_model_file_is_refused():
    """A few bytes that kept `load` busy for good."""
    with pytest.raises(ValueError, match="longer than any"):
        plain_values.loads(json.dumps({"$range": [0, 10**15, 1]}))
    assert plain_values.loads(plain_values.dumps(range(1, 9))) == range(1, 9)


def test_a_rate_far_below_the_unit_has_a_density():
    leaf = Poisson(1, np.array([1e6]))
    stats, rate = np.array([[[1.0]], [[0.5]], [[0.0]]]), np.array([[1e-12]])
    exact = (0.5 - 1e6) * np.log(1e-18) - 1e6 * (1e-18 - 1 - np.log(1e-18))
    np.testing.assert_allclose(leaf.complete(stats, rate, rate), exact, rtol=1e-12)


def test_much_mass_that_varies_little_has_a_size():
    leaf = NegBin(1, np.array([3.0]), np.array([2.0]))
    stats = np.array([[[1e12]], [[3e12]], [[0.0]], [[0.0]], [[0.0]]])
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(leaf.maximise(stats, leaf.blank()).size).all()


def test_steps_too_long_to_be_squared_do_not_shrink():
    far = np.array([1e200])
    assert rate_of((0 * far, far, 2 * far)) == np.inf


def test_numbers_too_close_for_a_variance_are_refused():
    X = np.array([[1e-148 * (1 + 1e-12 * i), i % 3] for i in range(20)])
    with pytest.raises(DataError, match=r"x0.*variance underflows"):
        hs.LatentClass(2, columns={"x0": "gaussian"}, random_state=0).fit(X)


def test_a_dirichlet_prior_beside_tiny_weights_is_no_fall():
    pairs = [("buch haus", "the book"), ("buch", "book")]
    for assign in ("soft", "hard"):
        aligner = hs.WordAligner("hmm", dirichlet=1.0, assign=assign, direction="reverse", max_iter=4)
        assert np.isfinite(aligner.fit(pairs, sample_weight=[1e-9, 1e-9]).loglik_)


def test_an_impossible_recording_of_weight_zero_is_left_out():
    features = [np.array([[0.0], [0], [1], [1]]), np.array([[2.0], [2], [2], [2]])]
    aligner = hs.TranscriptAligner(1, emission="categorical", max_iter=3)
    aligner.fit(features, ["p q", "p p"], sample_weight=[1.0, 0.0])
    assert np.isfinite(aligner.loglik_)
    assert aligner.score_samples(features, ["p q", "p p"]).tolist()[1] == -np.inf


def test_half_of_a_surrogate_pair_is_named():
    model = hs.LatentClass(1, random_state=0).fit([["\ud800", 1.5], ["b", 2.5], ["b", 3.5]])
    with pytest.raises(DataError, match="surrogate pair"):
        model.to_frame()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"d,a\nx,nan\n", b'd,a\n"x'], ids=["bytes", "nan", "quote"])
def test_a_bad_table_of_costs_is_refused(tmp_path, content):
    (tmp_path / "c.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"c\.csv"):
        read_costs(str(tmp_path / "c.csv"), ["a"])


def test_a_loaded_model_without_its_likelihood_is_shown(tmp_path):
    model = hs.LatentClass(1, random_state=0).fit(pd.DataFrame({"a": [1.5, 2.5, 4.0]}))
    del model.loglik_
    assert "LatentClass" in model._repr_html_()


def test_a_singular_covariance_is_a_flaw():
    leaf = Normal(1, np.zeros(2), np.ones(2))
    singular = NormalParams(np.zeros((1, 2)), np.full((1, 2, 2), 1e18))
    assert leaf.flaw(singular) is not None
    assert leaf.flaw(leaf.blank()) is None


def test_a_mean_whose_distance_overflows_is_a_flaw():
    leaf = Normal(1, np.zeros(2), np.ones(2))
    far = NormalParams(np.full((1, 2), 1e308), np.eye(2)[None])
    assert "mean is too large" in leaf.flaw(far)
    assert leaf.flaw(NormalParams(np.full((1, 2), 1e100), np.eye(2)[None])) is None


def test_a_variance_without_an_inverse_is_a_flaw():
    leaf = Gaussian(1, np.zeros(1), np.ones(1))
    assert leaf.flaw(GaussianParams(np.zeros((1, 1)), np.full((1, 1), 1e-320))) is not None
    assert leaf.flaw(leaf.blank()) is None


@pytest.mark.parametrize(
    ("scale", "weight", "prior"), [(1e200, 1e-100, None), (1e149, 1.0, 1000.0), (1e100, 1e-100, 1000.0)]
)
def test_squares_that_overflow_with_the_weights_or_the_prior_are_refused(scale, weight, prior):
    X = np.random.default_rng(0).standard_normal((20, 2)) * [scale, 1.0]
    with pytest.raises(DataError, match="column 'x0': its numbers are so large"):
        hs.GaussianMixture(2, prior=prior).fit(X, sample_weight=np.full(20, weight))


def test_columns_that_cannot_share_a_variance_are_refused():
    X = np.random.default_rng(0).standard_normal((20, 2)) * [1e140, 1e-20]
    with pytest.raises(DataError, match="columns 'x1' and 'x0': their variances"):
        hs.GaussianMixture(2, covariance_type="spherical").fit(X)


@pytest.mark.parametrize("how", [{}, {"assign": "sample", "draws": 2, "max_iter": 1}], ids=["known rows", "drawn"])
def test_a_variance_of_zero_is_refused_in_words(how):
    model = hs.GaussianMixture(2, covariance_type="diag", variance_floor=0.0, n_init=1, random_state=154, **how)
    with pytest.raises(FitError, match=r"collapsed onto a single value|cannot be used"):
        model.fit([[0.0017, 0.0], [1.543, 1e15]], labels=[None, None] if how else ["p", "q"])


def test_k_means_at_the_end_of_the_range_of_floats():
    """One value is a centre; of several the squares of their distances are no numbers."""
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        assert hs.KMeans(2, random_state=0).fit(np.full((20, 1), 1e308)).inertia_ == 0
    with pytest.raises(DataError, match="squares are beyond float64"):
        hs.KMeans(2, random_state=0).fit(1e308 - 1e305 * (np.arange(20.0)[:, None] % 3))


def test_a_word_that_no_document_has_says_nothing_by_the_rule_of_complements():
    X = csr_array([[0, 1, 2], [0, 2, 1], [3, 1, 1]])
    model = hs.NaiveBayes(text="complement", prior=None).fit(X, ["p", "q", "p"], sample_weight=[1.0, 2.0, 0.0])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_word_of_a_class_without_rows_is_shown():
    X = pd.DataFrame({"text": ["a cat", "a dog", "bird"]})
    model = hs.NaiveBayes(text="bernoulli", columns={"text": "text"}, prior=None).fit(
        X, ["p", "q", "r"], sample_weight=[1.0, 3.0, 0.0]
    )
    assert "absent from all others" in model._repr_html_()
