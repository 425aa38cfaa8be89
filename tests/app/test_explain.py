"""``halfseen explain`` on tables of a few rows: series of outcomes are counted, values that all differ are left out."""

import pytest

from tests.app.in_process import run

COINS = "set,tosses,heads\n1,HTTTHHTHTH,5\n2,HHHHTHHHHH,9\n3,HTHHHHHTHH,8\n4,HTHTTTHHTT,4\n5,THHHTHHHTH,7\n"


def test_tosses_of_coins(tmp_path):
    (tmp_path / "coins.csv").write_text(COINS)
    done = run("explain", tmp_path / "coins.csv")
    assert "tosses is read as series of H, T" in done.stderr
    assert "left out: set (every row has another value); --columns set=KIND keeps it" in done.stderr
    assert "left out: heads" in done.stderr
    assert "P(tosses = H)" in done.stdout
    assert "P(set" not in done.stdout
    kept = run("explain", tmp_path / "coins.csv", "--columns", "heads=poisson", "--ignore", "tosses,set")
    assert "left out" not in kept.stderr
    assert "heads" in kept.stdout
    successes = run("explain", tmp_path / "coins.csv", "--columns", "heads=binomial(10)", "--ignore", "tosses,set")
    assert "left out" not in successes.stderr
    for name in ("p of heads", "successes of heads", "failures of heads"):
        assert f"\n  {name}  " in successes.stdout


@pytest.mark.parametrize("text", ["size\n1\n2\n3\n", "name\nanna\nbert\ncarl\n"])
def test_a_table_without_anything_in_common_is_refused(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    assert "every row has another value" in run("explain", tmp_path / "a.csv", code=1).stderr


def test_categories_stay_categories(tmp_path):
    (tmp_path / "a.csv").write_text("color,shape\nred,round\nred,square\nblue,round\n")
    done = run("explain", tmp_path / "a.csv")
    assert done.stderr == ""
    assert "P(color = red)" in done.stdout


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


def test_what_models_of_numbers_refuse(six, tmp_path):
    assert "--model 'hmm' is not classes, gaussian or kmeans" in run("explain", six, "--model", "hmm", code=2).stderr
    for flag, value in (("--columns", "a=poisson"), ("--assign", "sample")):
        done = run("explain", six, "--model", "kmeans", flag, value, code=2)
        assert f"{flag}{' sample' if flag == '--assign' else ''} cannot be used with --model kmeans" in done.stderr
    (tmp_path / "blank.csv").write_text("a,b\n1,\n2,\n")
    assert (
        "column 'b' has no observed cell" in run("explain", tmp_path / "blank.csv", "--model", "kmeans", code=1).stderr
    )
