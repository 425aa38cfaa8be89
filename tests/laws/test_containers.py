"""The law of containers: one table has one reading, whatever holds it.

Mixed columns with holes (text, True/False, whole numbers, floats, counts) go through nested lists, object and masked
arrays, pandas in five flavours, Polars in three and Arrow in two; schema and encoded blocks are identical, bit by bit.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfseen.data import Schema, read

pytestmark = pytest.mark.thorough
NAMES = ("x0", "x1", "x2", "x3", "x4")  # what arrays call them, so that schemas can be compared
FLOATS = st.floats(-1e9, 1e9, allow_nan=False, width=32)


@st.composite
def tables(draw):
    """Columns of Python values with None for the holes, and the one column that is chosen to be of counts."""
    n_rows = draw(st.integers(1, 12))

    def column(cells):
        return draw(st.lists(st.none() | cells, min_size=n_rows, max_size=n_rows))

    return [
        column(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=3)),
        column(st.booleans()),
        column(st.integers(-3, 3)),
        column(FLOATS),
        [5, *column(st.integers(0, 100))[1:]],  # at least one observed, as poisson wants
    ]


def rows_of(columns):
    return [list(row) for row in zip(*columns, strict=True)]


def object_array(columns):
    return np.array(rows_of(columns), dtype=object)


def masked(columns):
    objects = object_array(columns)
    holes = np.array([[cell is None for cell in row] for row in objects])
    return np.ma.MaskedArray(np.where(holes, "junk", objects), mask=holes)


def pandas_plain(columns):
    return pd.DataFrame(dict(zip(NAMES, columns, strict=True)))


def pandas_objects(columns):
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in zip(NAMES, columns, strict=True)})


def pandas_nullable(columns):
    dtypes = ("string", "boolean", "Int8", "Float64", "UInt16")
    return pd.DataFrame(
        {name: pd.array(cells, dtype=dtype) for name, cells, dtype in zip(NAMES, columns, dtypes, strict=True)}
    )


def pandas_arrow(columns):
    dtypes = (pa.string(), pa.bool_(), pa.int64(), pa.float32(), pa.int16())
    return pd.DataFrame(
        {
            name: pd.array(cells, dtype=pd.ArrowDtype(dtype))
            for name, cells, dtype in zip(NAMES, columns, dtypes, strict=True)
        }
    )


def pandas_category(columns):
    frame = pandas_plain(columns)
    return frame.assign(x0=pd.Categorical(columns[0]), x2=pd.Categorical(columns[2]))


def polars(columns):
    dtypes = (pl.String, pl.Boolean, pl.Int16, pl.Float64, pl.Int32)
    return pl.DataFrame(dict(zip(NAMES, columns, strict=True)), schema=dict(zip(NAMES, dtypes, strict=True)))


def polars_category(columns):
    return polars(columns).with_columns(pl.col("x0").cast(pl.Categorical))


def polars_nan(columns):
    return polars(columns).with_columns(pl.col("x2", "x3", "x4").cast(pl.Float64).fill_null(float("nan")))


def arrow(columns):
    return pa.table(polars(columns).to_arrow())


def arrow_dictionary(columns):
    table = arrow(columns)
    return table.set_column(0, "x0", table["x0"].dictionary_encode()).set_column(
        2, "x2", table["x2"].dictionary_encode()
    )


CONTAINERS = [
    object_array,
    masked,
    pandas_plain,
    pandas_objects,
    pandas_nullable,
    pandas_arrow,
    pandas_category,
    polars,
    polars_category,
    polars_nan,
    arrow,
    arrow_dictionary,
]


def encoded(X):
    source = read(X)
    schema = Schema.learn(source, {"x4": "poisson"})
    table = schema.encode(source)
    return schema, {name: (block.dtype, block.shape, block.tobytes()) for name, block in table.blocks.items()}


@pytest.mark.parametrize("container", CONTAINERS)
@given(tables())
@settings(max_examples=20)  # times the number of containers
def test_one_table_has_one_reading(container, columns):
    expected_schema, expected_blocks = encoded(rows_of(columns))
    schema, blocks = encoded(container(columns))
    assert repr(schema.columns) == repr(expected_schema.columns)  # repr tells 1 from 1.0 and True
    assert schema == expected_schema
    assert blocks == expected_blocks


@pytest.mark.parametrize("container", [pandas_plain, pandas_nullable, pandas_category, polars, polars_category, arrow])
@given(tables())
@settings(max_examples=20)  # times the number of containers
def test_what_one_container_taught_another_can_ask(container, columns):
    """A schema learned from rows encodes any container the same, and the other way round."""
    rows = rows_of(columns)
    schema = Schema.learn(read(rows), {"x4": "poisson"})
    other = Schema.learn(read(container(columns)), {"x4": "poisson"})
    for block, array in schema.encode(read(container(columns))).blocks.items():
        np.testing.assert_array_equal(array, other.encode(read(rows)).blocks[block])
