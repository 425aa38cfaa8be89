"""CSV files that are written in unusual ways, or are damaged: read right, or refused with the line."""

import io

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import halfseen as hs
from halfseen.data import Schema, duckdb_reader, open_table, read, write_table
from halfseen.errors import DataError


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


MANY = 20_000  # lines, more than the 64 KB that are read first


# ---- ends of lines, and names ----------------------------------------------------------------------------------------


def test_lines_may_end_with_a_carriage_return(csv):
    assert cells(csv("a,b\r1,x\r2,y\r")) == {"a": [1, 2], "b": ["x", "y"]}
    assert cells(csv("a;b\r1,5;x\r2;y\r")) == {"a": [1.5, 2], "b": ["x", "y"]}
    table = csv("a,b\r" + "1,x\r" * MANY)
    assert read(table).n_rows == MANY


def test_mixed_ends_of_lines_are_refused(csv):
    with pytest.raises(DataError, match=r"t.csv: .*ends of lines"):
        read(csv("a,b\r\n1,2\n3,4\r5,6\n"))


def test_names_that_differ_in_case_only(csv, tmp_path):
    table = csv("a,A,b\n1,x,2\n3,y,4\n", target="A")
    assert table.names == ("a", "b")
    assert read(table).target.tolist() == ["x", "y"]
    assert cells(csv("a,A\n1,x\n3,y\n")) == {"a": [1, 3], "A": ["x", "y"]}
    streamed = csv("a,A\n" + "1,x\n3,y\n" * 500, memory=1000)
    assert hs.LatentClass(1).fit(streamed).columns_ == {"a": "categorical", "A": "categorical"}
    with pytest.raises(DataError, match=r"a query cannot tell the columns 'a' and 'A' apart"):
        csv("a,A\n1,x\n", sql="SELECT * FROM data")
    pq.write_table(pa.table({"a": [1], "A": [2]}), tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text('{"a": 1, "A": 2}\n')
    for name in ("t.parquet", "t.jsonl"):
        with pytest.raises(DataError, match=rf"{name}: .*'a' and 'A' .*Rename one"):
            open_table(tmp_path / name)


def test_a_name_with_a_lone_surrogate_is_refused():
    for names in (["a\ud800"], ["ok", "\udfff"]):
        frame = pd.DataFrame([[1.5] * len(names)] * 2, columns=pd.Index(names, dtype=object))
        with pytest.raises(DataError, match=r"the name of column \d, '.*\\ud.*', is not valid text"):
            hs.LatentClass(1).fit(frame)
    with pytest.raises(DataError, match="is not valid text"):
        open_table(io.StringIO("a\ud800,b\n1,2\n"))


# ---- bytes that are no text ------------------------------------------------------------------------------------------


def test_zero_bytes_are_refused_wherever_they_are(csv):
    with pytest.raises(DataError, match="not a text file"):
        csv(b"a,b\n1,x\0y\n")
    with pytest.raises(DataError, match=rf"t.csv, line {MANY + 2}: column 'b' contains a zero byte"):
        csv(b"a,b\n" + b"1,x\n" * MANY + b"2,x\0y\n")
    far = b"a,b\n" + b"1,x\n" * 3 * MANY + b"2,x\0y\n"
    with pytest.raises(DataError, match=rf"t.csv, line {3 * MANY + 2}: column 'b' contains a zero byte"):
        read(csv(far))
    with pytest.raises(DataError, match=rf"t.csv, line {3 * MANY + 2}: column 'b' contains a zero byte"):
        hs.LatentClass(1).fit(csv(far, memory=10_000))


@pytest.mark.parametrize("wrong", [b"\xff", b"\xed\xa0\x80", b"caf\xe9"])
def test_bytes_that_are_not_utf_8_are_refused_with_the_line(csv, wrong):
    with pytest.raises(DataError, match=r"t.csv, line 3 is not in UTF-8.*encoding="):
        csv(b"a,b\n1,x\n2," + wrong + b"\n")
    with pytest.raises(DataError, match=rf"t.csv, line {3 * MANY + 2} is not in UTF-8.*encoding="):
        read(csv(b"a,b\n" + b"1,x\n" * 3 * MANY + b"2," + wrong + b"\n"))


def test_a_line_that_is_too_long_is_refused_in_words(csv):
    with pytest.raises(DataError, match=r"line 2 is longer than 2 MB"):
        read(csv("a,b\n1," + "x" * 3_000_000 + "\n"))


def test_a_limit_of_the_shell_is_named(monkeypatch):
    error = Exception("Out of Memory Error: failed to allocate data of size 32.0 KiB (61.0 MiB/953.6 MiB used)")
    assert "Raise memory=" in str(duckdb_reader.explained(error, "t.csv"))
    monkeypatch.setattr(duckdb_reader, "address_space", lambda: 1_500_000_000)
    said = str(duckdb_reader.explained(error, "t.csv"))
    assert "may not use more than 1.5 GB of address space (ulimit -v). Raise that limit, or lower memory=" in said


# ---- tab-separated files and quotes ----------------------------------------------------------------------------------


def test_a_quote_is_a_character_where_cells_are_not_quoted(csv):
    data = 'size\tname\n1\t5" pipe\n2\t"lone\n3\tplain\n4\t"said" twice\n'
    assert cells(csv(data, "t.tsv"))["name"] == ['5" pipe', '"lone', "plain", '"said" twice']
    assert cells(csv(data, "t.csv"))["name"] == ['5" pipe', '"lone', "plain", '"said" twice']
    late = "a\tb\n" + "1\tx\n" * 3 * MANY + '2\t"y\n3\tz\n'
    found = read(csv(late, "t.tsv"))
    assert found.n_rows == 3 * MANY + 2
    assert found.column(1).values[-2:].tolist() == ['"y', "z"]


def test_quotes_enclose_cells_where_all_do(csv, tmp_path):
    assert cells(csv('a\tb\n1\t"x\ty"\n2\t"say ""z"""\n', "t.tsv"))["b"] == ["x\ty", 'say "z"']
    assert cells(csv('"a"\t"b"\r\n1\t"two\nlines"\r\n', "t.tsv"))["b"] == ["two\nlines"]
    late = "a\tb\n" + "1\tx\n" * 3 * MANY + '2\t"y\tz"\n'
    assert read(csv(late, "t.tsv")).column(1).values[-1] == "y\tz"
    texts = ['5" pipe', '"lone', "plain", "a\tb", "two\nlines", '"'] * 2_000
    write_table({"a": texts, "b": texts}, tmp_path / "own.tsv")
    assert cells(open_table(tmp_path / "own.tsv")) == {"a": texts, "b": texts}


def test_the_line_of_a_row_counts_the_lines_of_cells(csv):
    table = csv('a,b\n1,"two\nlines"\n\n2,x\n3,y\n')
    assert [table._scan.line_of(row) for row in range(4)] == [2, 5, 6, None]
    alone = csv("a\n1\n\n3\n")
    assert [alone._scan.line_of(row) for row in range(3)] == [2, 3, 4]


def test_blanks_around_true_and_false_do_not_matter(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("n\tok\n1.5\tTrue\n2\t False\n3\ttrue \n4\t\n")
    table = hs.open_table(path)
    assert table.__halfseen_frame__().column("ok").to_pylist() == [True, False, True, None]


def test_numbers_whose_range_is_beyond_float64_are_read(tmp_path):
    path = tmp_path / "far.csv"
    path.write_text("x\n-1.7e308\n1.7e308\n3\n")
    assert Schema.learn(read(open_table(path))).kind_names == {"x": "categorical"}
