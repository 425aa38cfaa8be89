"""``--memory`` of predict, score and impute: fewer rows at a time, and the same result to the last bit."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from halfseen.app import tables
from tests.app.in_process import run

N_ROWS = 9_000
FITS = {
    "classes": ["-k", 2, "--ignore", "x"],
    "gaussian": ["--model", "gaussian", "-k", 2, "--ignore", "a,b"],
    "kmeans": ["--model", "kmeans", "-k", 2, "--ignore", "a,b"],
    "net": ["--model", "a <- C -> b", "--hidden", "C=2", "--ignore", "x,y"],
    "target": ["--target", "a"],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of more rows than are scored at a time, with missing cells, and models fitted to its beginning."""
    found = tmp_path_factory.mktemp("memory")
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, N_ROWS)
    cells = [
        rng.normal(3 * kind),
        rng.normal(kind),
        (kind + (rng.random(N_ROWS) < 0.2)) % 2,
        rng.integers(0, 3, N_ROWS),
    ]
    lines = ["x,y,a,b,w"]
    for n, (x, y, a, b) in enumerate(zip(*cells, strict=True)):
        second, last = "" if n % 7 == 0 else f"{y:.3f}", "" if n % 5 == 0 else "pqr"[b]
        lines.append(f"{x:.4f},{second},{('no', 'yes')[a]},{last},{n % 4 / 3}")
    (found / "rows.csv").write_text("\n".join(lines))
    (found / "first.csv").write_text("\n".join(lines[:200]))
    for name, how in FITS.items():
        starts = [] if name == "target" else ["--restarts", 2]
        run("fit", found / "first.csv", *how, *starts, "--weight", "w", "-o", found / f"{name}.halfseen")
    return found


@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("verb", ["predict", "score", "impute"])
def test_the_result_is_the_same_with_little_memory(folder, monkeypatch, name, verb):
    sizes = []
    within = tables.rows_within
    monkeypatch.setattr(tables, "rows_within", lambda memory, width: sizes.append(within(memory, width)) or sizes[-1])

    def answer(*more):
        done = run(verb, folder / f"{name}.halfseen", folder / "rows.csv", *more)
        return pq.read_table(folder / "out.parquet") if verb != "score" else done.stdout

    how = ["--json"] if verb == "score" else ["-o", folder / "out.parquet"]  # which has all digits
    whole = answer(*how)
    assert not sizes
    small = answer(*how, "--memory", "1MB")
    assert sizes == [4096]
    assert small == whole


def test_rows_are_regrouped():
    parts = [pa.table({"a": np.arange(first, last)}) for first, last in ((0, 3), (3, 3), (3, 10), (10, 11))]
    found = list(tables.regrouped(parts, 4))
    assert [len(part) for part in found] == [4, 4, 3]
    assert pa.concat_tables(found)["a"].to_pylist() == list(range(11))
    assert [len(part) for part in tables.regrouped(parts, 100)] == [11]
    assert list(tables.regrouped([], 4)) == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["score", "--details"], "--details, which reads all rows at once"),
        (["impute", "--check"], "--check, which reads all rows at once"),
        (["impute", "--draws", 2], "--draws: the draws depend on"),
        (["predict", "--memory", "lots"], "--memory 'lots' is not a number of bytes"),
    ],
)
def test_memory_is_refused_where_it_has_no_meaning(folder, arguments, told):
    verb, *more = arguments
    memory = [] if "--memory" in more else ["--memory", "1MB"]
    done = run(verb, folder / "classes.halfseen", folder / "first.csv", *memory, *more, code=2)
    assert told in done.stderr
    assert done.stdout == ""
