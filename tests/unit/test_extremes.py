"""Data and files at the edge, each of which once led to an error of another library, a hang or a false alarm."""

import json

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.app import plain_values
from halfseen.app.tables import read_costs
from halfseen.engine.loop.em_pair import EMPair
from halfseen.errors import DataError
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
    assert EMPair(None, None, None, (0 * far, far, 2 * far), 0.0).rate == np.inf


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


def test_a_variance_without_an_inverse_is_a_flaw():
    leaf = Gaussian(1, np.zeros(1), np.ones(1))
    assert leaf.flaw(GaussianParams(np.zeros((1, 1)), np.full((1, 1), 1e-320))) is not None
    assert leaf.flaw(leaf.blank()) is None
