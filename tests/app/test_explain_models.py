"""``halfseen explain`` of Gaussian mixtures and k-means."""

import pytest

from tests.app.in_process import run


@pytest.fixture
def six(tmp_path):
    path = tmp_path / "six.csv"
    path.write_text("a,b\n1.0,2.0\n1.5,1.8\n5.0,8.0\n8.0,8.0\n1.0,0.6\n9.0,\n")
    return path


def test_models_of_numbers(six):
    kmeans = run("explain", six, "--model", "kmeans", "--steps", 1).stdout
    assert "2 clusters, hard assignment (k-means)" in kmeans
    assert "squared distances to the centres" in kmeans
    assert "mean of a" in run("explain", six, "--model", "gaussian", "--steps", 1).stdout


def test_what_is_refused(six):
    assert "--model 'hmm' is not classes, gaussian or kmeans" in run("explain", six, "--model", "hmm", code=2).stderr
    for flag, value in (("--columns", "a=poisson"), ("--assign", "sample")):
        done = run("explain", six, "--model", "kmeans", flag, value, code=2)
        assert f"{flag}{' sample' if flag == '--assign' else ''} cannot be used with --model kmeans" in done.stderr
