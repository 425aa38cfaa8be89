"""Without pandas, Polars and PyArrow: every estimator fits NumPy arrays and lists, and its model can be kept."""

import subprocess
import sys

import pytest

FITS = {
    "LatentClass": "hs.LatentClass(range(1, 3), n_init=2, random_state=0).fit(X)",
    "GaussianMixture": "hs.GaussianMixture(2, covariance_type=['full', 'diag'], n_init=2, random_state=0).fit(X)",
    "NaiveBayes": "hs.NaiveBayes().fit(X, y)",
    "GaussianClassifier": "hs.GaussianClassifier().fit(X, y)",
    "KMeans": "hs.KMeans(2, random_state=0).fit(X)",
    "HMM": "hs.HMM(range(1, 3), n_init=2, random_state=0).fit(X)",
    "BayesNet": "hs.BayesNet('C -> x0; C -> x1', hidden={'C': range(2, 4)}, n_init=2, random_state=0).fit(codes)",
    "PCFG": "hs.PCFG('''S -> S S | 'a' ''', random_state=0).fit(['a a', 'a'])",
    "TranscriptAligner": "hs.TranscriptAligner(1).fit([X[:20], X[20:]], ['one two', 'two one'])",
    "G2P": "hs.G2P(2).fit({'ab': [['A', 'B']], 'ba': [['B', 'A']]})",
    "WordAligner": "hs.WordAligner('ibm1').fit([('a b', 'c d'), ('a', 'c')])",
}

SCRIPT = """
import sys
sys.modules |= dict.fromkeys(("pandas", "polars", "pyarrow"))  # as if they were not installed

import numpy as np
import halfseen as hs

rng = np.random.default_rng(0)
y = np.repeat([0, 1, 0, 1], 10)
X = rng.normal(size=(40, 2)) + 5 * y[:, None]
X[3, 1] = np.nan
codes = (X > 1).astype(int)

for name, fit in FITS.items():
    model = eval(fit)
    hs.save(model, f"{name}.halfseen")
    assert type(hs.load(f"{name}.halfseen")) is type(model) is getattr(hs, name)

for name in ("LatentClass", "GaussianMixture", "HMM", "BayesNet"):
    try:
        hs.load(f"{name}.halfseen").selection_
    except ImportError as error:
        assert "pip install pandas" in str(error)
    else:
        raise AssertionError(f"{name} has a table of results")
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return the folder with the models that were fitted where no data frame library is installed."""
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([sys.executable, "-c", f"FITS = {FITS!r}\n{SCRIPT}"], cwd=folder, check=True)
    return folder


def test_every_estimator_is_there():
    import halfseen as hs

    estimators = {name for name in hs.__all__ if hasattr(getattr(hs, name), "_from_state")}  # those with a file
    assert estimators == set(FITS)


def test_fits_need_no_data_frame_library(kept):
    assert {path.stem for path in kept.iterdir()} == set(FITS)


def test_selection_is_a_table_where_there_is_a_library(kept):
    import halfseen as hs

    table = hs.load(kept / "LatentClass.halfseen").selection_
    assert table["n_components"].tolist() == [1, 2]
    assert table["chosen"].tolist() == [False, True]
