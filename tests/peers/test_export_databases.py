"""Models as SQL in databases other than DuckDB: PostgreSQL and Spark say what Python says."""

import csv
import io
import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

import halfseen as hs
from tests.exported import CASES, assert_says_what_python_says, case_of, clusters

pytestmark = pytest.mark.slow
NULL = "\\N"
FEW = ["mixed columns 1", "mixture full", "labels as texts", "labels as truth", "several components"]
MODELS = pytest.mark.parametrize("name", CASES)


# ---- PostgreSQL ------------------------------------------------------------------------------------------------------


def postgres_folder():
    """Return the folder of PostgreSQL's programs: Debian's is not in the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    initdb = found[-1] if found else shutil.which("initdb")
    return None if initdb is None else Path(initdb).parent


class Postgres:
    """A server of its own in a temporary folder, on loopback only."""

    def __init__(self, folder):
        self.programs = postgres_folder()
        self.folder = folder
        self.user = None
        if os.getuid() == 0:  # it refuses to run as root
            self.user = "postgres"
            shutil.chown(folder, self.user)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def _run(self, program, *arguments, **options):
        command = [self.programs / program, *arguments]
        return subprocess.run(
            command, user=self.user, cwd=self.folder, capture_output=True, text=True, encoding="utf-8", **options
        )

    def __enter__(self):
        data = self.folder / "data"
        done = self._run("initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        assert done.returncode == 0, done.stderr
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        done = self._run("pg_ctl", "-D", data, "-l", self.folder / "log", "-o", options, "-w", "start")
        assert done.returncode == 0, done.stdout + (self.folder / "log").read_text()
        return self

    def __exit__(self, *_):
        self._run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")

    def run(self, text):
        """Run SQL and return what it prints, as CSV."""
        address = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "tester", "-d", "postgres", "-X", "-q")
        options = ("-v", "ON_ERROR_STOP=1", "-P", f"null={NULL}", "--csv", "-t")
        done = self._run("psql", *address, *options, input=text)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def load(self, rows):
        """Make the table rows."""
        types = {"text": "TEXT", "int": "BIGINT", "float": "FLOAT8", "bool": "BOOLEAN"}
        names = ['"{}"'.format(name.replace('"', '""')) for name in rows]
        columns = ", ".join(f"{name} {types[kind]}" for name, (kind, _) in zip(names, rows.values(), strict=True))
        lines = [",".join(map(cell, row)) for row in zip(*(values for _, values in rows.values()), strict=True)]
        self.run(
            f"DROP TABLE IF EXISTS rows; CREATE TABLE rows (n SERIAL, {columns});\n"
            f"COPY rows ({', '.join(names)}) FROM STDIN (FORMAT csv, NULL '{NULL}');\n" + "\n".join([*lines, "\\.", ""])
        )

    def ask(self, query, read_class):
        """Return the rows of a query, whose first column is read by a function and the others as numbers."""
        found = csv.reader(io.StringIO(self.run(f"SELECT * FROM ({query}) AS found ORDER BY n")))
        return [
            (None if row[1] == NULL else read_class(row[1]), *(None if x == NULL else float(x) for x in row[2:]))
            for row in found
        ]


def cell(value):
    """Return a cell of a CSV file."""
    if value is None:
        return NULL
    quoted = str(value).replace('"', '""')
    return f'"{quoted}"' if isinstance(value, str) else repr(value)


@pytest.fixture(scope="module")
def postgres():
    if postgres_folder() is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt install postgresql)")
    with tempfile.TemporaryDirectory() as folder:  # not within that of pytest, which is closed to the server's user
        os.chmod(folder, 0o755)
        with Postgres(Path(folder)) as server:
            yield server


@MODELS
def test_postgres_says_what_python_says(postgres, name):
    case = case_of(name)
    postgres.load(case.rows)
    label = type(case.model.predict(case.table.slice(0, 1)).tolist()[0])
    read = {bool: "t".__eq__, int: int, str: str}[label]
    found = postgres.ask(hs.to_sql(case.model, "public.rows", "postgres", keep=["n"]), read)
    assert_says_what_python_says(found, case)


def test_postgres_finds_the_nearest_centre(postgres):
    model, rows = clusters()
    postgres.load({f"x{d}": ("float", rows[:, d].tolist()) for d in range(2)})
    assert_nearest(postgres.ask(hs.to_sql(model, "rows", "postgres", keep=["n"]), int), model, rows)


def assert_nearest(found, model, rows):
    assert [row[0] for row in found] == model.predict(rows).tolist()
    np.testing.assert_allclose([row[1] for row in found], model.transform(rows).min(axis=1) ** 2, rtol=1e-9)


# ---- Spark -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java (Debian: apt install default-jre-headless)")
    folder = tmp_path_factory.mktemp("spark")
    session = (
        sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.warehouse.dir", str(folder))
        .config("spark.sql.shuffle.partitions", "1")
        .getOrCreate()
    )
    yield session
    session.stop()


def spark_rows(session, query, rows):
    from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType, StructField, StructType

    types = {"text": StringType(), "int": LongType(), "float": DoubleType(), "bool": BooleanType()}
    fields = [StructField("n", LongType()), *(StructField(name, types[kind]) for name, (kind, _) in rows.items())]
    cells = zip(*(values for _, values in rows.values()), strict=True)
    frame = session.createDataFrame([(n, *row) for n, row in enumerate(cells)], StructType(fields))
    frame.createOrReplaceTempView("rows")
    return [tuple(row)[1:] for row in sorted(session.sql(query).collect(), key=lambda row: row[0])]


@pytest.mark.parametrize("name", FEW)
@pytest.mark.filterwarnings("ignore")
def test_spark_says_what_python_says(spark, name):
    case = case_of(name)
    assert_says_what_python_says(spark_rows(spark, hs.to_sql(case.model, "rows", "spark", keep=["n"]), case.rows), case)


@pytest.mark.filterwarnings("ignore")
def test_spark_finds_the_nearest_centre(spark):
    model, rows = clusters()
    cells = {f"x{d}": ("float", rows[:, d].tolist()) for d in range(2)}
    assert_nearest(spark_rows(spark, hs.to_sql(model, "rows", "spark", keep=["n"]), cells), model, rows)
