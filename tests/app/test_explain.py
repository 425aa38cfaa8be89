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


@pytest.mark.parametrize("text", ["size\n1\n2\n3\n", "name\nanna\nbert\ncarl\n"])
def test_a_table_without_anything_in_common_is_refused(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    assert "every row has another value" in run("explain", tmp_path / "a.csv", code=1).stderr


def test_categories_stay_categories(tmp_path):
    (tmp_path / "a.csv").write_text("color,shape\nred,round\nred,square\nblue,round\n")
    done = run("explain", tmp_path / "a.csv")
    assert done.stderr == ""
    assert "P(color = red)" in done.stdout
