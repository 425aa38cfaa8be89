"""Files of SPSS, Stata and SAS: labels are categories, codes that mean missing are missing, and this is said."""

import datetime
import logging
import pickle
import struct

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app
from halfseen.data import read
from halfseen.data.stat_files import StatScan
from halfseen.errors import DataError, ParameterError

pyreadstat = pytest.importorskip("pyreadstat")
NAN = float("nan")


@pytest.fixture
def survey(tmp_path):
    """A survey in SPSS: labels, user-missing codes, a date, a long text."""
    frame = pd.DataFrame(
        {
            "sex": [1, 2, 2, 9, NAN, 1],
            "age": [30.0, 41, 55.5, 98, 99, 20],
            "mood": [1, 2, 3, 3, 2, 1],
            "scale": [1, 2, 3, 4, 5, 1],
            "name": ["Anna", "", "Bo", "x" * 300, "Q", "Q"],
            "day": [datetime.date(2020, 1, 2)] * 6,
            "w": [1, 2, 1, 1, 3, 1],
        }
    )
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(
        frame,
        path,
        column_labels={"sex": "Sex of respondent"},
        variable_value_labels={
            "sex": {1: "male", 2: "female", 3: "other", 9: "refused"},
            "mood": {3: "good", 1: "bad", 2: "fair"},
            "scale": {1: "never", 5: "always"},
        },
        missing_ranges={"sex": [9], "age": [{"lo": 98, "hi": 99}]},
        variable_measure={"sex": "nominal", "mood": "ordinal"},
    )
    return path


def cells(table, *names):
    """Some columns of an open table, as lists."""
    source = read(table)
    found = {name: source.column(source.names.index(name)).values.tolist() for name in names}
    return found if len(names) > 1 else found[names[0]]


def with_weight(path, place):
    """Name the weight variable in the header of an SPSS file: the number of its record."""
    content = bytearray(path.read_bytes())
    content[76:80] = struct.pack("<i", place)
    path.write_bytes(content)


def test_labels_become_levels_in_the_order_of_their_codes(survey):
    table = hs.open_table(survey, ignore=["day"])
    source = read(table)
    sex, mood = (source.column(source.names.index(name)) for name in ("sex", "mood"))
    assert sex.values.tolist() == ["male", "female", "female", None, None, "male"]
    assert sex.levels == ("male", "female", "other")  # declared, though nobody chose it; that of a missing code is not
    assert mood.levels == ("bad", "fair", "good")
    assert hs.LatentClass(1).fit(table.without(["name"]))._schema.columns[0].categories == ("male", "female", "other")
    assert table.labels == {"sex": "Sex of respondent"}


def test_codes_that_mean_missing_are_missing_and_counted(survey, caplog):
    with caplog.at_level(logging.INFO, "halfseen"):
        table = hs.open_table(survey, ignore=["day"])
    assert cells(table, "age") == pytest.approx([30, 41, 55.5, NAN, NAN, 20], nan_ok=True)
    [codes, unlabelled] = table.notes
    assert codes.endswith("cells read as missing by their codes: 3, sex 1 (9), age 2 (98, 99)")
    assert "value labels of scale are not used: some values have none (2, 3, 4)" in unlabelled
    assert caplog.messages == list(table.notes)


def test_other_columns_are_of_the_usual_kinds(survey):
    table = hs.open_table(survey)
    kinds = {column.name: column.kind for column in table._scan.columns}
    assert kinds == {
        "sex": "text",
        "age": "number",
        "mood": "text",
        "scale": "number",
        "name": "text",
        "day": "date",
        "w": "number",
    }
    assert cells(table.without(["day"]), "name") == ["Anna", None, "Bo", "x" * 300, "Q", "Q"]
    assert cells(hs.open_table(survey, text=["day", "scale", "mood"]), "day", "scale", "mood") == {
        "day": ["2020-01-02"] * 6,
        "scale": ["1", "2", "3", "4", "5", "1"],
        "mood": ["bad", "fair", "good", "good", "fair", "bad"],
    }


def test_codes_in_place_of_labels(survey):
    table = hs.open_table(survey, codes=["mood", "sex"], ignore=["day"])
    found = cells(table, "mood", "sex")
    assert found["mood"] == [1, 2, 3, 3, 2, 1]
    assert found["sex"] == pytest.approx([1, 2, 2, NAN, NAN, 1], nan_ok=True)  # a code for missing still means it
    with pytest.raises(DataError, match=r"codes: .* no column 'modd'. Did you mean 'mood'"):
        hs.open_table(survey, codes=["modd"])
    with pytest.raises(ParameterError, match=r"codes=\['a'\] is for files with value labels: .sav"):
        hs.open_table("example:penguins", codes=["a"])


def test_missing_markers_may_be_codes_or_labels(survey):
    table = hs.open_table(survey, missing=["3", "female"], ignore=["day"])
    assert cells(table, "mood") == ["bad", "fair", None, None, "fair", "bad"]
    assert cells(table, "sex") == ["male", None, None, None, None, "male"]
    assert read(table).column(0).levels == ("male",)


def test_a_label_of_two_codes_names_them_both(tmp_path):
    path = tmp_path / "twice.sav"
    labels = {1: "yes", 2: "no", 3: "yes", 4: " "}
    pyreadstat.write_sav(pd.DataFrame({"a": [1, 2, 3, 4]}), path, variable_value_labels={"a": labels})
    assert cells(hs.open_table(path), "a") == ["yes (1)", "no", "yes (3)", "(4)"]


@pytest.mark.parametrize("suffix", [".sav", ".zsav"])
def test_the_weight_variable_is_named_and_used_when_asked_for(tmp_path, suffix):
    """Records before it: a label and missing values after a number, a long text in several pieces."""
    path = tmp_path / f"weighted{suffix}"
    frame = pd.DataFrame({"text": ["a" * 300, "b"], "a": [1.0, 2.0], "w": [2.0, 3.0]})
    options = {"column_labels": {"text": "first", "a": "odd"}, "missing_ranges": {"a": [8, 9]}}
    pyreadstat.write_sav(frame, path, compress=suffix == ".zsav", **options)
    assert hs.open_table(path).notes == ()
    variables = [width for width in records(path) if width != -1]
    place = [n for n, width in enumerate(records(path)) if width == 0][1] + 1
    assert len(variables) > 3  # the long text is cut into several
    with_weight(path, place)
    table = hs.open_table(path)
    assert table.notes[0].endswith("its weight variable is w, which counts only if it is named as the weight")
    assert read(table).weight is None
    assert read(hs.open_table(path, weight="w")).weight.tolist() == [2, 3]
    with_weight(path, place - 1)
    assert "weight variable is a," in hs.open_table(path).notes[0]
    with_weight(path, 10**6)  # no such record
    assert hs.open_table(path).notes == ()


def records(path):
    """The widths in the records of the variables of an SPSS file: 0 is a number, -1 the continuation of a text."""
    content, at, found = path.read_bytes(), 176, []
    while struct.unpack_from("<i", content, at) == (2,):
        width, labelled, n_missing = struct.unpack_from("<3i", content, at + 4)
        found.append(width)
        at += 32
        if labelled:
            at += 4 + -(-struct.unpack_from("<i", content, at)[0] // 4) * 4
        at += 8 * abs(n_missing)
    return found


def test_stata_with_extended_missing_values(tmp_path):
    path = tmp_path / "t.dta"
    frame = pd.DataFrame({"sex": pd.Series([1, 2, "a", None, 2], dtype=object), "x": [0.5, 1, 1, NAN, 3]})
    labels = {"sex": {1: "male", 2: "female", "a": "refused"}}
    pyreadstat.write_dta(frame, path, variable_value_labels=labels, missing_user_values={"sex": ["a"]})
    table = hs.open_table(path)
    assert cells(table, "sex") == ["male", "female", None, None, "female"]
    assert read(table).column(0).levels == ("male", "female")
    assert table.notes[0].endswith("cells read as missing by their codes: 1, sex 1 (a)")


@pytest.mark.parametrize("suffix", [".xpt", ".por"])
def test_transport_files(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    frame = pd.DataFrame({"X": [0.5, 1.5, NAN], "C": ["a", "", "b"], "D": [datetime.date(2020, 1, 2)] * 3})
    (pyreadstat.write_xport if suffix == ".xpt" else pyreadstat.write_por)(frame, path)
    table = hs.open_table(path)
    assert [column.kind for column in table._scan.columns] == ["number", "text", "date"]
    assert cells(table.without(["D"]), "C") == ["a", None, "b"]
    with pytest.raises(DataError, match="column 'D' holds dates or times"):
        hs.LatentClass(1).fit(table)


def test_the_fit_is_that_of_the_same_frame(survey):
    table = hs.open_table(survey, ignore=["day", "name"], weight="w")
    frame = pd.DataFrame(
        {
            "sex": pd.Categorical(
                ["male", "female", "female", None, None, "male"], ["male", "female", "other"], ordered=True
            ),
            "age": [30.0, 41, 55.5, NAN, NAN, 20],
            "mood": pd.Categorical(
                ["bad", "fair", "good", "good", "fair", "bad"], ["bad", "fair", "good"], ordered=True
            ),
            "scale": [1, 2, 3, 4, 5, 1],
        }
    )
    ours = hs.LatentClass(2, random_state=0).fit(table)
    theirs = hs.LatentClass(2, random_state=0).fit(frame, sample_weight=[1, 2, 1, 1, 3, 1])
    assert ours.loglik_ == theirs.loglik_
    assert ours.columns_ == theirs.columns_


def test_bad_files_are_explained(survey, tmp_path):
    cut = tmp_path / "cut.sav"
    cut.write_bytes(survey.read_bytes()[:-20])
    other = tmp_path / "other.dta"
    other.write_bytes(survey.read_bytes())
    noise = tmp_path / "noise.sas7bdat"
    noise.write_bytes(np.random.default_rng(0).bytes(5000))
    for path in (cut, other, noise):
        with pytest.raises(
            DataError, match=rf"{path.name} cannot be read as a {path.suffix} file: .* export it as CSV"
        ):
            hs.open_table(path)
    with pytest.raises(DataError, match=r"6 rows of 7 columns need about 2.\d kB, more than memory=1.0 kB: .* Parquet"):
        hs.open_table(survey, memory=1000)
    with pytest.raises(ParameterError, match=r"sql= cannot be used with .*survey.sav"):
        hs.open_table(survey, sql="SELECT * FROM data")
    with pytest.raises(DataError, match=r".sav files cannot be read as one table"):
        hs.open_table(glob=str(survey.parent / "survey*.sav"))


def test_no_truncation_reads_as_a_whole_file(survey, tmp_path):
    """Every prefix of a file is refused in our words: nothing else escapes."""
    content = survey.read_bytes()
    path = tmp_path / "prefix.sav"
    for size in range(1, len(content), 97):
        path.write_bytes(content[:size])
        with pytest.raises(DataError):
            hs.open_table(path)


def test_without_the_library(survey, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    with pytest.raises(ImportError, match=r"SPSS, Stata and SAS needs pyreadstat.*halfseen\[stats\]"):
        hs.open_table(survey)


def test_other_processes_read_the_file_themselves(survey):
    scan = StatScan("survey", str(survey))
    state = pickle.dumps(scan)
    assert b"Arrow" not in state
    assert pickle.loads(state)._table.equals(scan._table)


def halfseen(*arguments, code=0):
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


def test_the_command_line(survey, tmp_path):
    frame = pd.DataFrame({"q": [1, 2, 3, 4, 5, 9] * 20, "r": [2, 1] * 60})
    path = tmp_path / "likert.sav"
    labels = {"q": {1: "no", 2: "hardly", 3: "some", 4: "much", 5: "yes", 9: "refused"}, "r": {1: "a", 2: "b"}}
    pyreadstat.write_sav(frame, path, variable_value_labels=labels, missing_ranges={"q": [9]})
    model = tmp_path / "m.halfseen"
    done = halfseen("fit", path, "-k", 2, "-o", model)
    assert "note: " in done.stderr
    assert "cells read as missing by their codes: 20, q 20 (9)" in done.stderr
    assert "no, hardly, some, much, yes" in done.stderr
    assert halfseen("predict", model, path).stdout.splitlines()[1].startswith("no,b,")
    halfseen("fit", path, "-k", 2, "-o", model, "--codes", "q", "--columns", "q=gaussian")
    assert hs.load(model).columns_ == {"q": "gaussian", "r": "categorical"}
    assert halfseen("predict", model, path).stdout.splitlines()[1].startswith("1,b,")  # as in the fit
    assert "codes=['q']" in halfseen("info", model, "--code").stdout
    wrong = halfseen("fit", "example:votes", "-k", 2, "--codes", "q", code=2)
    assert "--codes" in wrong.stderr


def test_info_on_a_damaged_file(tmp_path):
    path = tmp_path / "bad.sav"
    path.write_bytes(b"$FL2" + b"x" * 500)
    done = halfseen("fit", path, code=1)
    assert "bad.sav cannot be read as a .sav file" in done.stderr
