"""Models as ONNX: onnxruntime says what Python says."""

import sys

import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app
from halfseen.errors import ParameterError
from tests.exported import CASES, assert_says_what_python_says, case_of, clusters

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("skl2onnx")


def session_of(model, **options):
    return onnxruntime.InferenceSession(hs.to_onnx(model, **options).SerializeToString())


def ask(model, rows):
    """Run a model in onnxruntime on {column: (type, values)}; return the rows of its outputs."""
    session = session_of(model)
    arrays = [np.array(filled(kind, values))[:, None] for kind, values in rows.values()]
    named = [given.name for given in session.get_inputs()]
    if named == ["X"]:
        feed = {"X": np.concatenate(arrays, axis=1)}
    else:
        assert len(named) == len(rows)
        feed = dict(zip(named, arrays, strict=True))
    classes, *numbers = session.run(None, feed)
    assert all(array.dtype == np.float64 for array in numbers)
    return classes, *numbers


def filled(kind, values):
    """Return cells as an input takes them."""
    if kind == "text":
        return ["no such category" if value is None else value for value in values]
    return [np.nan if value is None else float(value) for value in values]


@pytest.mark.parametrize("name", CASES)
def test_onnxruntime_says_what_python_says(name):
    case = case_of(name)
    classes, proba, loglik = ask(case.model, case.rows)
    numbers = [*zip(*proba.T.tolist(), loglik.tolist(), strict=True)]
    assert {label for label, known in zip(classes.tolist(), case.defined, strict=True) if not known} <= {-1, ""}
    found = [
        (type(case.model.predict(case.table.slice(0, 1)).tolist()[0])(label), *row) if known else row
        for label, row, known in zip(classes.tolist(), numbers, case.defined, strict=True)
    ]
    none = [tuple(None if value != value else value for value in row) for row in found]
    assert_says_what_python_says(none, case)


def test_k_means_in_onnxruntime():
    model, rows = clusters()
    classes, distance = session_of(model).run(None, {"X": rows})
    assert classes.tolist() == model.predict(rows).tolist()
    np.testing.assert_allclose(distance, model.transform(rows).min(axis=1) ** 2, rtol=1e-9)


def test_what_python_refuses_has_no_outputs():
    columns = {"count": {"rate": [1.0, 9.0]}, "size": {"mean": [1.0, 9.0], "sd": [1.0, 2.0]}}
    session = session_of(hs.LatentClass.from_params([0.5, 0.5], columns))
    rows = np.array([[3.0, 1.0], [2.5, 1.0], [-1.0, 1.0], [np.inf, 1.0], [3.0, -np.inf]])
    classes, proba, loglik = session.run(None, {"X": rows})
    assert classes.tolist() == [0, -1, -1, -1, -1]
    assert np.isnan(proba).all(axis=1).tolist() == np.isnan(loglik).tolist() == [False, True, True, True, True]


def test_what_stands_for_no_class_is_no_label():
    X, gap = np.random.default_rng(0).normal(size=(40, 2)), [[0.0, np.nan]]
    X[:20] += 3
    fitted = hs.GaussianClassifier(guard=False).fit(X, np.repeat(["a", "b"], 20))
    for labels, none in (([-1, 4], -2), ([0, 1], -1), ([True, False], -1), ([0.5, 1.5], np.nan), (["a", "b"], "")):
        model = fitted.rename(labels)
        [found] = session_of(model).run(["class"], {"X": np.array(gap)})[0].tolist()
        assert found == none or (found != found and none != none)
    with pytest.raises(ParameterError, match="a class is an empty text"):
        hs.to_onnx(hs.GaussianClassifier(guard=False).fit(X, np.repeat(["", "b"], 20)))


def test_inputs_are_numbers_together_or_columns_apart():
    assert [given.name for given in session_of(case_of("mixture diag").model).get_inputs()] == ["X"]
    named = [(given.name, given.type) for given in session_of(case_of("labels as texts").model).get_inputs()]
    assert named == [("text", "tensor(string)"), ("size", "tensor(double)"), ("count", "tensor(double)")]


def test_a_pipeline_that_ends_in_a_model():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = make_pipeline(StandardScaler(), hs.GaussianMixture(2, covariance_type="diag", random_state=0, n_init=2))
    model.fit(X)
    classes, proba, loglik = session_of(model).run(None, {"X": X})
    assert classes.tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(proba, model.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(loglik, model.score_samples(X), atol=1e-9)


def test_numbers_in_float32_are_taken():
    from skl2onnx.common.data_types import FloatTensorType

    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    model = make_pipeline(hs.KMeans(2, random_state=0)).fit(X)
    session = session_of(model, initial_types=[("cells", FloatTensorType([None, 3]))])
    assert session.run(["class"], {"cells": X})[0].tolist() == model.predict(X).tolist()


def test_what_onnx_cannot_say_is_refused():
    text = hs.NaiveBayes(columns={"x0": "text"}).fit([["a cat"], ["a dog"]], [0, 1])
    with pytest.raises(ParameterError, match="column 'x0' is text: ONNX cannot split it into words"):
        hs.to_onnx(text)
    with pytest.raises(ParameterError, match="export cannot be used with an HMM model"):
        hs.to_onnx(hs.HMM(2, n_init=1, random_state=0).fit(np.random.default_rng(0).normal(size=(30, 1))))
    with pytest.raises(NotFittedError):
        hs.to_onnx(hs.LatentClass(2))


def test_a_matrix_of_texts_is_refused():
    from skl2onnx.common.data_types import StringTensorType

    rows = pa.table({"a": ["u", "v"] * 9, "b": ["s", "t", "t"] * 6})
    model = make_pipeline(hs.LatentClass(2, random_state=0, n_init=2)).fit(rows)
    with pytest.raises(ParameterError, match=r"1 inputs for 2 columns, of which \['a', 'b'\] are texts"):
        hs.to_onnx(model, initial_types=[("cells", StringTensorType([None, 2]))])


def test_halfseen_export_writes_onnx(tmp_path):
    path, out = tmp_path / "m.halfseen", tmp_path / "m.onnx"
    hs.save(case_of("mixture diag").model, path)
    done = run("export", path, "--onnx", "-o", out)
    assert done.exit_code == 0, done.output
    assert [given.name for given in onnxruntime.InferenceSession(out).get_outputs()] == ["class", "p", "loglik"]
    assert "--onnx needs a file to write" in run("export", path, "--onnx").stderr
    for option in (("--sql", "duckdb"), ("--table", "rows"), ("--keep", "id")):
        done = run("export", path, "--onnx", *option, "-o", out)
        assert done.exit_code == 2
        assert f"{option[0]} cannot be used with --onnx: it is for SQL." in done.stderr


def test_without_the_library_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(ImportError, match=r"ONNX needs skl2onnx.*pip install .halfseen\[onnx\]"):
        hs.to_onnx(case_of("mixture diag").model)


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
