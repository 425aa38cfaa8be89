"""Wide tables: thousands of columns, and headers of any length."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import halfseen as hs
from halfseen.data import open_table, read
from halfseen.data.stream import StreamSource

WIDTHS = [2_000, pytest.param(10_000, marks=pytest.mark.thorough)]


def wide(n_columns, n_rows=60):
    """Columns of numbers, texts and codes in turn, with some cells missing."""
    rng = np.random.default_rng(0)
    columns = {}
    for j in range(n_columns):
        codes = rng.integers(0, 3, n_rows)
        cells = [rng.normal(size=n_rows).round(3), np.array(["lo", "mid", "hi"])[codes], codes][j % 3].tolist()
        cells[j % n_rows] = None
        columns[f"a long name of a column, number {j}"] = cells
    return columns


def in_csv(columns, path):
    names = ",".join(f'"{name}"' for name in columns)
    rows = zip(*columns.values(), strict=True)
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    path.write_text("\n".join([names, *lines]) + "\n")


def in_parquet(columns, path):
    pq.write_table(pa.table(columns), path)


def in_json(columns, path):
    rows = zip(*columns.values(), strict=True)
    path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))


WRITERS = {"t.csv": in_csv, "t.parquet": in_parquet, "t.jsonl": in_json}


@pytest.mark.parametrize("n_columns", WIDTHS)
@pytest.mark.parametrize("name", WRITERS)
def test_a_wide_file_is_the_same_table(name, n_columns, tmp_path):
    columns = wide(n_columns)
    WRITERS[name](columns, tmp_path / name)
    source, expected = read(open_table(tmp_path / name)), read(pa.table(columns))
    assert source.names == expected.names
    for j in range(n_columns):
        found, other = source.column(j), expected.column(j)
        assert found.type == other.type
        np.testing.assert_array_equal(found.missing, other.missing)
        assert (found.values[~found.missing] == other.values[~other.missing]).all()


@pytest.mark.thorough
@pytest.mark.parametrize("n_columns", WIDTHS)
def test_a_wide_table_is_fitted(n_columns, tmp_path):
    in_csv(wide(n_columns), tmp_path / "t.csv")
    table = open_table(tmp_path / "t.csv")
    model = hs.LatentClass(2, n_init=1, max_iter=5, random_state=0, tol=1e3).fit(table)
    assert np.isfinite(model.loglik_)
    hs.save(model, tmp_path / "m.halfseen")
    again = hs.load(tmp_path / "m.halfseen")
    np.testing.assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert again.sample(3, random_state=0)[0].num_columns == n_columns


@pytest.mark.thorough
def test_a_wide_table_is_streamed(tmp_path):
    in_csv(wide(1_000), tmp_path / "t.csv")
    table = open_table(tmp_path / "t.csv", memory="100KB")
    assert isinstance(read(table), StreamSource)
    options = {"n_init": 1, "max_iter": 3, "random_state": 0, "tol": 1e3}
    streamed = hs.LatentClass(2, **options).fit(table)
    assert streamed.loglik_ == hs.LatentClass(2, **options).fit(open_table(tmp_path / "t.csv")).loglik_


@pytest.mark.parametrize(("length", "n_names"), [(7_000, 10), (30_000, 10), (10_000, 300)])
def test_a_header_may_be_long(length, n_names, tmp_path):
    names = [f"{'n' * length}{j}" for j in range(n_names)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + ("1.5," * n_names)[:-1] + "\n")
    source = read(open_table(tmp_path / "t.csv"))
    assert source.names == tuple(names)
    assert source.column(n_names - 1).values.tolist() == [1.5]


def test_a_header_without_an_end_is_a_table_without_rows(tmp_path):
    (tmp_path / "t.csv").write_text(",".join(f"column {j}" for j in range(8_000)))
    with pytest.raises(ValueError, match="has no rows"):
        read(open_table(tmp_path / "t.csv"))
