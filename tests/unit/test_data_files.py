"""Tables in files: every format means what the same table means in memory, and what is wrong is said."""

import gzip
import io
import sqlite3
import sys

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import halfseen as hs
from halfseen.data import Schema, TableWriter, identifiers, open_table, read, write_table
from halfseen.data import duckdb_reader as reader
from halfseen.data.memory import read_memory
from halfseen.data.stream import StreamSource
from halfseen.errors import DataError, ParameterError

pytestmark = pytest.mark.thorough
NAN = float("nan")


@pytest.fixture
def csv(tmp_path):
    """Write some bytes into a CSV file and open it."""

    def opened(data, name="t.csv", **options):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return open_table(path, **options)

    return opened


def cells(table):
    """All columns of an open table, as lists."""
    source = read(table)
    return {name: source.column(j).values.tolist() for j, name in enumerate(source.names)}


def assert_same_tables(one, other):
    """Two sources have one schema and the same canonical bits."""
    schema = Schema.learn(one)
    assert schema == Schema.learn(other)
    first, second = (schema.gather(source) for source in (one, other))
    for name in schema.blocks:
        np.testing.assert_array_equal(first.blocks[name], second.blocks[name])
    np.testing.assert_array_equal(first.weight, second.weight)


# -------------------------------------------------------------------------------------------- one table, many formats


@pytest.fixture
def frame():
    rng = np.random.default_rng(5)
    n = 300
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "children": rng.integers(0, 4, n),
            "income": rng.integers(0, 10**6, n),
            "smokes": rng.integers(0, 2, n).astype(bool),
            "town": np.array(["Ulm", "Köln", "a, b", 'say "x"', "two\nlines"], dtype=object)[rng.integers(0, 5, n)],
            "mixed case": np.array(["TRUE story", "false", "1"], dtype=object)[rng.integers(0, 3, n)],
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::5, "town"] = None
    return frame


def in_sqlite(frame, path):
    with sqlite3.connect(path) as connection:
        frame.astype({"smokes": object}).to_sql("people", connection, index=False)
    connection.close()


def in_duckdb(frame, path):
    with duckdb.connect(str(path)) as connection:
        connection.register("given", frame)
        connection.execute("CREATE TABLE people AS SELECT * FROM given")


WRITERS = {
    "t.csv": lambda frame, path: frame.to_csv(path, index=False),
    "t.csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "t.tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "semicolon.csv": lambda frame, path: frame.to_csv(path, index=False, sep=";"),
    "windows.csv": lambda frame, path: frame.to_csv(path, index=False, lineterminator="\r\n"),
    "bom.csv": lambda frame, path: frame.to_csv(path, index=False, encoding="utf-8-sig"),
    "t.parquet": lambda frame, path: frame.to_parquet(path),
    "t.jsonl": lambda frame, path: frame.to_json(path, orient="records", lines=True, double_precision=15),
    "t.json": lambda frame, path: frame.to_json(path, orient="records", double_precision=15),
    "t.duckdb": in_duckdb,
    "duck.db": in_duckdb,
    "own.csv": lambda frame, path: write_table(frame, path),
    "own.tsv": lambda frame, path: write_table(frame, path),
    "own.parquet": lambda frame, path: write_table(frame, path),
    "own.jsonl": lambda frame, path: write_table(frame, path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_is_the_same_table(frame, name, tmp_path):
    frame["size"] = frame["size"].round(6)  # pandas writes 15 digits into JSON at most
    WRITERS[name](frame, tmp_path / name)
    assert_same_tables(read(open_table(tmp_path / name)), read(frame))


@pytest.mark.parametrize("name", ["t.sqlite", "t.sqlite3", "t.db"])
def test_sqlite_is_the_same_table_without_truth(frame, name, tmp_path):
    frame["smokes"] = frame["smokes"].astype(int)  # SQLite has no True and False
    in_sqlite(frame, tmp_path / name)
    assert_same_tables(read(open_table(tmp_path / name)), read(frame))


def test_rows_keep_their_order(csv):
    numbers = np.random.default_rng(0).normal(size=50_000)
    table = csv("x\n" + "\n".join(map(repr, numbers.tolist())))
    np.testing.assert_array_equal(read(table).column(0).values, numbers)
    batches = [batch["x"].to_numpy() for batch in table.batches(7_000)]
    assert [len(batch) for batch in batches][:2] == [7_000, 7_000]
    np.testing.assert_array_equal(np.concatenate(batches), numbers)


def test_estimators_take_an_open_table_for_a_frame(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = open_table(tmp_path / "t.csv")
    model = hs.LatentClass(2, n_init=2, random_state=0).fit(table)
    other = hs.LatentClass(2, n_init=2, random_state=0).fit(frame)
    assert model.loglik_ == other.loglik_
    assert list(model.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(model.predict_proba(table), other.predict_proba(frame))
    assert model.score(table) == other.score(frame)
    filled = model.impute(table)
    assert isinstance(filled, pa.Table)
    assert filled["town"].to_pylist() == other.impute(frame)["town"].tolist()
    assert model.sample(3, random_state=0)[0].column_names == list(frame.columns)


# -------------------------------------------------------------------------------------------------- what cells are


def test_numbers_are_numbers_however_late_they_change(csv):
    """DuckDB alone would round the late 1.5 to 2, and call the column of ten thousands of holes text."""
    head = "1,,true,2\n" * 30_000
    found = cells(csv("a,b,c,d\n" + head + "1.5,2.5,yes,late\n"))
    assert found["a"][-1] == 1.5
    assert found["b"][-1] == 2.5
    assert found["c"][0] == "true"
    assert found["c"][-1] == "yes"
    assert found["d"][0] == "2"


def test_late_changes_are_heeded_in_batches_too(csv):
    *_, last = csv("a,b\n" + "1,2\n" * 30_000 + "x,2.5\n").batches(30_000)
    assert last.to_pydict() == {"a": ["x"], "b": [2.5]}


@pytest.mark.parametrize(
    ("written", "kind", "first"),
    [
        ("1\n2", "number", 1.0),
        (" 1.5 \n-2e3", "number", 1.5),
        ("+3\n.5", "number", 3.0),
        ("123456789012345678901234567890\n1", "number", 123456789012345678901234567890.0),
        ("9007199254740993\n1", "number", 9007199254740992.0),
        ("007\n010", "text", "007"),
        ("1\n0.5", "number", 1.0),
        ("true\nFALSE", "bool", 1.0),
        ("yes\nno", "text", "yes"),
        ("T\nF", "text", "T"),
        ("1\ntrue", "text", "1"),
        ("1_000\n2", "text", "1_000"),
        ("0x10\n2", "text", "0x10"),
        ("1,5\n2", "text", "1,5"),
        ("2.1.3\n2.1.4", "text", "2.1.3"),
    ],
)
def test_cells_are_what_they_say(csv, written, kind, first):
    table = csv("a\n" + "\n".join(f'"{cell}"' if "," in cell else cell for cell in written.split("\n")) + "\n")
    raw = read(table).column(0)
    assert (raw.type, raw.values[0]) == (kind, first)


def test_decimal_commas(csv):
    assert cells(csv("a;b;c\n3,14;1;x,y\n2,5;2;z\n")) == {"a": [3.14, 2.5], "b": [1, 2], "c": ["x,y", "z"]}
    assert cells(csv("a;b\n3,14;1.5\n2,5;2\n"))["a"] == ["3,14", "2,5"]  # a file that uses points too


def test_columns_can_be_taken_as_text(csv, tmp_path):
    assert cells(csv("zip,b\n123,1\n456,2\n", text=["zip"]))["zip"] == ["123", "456"]
    pq.write_table(pa.table({"zip": [123, 456]}), tmp_path / "t.parquet")
    assert cells(open_table(tmp_path / "t.parquet", text=["zip"])) == {"zip": ["123", "456"]}


@pytest.mark.parametrize("day", ["2024-01-05", "05/01/2024", "2024-01-05 10:30:00", "5.1.2024", "10:30"])
def test_dates_are_refused_by_name_and_can_be_set_aside(csv, day):
    text = f"when,x\n{day},1.5\n{day},2.5\n"
    with pytest.raises(DataError, match=r"column 'when' holds dates or times.*ignore=\['when'\].*text=\['when'\]"):
        read(csv(text))
    assert cells(csv(text, ignore=["when"])) == {"x": [1.5, 2.5]}
    assert cells(csv(text, text=["when"]))["when"] == [day, day]
    assert ("when", "holds dates or times") in identifiers(csv(text))


def test_dates_of_other_formats_are_refused_too(tmp_path):
    pq.write_table(
        pa.table({"when": pd.to_datetime(["2024-01-05", None]), "tags": [["a"], []]}), tmp_path / "t.parquet"
    )
    with pytest.raises(DataError, match=r"column 'when' holds dates or times .and 1 more"):
        read(open_table(tmp_path / "t.parquet"))
    with pytest.raises(DataError, match=r"column 'tags' holds VARCHAR\[\]. Leave it out: ignore"):
        read(open_table(tmp_path / "t.parquet", ignore=["when"]))


def test_encodings(csv):
    assert cells(csv("a\nmüll\n".encode("latin-1"), encoding="latin-1")) == {"a": ["müll"]}
    assert cells(csv("a\nmüll\n".encode("utf-16"), encoding="utf-16")) == {"a": ["müll"]}
    with pytest.raises(DataError, match=r"line 3 is not in UTF-8.*encoding='latin-1'"):
        csv("a\nx\nmüll\n".encode("latin-1"))
    late = csv(b"a,b\n" + b"x,1\n" * 30_000 + "mü,1\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"line 30002 is not in UTF-8"):
        read(late)
    with pytest.raises(ParameterError, match="'klingon' is not known"):
        csv("a\n1\n", encoding="klingon")


def test_a_column_without_a_name_gets_one(csv):
    assert list(cells(csv(",b\n1,2\n3,4\n"))) == ["column0", "b"]


# -------------------------------------------------------------------------------------------------- what is missing


def test_markers_mean_missing_in_csv(csv):
    found = cells(csv('a,b,c\n1,?,x\n-99, ?,"NA"\n?,3,\n-99.0,4,y\n', missing=["?", "NA", -99]))
    assert found["a"] == pytest.approx([1, NAN, NAN, NAN], nan_ok=True)
    assert found["b"] == pytest.approx([NAN, NAN, 3, 4], nan_ok=True)
    assert found["c"] == ["x", None, None, "y"]


def test_markers_mean_missing_everywhere(tmp_path):
    frame = pd.DataFrame({"a": [1.0, -99.0, 3.0], "b": ["x", "?", "-99"], "c": [5, -99, 7]})
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    in_duckdb(frame, tmp_path / "t.duckdb")
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        frame.to_sql("people", connection, index=False)
    connection.close()
    for name in ("t.parquet", "t.jsonl", "t.duckdb", "t.sqlite"):
        found = cells(open_table(tmp_path / name, missing=("?", "-99")))
        assert found["a"] == pytest.approx([1, NAN, 3], nan_ok=True), name
        assert found["b"] == ["x", None, None], name
        assert found["c"] == pytest.approx([5, NAN, 7], nan_ok=True), name


def test_json_numbers_with_markers_are_numbers_and_mixed_cells_are_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": true}\n{"a": "?", "b": false}\n{"a": 2.5}\n')
    found = cells(open_table(path, missing=["?"]))
    assert found["a"] == pytest.approx([1, NAN, 2.5], nan_ok=True)
    with pytest.raises(DataError, match="column 'a' holds"):
        read(open_table(path))


def test_sqlite_refuses_mixed_cells(tmp_path):
    with sqlite3.connect(tmp_path / "t.sqlite") as connection:
        connection.execute("CREATE TABLE t (a, b)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(1, 2), ("?", 3.5), (3, None)])
    connection.close()
    with pytest.raises(DataError, match="column 'a' holds integer and text"):
        read(open_table(tmp_path / "t.sqlite"))
    found = cells(open_table(tmp_path / "t.sqlite", missing=["?"]))
    assert found["a"] == pytest.approx([1, NAN, 3], nan_ok=True)
    assert found["b"] == pytest.approx([2, 3.5, NAN], nan_ok=True)


# -------------------------------------------------------------------------------------------------- queries and streams


def test_queries(tmp_path, frame):
    (tmp_path / "a.csv").write_text("id,x\n1,1.5\n2,2.5\n")
    pq.write_table(pa.table({"id": [1, 2], "y": ["p", "q"]}), tmp_path / "b.parquet")
    joined = f"SELECT * FROM '{tmp_path}/a.csv' JOIN '{tmp_path}/b.parquet' USING (id) ORDER BY id; "
    assert cells(open_table(sql=joined)) == {"id": [1, 2], "x": [1.5, 2.5], "y": ["p", "q"]}
    assert cells(open_table(tmp_path / "a.csv", sql="SELECT x * 2 AS twice FROM data -- all")) == {"twice": [3, 5]}
    assert cells(open_table(tmp_path / "b.parquet", sql="SELECT y FROM data WHERE id > 1")) == {"y": ["q"]}
    in_duckdb(frame, tmp_path / "t.duckdb")
    assert read(open_table(tmp_path / "t.duckdb", sql="people")).n_rows == len(frame)
    counted = open_table(tmp_path / "t.duckdb", sql="SELECT town, count(*) AS n FROM people GROUP BY town ORDER BY ALL")
    assert sum(cells(counted)["n"]) == len(frame)


def test_sqlite_queries(tmp_path):
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE one (a)")
        connection.execute("CREATE TABLE two (b)")
        connection.execute("INSERT INTO two VALUES (1.5)")
    connection.close()
    with pytest.raises(DataError, match=r"has 2 tables \(one, two\). Name one, or give a query"):
        open_table(tmp_path / "t.db")
    assert cells(open_table(tmp_path / "t.db", sql="two")) == {"b": [1.5]}
    assert cells(open_table(tmp_path / "t.db", sql="SELECT b + 1 AS c FROM two")) == {"c": [2.5]}
    with pytest.raises(DataError, match="no such table: three"):
        open_table(tmp_path / "t.db", sql="SELECT * FROM three")


def test_standard_input_and_file_like_objects(monkeypatch, tmp_path):
    class Input:
        buffer = io.BytesIO(b"a,b\n1,x\n2,y\n")

    monkeypatch.setattr(sys, "stdin", Input)
    assert cells(open_table("-")) == {"a": [1, 2], "b": ["x", "y"]}
    assert cells(open_table(io.BytesIO(b"a\n1\n2\n"))) == {"a": [1, 2]}
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("a\n1\n")
    with (tmp_path / "t.csv.gz").open("rb") as file:
        assert cells(open_table(file)) == {"a": [1]}
    Input.buffer = io.BytesIO(b"")
    with pytest.raises(DataError, match="standard input is empty"):
        open_table("-")


def test_ignored_columns_weight_and_target_are_no_features(csv):
    table = csv("a,n,y,b\n1.5,2,u,0\n2.5,1,v,1\n3.5,0,v,1\n4.5,3,u,1\n", ignore=["b"], weight="n", target="y")
    assert table.names == ("a",)
    source = read(table)
    assert source.weight.tolist() == [2, 1, 0, 3]
    assert source.target.tolist() == ["u", "v", "v", "u"]
    everything = pa.concat_tables(table.batches(everything=True))
    assert everything.column_names == ["a", "n", "y", "b"]
    model = hs.NaiveBayes().fit(table)
    other = hs.NaiveBayes().fit([[1.5], [2.5], [3.5], [4.5]], ["u", "v", "v", "u"], sample_weight=[2, 1, 0, 3])
    assert model.loglik_ == other.loglik_
    assert model.score(table) == other.score([[1.5], [2.5], [3.5], [4.5]], ["u", "v", "v", "u"], [2, 1, 0, 3])
    labelled = hs.LatentClass(2, n_init=2, random_state=0, prior=1.0).fit(table)
    assert labelled.class_names_ == ("u", "v")


def test_numeric_and_missing_labels(csv):
    found = read(csv("a,y\n1.5,1\n2.5,\n3.5,0\n", target="y")).target
    assert found == pytest.approx([1, NAN, 0], nan_ok=True)
    assert read(csv("a,y\n1.5,1\n3.5,0\n", target="y")).target.dtype == np.int64
    assert read(csv("a,y\n1.5,true\n3.5,\n", target="y")).target.tolist() == [True, None]


# -------------------------------------------------------------------------------------------------- what is wrong


def test_what_is_no_table_is_refused(tmp_path, csv):
    with pytest.raises(DataError, match="has no data files in it"):
        open_table(tmp_path)
    (tmp_path / "people.csv").write_text("a\n1\n")
    with pytest.raises(DataError, match=r"no file .*poeple.csv. Did you mean .*people.csv"):
        open_table(tmp_path / "poeple.csv")
    with pytest.raises(DataError, match="is empty"):
        csv("")
    with pytest.raises(DataError, match="has no rows"):
        read(csv("a,b\n"))
    with pytest.raises(DataError, match="not a text file"):
        csv(bytes(range(256)) * 20)
    with pytest.raises(DataError, match="encoding='utf-16'"):
        csv("a\nx\n".encode("utf-16"))
    with pytest.raises(DataError, match=r"'a' twice \(columns 0 and 2\)"):
        csv("a,b,a\n1,2,3\n")
    with pytest.raises(DataError, match=r"no column names"):
        csv("\n\n")
    with pytest.raises(DataError, match=r"not one of: .csv, .tsv.*\.db"):
        csv("a\n", name="t.xlsx")
    with pytest.raises(DataError, match="neither a DuckDB nor a SQLite file"):
        csv("a\n1\n", name="t.db")
    with pytest.raises(DataError, match=r"No magic bytes|too small"):
        csv("a\n1\n2\n3\n4\n5\n6\n", name="t.parquet")
    with pytest.raises(DataError, match=r"t.jsonl: .*JSON"):
        csv('{"a": 1\n{"a"', name="t.jsonl")
    with pytest.raises(DataError, match=r"t.csv.gz cannot be read"):
        csv("a\n1\n", name="t.csv.gz")


def test_ragged_rows_and_open_quotes_are_named_by_line(csv):
    with pytest.raises(DataError, match="line 3 has 2 cells, but the header has 3: 4,5"):
        read(csv("a,b,c\n1,2,3\n4,5\n6,7,8\n"))
    with pytest.raises(DataError, match="line 4 has 4 cells, but the header has 3"):
        read(csv("a,b,c\n1,2,3\n4,5,6\n6,7,8,9\n"))
    with pytest.raises(DataError, match="line 30002 has 1 cells, but the header has 2"):
        read(csv("a,b\n" + "1,2\n" * 30_000 + "3\n"))
    with pytest.raises(DataError, match=r"line 3: a quote .* never closed"):
        read(csv('a,b\n1,x\n2,"y\n3,z\n'))


def test_unknown_columns_are_named(csv):
    for option in ({"ignore": ["sice"]}, {"text": ["sice"]}, {"weight": "sice"}, {"target": "sice"}):
        with pytest.raises(DataError, match=r"no column 'sice'. Did you mean 'size'"):
            csv("size,b\n1,2\n", **option)
    with pytest.raises(ParameterError, match=r"ignore='size': give a list"):
        csv("size,b\n1,2\n", ignore="size")
    with pytest.raises(DataError, match="no column left"):
        read(csv("size\n1\n", ignore=["size"]))
    with pytest.raises(ParameterError, match="are the same column"):
        csv("size,b\n1,2\n", weight="b", target="b")
    with pytest.raises(DataError, match="weight='b': the column holds text"):
        read(csv("size,b\n1,x\n", weight="b"))


def test_queries_that_fail_say_why(tmp_path):
    with pytest.raises(DataError, match='the query: Parser Error: syntax error at or near "x"'):
        open_table(sql="SELECT * FORM x")
    with pytest.raises(DataError, match=r"No files found that match|no file nowhere.csv"):
        open_table(sql="SELECT * FROM 'nowhere.csv'")
    with pytest.raises(DataError, match="extension 'httpfs', and halfseen fetches nothing"):
        open_table(sql="SELECT * FROM 'https://nowhere.invalid/t.parquet'")
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 30_000 + "x,2\n")
    with pytest.raises(DataError, match=r"the query: .*CSV Error on Line: 30002 .* Could not convert string .x. to"):
        read(open_table(sql=f"SELECT * FROM '{tmp_path}/t.csv'"))
    with pytest.raises(ParameterError, match="give a path, or a query"):
        open_table()
    with pytest.raises(ParameterError, match="is not a path"):
        open_table(3)


def test_without_duckdb_it_says_what_to_install(csv, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ImportError, match=r'Reading files needs duckdb.*pip install "halfseen\[app\]"'):
        csv("a\n1\n")


def test_a_file_of_the_database_is_not_written_to(tmp_path, frame):
    in_duckdb(frame, tmp_path / "t.duckdb")
    table = open_table(tmp_path / "t.duckdb", sql="people")
    with reader.connected(str(tmp_path / "t.duckdb"), None, "t") as connection, pytest.raises(duckdb.Error):
        connection.execute("DROP TABLE people")
    assert table.n_rows == len(frame)


# -------------------------------------------------------------------------------------------------- identifiers


def test_identifiers(tmp_path):
    n = 40
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "row": np.arange(n) + 100,
            "customer_id": rng.permutation(10_000)[:n],
            "orderID": rng.permutation(10_000)[:n],
            "name": [f"person {i}" for i in range(n)],
            "income": rng.permutation(10_000)[:n],
            "grid": rng.permutation(10_000)[:n],
            "height": rng.normal(size=n),
            "town": ["a", "b"] * (n // 2),
            "note": [f"note {i}" if i else None for i in range(n)],
            "id": rng.integers(0, 5, n),
        }
    )
    expected = [
        ("row", "counts the rows"),
        ("customer_id", "is named an id and differs in every row"),
        ("orderID", "is named an id and differs in every row"),
        ("name", "is text that differs in every row"),
    ]
    assert identifiers(frame) == expected
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert identifiers(open_table(tmp_path / "t.csv")) == expected
    assert identifiers(open_table(tmp_path / "t.csv").without(["row", "name"])) == expected[1:3]
    assert identifiers(frame.head(10)) == []  # too few rows to tell


# -------------------------------------------------------------------------------------------------- memory and writing


def test_memory_is_read_in_bytes_or_words():
    assert read_memory("1.5kb") == 1500
    assert read_memory(10**9) == read_memory("1 GB") == 10**9
    assert read_memory("1MiB") == 2**20
    assert read_memory(None) > 10**7
    for wrong in ("many", -1, 0, True, "5XB", 1.5):
        with pytest.raises(ParameterError, match="not a number of bytes"):
            read_memory(wrong)


def test_a_table_that_does_not_fit_is_streamed(csv):
    table = csv("a,b\n" + "1.5,x\n2.5,y\n" * 5_000, memory=30_000)
    assert isinstance(read(table), StreamSource)
    assert not isinstance(read(csv("a,b\n1.5,x\n")), StreamSource)


def test_writing_leaves_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old\n")
    with pytest.raises(ZeroDivisionError):
        written_in_part(path)
    assert path.read_text() == "old\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.csv"]
    with TableWriter(path) as out:
        out.append({"a": [1.0, NAN], "b": ['say "x"', ""]})
        out.append({"b": ["y,z"], "a": [2]})
        assert path.read_text() == "old\n"
    assert path.read_text() == 'a,b\n1,"say ""x"""\n,""\n2,"y,z"\n'
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask(tmp_path)


def written_in_part(path):
    with TableWriter(path) as out:
        out.append({"a": [1]})
        out.append({"a": [1 // 0]})


def unlike(path):
    with TableWriter(path) as out:
        out.append({"a": [1]})
        out.append({"a": ["x"]})


def _umask(folder):
    path = folder / "plain"
    path.touch()
    mode = path.stat().st_mode & 0o777
    path.unlink()
    return 0o666 & ~mode


def test_writing_other_formats(tmp_path):
    frame = pd.DataFrame({"a": [1.5, NAN], "b": pd.Categorical(["x", None]), "c": [True, False]})
    for name in ("t.parquet", "t.jsonl", "t.tsv"):
        with TableWriter(tmp_path / name) as out:
            out.append(frame)
            out.append(frame)
    assert (tmp_path / "t.tsv").read_text() == "a\tb\tc\n" + "1.5\tx\ttrue\n\t\tfalse\n" * 2
    line = '{"a": 1.5, "b": "x", "c": true}\n{"a": null, "b": null, "c": false}\n'
    assert (tmp_path / "t.jsonl").read_text() == line * 2
    assert pq.read_table(tmp_path / "t.parquet")["a"].to_pylist() == [1.5, None] * 2


def test_writing_where_it_cannot_be_done(tmp_path):
    with pytest.raises(DataError, match=r"not one of those that can be written: .csv, .tsv"):
        write_table({"a": [1]}, tmp_path / "t.xlsx")
    with pytest.raises(DataError, match="cannot be written: No such file or directory"):
        write_table({"a": [1]}, tmp_path / "nowhere" / "t.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="is a folder"):
        write_table({"a": [1]}, tmp_path / "folder.csv")
    with pytest.raises(DataError, match="do not match the first ones"):
        unlike(tmp_path / "t.parquet")
    assert not (tmp_path / "t.parquet").exists()


def test_standard_output(capsysbinary):
    write_table({"a": [1, None], "b": ["ü", "x"]}, "-")
    assert capsysbinary.readouterr().out == "a,b\n1,ü\n,x\n".encode()


@pytest.mark.parametrize("before", ["a", "aa"])
def test_an_object_of_json_with_the_same_key_twice_is_refused(tmp_path, before):
    path = tmp_path / "t.json"  # DuckDB's message quotes the file, and may end within a character
    path.write_text('[{"color": "red", "color": "' + before + "ü" * 40 + '"}]', encoding="utf-8")
    with pytest.raises(DataError, match=r"same key twice|duplicate key"):
        hs.open_table(path).__halfseen_frame__()
