"""The kind and the categories of a column, and its codes."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from halfseen.data import Column, Schema, learn_column, read
from halfseen.data.frames import CodedColumn
from halfseen.errors import DataError, ParameterError, UnknownCategoryWarning

NAN = float("nan")


def raw(values):
    return read([[value] for value in values]).column(0)


def learn(values, kind=None):
    return learn_column(raw(values), "a", kind)


def encode(values, column, dtype=np.int8):
    out = np.empty(len(values), dtype)
    return column.kind.encode(raw(values), column, out), out.tolist()


# ------------------------------------------------------------------------------------------------------------ the kind


@pytest.mark.parametrize(
    ("values", "categories"),
    [
        (["b", "a", None, "b"], ("a", "b")),
        (["", "a"], ("", "a")),
        ([True, False, None], (False, True)),
        ([True, True], (True,)),
        ([2.5, 2.5, None], (2.5,)),
        ([7, 7], (7,)),
        ([None, NAN], ()),
        ([3.0, 1.0, NAN, 1.0], (1, 3)),
        ([-0.0, 1.0], (0, 1)),
        ([-1, 5], (-1, 5)),
        (list(range(12)), tuple(range(12))),
    ],
)
def test_categorical_by_value(values, categories):
    column = learn(values)
    assert column == Column("a", "categorical", categories)
    assert [type(c) for c in column.categories] == [type(c) for c in categories]


@pytest.mark.parametrize("values", [[1.5, 2.5], [1, 2, 2.5], list(range(13)), [0.5, NAN, 1.0]])
def test_gaussian_by_value(values):
    assert learn(values) == Column("a", "gaussian", None)


@pytest.mark.parametrize(
    ("series", "categories"),
    [
        (pd.Categorical(["b"], categories=["z", "b", "a"]), ("a", "b", "z")),
        (pd.Categorical(["b"], categories=["z", "b", "a"], ordered=True), ("z", "b", "a")),
        (pd.Categorical([2.0], categories=[3.0, 2.0]), (2, 3)),
        (pd.Categorical([None], categories=["b", "a"]), ("a", "b")),
        (pd.Categorical([True], categories=[True, False]), (False, True)),
        (pd.Categorical(range(20)), tuple(range(20))),
        (pd.Categorical([0.5, 1.5]), (0.5, 1.5)),
    ],
)
def test_declared_categories_count_seen_or_not(series, categories):
    column = learn_column(read(pd.DataFrame({"a": series})).column(0), "a")
    assert column == Column("a", "categorical", categories)


def test_the_order_of_an_enum_is_kept():
    frame = pl.DataFrame({"a": pl.Series(["low", "high"], dtype=pl.Enum(["low", "mid", "high"]))})
    assert learn_column(read(frame).column(0), "a").categories == ("low", "mid", "high")


def test_kind_overrides_the_rule():
    assert learn([1.5, 2.5], "categorical").categories == (1.5, 2.5)
    assert learn([1, 2], "gaussian") == Column("a", "gaussian", None)
    assert learn([1, None, 2], "poisson") == Column("a", "poisson", None)
    assert learn([3, 3], "poisson").kind.name == "poisson"
    declared = read(pd.DataFrame({"a": pd.Categorical([1, 2])})).column(0)
    assert learn_column(declared, "a", "gaussian").kind.name == "gaussian"


@pytest.mark.parametrize(
    ("values", "kind", "match"),
    [
        ([0, 1, -2], "poisson", "column 'a' cannot be poisson: row 2 is -2, .*1 such rows.*'gaussian'"),
        ([0, 1.5, 2.5], "poisson", "row 1 is 1.5, .*2 such rows"),
        ([None, "x"], "poisson", "column 'a' cannot be poisson: row 1 is 'x', not a number.*'categorical'"),
        ([None, "x"], "gaussian", "column 'a' cannot be gaussian: row 1 is 'x', not a number.*'categorical'"),
        ([True, False], "gaussian", "row 0 is True, not a number"),
        (["1", "NA", "3", "NA"], "gaussian", r"row 1 is 'NA', not a number \(2 such rows; .* missing=\['NA'\]"),
        (["1", "a", "b"], "gaussian", r"row 1 is 'a', not a number\. Convert"),
        (["1", "2"], "gaussian", "row 0 is '1', a number written as text"),
        ([2.5, 2.5, None], "gaussian", "it is 2.5 in all observed rows .n_samples=2.*variance is 0.*Drop"),
        ([None, None], "gaussian", "all its 2 cells are missing"),
        ([None, None], "poisson", "all its 2 cells are missing"),
    ],
)
def test_kinds_that_cannot_be(values, kind, match):
    with pytest.raises(DataError, match=match):
        learn(values, kind)


def test_unknown_kind():
    with pytest.raises(
        ParameterError, match=r"column 'a': unknown kind 'normal'.*'categorical', 'gaussian', 'poisson'"
    ):
        learn([1, 2], "normal")


# ----------------------------------------------------------------------------------------------------------- the codes


def test_codes():
    assert encode(["b", None, "a"], Column("a", "categorical", ("a", "b"))) == ({}, [1, -1, 0])
    assert encode([3, None, 1.0], Column("a", "categorical", (1, 3))) == ({}, [1, -1, 0])
    assert encode([True, None, False], Column("a", "categorical", (False, True))) == ({}, [1, -1, 0])
    assert encode([0.5, 1], Column("a", "categorical", (0.5, 1))) == ({}, [0, 1])
    assert encode([None, NAN], Column("a", "categorical", ())) == ({}, [-1, -1])
    assert encode(["lo", "hi"], Column("a", "categorical", ("lo", "hi"))) == ({}, [0, 1])
    assert encode([1, 3, 2], Column("a", "categorical", (3, 1, 2))) == ({}, [1, 0, 2])


def test_unknown_categories_are_counted_and_missing():
    assert encode(["z", "a", "z", "y"], Column("a", "categorical", ("a", "b"))) == ({"z": 2, "y": 1}, [-1, 0, -1, -1])
    assert encode([9, 1, 0, 2.5], Column("a", "categorical", (1, 3))) == ({9: 1, 0: 1, 2.5: 1}, [-1, 0, -1, -1])
    assert encode([5], Column("a", "categorical", ())) == ({5: 1}, [-1])
    assert encode(["5"], Column("a", "categorical", (5,))) == ({"5": 1}, [-1])
    assert encode([5], Column("a", "categorical", ("5",))) == ({5: 1}, [-1])
    assert encode([True], Column("a", "categorical", ("True",))) == ({True: 1}, [-1])


def test_true_and_false_are_one_and_zero():
    assert encode([1, 0], Column("a", "categorical", (False, True))) == ({}, [1, 0])


def test_numbers():
    _, values = encode([1.5, None, -0.0], Column("a", "gaussian"), np.float64)
    np.testing.assert_array_equal(values, [1.5, NAN, 0.0])
    assert not np.signbit(values[2])
    assert encode([3, 0], Column("a", "poisson"), np.float64) == ({}, [3.0, 0.0])
    assert np.isnan(encode([None], Column("a", "gaussian"), np.float64)[1]).all()


def test_numbers_that_are_none():
    with pytest.raises(DataError, match="column 'a' cannot be gaussian: row 0 is 'x', not a number"):
        encode(["x"], Column("a", "gaussian"), np.float64)
    with pytest.raises(DataError, match="column 'a' cannot be poisson: row 1 is -3"):
        encode([1, -3], Column("a", "poisson"), np.float64)


def test_codes_go_into_a_column_of_a_block():
    block = np.full((2, 3), 7, dtype=np.int16)
    column = Column("a", "categorical", ("a", "b"))
    column.kind.encode(raw(["b", None]), column, block[:, 1])
    assert block.tolist() == [[7, 1, 7], [7, -1, 7]]


# ---- arrays of numbers, many columns at a time -----------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64])
@pytest.mark.parametrize("holes", [0.0, 0.3, 1.0])
def test_arrays_are_read_as_their_columns_would_be(dtype, holes):
    """The quick way through a whole array and the way column by column: same kinds, categories and cells."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.integers(0, 4, 5000),
            rng.integers(0, 100, 5000),
            np.where(np.arange(5000) < 4000, 1, 2),
            rng.integers(0, 2, 5000) * 100,
            np.full(5000, 7),
            rng.integers(0, 12, 5000),
            rng.integers(0, 13, 5000),
        ]
    ).astype(dtype)
    if dtype in (np.float32, np.float64):
        X = np.column_stack([X, rng.normal(size=5000), np.where(np.arange(5000) < 4000, 1.0, 1.5)]).astype(dtype)
        X[rng.random(X.shape) < holes] = np.nan
    elif dtype in (np.int32, np.int64):
        X = np.column_stack([X, rng.integers(0, 2, 5000) * 100_000, rng.integers(0, 3, 5000) - 4096]).astype(dtype)
    whole, columns = read(X), read(pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]))
    quick, slow = Schema.learn(whole), Schema.learn(columns)
    assert quick.columns == slow.columns
    first, second = quick.encode(whole), slow.encode(columns)
    for name, block in first.blocks.items():
        assert_array_equal(block, second.blocks[name])


def test_arrays_with_something_to_complain_about():
    schema = Schema.learn(read(np.array([[0, 1.5], [1, 2.5]])))
    with pytest.warns(UnknownCategoryWarning, match=r"'x0': 7 \(1x\)"):
        assert schema.encode(read(np.array([[7, 1.5], [1, np.nan]]))).blocks["categorical"].tolist() == [[-1], [1]]
    with pytest.warns(UnknownCategoryWarning, match=r"'x0': 0\.5 \(1x\)"):
        schema.encode(read(np.array([[0.5, 1.5], [np.nan, 1.0]])))
    with pytest.raises(DataError, match="column 'x1', row 1 is inf"):
        schema.encode(read(np.array([[0, 1.5], [1, np.inf]])))
    with pytest.raises(DataError, match="column 'x0', row 0 is -inf"):
        Schema.learn(read(np.array([[-np.inf], [1.0]])))


def test_the_callers_array_is_read_and_never_written():
    """An array of numbers is shared, not copied; what reorders rows in place makes a copy of it first."""
    X = np.random.default_rng(0).normal(size=(50, 3))
    before = X.copy()
    source = read(X)
    table = Schema.learn(source).encode(source)
    assert np.shares_memory(table.blocks["gaussian"], X)
    assert not table.blocks["gaussian"].flags.writeable
    ordered = table.canonical(overwrite=True)
    assert_array_equal(X, before)
    assert not np.shares_memory(ordered.blocks["gaussian"], X)


# ------------------------------------------------------------------------------------------------- text seen as codes

CELLS = ["b", None, "a", "b", "é", ""]
AS_TEXT = {
    "arrow": lambda: pa.table({"a": CELLS}),
    "arrow views": lambda: pa.table({"a": pa.array(CELLS, pa.string_view())}),
    "arrow in chunks": lambda: pa.table({"a": pa.chunked_array([CELLS[:2], CELLS[2:]])}),
    "polars": lambda: pl.DataFrame({"a": CELLS}),
    "pandas": lambda: pd.DataFrame({"a": pd.Series(CELLS, dtype="string")}),
    "arrow dictionary": lambda: pa.table({"a": pa.array(CELLS).dictionary_encode()}),
    "pandas category": lambda: pd.DataFrame({"a": pd.Series(CELLS, dtype="category")}),
}


@pytest.mark.parametrize("make", AS_TEXT.values(), ids=AS_TEXT)
def test_text_comes_as_codes_and_means_the_same(make):
    coded = read(make()).column(0)
    assert isinstance(coded, CodedColumn)
    assert coded.values.tolist() == CELLS
    assert coded.missing.tolist() == [cell is None for cell in CELLS]
    column = learn_column(coded, "a")
    assert column == learn_column(raw(CELLS), "a") == Column("a", "categorical", ("", "a", "b", "é"))
    known = Column("a", "categorical", ("b", "a"))
    out, other = np.empty(6, dtype=np.int8), np.empty(6, dtype=np.int8)
    assert known.kind.encode(coded, known, out) == known.kind.encode(raw(CELLS), known, other)
    assert out.tolist() == other.tolist() == [0, -1, 1, 0, -1, -1]
