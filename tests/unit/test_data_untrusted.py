"""Names and files that are not to be trusted: a name is a literal path, and a data file reads nothing but itself."""

import gzip
import os
import sqlite3

import duckdb
import pandas as pd
import pytest

from halfseen.data import open_table, read
from halfseen.errors import DataError

NAMES = [
    "data[1]",
    "*",
    "**",
    "a?b",
    "[!x]",
    "[[]1]",
    "{a,b}",
    "it's",
    'say "x"',
    "-dash",
    "two words",
    "ünï\u0301",
    "back\\slash",
    "back\\*slash",
    "new\nline",
    "a=b%20#~$HOME",
]


def in_csv(path, value):
    path.write_text(f"a,b\n{value},x\n1,y\n")


def in_tsv(path, value):
    path.write_text(f"a\tb\n{value}\tx\n1\ty\n")


def in_gz(path, value):
    with gzip.open(path, "wt") as file:
        file.write(f"a,b\n{value},x\n1,y\n")


def in_parquet(path, value):
    pd.DataFrame({"a": [value, 1], "b": ["x", "y"]}).to_parquet(path)


def in_json(path, value):
    path.write_text(f'{{"a": {value}, "b": "x"}}\n{{"a": 1, "b": "y"}}\n')


def in_duckdb(path, value):
    plain = path.with_name("plain.duckdb")  # DuckDB itself cannot make a file of any name
    with duckdb.connect(str(plain)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES ({value}, 'x'), (1, 'y')) AS t (a, b)")
    plain.rename(path)


def in_sqlite(path, value):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (a, b)")
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(value, "x"), (1, "y")])
    connection.commit()
    connection.close()


WRITERS = {
    ".csv": in_csv,
    ".tsv": in_tsv,
    ".csv.gz": in_gz,
    ".parquet": in_parquet,
    ".jsonl": in_json,
    ".duckdb": in_duckdb,
    ".sqlite": in_sqlite,
}


def cells(table):
    """All columns of an open table, as lists."""
    source = read(table)
    return {name: source.column(j).values.tolist() for j, name in enumerate(source.names)}


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_name_is_a_literal_path(suffix, tmp_path):
    for name in ("data1", "axb", "y", "a", "b", "1", "back"):  # what patterns would match
        WRITERS[suffix](tmp_path / f"{name}{suffix}", 2)
    for name in NAMES if suffix == ".csv" else ["data[1]", "*", "it's", "back\\*slash", "-dash"]:
        path = tmp_path / f"{name}{suffix}"
        WRITERS[suffix](path, 7)
        assert cells(open_table(path)) == {"a": [7, 1], "b": ["x", "y"]}, name


def test_a_folder_in_the_path_is_literal_too(tmp_path, monkeypatch):
    for folder, value in (("y[1]", 7), ("y1", 2)):
        (tmp_path / folder).mkdir()
        in_csv(tmp_path / folder / "t.csv", value)
    monkeypatch.chdir(tmp_path)
    assert cells(open_table("y[1]/t.csv"))["a"] == [7, 1]
    monkeypatch.chdir(tmp_path / "y[1]")
    assert cells(open_table("t.csv"))["a"] == [7, 1]
    assert cells(open_table("t.csv", sql="SELECT a FROM data"))["a"] == [7, 1]


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_a_name_that_is_no_text(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.csv")
    try:
        with open(path, "w") as file:
            file.write("a\n7\n")
    except OSError:
        pytest.skip("this file system takes text only")
    table = open_table(os.fsdecode(path))
    assert cells(table) == {"a": [7]}
    assert "caf\\udce9.csv" in repr(table).replace("\\\\", "\\")


def test_patterns_in_a_query_are_patterns(tmp_path):
    for name, value in (("p1", 2), ("p2", 3)):
        in_csv(tmp_path / f"{name}.csv", value)
    found = cells(open_table(sql=f"SELECT a FROM '{tmp_path}/p*.csv' WHERE b = 'x' ORDER BY a"))
    assert found == {"a": [2, 3]}


# ---- files that read other files -------------------------------------------------------------------------------------


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "secret.txt"
    path.write_text("password,hunter2\n")
    return path


def database(path, *statements):
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_a_view_of_another_file_is_refused_by_its_name(secret, tmp_path):
    in_csv(tmp_path / "other.csv", 7)
    in_duckdb(tmp_path / "other.duckdb", 7)
    for reads in (
        f"read_text('{secret}')",
        f"read_blob('{secret}')",
        f"read_csv('{secret}')",
        f"'{tmp_path}/other.csv'",
        f"glob('{tmp_path}/*')",
    ):
        path = database(tmp_path / "t.duckdb", f"CREATE VIEW survey AS SELECT * FROM {reads}")
        with pytest.raises(DataError, match=r"t.duckdb: its view 'survey' would read the file .*may read itself only"):
            read(open_table(path))
        path.unlink()


def test_a_view_behind_views_and_macros_is_found(secret, tmp_path):
    path = database(
        tmp_path / "t.duckdb",
        f"CREATE MACRO hidden() AS TABLE SELECT content FROM read_text('{secret}')",
        "CREATE VIEW deep AS SELECT content AS a FROM hidden()",
        "CREATE VIEW top AS SELECT * FROM deep",
        "CREATE TABLE plain AS SELECT 7 AS a",
        "CREATE VIEW fair AS SELECT a FROM plain",
    )
    with pytest.raises(DataError, match="views 'deep', 'top' would read"):
        open_table(path, sql="top")
    with pytest.raises(DataError, match="would read the file"):
        open_table(path, sql="SELECT count(*) AS n FROM top")
    assert cells(open_table(path, sql="fair")) == {"a": [7]}


def test_a_query_reads_the_files_that_the_user_names(secret, tmp_path):
    in_csv(tmp_path / "t.csv", 7)
    in_duckdb(tmp_path / "t.duckdb", 7)
    in_parquet(tmp_path / "t.parquet", 7)
    for name in ("t.csv", "t.duckdb", "t.parquet"):
        for other in (f"read_text('{secret}')", f"'{tmp_path}/other.csv'"):
            (tmp_path / "other.csv").write_text("a\n1\n")
            with pytest.raises(DataError, match=rf"{name}: the query would read the file .*may read that file only"):
                open_table(tmp_path / name, sql=f"SELECT * FROM {other}")
    joined = f"SELECT a FROM '{tmp_path}/t.csv' AS c JOIN '{tmp_path}/t.parquet' AS p USING (a, b) ORDER BY a"
    assert cells(open_table(sql=joined)) == {"a": [1, 7]}
    computed = f"SELECT content FROM read_text('{tmp_path}/' || 'secret.txt')"
    with pytest.raises(DataError, match=r"files that are written in it"):
        open_table(sql=computed)


def test_a_query_is_one_query(tmp_path):
    in_csv(tmp_path / "t.csv", 7)
    target = tmp_path / "written.csv"
    escape = f"SELECT 1 AS a); COPY (SELECT 1) TO '{target}'; SELECT * FROM (SELECT 1 AS a"
    for path in (tmp_path / "t.csv", None):
        with pytest.raises(DataError, match="Parser Error"):
            open_table(path, sql=escape)
        with pytest.raises(DataError, match="Parser Error"):
            open_table(path, sql=f"COPY (SELECT 1) TO '{target}'")
        with pytest.raises(DataError, match="Parser Error"):
            open_table(path, sql="SELECT 1 AS a; SELECT 2 AS a")
    assert not target.exists()


def test_the_configuration_cannot_be_changed(tmp_path):
    from halfseen.data.duckdb_reader import connected

    with connected(None, None, "t") as connection:
        for change in ("SET enable_external_access = true", "SET memory_limit = '1TB'", "RESET lock_configuration"):
            with pytest.raises(duckdb.Error, match=r"locked|[Cc]annot"):
                connection.execute(change)
        for statement in (
            "ATTACH 'x.duckdb'",
            f"COPY (SELECT 1) TO '{tmp_path}/x.csv'",
            "INSTALL httpfs",
            "LOAD httpfs",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)
    assert not list(tmp_path.iterdir())


# ---- SQLite ----------------------------------------------------------------------------------------------------------


def test_sqlite_reads_its_own_file_only(tmp_path):
    in_sqlite(tmp_path / "t.sqlite", 7)
    in_sqlite(tmp_path / "other.sqlite", 3)
    before = sorted(entry.name for entry in tmp_path.iterdir())
    for sql, said in (
        (f"ATTACH '{tmp_path}/other.sqlite' AS o", "syntax error"),
        ("SELECT load_extension('x')", "not authorized|not allowed"),
        ("SELECT 1 AS a); ATTACH 'x' AS o; SELECT * FROM (SELECT 1", "one statement|syntax error"),
        ("SELECT * FROM pragma_database_list", "not authorized|not allowed"),
    ):
        with pytest.raises(DataError, match=f"t.sqlite: .*({said})"):
            open_table(tmp_path / "t.sqlite", sql=sql)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == before


def test_sqlite_refuses_what_can_reach_outside(tmp_path):
    from halfseen.data.sqlite import opened

    in_sqlite(tmp_path / "t.sqlite", 7)
    with opened(str(tmp_path / "t.sqlite"), "t") as connection:
        for statement in (
            f"ATTACH '{tmp_path}/x.sqlite' AS o",
            f"VACUUM INTO '{tmp_path}/x.sqlite'",
            "CREATE TEMP TABLE x (a)",
            "PRAGMA writable_schema = ON",
            "PRAGMA trusted_schema = ON",
            "DELETE FROM t",
        ):
            with pytest.raises(sqlite3.Error, match=r"authoriz|readonly|read-only|too many"):
                connection.execute(statement)
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.sqlite"]


def test_sqlite_refuses_virtual_tables_of_unknown_modules_by_name(tmp_path):
    path = tmp_path / "t.sqlite"
    in_sqlite(path, 7)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(
        "INSERT INTO sqlite_master VALUES ('table', 'outside', 'outside', 0, "
        "'CREATE VIRTUAL TABLE outside USING csv(filename=''/etc/passwd'')')"
    )
    connection.execute("CREATE VIEW sly AS SELECT * FROM t")
    connection.commit()
    connection.close()
    assert cells(open_table(path, sql="t"))["a"] == [7, 1]
    with pytest.raises(DataError, match=r"its table 'outside' is virtual \(module csv\)"):
        open_table(path, sql="outside")
    with pytest.raises(DataError, match=r"its table 'outside' is virtual \(module csv\)"):
        open_table(path, sql="SELECT * FROM outside")


def test_sqlite_full_text_tables_can_be_read(tmp_path):
    path = tmp_path / "t.sqlite"
    connection = sqlite3.connect(path)
    try:
        connection.execute("CREATE VIRTUAL TABLE notes USING fts5(body)")
    except sqlite3.OperationalError:
        pytest.skip("built without full text search")
    connection.executemany("INSERT INTO notes VALUES (?)", [("one",), ("two",)])
    connection.commit()
    connection.close()
    assert cells(open_table(path, sql="SELECT body FROM notes ORDER BY body")) == {"body": ["one", "two"]}


def test_a_sqlite_file_with_a_write_ahead_log_is_read_and_left_as_it_was(tmp_path):
    path = tmp_path / "t.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (a)")
    connection.execute("INSERT INTO t VALUES (7)")
    connection.commit()
    assert cells(open_table(path)) == {"a": [7]}  # still in the log
    connection.close()
    assert cells(open_table(path)) == {"a": [7]}
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.sqlite"]
