"""Arrow files and tables in memory as scans: the same kinds and the same bits as the table itself."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import halfseen as hs
from halfseen.data.arrow_table import arrow_of, write_arrow
from halfseen.data.frames import read
from halfseen.errors import DataError, DataTypeError, ParameterError


def mixed(n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "count": rng.integers(0, 40, n),
            "grade": pd.Categorical(rng.choice(["low", "high"], n), ["low", "mid", "high"], ordered=True),
            "code": pd.Categorical(rng.choice([10, 20], n), [30, 20, 10]),
            "half": pd.Categorical(rng.choice([0.5, 1.0], n)),
            "yes": rng.random(n) < 0.5,
            "word": rng.choice(["a", "b c", "d"], n),
        }
    )
    frame.loc[[3, 7], ["size", "count", "grade", "code", "word"]] = None
    return frame


def opened(table, tmp_path, how, **options):
    if how == "memory":
        return hs.open_table(table, **options)
    path = tmp_path / "table.arrow"
    write_arrow(arrow_of(table), path)
    return hs.open_table(path, **options)


def same_fit(a, b):
    first, second = (hs.LatentClass(2, random_state=0).fit(table) for table in (a, b))
    assert first.columns_ == second.columns_
    assert first.loglik_ == second.loglik_
    assert [column.categories for column in first._schema.columns] == [
        column.categories for column in second._schema.columns
    ]


@pytest.mark.parametrize("how", ["memory", "file"])
def test_a_fit_is_that_of_the_table_itself(tmp_path, how):
    frame = mixed()
    same_fit(frame, opened(frame, tmp_path, how))
    polars = pl.from_pandas(frame.drop(columns=["code", "half"])).with_columns(
        pl.col("word").cast(pl.Categorical), pl.col("grade").cast(pl.Enum(["low", "mid", "high"]))
    )
    same_fit(polars, opened(polars, tmp_path, how))
    same_fit(polars.to_arrow(), opened(polars.to_arrow(), tmp_path, how))


@pytest.mark.parametrize("how", ["memory", "file"])
def test_arrays_lists_and_masks(tmp_path, how):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3)).round(3)
    X[2, 1] = np.nan
    same_fit(X, opened(X, tmp_path, how))
    rows = [[*map(float, row[:2]), "ab"[n % 2]] for n, row in enumerate(X)]
    same_fit(rows, opened(rows, tmp_path, how))
    same_fit(np.ma.masked_invalid(X), opened(np.ma.masked_invalid(X), tmp_path, how))


@pytest.mark.parametrize("how", ["memory", "file"])
def test_levels_that_no_row_has_and_their_order_survive(tmp_path, how):
    model = hs.LatentClass(1).fit(opened(mixed(), tmp_path, how))
    levels = {column.name: column.categories for column in model._schema.columns}
    assert levels["grade"] == ("low", "mid", "high")
    assert levels["code"] == (10, 20, 30)
    assert levels["half"] == (0.5, 1.0)
    assert levels["yes"] == (False, True)
    [raw] = [read(table).column(2) for table in [opened(mixed(), tmp_path, how)]]
    assert (raw.levels, raw.ordered) == (("low", "mid", "high"), True)


@pytest.mark.parametrize("how", ["memory", "file"])
def test_codes_that_mean_missing(tmp_path, how):
    frame = pd.DataFrame(
        {
            "n": [1.0, -99.0, 3.0, 4.5] * 3,
            "t": ["x", " ? ", "y", "x"] * 3,
            "c": pd.Categorical(["u", "?", "v", "u"] * 3),
        }
    )
    table = opened(frame, tmp_path, how, missing=["?", -99])
    [batch] = table.batches()
    assert [batch[name].null_count for name in "ntc"] == [3, 3, 3]
    assert hs.LatentClass(1).fit(table)._schema.columns[2].categories == ("u", "v")


@pytest.mark.parametrize("how", ["memory", "file"])
def test_weights_labels_text_and_columns_left_out(tmp_path, how):
    frame = pd.DataFrame({"a": [1, 2, 3] * 4, "w": [1.0, 2.0, 0.5] * 4, "y": ["p", "q", "q"] * 4, "id": range(12)})
    table = opened(frame, tmp_path, how, weight="w", target="y", ignore=["id"], text=["a"])
    assert table.names == ("a",)
    model = hs.NaiveBayes().fit(table)
    assert list(model.classes_) == ["p", "q"]
    assert model._schema.columns[0].categories == ("1", "2", "3")
    assert hs.LatentClass(2).fit(table).n_features_in_ == 1


def test_dates_are_kept_and_cannot_be_fitted(tmp_path):
    frame = pd.DataFrame({"day": pd.date_range("2026-01-01", periods=5), "x": [1.5, 2, 3, 4, 5]})
    frame["when"] = [datetime.date(2026, 1, 1)] * 5
    table = opened(frame, tmp_path, "file")
    assert dict(table.unreadable()) == {"day": "holds dates or times", "when": "holds dates or times"}
    assert table.without(["day", "when"]).names == ("x",)


def test_a_large_file_is_read_in_batches(tmp_path):
    frame = pd.concat([mixed()] * 60, ignore_index=True)
    same_fit(opened(frame, tmp_path, "file"), opened(frame, tmp_path, "file", memory="100kB"))


def test_a_table_can_be_sent_to_another_process(tmp_path):
    for how in ("memory", "file"):
        [part] = opened(mixed(), tmp_path, how).parts()
        assert pickle.loads(pickle.dumps(part))().equals(part())


def test_a_damaged_file_is_refused_and_not_read_beyond_its_end(tmp_path):
    path = tmp_path / "damaged.arrow"
    write_arrow(pa.table({"a": ["aa", "bb", "cc"]}), path)
    whole, wrong = (np.array([0, 2, own, 6], dtype="<i4").tobytes() for own in (4, 90_000_000))
    content = path.read_bytes()
    assert content.count(whole) == 1  # where the texts begin
    path.write_bytes(content.replace(whole, wrong))
    with pytest.raises(DataError, match="is no Arrow file"):
        hs.open_table(path)


def test_what_cannot_be_opened_is_refused_in_words(tmp_path):
    wrong = tmp_path / "wrong.arrow"
    wrong.write_bytes(b"not Arrow at all")
    for table, error, words in (
        (wrong, DataError, "is no Arrow file"),
        (pl.LazyFrame({"a": [1]}), DataTypeError, "collect"),
        (pd.DataFrame({"a": [1, "b", 2]}), DataError, "mixes"),
        (pd.DataFrame({"a": [1.0, np.inf]}), DataError, "infinity"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), DataError, "twice|unique"),
        (["one", "two"], DataError, "texts"),
        (np.zeros((0, 2)), DataError, "0 sample"),
        (pd.DataFrame({"a": ["\ud800", "b"]}, dtype=object), DataError, "surrogate"),
    ):
        with pytest.raises(error, match=words):
            hs.open_table(table)
    with pytest.raises(ParameterError, match="are for files"):
        hs.open_table(mixed(), sql="FROM data")
    write_arrow(pa.table({"a": [1, 2]}), tmp_path / "right.feather")
    with pytest.raises(ParameterError, match="does not read Arrow"):
        hs.open_table(tmp_path / "right.feather", sql="FROM data")
    write_arrow(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]), tmp_path / "twice.arrow")
    with pytest.raises(DataError, match="two columns 'a'"):
        hs.open_table(tmp_path / "twice.arrow")
