"""Pages of rows against pandas: filters, sorting, missing values, sketches; text of a page is never SQL."""

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import halfseen as hs
from halfseen.errors import DataError, ParameterError
from halfseen.studio.rows import CERTAINTY, CLASS, Filter, RowStore, View, merged

NAMES = ["n", "name", "flag", "big"]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 1000
    return pd.DataFrame(
        {
            "n": np.where(rng.random(n) < 0.2, np.nan, rng.integers(-20, 20, n) / 2),
            "name": rng.choice(["ant", "Bee", "50%_off", "it's", None], n),
            "flag": rng.choice(["yes", "no"], n),
            "big": np.arange(n) + 2**53,
        }
    )


@pytest.fixture(scope="module")
def rows(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "t.parquet"
    frame.to_parquet(path)
    store = RowStore(hs.open_table(path))
    yield store
    store.close()


def numbers(rows, view):
    found = []
    while len(page := rows.page(view, len(found), 200)[1]):
        found += [number for number, _ in page]
    return found


def test_all_rows_in_their_order(rows, frame):
    total, page = rows.page(View(), 995, 200)
    assert total == 1000
    assert [number for number, _ in page] == [995, 996, 997, 998, 999]
    assert page[0][1][2] == frame.flag[995]
    assert page[0][1][3] == str(2**53 + 995)  # would be rounded in a page


@pytest.mark.parametrize(
    ("filters", "chosen"),
    [
        ([Filter("n", "below", 1.5)], lambda t: t.n < 1.5),
        ([Filter("n", "above", "1.5")], lambda t: t.n > 1.5),
        ([Filter("n", "is", 3)], lambda t: t.n == 3),
        ([Filter("n", "missing")], lambda t: t.n.isna()),
        ([Filter("name", "present")], lambda t: t.name.notna()),
        ([Filter("name", "is", "it's")], lambda t: t.name == "it's"),
        ([Filter("name", "is not", "ant")], lambda t: t.name.notna() & (t.name != "ant")),
        ([Filter("name", "contains", "%_")], lambda t: t.name.str.contains("%_", regex=False, na=False)),
        ([Filter("name", "contains", "BEE")], lambda t: t.name == "Bee"),
        ([Filter("name", "is", "ant"), Filter("flag", "is", "no")], lambda t: (t.name == "ant") & (t.flag == "no")),
        ([Filter("name", "is", "'; DROP TABLE rows; --")], lambda t: t.name == "never"),
    ],
)
def test_filters_agree_with_pandas(rows, frame, filters, chosen):
    expected = np.flatnonzero(chosen(frame).to_numpy()).tolist()
    assert numbers(rows, View(tuple(filters))) == expected


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_agrees_with_pandas(rows, frame, descending):
    expected = frame.sort_values("n", ascending=not descending, kind="stable", na_position="last").index.tolist()
    assert numbers(rows, View(sort=("n", descending))) == expected


def test_views_are_kept_but_not_without_end(rows):
    for value in range(30):
        rows.page(View((Filter("n", "above", value - 15),)), 0, 5)
    [(tables,)] = rows._query("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'view%'")
    assert tables <= 8


def test_what_a_model_says_is_sorted_and_filtered(rows):
    classes = ["b" if i % 3 else "a" for i in range(1000)]
    certainty = np.linspace(1, 0.5, 1000)
    rows.answer("model 1", iter([pa.table({"class": classes[:600], "certainty": certainty[:600]}),
                                 pa.table({"class": classes[600:], "certainty": certainty[600:]})]))  # fmt: skip
    found = numbers(rows, View((Filter(CLASS, "is", "a"),), (CERTAINTY, False)))
    assert found == list(range(999, -1, -3))
    assert rows.answers([3, 4]) == {3: ("a", certainty[3]), 4: ("b", certainty[4])}
    rows.answer("model 2", iter([pa.table({"class": ["z"] * 1000, "certainty": np.ones(1000)})]))
    assert numbers(rows, View((Filter(CLASS, "is", "a"),))) == []


def test_counts_and_sketches(rows, frame):
    assert rows.missing() == frame.isna().sum().to_dict()
    assert rows.distinct() == {name: frame[name].nunique() for name in NAMES}
    bars = rows.bars("n")
    assert sum(bar["count"] for bar in bars) == frame.n.notna().sum()
    edges = [bar["low"] for bar in bars] + [bars[-1]["high"]]
    assert [bar["count"] for bar in bars] == np.histogram(frame.n.dropna(), edges)[0].tolist()
    assert {bar["label"]: bar["count"] for bar in rows.bars("name")} == frame.name.value_counts().to_dict()


def test_cells_come_in_the_order_asked_for(rows, frame):
    found = rows.cells([7, 3, 7]).to_pandas()
    assert found.flag.tolist() == frame.flag[[7, 3, 7]].tolist()
    with pytest.raises(ParameterError, match="no row 1000"):
        rows.cells([1000])


@pytest.mark.parametrize(
    ("view", "says"),
    [
        ({"filters": [{"column": "x", "op": "is", "value": "1"}]}, "no column 'x'"),
        ({"filters": [{"column": 'n" OR 1=1 --', "op": "missing"}]}, "no column"),
        ({"filters": [{"column": "n", "op": "= 1 OR"}]}, "is not one of is"),
        ({"filters": [{"column": "n", "op": "is", "value": [1]}]}, "needs a value"),
        ({"filters": [{"column": "n", "op": "is", "value": "high"}]}, "n holds numbers"),
        ({"filters": [{"column": "n", "op": "above", "value": float("inf")}]}, "finite"),
        ({"filters": ["n"]}, "names no column"),
        ({"sort": {"column": "y"}}, "no column 'y'"),
        ({"sort": "n"}, "names no column"),
        ("all", "not a mapping"),
    ],
)
def test_views_that_cannot_be(rows, view, says):
    with pytest.raises(ParameterError, match=says):
        rows.page(View.read(view), 0, 10)


def test_at_most_a_page_at_a_time(rows):
    with pytest.raises(ParameterError, match="at most 200 rows"):
        rows.page(View(), 0, 201)
    with pytest.raises(ParameterError, match="from 0"):
        rows.page(View(), -1, 10)


def test_rows_of_nothing_are_refused():
    with pytest.raises(DataError, match="no rows"):
        RowStore(hs.open_table(io.StringIO("a,b\n")))


def test_codes_for_missing_values_are_missing():
    store = RowStore(hs.open_table(io.StringIO("a,b\n-99,x\n3,?\n4,y\n"), missing=["-99", "?"]))
    assert store.missing() == {"a": 1, "b": 1}
    assert store.page(View(), 0, 3)[1] == [(0, [None, "x"]), (1, [3.0, None]), (2, [4.0, "y"])]
    store.close()


def test_a_label_stands_for_what_the_model_says():
    page = [(4, [1.0]), (5, [2.0])]
    found = merged(page, {4: ("a", 0.6), 5: ("a", 0.7)}, {5: "b"})
    assert found[0] == {"row": 4, "cells": [1.0], "class": "a", "certainty": 0.6, "label": None}
    assert found[1] == {"row": 5, "cells": [2.0], "class": "b", "certainty": 1.0, "label": "b"}
