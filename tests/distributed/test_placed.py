"""Tables in files that workers read: the same bits as the same parts in this process."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import halfseen as hs
from halfseen.data import parquet
from halfseen.data.sequence_partition import NamesIn, SequenceLayout
from halfseen.data.whole_sequences import readers
from halfseen.engine.tables.lane_source import LaneSource, SequenceSource
from halfseen.errors import DataError, FitError, ParameterError
from halfseen.families.grammar import sentence_parts
from halfseen.leaves.leaf import arrays
from halfseen.runners.dask import cluster_of_files
from halfseen.runners.local import LocalCluster
from halfseen.runners.placed import PlacedTable, placed, placed_parts
from tests.distributed import test_dask_grammars as grammars
from tests.distributed import test_dask_sequences as sequences

distributed = pytest.importorskip("distributed", reason="needs distributed")

OPTIONS = {"n_init": 2, "random_state": 0, "max_iter": 30, "tol": 1e-4}


def visits(seed, n_rows=900):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, n_rows)
    frame = pd.DataFrame({"minutes": rng.normal(10 + 20 * z, 5), "paid": rng.random(n_rows) < 0.2 + 0.6 * z})
    frame["city"] = np.array(["Rome", "Oslo", "?"])[rng.integers(0, 3, n_rows)]
    frame["often"] = rng.integers(0, 3, n_rows)
    frame.loc[::7, "minutes"] = np.nan
    return frame


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Return folders with the same rows: Parquet in folders by year, several row groups in a file; CSV."""
    home = tmp_path_factory.mktemp("visits")
    for year in ("2025", "2026"):
        (home / "parquet" / f"year={year}").mkdir(parents=True)
        (home / "csv").mkdir(exist_ok=True)
        frame = visits(int(year))
        frame.to_parquet(home / "parquet" / f"year={year}" / "a.parquet", row_group_size=200)
        frame.assign(year=int(year)).to_csv(home / "csv" / f"{year}.csv", index=False)
    return home


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def of_parts(table):
    """Return the source of the parts of a table, read in this process."""
    return LaneSource(LocalCluster([part() for part in table.parts()]), **table.roles)


def rows_of(frame):
    return sorted(map(repr, frame.to_pylist()))


@pytest.mark.parametrize("rows", [1, 300, 1 << 20], ids=str)
def test_parts_of_parquet_are_its_rows(folders, monkeypatch, rows):
    monkeypatch.setattr(parquet, "PART_ROWS", rows)
    table = hs.open_table(folders / "parquet", missing=["?"])
    whole = pa.concat_tables(table.batches())
    parts = [part() for part in table.parts()]
    assert len(parts) == {1: 10, 300: 6}.get(rows, 2)  # row groups of 200 rows, whole
    assert rows_of(pa.concat_tables(parts)) == rows_of(whole)
    assert all(part.schema.equals(whole.schema) for part in parts)


def test_a_large_table_has_larger_parts(folders, monkeypatch):
    monkeypatch.setattr(parquet, "PART_ROWS", 1)
    monkeypatch.setattr(parquet, "MOST_PARTS", 4)  # 1,800 rows: parts of at least 450, of row groups of 200
    parts = hs.open_table(folders / "parquet").parts()
    assert [part().num_rows for part in parts] == [600, 300, 600, 300]


def test_a_single_parquet_file_has_parts(folders, monkeypatch):
    monkeypatch.setattr(parquet, "PART_ROWS", 1)
    file = folders / "parquet" / "year=2025" / "a.parquet"
    table = hs.open_table(file, ignore=["city"])
    assert [part().num_rows for part in table.parts()] == [200] * 4 + [100]
    assert table.parts()[0]().column_names == list(table.names)


def test_parts_have_the_types_of_the_whole_table(tmp_path):
    """A folder name that looks like a date in one file and not in the other; whole numbers and fractions."""
    for code, x in (("2026-1-1", [1, 2]), ("x7", [1.5, None])):
        (tmp_path / f"code={code}").mkdir()
        pd.DataFrame({"x": x}).to_parquet(tmp_path / f"code={code}" / "a.parquet")
    one, other = (part() for part in hs.open_table(tmp_path).parts())
    assert one.to_pylist() == [{"x": 1.0, "code": "2026-1-1"}, {"x": 2.0, "code": "2026-1-1"}]
    assert one.schema.equals(other.schema)


def test_files_of_csv_are_parts_of_one_type(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("x,y\na,5\n")
    one, other = hs.open_table(tmp_path).parts()
    assert one().to_pylist() == [{"x": "1", "y": 2.0}, {"x": "3", "y": 4.0}]
    assert other().to_pylist() == [{"x": "a", "y": 5.0}]


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_workers_give_the_bits_of_this_process(folders, client, form, monkeypatch):
    monkeypatch.setattr(parquet, "PART_ROWS", 400)
    table = hs.open_table(folders / form, missing=["?"], weight="often")
    here = hs.LatentClass(2, **OPTIONS).fit(of_parts(table))
    there = hs.LatentClass(2, **OPTIONS).fit(PlacedTable(cluster_of_files(table.parts(), client), table.roles))
    assert there.loglik_ == here.loglik_
    for own, its in zip(arrays(here._params), arrays(there._params), strict=True):
        assert_array_equal(own, its)
    alone = hs.LatentClass(2, **OPTIONS).fit(table)
    assert_allclose(there.loglik_, alone.loglik_, rtol=1e-10)


def test_a_classifier_with_weights_and_labels_of_the_table(folders, client):
    table = hs.open_table(folders / "parquet", missing=["?"], weight="often", target="paid")
    model = hs.NaiveBayes(**OPTIONS).fit(PlacedTable(cluster_of_files(table.parts(), client), table.roles))
    alone = hs.NaiveBayes(**OPTIONS).fit(table)
    assert model.classes_.tolist() == [False, True]
    assert_allclose(model.loglik_, alone.loglik_, rtol=1e-10)


def test_a_scheduler_by_its_address(folders, client):
    address = client.scheduler.address.removeprefix("tcp://")
    table = hs.open_table(folders / "parquet", ignore=["city"])
    with placed(table, f"dask://{address}") as rows:
        there = hs.LatentClass(2, **OPTIONS).fit(rows)
    assert there.loglik_ == hs.LatentClass(2, **OPTIONS).fit(of_parts(table)).loglik_


@pytest.mark.parametrize("on", ["spark", "dask:", "dask://", "ray://here"])
def test_other_clusters_are_refused(folders, on):
    with pytest.raises(ParameterError, match="is not 'dask'"), placed(hs.open_table(folders / "csv"), on):
        pass


def test_a_scheduler_that_does_not_answer(folders, monkeypatch):
    monkeypatch.setattr("halfseen.runners.dask.WAIT", 0.5)
    table = hs.open_table(folders / "csv")
    with (
        pytest.raises(FitError, match=r"no Dask scheduler answers at 127\.0\.0\.1:1 "),
        placed(table, "dask://127.0.0.1:1"),
    ):
        pass


def test_files_that_a_worker_cannot_see(tmp_path, client):
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n2\n")
    parts = hs.open_table(path).parts()
    path.unlink()
    with pytest.raises(DataError, match=r"sees no file .*a\.csv.*all of them share"):
        cluster_of_files(parts, client)


@pytest.mark.parametrize(
    "model",
    [hs.KMeans(2, random_state=0), hs.BayesNet("paid -> city", random_state=0)],
    ids=["clusters", "network"],
)
def test_other_families_fit_to_files_that_workers_read(folders, client, model):
    left_out = ["paid", "city", "year"] if isinstance(model, hs.KMeans) else ["minutes", "year"]
    table = hs.open_table(folders / "parquet", missing=["?"], weight="often", ignore=left_out)
    there, here = (
        clone(model).fit(rows)
        for rows in (PlacedTable(cluster_of_files(table.parts(), client), table.roles), of_parts(table))
    )
    assert there.trace_ == here.trace_
    assert_allclose(there.trace_[-1], clone(model).fit(table).trace_[-1], rtol=1e-10)


# ---- sequences -------------------------------------------------------------------------------------------------------

CHAIN = hs.HMM(2, n_init=1, random_state=0, max_iter=50, tol=1e-2)
STEPS = sequences.DATA[["person", "day", "x"]]


@pytest.fixture(params=["sorted", "spread"])
def steps(request, tmp_path, monkeypatch):
    """A file in parts of 200 rows: sequences go on in the next part, or are all over the file."""
    monkeypatch.setattr(parquet, "PART_ROWS", 1)
    rows = STEPS if request.param == "sorted" else STEPS.sample(frac=1, random_state=0)
    rows.to_parquet(tmp_path / "steps.parquet", row_group_size=200, index=False)
    return hs.open_table(tmp_path / "steps.parquet").without(["person", "day"])


def whole(table):
    parts = table.parts(["person", "day"])
    return parts, readers(parts, "person", [NamesIn("person")(part()) for part in parts])


def test_readers_read_whole_sequences_once_in_their_order(steps):
    parts, found = whole(steps)
    rows = [reader().to_pandas() for reader in found]
    assert len(parts) == len(found) == 5
    assert sum(len(reader.parts) for reader in found) in (8, 25)
    people = [set(own["person"]) for own in rows]
    assert sum(map(len, people)) == len(set.union(*people))
    in_file = pa.concat_tables(part() for part in parts).to_pandas()
    for own, names in zip(rows, people, strict=True):
        pd.testing.assert_frame_equal(own, in_file[in_file["person"].isin(names)].reset_index(drop=True))


def test_sequences_of_files_give_the_bits_of_this_process(steps, client):
    with placed(steps, f"dask://{client.scheduler.address.removeprefix('tcp://')}", None, "person", "day") as rows:
        there = clone(CHAIN).fit(rows, groups="person", time="day")
    layout = SequenceLayout.of_sequences(["x", "person", "day"], "person", "day")
    here = clone(CHAIN).fit(SequenceSource(LocalCluster([read() for read in whole(steps)[1]]), layout))
    assert there.loglik_ == here.loglik_
    alone = clone(CHAIN).fit(STEPS, groups="person", time="day")
    assert_allclose(there.loglik_, alone.loglik_, rtol=1e-10)


def test_steps_without_a_name_are_refused(tmp_path, monkeypatch, client):
    monkeypatch.setattr(parquet, "PART_ROWS", 1)
    STEPS.assign(person=STEPS["person"].where(STEPS["day"] > 0)).to_parquet(tmp_path / "a.parquet", row_group_size=200)
    table = hs.open_table(tmp_path / "a.parquet").without(["person", "day"])
    address = client.scheduler.address.removeprefix("tcp://")
    with (
        placed(table, f"dask://{address}", None, "person", "day") as rows,
        pytest.raises(DataError, match=r"groups: row \d+ is missing"),
    ):
        clone(CHAIN).fit(rows, groups="person", time="day")


@pytest.mark.thorough
def test_the_command_line_fits_sequences_on_dask(tmp_path):
    STEPS.to_csv(tmp_path / "steps.csv", index=False)

    def fit(*more):
        command = ["fit", tmp_path / "steps.csv", "--model", "hmm", "-k", "2", "--restarts", "1", *more]
        run = [sys.executable, "-m", "halfseen", *map(str, command)]
        return subprocess.run(run, capture_output=True, text=True, timeout=240)

    marks = ("--group", "person", "--time", "day")
    there = fit(*marks, "--on", "dask", "-o", tmp_path / "m.halfseen")
    assert there.returncode == 0, there.stderr
    assert there.stdout == fit(*marks).stdout
    assert hs.load(tmp_path / "m.halfseen").n_components_ == 2
    assert "--on needs --group" in fit("--on", "dask").stderr


# ---- sentences -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("size", [1, 7, 100, 10**6])
def test_parts_of_a_text_are_its_lines(tmp_path, monkeypatch, size, ends):
    lines = ["stars saw ears", "", "été", "a", "b c", "(d e) f"]
    monkeypatch.setattr(sentence_parts, "PART", size)
    (tmp_path / "a.txt").write_bytes(ends.join(lines).encode())
    for brackets in (False, True):
        parts = [part() for part in sentence_parts.parts_of(str(tmp_path / "a.txt"), brackets)]
        found = pa.concat_tables(parts).to_pydict()
        words = [line.split() for line in lines if line]
        assert found["sentence"] == ([*words[:-1], ["d", "e", "f"]] if brackets else words)
        assert found.get("brackets") in (None, [[]] * 4 + [[[0, 2]]])


def test_sentences_of_a_file_give_the_fit_of_a_list(tmp_path, client, monkeypatch):
    monkeypatch.setattr(sentence_parts, "PART", 2000)
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(grammars.DATA["phrases"].fillna(grammars.DATA["text"])))
    parts = sentence_parts.parts_of(str(path), True)
    assert len(parts) > 1
    address = client.scheduler.address.removeprefix("tcp://")
    model = hs.PCFG(grammars.RULES, n_init=1, random_state=0, max_iter=100, tol=1e-3)
    with placed_parts(parts, f"dask://{address}") as rows:
        there = clone(model).fit(rows, brackets="brackets")
    given = [text if isinstance(text, str) else None for text in grammars.DATA["phrases"]]
    here = clone(model).fit(grammars.DATA["text"].tolist(), brackets=given)
    assert_allclose(there.loglik_, here.loglik_, rtol=1e-10)


@pytest.mark.thorough
def test_the_command_line_fits_grammars_on_dask(tmp_path):
    (tmp_path / "rules.cfg").write_text(grammars.RULES)
    (tmp_path / "corpus.txt").write_text("\n".join(grammars.DATA["text"]))

    def fit(*more):
        command = ["fit", tmp_path / "corpus.txt", "--model", tmp_path / "rules.cfg", "--restarts", "1", *more]
        run = [sys.executable, "-m", "halfseen", *map(str, command)]
        return subprocess.run(run, capture_output=True, text=True, timeout=240)

    there = fit("--on", "dask")
    assert there.returncode == 0, there.stderr
    assert there.stdout == fit().stdout
    assert "--memory is for one machine" in fit("--on", "dask", "--memory", "1GB").stderr


# ---- the command line ------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_command_line_fits_on_dask(folders, tmp_path):
    def fit(*more):
        command = [sys.executable, "-m", "halfseen", "fit", folders / "parquet", "-k", "2", "--missing", "?"]
        done = subprocess.run([*map(str, command), *more], capture_output=True, text=True, timeout=120)
        return done

    alone, there = fit(), fit("--on", "dask", "-o", str(tmp_path / "m.halfseen"))
    assert there.returncode == 0, there.stderr
    assert there.stdout == alone.stdout
    assert there.stderr.splitlines()[-1] == f"model: {tmp_path / 'm.halfseen'}"
    assert hs.load(tmp_path / "m.halfseen").n_components_ == 2
    assert "--memory is for one machine" in fit("--on", "dask", "--memory", "1GB").stderr
