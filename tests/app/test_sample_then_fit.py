"""Rows that `sample` drew can be fitted again: what they were drawn from is left out, with a note."""

import csv

import pytest

from tests.app.in_process import run

FITS = {
    "classes": ["example:votes", "--ignore", "party", "-k", 2],
    "gaussian": ["example:penguins", "--model", "gaussian", "--ignore", "species,year,island,sex", "-k", 2],
    "hmm": ["example:earthquakes", "--model", "hmm", "--time", "year", "--columns", "count=poisson", "-k", 2],
    "net": ["example:votes", "--model", "crime <- C -> immigration; C -> mx_missile", "--hidden", "C=2"],
    "class-network": ["example:votes", "--model", "class-network", "--ignore", "party", "-k", 2],
}
DRAWN = {"hmm": "drawn_state", "net": "drawn_C", "class-network": "drawn_class"}


@pytest.mark.parametrize("name", FITS)
def test_a_fit_leaves_out_what_rows_were_drawn_from(tmp_path, name):
    data, *how = map(str, FITS[name])
    model, rows, again = tmp_path / "m.halfseen", tmp_path / "rows.csv", tmp_path / "again.halfseen"
    run("fit", data, *how, "--restarts", 2, "-o", model)
    column = DRAWN.get(name, "drawn_class")
    said = run("sample", model, "-n", 60, "-o", rows).stderr
    assert f"note: {column}: the " in said
    assert "halfseen fit leaves it out" in said
    with rows.open() as file:
        assert next(csv.reader(file))[-1] == column
    kept = [word for word in how if "party" not in word and word != "--ignore" and not word.startswith("species")]
    done = run("fit", rows, *kept, "--restarts", 2, "-o", again)
    assert f"left out: {column}" in done.stderr
    assert column not in run("info", again, "--parameters").stdout


def test_it_can_be_the_target_or_be_kept(tmp_path):
    model, rows = tmp_path / "m.halfseen", tmp_path / "rows.csv"
    run("fit", "example:votes", "--ignore", "party", "-k", 2, "--restarts", 2, "-o", model)
    run("sample", model, "-n", 60, "-o", rows)
    assert "left out" not in run("fit", rows, "--target", "drawn_class").stderr
    kept = run("fit", rows, "-k", 2, "--restarts", 2, "--columns", "drawn_class=categorical")
    assert "left out" not in kept.stderr
    assert run("compare", model, rows, "--truth", "drawn_class").stdout.count("class ") > 2
