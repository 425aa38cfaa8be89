"""Columns that are not what they seem: numbers with mistakes, codes for missing values, counts, formulas."""

import json
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import halfseen as hs
from halfseen.data import identifiers, open_table, read, write_table
from halfseen.errors import DataError

N = 400


def ages(*others):
    """Ages as text, some cells of which are not numbers: (row, text)."""
    cells = [str(20 + i % 60) for i in range(N)]
    for row, text in others:
        cells[row] = text
    return cells


def refused(table, **options):
    with pytest.raises(DataError) as error:
        hs.LatentClass(2, n_init=1, random_state=0, **options).fit(table)
    return str(error.value)


# ---- nearly all numbers ----------------------------------------------------------------------------------------------


def test_files_name_the_line_and_the_option(tmp_path):
    frame = pd.DataFrame({"age": ages((15, "n.a.")), "town": ["a", "b"] * (N // 2)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    expected = (
        "age: 1 of 400 cells is not a number ('n.a.', line 17). Add missing=['n.a.'], or "
        "columns={'age': 'categorical'}."
    )
    for memory in ("1GB", 1000):  # read whole, and in batches
        assert refused(open_table(tmp_path / "t.csv", memory=memory)) == expected
    assert read(open_table(tmp_path / "t.csv", missing=["n.a."])).column(0).type == "number"
    model = hs.LatentClass(1, columns={"age": "categorical"}).fit(open_table(tmp_path / "t.csv"))
    assert len(model.params_["age"]) == 61
    assert hs.LatentClass(1).fit(open_table(tmp_path / "t.csv", text=["age"])).columns_["age"] == "categorical"
    frame.to_parquet(tmp_path / "t.parquet")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM '{tmp_path}/t.parquet'")
    for name in ("t.parquet", "t.duckdb"):
        assert refused(open_table(tmp_path / name)) == expected.replace("line 17", "row 15")


@pytest.mark.parametrize(
    "container",
    [
        lambda cells: pd.DataFrame({"age": cells}),
        lambda cells: pd.DataFrame({"age": pd.Series(cells, dtype=object)}),
        lambda cells: pl.DataFrame({"age": cells}),
        lambda cells: pa.table({"age": cells}),
    ],
)
def test_containers_name_the_row(container):
    said = refused(container(ages((15, "n.a."))))
    assert said == (
        "age: 1 of 400 cells is not a number ('n.a.', row 15). Make such cells None or NaN, or "
        "columns={'age': 'categorical'}."
    )
    model = hs.LatentClass(1, columns={"age": "categorical"}).fit(container(ages((15, "n.a."))))
    assert model.columns_ == {"age": "categorical"}


def test_arrays_and_columns_of_objects_name_the_row():
    mixed = [int(cell) if cell.isdigit() else cell for cell in ages((15, "n.a."), (40, "unknown"))]
    said = "2 of 400 cells are not numbers ('n.a.' (row 15) and 'unknown' (row 40))."
    assert said in refused(pd.DataFrame({"age": pd.Series(mixed, dtype=object)}))
    assert said in refused([[cell] for cell in mixed])
    assert "1 of 400 cells is not a number ('n.a.', row 15)" in refused(np.array(ages((15, "n.a.")))[:, None])


def test_several_values_are_named(tmp_path):
    others = [(16, "n.a."), (39, "unknown"), (40, "n.a."), (50, "?"), (60, "none"), (70, "old")]
    pd.DataFrame({"age": ages(*others)}).to_csv(tmp_path / "t.csv", index=False)
    assert refused(open_table(tmp_path / "t.csv")) == (
        "age: 6 of 400 cells are not numbers ('n.a.' (line 18), 'unknown' (line 41), '?' (line 52) and 2 more). "
        "Add missing=['?', 'n.a.', 'none', 'old', 'unknown'], or columns={'age': 'categorical'}."
    )


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2", "x"] * 100,  # codes
        [*(str(i % 12) for i in range(N)), "x"],  # months
        [f"{i % 60}{'x' if i % 10 == 0 else ''}" for i in range(N)],  # one in ten is no number
        [f"{i:05}" for i in range(N)],  # names made of digits
        [str(i % 60) for i in range(N)],  # all numbers, given as text
        ["a", "b"] * 100,
    ],
)
def test_codes_are_no_mistakes(cells):
    for frame in (pd.DataFrame({"c": cells}), pa.table({"c": cells})):
        assert hs.LatentClass(1).fit(frame).columns_ == {"c": "categorical"}


def test_declared_categories_are_no_mistakes():
    frame = pd.DataFrame({"age": pd.Categorical(ages((15, "n.a.")))})
    assert hs.LatentClass(1).fit(frame).columns_ == {"age": "categorical"}


def test_numbers_with_a_mistake_are_no_identifier(tmp_path):
    cells = [f"{i * 1.5}" for i in range(N - 1)] + ["n.a."]
    pd.DataFrame({"income": cells, "b": [1, 2] * (N // 2)}).to_csv(tmp_path / "t.csv", index=False)
    assert identifiers(open_table(tmp_path / "t.csv")) == []


def test_estimators_of_numbers_give_no_advice_on_categories():
    frame = pd.DataFrame({"age": ages((15, "n.a."))})
    for estimator in (hs.GaussianMixture(2), hs.KMeans(2), hs.BayesNet([("c", "age")], hidden={"c": 2})):
        with pytest.raises(DataError, match=r"'n\.a\.'") as error:
            estimator.fit(frame)
        assert "categorical" not in str(error.value)


def test_mixed_cells_of_other_files_are_refused_too(tmp_path):
    (tmp_path / "t.jsonl").write_text(
        "".join(f'{{"age": {i if i != 15 else chr(34) + "n.a." + chr(34)}}}\n' for i in range(N))
    )
    connection = sqlite3.connect(tmp_path / "t.sqlite")
    connection.execute("CREATE TABLE t (age)")
    connection.executemany("INSERT INTO t VALUES (?)", [(i if i != 15 else "n.a.",) for i in range(N)])
    connection.commit()
    connection.close()
    for name in ("t.jsonl", "t.sqlite"):
        assert "column 'age' holds" in refused(open_table(tmp_path / name))
        assert "name them: missing=[...]" in refused(open_table(tmp_path / name))
        assert read(open_table(tmp_path / name, missing=["n.a."])).column(0).type == "number"


# ---- codes for missing values, and counts ----------------------------------------------------------------------------


def notes(table, **options):
    events = hs.LatentClass(1, **options).fit(pd.DataFrame(table)).events_
    return [event for event in events if "missing" in event or "counts" in event]


def with_codes(values, *codes):
    cells = np.array(values, dtype=float)
    for k, code in enumerate(codes):
        cells[k::40] = code
    return cells


RNG = np.random.default_rng(0)
AGES = RNG.integers(18, 90, N).astype(float)
INCOMES = RNG.lognormal(10, 0.5, N).round()


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (AGES, [-99]),
        (AGES, [-9]),
        (AGES, [999]),
        (INCOMES, [999999]),
        (AGES, [666, 999999]),
        (AGES, [888, 999]),
        (RNG.normal(size=N), [-99]),
        (RNG.integers(0, 8, N), [99]),  # categories
        (RNG.integers(0, 8, N), [-9]),
    ],
)
def test_codes_for_missing_values_are_named(values, codes):
    [note] = notes({"x": with_codes(values, *codes)})
    shown = " and ".join(f"{code} (10 cells)" for code in codes)
    assert note.startswith(f"column 'x': {shown} lie")
    assert note.endswith(f"missing=[{', '.join(map(str, codes))}], or put NaN there")


@pytest.mark.parametrize(
    "values",
    [
        AGES,
        INCOMES,
        np.append(AGES, 999.0),  # once: an outlier
        RNG.integers(0, 200, N),  # among which 99
        RNG.integers(900, 1000, N),
        RNG.normal(size=N).round() * 99,
        RNG.integers(-1, 2, N),
        with_codes(RNG.normal(20, 10, N).round(), -9),  # temperatures
        RNG.normal(50, 20, N),
    ],
)
def test_ordinary_numbers_are_no_codes(values):
    assert notes({"x": values}) == []


def test_counts_are_suggested():
    poisson, negbin = RNG.poisson(6, N), RNG.negative_binomial(1, 0.1, N)
    first, second = notes({"a": poisson, "b": negbin, "age": AGES})
    assert (
        first
        == (
            "column 'a' holds whole numbers from 0, as counts do: columns={'a': 'poisson'} may fit better than normal "
            "distributions"
        )
        or "from 1" in first
    )
    assert "columns={'b': 'negbin'}" in second
    assert notes({"b": negbin}, columns={"b": "gaussian"}) == []
    events = hs.GaussianMixture(1).fit(pd.DataFrame({"a": poisson, "b": negbin})).events_  # which has no other kinds
    assert not any("as counts do" in event for event in events)


def test_other_estimators_note_them_too():
    X = pd.DataFrame({"x": with_codes(AGES, -99)})
    y = np.arange(N) % 2
    for model in (
        hs.NaiveBayes().fit(X, y),
        hs.GaussianMixture(1).fit(X),
        hs.HMM(1).fit(X),
        hs.KMeans(2, random_state=0).fit(X),
    ):
        assert any("-99 (10 cells) lies far" in event for event in model.events_), type(model)


# ---- formulas in cells -----------------------------------------------------------------------------------------------


def test_texts_that_spreadsheets_would_run_can_be_guarded(tmp_path):
    texts = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "plain", "a=b", None]
    frame = {"=name": texts, "number": [-1.5, *range(8)]}
    for name, delimiter in (("t.csv", ","), ("t.tsv", "\t")):
        write_table(frame, tmp_path / name, safe_csv=True)
        found = pd.read_csv(tmp_path / name, sep=delimiter, keep_default_na=False, lineterminator="\n")
        assert list(found) == ["'=name", "number"]
        assert found["'=name"].tolist() == ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "'\rx", "plain", "a=b", ""]
        assert found["number"][0] == -1.5
    write_table(frame, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().startswith("=name,number\n=1+1,-1.5\n")
    write_table(frame, tmp_path / "t.jsonl", safe_csv=True)
    assert json.loads((tmp_path / "t.jsonl").read_text().splitlines()[0])["=name"] == "=1+1"


def test_texts_that_may_mean_missing_are_named():
    frame = pd.DataFrame({"a": ["x", "?", "y"] * 9, "b": ["?", "u", "v"] * 9, "c": ["Na", "p", "q"] * 9})
    [note] = [event for event in hs.LatentClass(1).fit(frame).events_ if "may mean missing" in event]
    assert note == (
        "'?' in 2 columns, 'Na' in column 'c' may mean missing; if so, read the file with missing=['?', 'Na'], or put "
        "NaN there"
    )
    assert note in hs.BayesNet("a -> b; a -> c").fit(frame).events_
    assert not hs.LatentClass(1).fit(frame.replace(["?", "Na"], None)).events_
