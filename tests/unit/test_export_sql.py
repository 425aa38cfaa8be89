"""Models as SQL: a database says what Python says."""

import re
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app
from halfseen.errors import ParameterError
from halfseen.export.sql import DIALECTS
from tests.exported import CASES, ODD_NAME, TEXTS, assert_says_what_python_says, case_of, clusters

LETTERS = {"x": {"a": [0.9, 0.3], "b": [0.1, 0.7]}}
SHAPES = pytest.mark.parametrize("shape", ["full", "tied"])


def letters(weights=(0.5, 0.5)):
    return hs.LatentClass.from_params(weights, LETTERS)


def ask(query, **tables):
    """Run a query in DuckDB over tables by their names."""
    with duckdb.connect() as database:
        for name, table in tables.items():
            database.register(name, table)
        return database.sql(query).fetchall()


@pytest.mark.parametrize("name", CASES)
def test_duckdb_says_what_python_says(name):
    case = case_of(name)
    assert_says_what_python_says(ask(hs.to_sql(case.model, "rows"), rows=case.table), case)


def test_k_means_in_duckdb():
    model, rows = clusters()
    found = ask(hs.to_sql(model, "rows"), rows=pa.table({"x0": rows[:, 0], "x1": rows[:, 1]}))
    assert [row[0] for row in found] == model.predict(rows).tolist()
    np.testing.assert_allclose([row[1] for row in found], model.transform(rows).min(axis=1) ** 2, rtol=1e-9)
    assert found[0] == (0, 0.0)
    names = ask(f"DESCRIBE {hs.to_sql(model, 'rows')}", rows=pa.table({"x0": [0.0], "x1": [0.0]}))
    assert [name for name, *_ in names] == ["class", "squared_distance"]


# ---- cells that Python refuses, and those that a formula cannot ------------------------------------------------------


@pytest.mark.parametrize("cell", [np.inf, -np.inf, -1.0, 2.5])
def test_what_python_refuses_has_no_outputs(cell):
    columns = {"count": {"rate": [1.0, 9.0]}, "visits": {"mean": [1.0, 9.0], "size": [1.0, 2.0]}, "x": LETTERS["x"]}
    model = hs.LatentClass.from_params([0.5, 0.5], columns)
    for column in ("count", "visits"):
        row = {"count": [3.0], "visits": [3.0], "x": ["a"]} | {column: [cell]}
        with pytest.raises(hs.errors.DataError):
            model.predict(pa.table(row))
        assert ask(hs.to_sql(model, "rows"), rows=pa.table(row)) == [(None,) * 4]


def test_infinite_numbers_have_no_outputs():
    columns = {"size": {"mean": [1.0, 9.0], "sd": [1.0, 2.0]}, "code": {1: [0.9, 0.3], 2: [0.1, 0.7]}}
    model = hs.LatentClass.from_params([0.5, 0.5], columns)
    for row in ([np.inf, 1.0], [-np.inf, 1.0], [2.0, np.inf]):
        found = ask(hs.to_sql(model, "rows"), rows=pa.table({"size": [row[0]], "code": [row[1]]}))
        assert found == [(None,) * 4]
    far = ask(hs.to_sql(clusters()[0], "rows"), rows=pa.table({"x0": [np.inf, 1e200], "x1": [0.0, None]}))
    assert far == [(None, None)] * 2


@SHAPES
def test_a_covariance_needs_all_cells_or_none(shape):
    case = case_of(f"mixture {shape}")
    rows = pa.table({"x0": [1e6, None, 1e6], "x1": [0.0, None, None], "x2": [0.0, None, 0.0]})
    full, empty, some = ask(hs.to_sql(case.model, "rows"), rows=rows)
    assert None not in full
    assert empty[-1] == pytest.approx(0.0, abs=1e-15)
    assert some == (None,) * 4


@SHAPES
def test_numbers_beyond_a_covariance_have_no_outputs(shape):
    rows = pa.table({"x0": [1e300], "x1": [-1e300], "x2": [0.0]})
    assert ask(hs.to_sql(case_of(f"mixture {shape}").model, "rows"), rows=rows) == [(None,) * 4]


# ---- names, texts, types ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["rows", "memory.main.rows", 'main."rows"', '"ro.w""s"', "ü; DROP TABLE rows"])
def test_a_table_is_found_by_its_name(table):
    plain = {'"ro.w""s"': 'ro.w"s', "ü; DROP TABLE rows": "ü; DROP TABLE rows"}.get(table, "rows")
    with duckdb.connect() as database:
        quoted = plain.replace('"', '""')
        database.execute(f"CREATE TABLE \"{quoted}\" AS SELECT 'a' AS x")
        assert database.sql(hs.to_sql(letters(), table)).fetchall()[0][1] == pytest.approx(0.75)


@pytest.mark.parametrize("table", ["", ".", "a.", ".a", "a..b", 'a"b', '"a', '""'])
def test_what_is_no_name_of_a_table_is_refused(table):
    with pytest.raises(ParameterError, match="is not the name of a table"):
        hs.to_sql(letters(), table)


def test_columns_are_kept_before_the_result():
    rows = pa.table({"id": [7, 8], ODD_NAME: ["u", "v"], "x": ["a", "b"]})
    query = hs.to_sql(letters(), "rows", keep=["id", ODD_NAME])
    assert [name for name, *_ in ask(f"DESCRIBE {query}", rows=rows)] == [
        "id",
        ODD_NAME,
        "class",
        "p_0",
        "p_1",
        "loglik",
    ]
    assert [row[:3] for row in ask(query, rows=rows)] == [(7, "u", 0), (8, "v", 1)]


@pytest.mark.parametrize("keep", [["class"], ["P_1"], ["loglik"], ["halfseen_a0_0"], ["id", "ID"]])
def test_kept_columns_that_clash_are_refused(keep):
    with pytest.raises(ParameterError, match="keep"):
        hs.to_sql(letters(), "rows", keep=keep)


def test_columns_of_other_types_are_compared_by_value():
    """Categories that are numbers or True and False, in columns of whatever type holds them."""
    model = hs.LatentClass.from_params(
        [0.5, 0.5], {"n": {1: [0.9, 0.3], 2: [0.1, 0.7]}, "b": {True: [0.2, 0.6], False: [0.8, 0.4]}}
    )
    [wanted] = ask(hs.to_sql(model, "rows"), rows=pa.table({"n": [1], "b": [True]}))
    for n, b in (("1::TINYINT", "1"), ("1.0::DECIMAL(4, 2)", "'true'"), ("1e0", "1.0::DOUBLE"), ("'1'", "'TRUE'")):
        assert ask(hs.to_sql(model, "rows"), rows=duckdb.sql(f"SELECT {n} AS n, {b} AS b").arrow()) == [wanted]


def test_a_declared_type_of_categories_is_compared_as_text():
    with duckdb.connect() as database:
        database.execute("CREATE TABLE rows AS SELECT 'z'::ENUM('a', 'z') AS x")
        assert database.sql(hs.to_sql(letters(), "rows")).fetchall()[0][1:3] == (0.5, 0.5)


def test_a_row_impossible_under_every_class_has_the_shares():
    model = hs.LatentClass.from_params([0.3, 0.7], {"x": {"a": [1.0, 1.0], "b": [0.0, 0.0]}})
    assert ask(hs.to_sql(model, "rows"), rows=pa.table({"x": ["b"]})) == [(1, 0.3, 0.7, -np.inf)]


def test_many_columns_are_no_deep_expression():
    columns = {f"x{d}": {"mean": [0.0, 1.0], "sd": [1.0, 1.0]} for d in range(100)}
    model = hs.LatentClass.from_params([0.5, 0.5], columns)
    with duckdb.connect() as database:
        database.execute("SET max_expression_depth TO 40")
        database.register("rows", pa.table({name: [0.5] for name in columns}))
        assert database.sql(hs.to_sql(model, "rows")).fetchall()[0][1] == pytest.approx(0.5)


# ---- every dialect ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ["mixed columns 0", "mixture full", "labels as texts", "labels as truth"])
def test_every_dialect_is_read_by_sqlglot(dialect, name):
    """BigQuery and Snowflake are parsed only, never run; texts and names come back as they were."""
    sqlglot = pytest.importorskip("sqlglot")
    query = sqlglot.parse_one(hs.to_sql(case_of(name).model, "main.rows", dialect, keep=["id"]), dialect=dialect)
    assert query.key == "select"
    assert query.named_selects[:3] == ["id", "class", "p_0"]
    assert query.named_selects[-1] == "loglik"
    literals = {literal.this for literal in query.find_all(sqlglot.exp.Literal) if literal.is_string}
    if "mixed" in name:
        known = {text for text in TEXTS if dialect != "postgres" or "\\" not in text}  # E'...' is no plain literal
        assert known <= literals
        assert ODD_NAME in {column.name for column in query.find_all(sqlglot.exp.Column)}


def test_numbers_keep_their_digits_in_every_dialect():
    for dialect in DIALECTS.values():
        for number in (0.1, 1.0, -2.5e-300, 1 / 3, 5e-324, 1.7976931348623157e308):
            [found] = re.findall(r"-?\d[\d.]*e[+-]?\d+", dialect.numeral(number))
            assert float(found) == number
    assert DIALECTS["postgres"].numeral(0.1) == "0.1e0::float8"  # a bare 0.1e0 is a NUMERIC there
    assert DIALECTS["duckdb"].numeral(-0.1) == "(-0.1e0)"  # and a bare 0.1 a DECIMAL here


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_characters_that_no_database_takes_are_refused(text):
    model = hs.LatentClass.from_params([1.0], {"x": {text: [0.5], "b": [0.5]}})
    with pytest.raises(ParameterError, match="characters that no database takes"):
        hs.to_sql(model, "rows")


# ---- what cannot be said ---------------------------------------------------------------------------------------------


def test_what_sql_cannot_say_is_refused():
    text = hs.NaiveBayes(columns={"x0": "text"}).fit([["a cat"], ["a dog"]], [0, 1])
    with pytest.raises(ParameterError, match="column 'x0' is text: SQL cannot split it into words"):
        hs.to_sql(text, "rows")
    with pytest.raises(ParameterError, match=r"several types: \('a', 1\)"):
        hs.to_sql(hs.LatentClass.from_params([1.0], {"x": {"a": [0.5], 1: [0.5]}}), "rows")
    with pytest.raises(ParameterError, match=r"dialect='oracle' is not one of 'duckdb', 'postgres'"):
        hs.to_sql(letters(), "rows", "oracle")
    with pytest.raises(ParameterError, match=r"export cannot be used with an HMM model\. It is for latent classes"):
        hs.to_sql(hs.HMM(2), "rows")
    with pytest.raises(ParameterError, match="a list is no model of halfseen"):
        hs.to_sql([], "rows")
    with pytest.raises(NotFittedError):
        hs.to_sql(hs.LatentClass(2), "rows")


# ---- at the command line ---------------------------------------------------------------------------------------------


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)


def test_halfseen_export_writes_what_to_sql_returns(tmp_path):
    hs.save(letters(), tmp_path / "m.halfseen")
    written = hs.to_sql(letters(), "main.people", "postgres", keep=["id"])
    options = ("--sql", "postgres", "--table", "main.people", "--keep", "id")
    assert run("export", tmp_path / "m.halfseen", *options).stdout == written
    done = run("export", tmp_path / "m.halfseen", *options, "-o", tmp_path / "m.sql")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "m.sql").read_text() == written
    assert [path.name for path in Path(tmp_path).iterdir() if path.suffix == ".tmp"] == []


def test_halfseen_export_names_the_dialects(tmp_path):
    hs.save(letters(), tmp_path / "m.halfseen")
    done = run("export", tmp_path / "m.halfseen", "--sql", "oracle")
    assert done.exit_code == 2
    assert "--sql 'oracle' is not one of 'duckdb', 'postgres', 'spark', 'bigquery', 'snowflake'" in done.stderr
