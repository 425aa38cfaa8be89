"""Reading any container, and giving results back in it."""

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from halfseen.data import Source, frame_from_dict, read
from halfseen.errors import DataError, DataTypeError

NAN = float("nan")


def column(X, j=0):
    return read(X).column(j)


def arrow_dictionary(values, levels, ordered=False):
    codes = pa.array([None if value is None else levels.index(value) for value in values], pa.int8())
    return pa.table({"a": pa.DictionaryArray.from_arrays(codes, pa.array(levels), ordered=ordered)})


# ------------------------------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    "X",
    [
        [[1], [None], [3]],
        [(1.0,), (NAN,), (3.0,)],
        [[np.int8(1)], [pd.NA], [np.float32(3)]],
        [[Decimal("1")], [Decimal("NaN")], [Fraction(3)]],
        np.array([[1.0], [NAN], [3.0]], dtype=np.float32),
        np.array([[1], [None], [3]], dtype=object),
        np.array([[1], [pd.NaT], [3]], dtype=object),
        np.ma.MaskedArray([[1], [2], [3]], mask=[[0], [1], [0]]),
        np.ma.MaskedArray([[1.0], [NAN], [3.0]]),
        pd.DataFrame({"a": [1, None, 3]}),
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="UInt8")}),
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Float32")}),
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="int64[pyarrow]")}),
        pd.DataFrame({"a": pd.Series([1, pd.NaT, 3], dtype=object)}),
        pd.DataFrame({"a": [Decimal("1"), None, Decimal("3")]}),
        pd.DataFrame({"a": pd.array([Decimal("1"), None, Decimal("3")], dtype=pd.ArrowDtype(pa.decimal128(9, 2)))}),
        pl.DataFrame({"a": [1, None, 3]}),
        pl.DataFrame({"a": [1.0, NAN, 3.0]}),
        pl.DataFrame({"a": pl.Series([1, None, 3], dtype=pl.UInt8)}),
        pl.DataFrame({"a": pl.Series([1, None, 3], dtype=pl.Int128)}),
        pl.DataFrame({"a": [Decimal("1"), None, Decimal("3")]}),
        pa.table({"a": [1, None, 3]}),
        pa.table({"a": pa.array([1.0, NAN, 3.0], pa.float16())}),
        pa.table({"a": [Decimal("1"), None, Decimal("3")]}),
    ],
)
def test_numbers(X):
    raw = column(X)
    assert raw.type == "number"
    assert raw.values.dtype == np.float64
    assert raw.levels is None
    np.testing.assert_array_equal(raw.values, [1.0, NAN, 3.0])
    np.testing.assert_array_equal(raw.missing, [False, True, False])


@pytest.mark.parametrize(
    "X",
    [
        [["b"], [None], [""]],
        [["b"], [NAN], [np.str_("")]],
        np.array([["b"], [pd.NA], [""]], dtype=object),
        np.ma.MaskedArray([["b"], ["q"], [""]], mask=[[0], [1], [0]]),
        pd.DataFrame({"a": ["b", None, ""]}),
        pd.DataFrame({"a": ["b", None, ""]}, dtype=object),
        pd.DataFrame({"a": pd.array(["b", None, ""], dtype="string")}),
        pd.DataFrame({"a": pd.array(["b", None, ""], dtype=pd.ArrowDtype(pa.large_string()))}),
        pd.DataFrame({"a": pd.Categorical(["b", None, ""])}),
        pl.DataFrame({"a": ["b", None, ""]}),
        pl.DataFrame({"a": pl.Series(["b", None, ""], dtype=pl.Categorical)}),
        pl.DataFrame({"a": pl.Series(["b", None, ""], dtype=pl.Enum(["", "b"]))}),
        pa.table({"a": ["b", None, ""]}),
        pa.table({"a": pa.array(["b", None, ""], pa.string_view())}),
        arrow_dictionary(["b", None, ""], ["", "b"]),
    ],
)
def test_text(X):
    raw = column(X)
    assert raw.type == "text"
    assert raw.values.tolist() == ["b", None, ""]
    assert raw.missing.tolist() == [False, True, False]


@pytest.mark.parametrize(
    "X",
    [
        [[True], [None], [False]],
        [[np.True_], [NAN], [False]],
        pd.DataFrame({"a": [True, None, False]}),
        pd.DataFrame({"a": pd.array([True, None, False], dtype="boolean")}),
        pd.DataFrame({"a": pd.array([True, None, False], dtype="bool[pyarrow]")}),
        pl.DataFrame({"a": [True, None, False]}),
        pa.table({"a": [True, None, False]}),
    ],
)
def test_bools(X):
    raw = column(X)
    assert raw.type == "bool"
    np.testing.assert_array_equal(raw.values, [1.0, NAN, 0.0])
    assert raw.missing.tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "g"])
def test_arrays_of_any_number(dtype):
    np.testing.assert_array_equal(column(np.array([[1], [2]], dtype=dtype)).values, [1.0, 2.0])


def test_other_arrays():
    assert column(np.array([[True], [False]])).type == "bool"
    assert column(np.array([["a"], ["bb"]])).values.tolist() == ["a", "bb"]


@pytest.mark.parametrize(
    "X",
    [
        [[None], [NAN]],
        np.full((2, 1), NAN),
        np.ma.masked_all((2, 1)),
        pd.DataFrame({"a": [None, None]}),
        pd.DataFrame({"a": pd.array([None, None], dtype="string")}),
        pd.DataFrame({"a": [pd.NaT, pd.NaT]}),
        pl.DataFrame({"a": [None, None]}),
        pl.DataFrame({"a": [None, None]}, schema={"a": pl.String}),
        pa.table({"a": [None, None]}),
    ],
)
def test_a_column_without_observed_cells_is_of_missing_numbers(X):
    raw = column(X)
    assert raw.type in ("number", "bool")
    assert raw.missing.all()
    assert raw.levels is None


def test_integers_beyond_float64_are_read_as_the_nearest():
    big = 2**60 + 1
    for X in (
        [[big], [1]],
        pd.DataFrame({"a": [big, 1]}),
        pl.DataFrame({"a": [big, None]}),
        pa.table({"a": [big, None]}),
    ):
        assert column(X).values[0] == float(2**60)


@pytest.mark.parametrize(
    ("X", "levels", "ordered"),
    [
        (pd.DataFrame({"a": pd.Categorical(["b", "a"], categories=["b", "a", "z"])}), ("b", "a", "z"), False),
        (pd.DataFrame({"a": pd.Categorical(["b"], categories=["b", "a"], ordered=True)}), ("b", "a"), True),
        (pd.DataFrame({"a": pd.Categorical([None], categories=["b", "a"])}), ("b", "a"), False),
        (pd.DataFrame({"a": pd.Categorical([2, 1, None], categories=[3, 2, 1])}), (3, 2, 1), False),
        (pl.DataFrame({"a": pl.Series(["b"], dtype=pl.Enum(["z", "b"]))}), ("z", "b"), True),
        (pl.DataFrame({"a": pl.Series(["b"], dtype=pl.Categorical)}), (), False),
        (arrow_dictionary(["b", None], ["z", "b"]), ("z", "b"), False),
        (arrow_dictionary(["b", None], ["z", "b"], ordered=True), ("z", "b"), True),
        (arrow_dictionary([5, None], [6, 5]), (6, 5), False),
    ],
)
def test_declared_levels(X, levels, ordered):
    raw = column(X)
    assert raw.levels == levels
    assert raw.ordered == ordered
    assert raw.type == ("text" if not levels or isinstance(levels[0], str) else "number")


def test_names():
    assert read(np.zeros((1, 3))).names == ("x0", "x1", "x2")
    assert not read(np.zeros((1, 3))).named
    for X in (pd.DataFrame({"a": [1], "b": [2]}), pl.DataFrame({"a": [1], "b": [2]}), pa.table({"a": [1], "b": [2]})):
        assert read(X).names == ("a", "b")
        assert read(X).named
        assert read(X).n_rows == 1
    assert read(pd.DataFrame(np.zeros((1, 2)))).names == ("0", "1")


def test_a_source_is_read_as_itself():
    source = read([[1]])
    assert read(source) is source
    assert isinstance(source, Source)


class Arraylike:
    def __array__(self, dtype=None, copy=None):
        return np.array([[1.0], [2.0]])


def test_anything_with_an_array():
    np.testing.assert_array_equal(column(Arraylike()).values, [1.0, 2.0])


def test_the_original_is_not_touched():
    X = np.array([["a"], [NAN]], dtype=object)
    column(X)
    assert X[1, 0] != X[1, 0]
    Y = np.array([[1.0], [2.0]])
    column(Y).values[0] = 7.0
    assert Y[0, 0] == 1.0


# ---------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        lambda rows: pd.DataFrame(rows, columns=["x0", "x1"]),
        lambda rows: pl.DataFrame(rows, ["x0", "x1"], orient="row"),
    ],
)
def test_infinity(make):
    with pytest.raises(DataError, match=r"infinity: column 'x1', row 2 is -inf \(1 in this column\)"):
        column(make([[0.0, 1.0], [1.0, 2.0], [2.0, -np.inf]]), 1)


def test_complex():
    with pytest.raises(DataError, match="Complex data not supported"):
        read(np.array([[1j]]))
    with pytest.raises(DataError, match=r"Complex data not supported: column 'x0', row 1 is 2j"):
        column([[1], [2j]])
    with pytest.raises(DataError, match=r"Complex data not supported: column 'a', row 0"):
        column(pd.DataFrame({"a": [1j]}))


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.coo_array, sparse.csc_array])
def test_sparse(container):
    with pytest.raises(DataTypeError, match=r"sparse .*shape \(2, 2\).*toarray\(\)"):
        read(container(np.eye(2)))


def test_sparse_pandas():
    with pytest.raises(DataTypeError, match=r"column 'a' is sparse.*to_dense\(\)"):
        column(pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0])}))


@pytest.mark.parametrize("X", [[1, 2], np.arange(2), pd.Series([1, 2]), pl.Series([1, 2]), ["a", "b"]])
def test_one_dimension(X):
    with pytest.raises(DataError, match="Expected 2D array, got 1D array instead"):
        read(X)


def test_three_dimensions():
    with pytest.raises(DataError, match="Found array with dim 3"):
        read(np.zeros((1, 1, 1)))


@pytest.mark.parametrize("library", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_empty(library):
    with pytest.raises(DataError, match=r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"):
        read(library(np.empty((0, 3))))
    if library is not pl.DataFrame:  # which has no rows without columns
        with pytest.raises(DataError, match=r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"):
            read(library(np.empty((3, 0))))


def test_ragged_rows():
    with pytest.raises(DataError, match="row 0 has 2 cells, but row 2 has 1"):
        read([[1, 2], [3, 4], [5]])


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}), "column 'day', row 0 is Timestamp.*days since a start"),
        (pl.DataFrame({"day": [datetime.date(2020, 1, 1)]}), r"column 'day', row 0 is datetime.date\(2020, 1, 1\)"),
        (pa.table({"day": [None, datetime.timedelta(1)]}), "column 'day', row 1 is datetime.timedelta.*days since"),
        (pl.DataFrame({"day": [datetime.time(1)]}), "column 'day', row 0 is datetime.time.*days since"),
        (np.array([["2020"]], dtype="M8[ns]"), r"array of datetime64\[ns\].*days since"),
        ([[np.timedelta64(1, "s")]], "column 'x0', row 0 is .*timedelta.*days since"),
        (pl.DataFrame({"tags": [[1, 2]]}), r"column 'tags', row 0 is \[1, 2\], of type list"),
        (pd.DataFrame({"tags": [{"a": 1}]}), "column 'tags', row 0 is {'a': 1}, of type dict"),
        (pa.table({"tags": [{"a": 1}]}), "column 'tags', row 0 is {'a': 1}, of type dict"),
        (pa.table({"raw": [b"x"]}), "column 'raw', row 0 is b'x', of type bytes"),
        (pd.DataFrame({"age": pd.cut([1, 2], 2)}), r"levels of column 'age', row 0 is Interval\(.*of type Interval"),
        (np.array([[1], [{"foo": "bar"}]], dtype=object), "row 1 .* argument must be a string, a number"),
        (pl.LazyFrame({"a": [1]}), r"lazy frame.*X.collect\(\)"),
    ],
)
def test_unreadable(X, match):
    with pytest.raises(DataTypeError, match=match):
        column(X)


def test_data_type_errors_are_type_errors_and_value_errors():
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):  # as scikit-learn wants it
        column([[{}]])
    with pytest.raises(ValueError, match="dict"):
        column([[{}]])


@pytest.mark.parametrize(
    ("cells", "match"),
    [
        ([None, "low", 3.5], r"column 'x0' mixes text \(row 1: 'low'\) and numbers \(row 2: 3.5\)"),
        ([1, 2, "n/a"], r"column 'x0' mixes numbers \(row 0: 1\) and text \(row 2: 'n/a'\)"),
        ([True, 0], r"mixes True/False \(row 0: True\) and numbers \(row 1: 0\)"),
    ],
)
def test_mixed_cells(cells, match):
    with pytest.raises(DataError, match=match):
        column([[cell] for cell in cells])


def test_duplicate_names():
    with pytest.raises(DataError, match="'a' 2 times"):
        read(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match=r"unique .* '1' twice"):
        read(pd.DataFrame([[1, 2]], columns=["1", 1]))
    with pytest.raises(DataError, match="'a' 2 times"):
        read(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))


# ------------------------------------------------------------------------------------------------------- what is given

VALUES = {
    "number": ([1.5, None, 2.5], 9.25),
    "whole": ([1, None, 3], 2),
    "text": (["u", None, "w"], "uw"),
    "level": (["u", None, "w"], "x"),
    "bool": ([True, None, False], True),
}
FRAMES = {
    "pandas": pd.DataFrame(
        {
            "number": VALUES["number"][0],
            "whole": VALUES["whole"][0],
            "text": VALUES["text"][0],
            "level": pd.Categorical(VALUES["level"][0], categories=["x", "w", "u"]),
            "bool": VALUES["bool"][0],
        },
        index=["k", "k", "m"],
    ),
    "pandas nullable": pd.DataFrame(
        {
            "number": pd.array(VALUES["number"][0], dtype="Float32"),
            "whole": pd.array(VALUES["whole"][0], dtype="Int8"),
            "text": pd.array(VALUES["text"][0], dtype="string"),
            "level": pd.Categorical(VALUES["level"][0], categories=["x", "w", "u"], ordered=True),
            "bool": pd.array(VALUES["bool"][0], dtype="boolean"),
        }
    ),
    "pandas arrow": pd.DataFrame(
        {
            "number": pd.array(VALUES["number"][0], dtype=pd.ArrowDtype(pa.decimal128(9, 2))),
            "whole": pd.array(VALUES["whole"][0], dtype="int32[pyarrow]"),
            "text": pd.array(VALUES["text"][0], dtype=pd.ArrowDtype(pa.large_string())),
            "level": pd.array(VALUES["level"][0], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
            "bool": pd.array(VALUES["bool"][0], dtype="bool[pyarrow]"),
        }
    ),
    "pandas small": pd.DataFrame(
        {
            "number": np.array([1.5, NAN, 2.5], dtype=np.float32),
            "whole": np.array([1, NAN, 3], dtype=np.float16),
            "text": pd.Series(VALUES["text"][0], dtype=object),
            "level": pd.Categorical(VALUES["level"][0], categories=["x", "w", "u"]),
            "bool": pd.Series(VALUES["bool"][0], dtype=object),
        }
    ),
    "polars": pl.DataFrame(
        {
            "number": pl.Series(VALUES["number"][0], dtype=pl.Float32),
            "whole": pl.Series(VALUES["whole"][0], dtype=pl.UInt8),
            "text": VALUES["text"][0],
            "level": pl.Series(VALUES["level"][0], dtype=pl.Enum(["x", "w", "u"])),
            "bool": VALUES["bool"][0],
        }
    ),
    "polars decimal": pl.DataFrame(
        {
            "number": pl.Series([Decimal("1.5"), None, Decimal("2.5")], dtype=pl.Decimal(9, 2)),
            "whole": pl.Series(VALUES["whole"][0], dtype=pl.Int64),
            "text": VALUES["text"][0],
            "level": pl.Series(VALUES["level"][0], dtype=pl.Categorical),
            "bool": VALUES["bool"][0],
        }
    ),
    "arrow": pa.table(
        {
            "number": pa.array(VALUES["number"][0], pa.float32()),
            "whole": pa.array(VALUES["whole"][0], pa.int16()),
            "text": pa.array(VALUES["text"][0], pa.large_string()),
            "level": arrow_dictionary(VALUES["level"][0], ["x", "w", "u"])["a"],
            "bool": VALUES["bool"][0],
        }
    ).replace_schema_metadata({"kept": "yes"}),
    "arrow views": pa.table(
        {
            "number": pa.array([Decimal("1.5"), None, Decimal("2.5")], pa.decimal128(9, 2)),
            "whole": pa.chunked_array([[1], [None, 3]], pa.int64()),
            "text": pa.array(VALUES["text"][0], pa.string_view()),
            "level": arrow_dictionary(VALUES["level"][0], ["x", "w", "u"], ordered=True)["a"],
            "bool": pa.chunked_array([[True, None], [False]]),
        }
    ),
}


MASKED = np.ma.MaskedArray(
    [[1.5, 1, "u", "u", True], [0, 0, "", "", 0], [2.5, 3, "w", "w", False]],
    mask=[[False] * 5, [True] * 5, [False] * 5],
    dtype=object,
)


def dtypes(frame):
    if isinstance(frame, pa.Table):
        return frame.schema  # with its metadata
    return list(frame.dtypes)


def cells_of(frame, name):
    values = frame[name].to_pylist() if isinstance(frame, pa.Table) else list(frame[name])
    return [None if value is None or value is pd.NA or value != value else value for value in values]


@pytest.mark.parametrize("library", FRAMES)
def test_fill_changes_the_given_cells_and_nothing_else(library):
    frame = FRAMES[library]
    source = read(frame)
    before = {name: cells_of(frame, name) for name in VALUES}
    filled = source.fill({j: ([1], [VALUES[name][1]]) for j, name in enumerate(VALUES)})
    assert read(filled).column(3).levels == source.column(3).levels
    assert type(filled) is type(frame)
    assert dtypes(filled) == dtypes(frame)
    for name, (_, value) in VALUES.items():
        assert cells_of(filled, name) == [before[name][0], value, before[name][2]]
    assert {name: cells_of(frame, name) for name in VALUES} == before
    if isinstance(frame, pd.DataFrame):
        assert filled.index.equals(frame.index)
    if isinstance(frame, pa.Table):
        assert filled.schema.equals(frame.schema, check_metadata=True)


@pytest.mark.parametrize("library", ["pandas nullable", "pandas arrow", "polars", "arrow"])
def test_fill_rounds_for_an_integer_column(library):
    assert cells_of(read(FRAMES[library]).fill({1: (np.array([1]), np.array([6.6]))}), "whole") == [1, 7, 3]


@pytest.mark.parametrize("library", FRAMES)
def test_fill_nothing_is_a_copy(library):
    frame = FRAMES[library]
    filled = read(frame).fill({0: ([], [])})
    assert dtypes(filled) == dtypes(frame)
    assert all(cells_of(filled, name) == cells_of(frame, name) for name in VALUES)
    if isinstance(frame, pd.DataFrame):
        filled.iloc[0, 0] = frame.iloc[2, 0]
        assert frame.iloc[0, 0] != frame.iloc[2, 0]


@pytest.mark.parametrize("library", FRAMES)
def test_like_builds_the_same_columns(library):
    frame = FRAMES[library]
    columns = [[2.5, 1.5], [2, 1], ["w", "u"], ["u", "x"], [True, False]]
    made = read(frame).like(columns)
    assert type(made) is type(frame)
    assert [cells_of(made, name) for name in VALUES] == columns
    assert list(dtypes(made)) == list(dtypes(frame))


def test_like_keeps_floats_drawn_for_an_integer_column():
    for frame in (pd.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1, 2]}), pa.table({"a": [1, 2]})):
        assert cells_of(read(frame).like([np.array([0.5, 1.0])]), "a") == [0.5, 1.0]


def test_like_with_missing_cells():
    for frame in (
        pd.DataFrame({"a": [True], "b": [1]}),
        pl.DataFrame({"a": [True], "b": [1]}),
        pa.table({"a": [True], "b": [1]}),
    ):
        made = read(frame).like([[None, True], [None, 2]])
        assert cells_of(made, "a") == [None, True]
        assert cells_of(made, "b") == [None, 2]


def test_like_of_a_column_never_seen():
    for frame in (pd.DataFrame({"a": [None]}), pl.DataFrame({"a": [None]}), pa.table({"a": [None]})):
        assert cells_of(read(frame).like([[None, None]]), "a") == [None, None]


def test_like_keeps_names_that_are_not_text():
    made = read(pd.DataFrame(np.zeros((1, 2)))).like([[1.0], [2.0]])
    assert list(made.columns) == [0, 1]


def test_like_and_fill_for_arrays():
    assert read(np.zeros((1, 2), dtype=np.int64)).like([[1, 2], [0.5, None]]).tolist()[0] == [1.0, 0.5]
    assert read([["a", True]]).like([["b"], [False]]).tolist() == [["b", False]]
    for X in (np.array([[1.5, NAN]], dtype=np.float32), [[1.5, None]], np.array([[1.5, None]], dtype=object)):
        filled = read(X).fill({1: ([0], [2.5])})
        assert filled.tolist() == [[1.5, 2.5]]
        assert not isinstance(X, np.ndarray) or filled.dtype == X.dtype
    assert np.isnan(np.array(X[0, 1], dtype=float))  # the original is as it was


@pytest.mark.parametrize("X", [*FRAMES.values(), MASKED, MASKED.tolist()], ids=[*FRAMES, "masked", "list"])
def test_some_rows(X):
    source = read(X)
    part = source.take(np.array([2, 0]))
    assert (part.n_rows, part.names, part.named) == (2, source.names, source.named)
    for j in range(len(source.names)):
        np.testing.assert_array_equal(part.column(j).values, source.column(j).values[[2, 0]])
        assert part.column(j).levels == source.column(j).levels
    assert source.template().n_rows == 1
    made, expected = (s.like([[1.5], [2], ["u"], ["w"], [True]]) for s in (source.template(), source))
    assert type(made) is type(expected)
    assert str(dtypes(made) if source.named else made) == str(dtypes(expected) if source.named else expected)


def test_fill_unmasks():
    X = np.ma.MaskedArray([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    filled = read(X).fill({1: ([0], [6.6])})
    assert filled.dtype == X.dtype
    assert not np.ma.is_masked(filled)
    assert filled.tolist() == [[1, 7], [3, 4]]
    assert X.tolist() == [[1, None], [3, 4]]
    text = np.ma.MaskedArray([["a"], ["b"]], mask=[[0], [1]])
    assert read(text).fill({0: ([1], ["longer"])}).tolist() == [["a"], ["longer"]]


def test_frame_from_dict():
    data = {"component": [0, 1], "share": np.array([0.25, 0.75]), "name": ["a", None]}
    for like in (pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), pa.table({"a": [1]})):
        made = frame_from_dict(data, read(like))
        assert type(made) is type(like)
        assert [cells_of(made, name) for name in data] == [[0, 1], [0.25, 0.75], ["a", None]]
    assert isinstance(frame_from_dict(data, read([[1]])), pd.DataFrame)
    assert isinstance(frame_from_dict(data), pd.DataFrame)


@pytest.mark.parametrize(("missing", "expected"), [({"pandas"}, pl.DataFrame), ({"pandas", "polars"}, pa.Table)])
def test_frame_from_dict_takes_what_is_installed(monkeypatch, missing, expected):
    monkeypatch.setattr("halfseen.data.frames.find_spec", lambda library: None if library in missing else object())
    assert isinstance(frame_from_dict({"a": [1]}), expected)


def test_frame_from_dict_without_any_library(monkeypatch):
    monkeypatch.setattr("halfseen.data.frames.find_spec", lambda library: None)
    with pytest.raises(ImportError, match="pip install pandas"):
        frame_from_dict({"a": [1]})
