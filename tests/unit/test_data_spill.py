"""Tables larger than memory: the same rows, the same bits, the same fits, in a fraction of the memory."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import halfseen as hs
from halfseen.data import Schema, learn_column, open_table, read, read_target
from halfseen.data.buckets import Buckets
from halfseen.data.spill import scratch
from halfseen.data.stream import StreamSource, learn_columns
from halfseen.engine.tables.preprocess import Later
from halfseen.errors import DataError, UnknownCategoryWarning

pytestmark = pytest.mark.thorough
SMALL = 30_000  # bytes: the least that makes many buckets and many batches of small tables


def mixed(n=6000, seed=0):
    """A table with holes, with rows that come more than once, and columns of every kind."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n).round(1),
            "y": rng.integers(0, 40, n).astype(float),
            "town": np.array(["a", "b", "c", "dd"], dtype=object)[rng.integers(0, 4, n)],
            "k": rng.integers(0, 3, n),
            "yes": rng.integers(0, 2, n).astype(bool),
        }
    )
    frame.loc[rng.random(n) < 0.2, "x"] = np.nan
    frame.loc[rng.random(n) < 0.2, "town"] = None
    return pd.concat([frame, frame.head(n // 3)], ignore_index=True)


@pytest.fixture
def both(tmp_path, monkeypatch):
    """A frame in a file that is too large."""
    monkeypatch.setattr("halfseen.data.stream.LEAST", 700)

    def made(frame, **options):
        frame.to_parquet(tmp_path / "t.parquet", row_group_size=2000)
        return open_table(tmp_path / "t.parquet", memory=SMALL, **options)

    return made


def assert_same(one, other):
    assert one.schema == other.schema
    for name in one.schema.blocks:
        np.testing.assert_array_equal(one.blocks[name], other.blocks[name])
    np.testing.assert_array_equal(one.weight, other.weight)


# ------------------------------------------------------------------------------------------------- same rows, same bits


def test_a_stream_is_encoded_as_the_table_is(both):
    frame = mixed()
    source = read(both(frame))
    assert isinstance(source, StreamSource)
    assert source.n_rows == len(frame)
    schema = Schema.learn(source)
    assert schema == Schema.learn(read(frame))
    spilled = schema.encode(source)
    assert spilled.memory_limit == SMALL
    assert_same(spilled, schema.encode(read(frame)))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("labelled", [False, True])
def test_the_canonical_table_is_the_same_to_the_last_bit(both, weighted, labelled):
    frame = mixed()
    rng = np.random.default_rng(1)
    weight = rng.choice([0.0, 0.1, 0.7, 2.0], len(frame)) if weighted else None
    labels = rng.choice(np.array(["u", "v", None], dtype=object), len(frame)) if labelled else None
    evidence = read_target(labels, len(frame))[0] if labelled else None
    source = read(both(frame))
    schema = Schema.learn(source)
    spilled = schema.encode(source, weight, evidence).canonical()
    plain = schema.encode(read(frame), weight, evidence).canonical()
    assert spilled.memory_limit == SMALL
    assert_same(spilled, plain)
    if labelled:
        np.testing.assert_array_equal(spilled.evidence.index, plain.evidence.index)
        np.testing.assert_array_equal(spilled.evidence.patterns, plain.evidence.patterns)
    assert_same(spilled.take(np.arange(7, 3000, 3)), plain.take(np.arange(7, 3000, 3)))
    odd = np.arange(plain.n_rows) % 2 == 1
    assert_same(spilled.take(odd), plain.take(odd))


@pytest.mark.parametrize("weight", [None, "n"])
def test_equal_rows_are_merged_before_they_are_read(both, weight):
    frame = mixed().drop(columns=["x", "y"]).assign(n=np.random.default_rng(0).integers(0, 3, 8000))
    table = both(frame, ignore=[] if weight else ["n"], weight=weight)
    source = read(table)
    assert isinstance(source, StreamSource)
    schema = Schema.learn(source)
    plain = schema.encode(read(frame.drop(columns="n")), frame["n"] if weight else None).canonical()
    gathered = schema.gather(source)
    assert_same(gathered, plain)
    assert (gathered.memory_limit is None) == (weight is None)  # merged outside, the few distinct rows fit


def test_scratch_arrays_leave_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    array = scratch((3, 2), np.int8)
    array[:] = 7
    assert array.sum() == 42
    assert not list(tmp_path.iterdir())
    assert scratch((0, 2), np.int8).shape == (0, 2)


def test_temporary_files_are_gone_after_an_error(both, tmp_path, monkeypatch):
    frame = mixed()
    frame["x"] = [1.5, 2.5, *[3.5] * (len(frame) - 3), np.inf]
    table = both(frame)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(DataError, match=r"in rows [67]\d+ to 7999 .*contains infinity: column 'x', row \d+ is inf"):
        hs.LatentClass(2).fit(table)
    assert not list(folder.iterdir())


# ------------------------------------------------------------------------------------------------- what is learned


CELLS = {
    "numbers": st.lists(st.one_of(st.none(), st.sampled_from([0.0, 1.0, 2.0, 1.5, -3.0])), min_size=1),
    "counts": st.lists(st.one_of(st.none(), st.integers(0, 30).map(float)), min_size=1),
    "text": st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", ""])), min_size=1),
    "truth": st.lists(st.one_of(st.none(), st.booleans()), min_size=1),
}


class Pieces(StreamSource):
    """Any table, read a few rows at a time."""

    def __init__(self, frame, size):
        self._frame, self._size = frame, size
        self.names, self.n_rows = tuple(frame.columns), len(frame)

    def batches(self):
        for first in range(0, len(self._frame), self._size):
            yield read(self._frame.iloc[first : first + self._size].reset_index(drop=True))


def learned(learn):
    try:
        return learn()
    except DataError as error:
        return str(error)


@pytest.mark.parametrize("kind", [None, "categorical", "gaussian", "poisson"])
@pytest.mark.parametrize("name", CELLS)
@settings(max_examples=25)
@given(data=st.data())
def test_columns_are_learned_in_pieces_as_at_once(name, kind, data):
    cells = data.draw(CELLS[name])
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    kinds = {} if kind is None else {0: kind}
    at_once = learned(lambda: learn_column(read(frame).column(0), "a", kind))
    in_pieces = learned(lambda: learn_columns(Pieces(frame, 3), kinds)[0])
    if isinstance(at_once, str):
        assert isinstance(in_pieces, str)
    else:
        assert in_pieces == at_once


def test_declared_levels_count_in_pieces_too():
    frame = pd.DataFrame({"a": pd.Categorical(["b", "a", None, "b"], categories=["c", "b", "a"], ordered=True)})
    assert learn_columns(Pieces(frame, 2), {}) == (learn_column(read(frame).column(0), "a"),)


def test_text_without_end_is_refused(monkeypatch):
    monkeypatch.setattr("halfseen.data.stream.MOST_TEXTS", 20)
    frame = pd.DataFrame({"note": [f"note {i}" for i in range(30)]})
    with pytest.raises(DataError, match=r"column 'note' holds more than 20 distinct texts.*ignore=\['note'\]"):
        learn_columns(Pieces(frame, 7), {})


def test_rows_by_number(both):
    frame = mixed()
    source = read(both(frame))
    few = np.array([5, 3, 7999, 3])
    np.testing.assert_array_equal(source.take(few).column(0).values, frame["x"].to_numpy()[few])
    np.testing.assert_array_equal(source.column(1).values, frame["y"].to_numpy())
    assert source.template().column(2).values.tolist() == frame["town"].tolist()[:1]


def test_many_rows_by_number_stay_a_stream(both, monkeypatch):
    monkeypatch.setattr("halfseen.data.stream.FEW", 10)
    frame = mixed()
    part = read(both(frame)).take(np.arange(1, 8000, 2)).take(np.arange(0, 4000, 2))
    assert isinstance(part, StreamSource)
    assert part.n_rows == 2000
    expected = frame.iloc[1::4].reset_index(drop=True)
    assert_same(Schema.learn(part).gather(part), Schema.learn(read(expected)).gather(read(expected)))


# ------------------------------------------------------------------------------------------------- same fits


@pytest.mark.parametrize("columns", [["x", "y", "town", "k", "yes"], ["x", "y"], ["town", "k", "yes"]])
@pytest.mark.parametrize("assign", ["soft", "hard"])
def test_a_fit_of_a_stream_is_the_fit_of_the_table(both, columns, assign):
    frame = mixed()[columns]
    table = both(frame)
    options = {"n_init": 2, "max_iter": 5, "random_state": 0, "assign": assign, "stop": "iterations"}
    one = hs.LatentClass(2, **options).fit(table)
    other = hs.LatentClass(2, **options).fit(frame)
    assert one.loglik_ == other.loglik_
    np.testing.assert_array_equal(one.predict_proba(table), other.predict_proba(frame))
    assert one.score(table) == other.score(frame)
    parts = [one.predict(batch) for batch in table.batches(1000)]
    np.testing.assert_array_equal(np.concatenate(parts), other.predict(frame))
    filled = one.impute(table).to_pandas()
    assert not filled.isna().any().any()


def test_workers_and_poisson_columns(both):
    frame = mixed()[["y", "town"]]
    options = {"columns": {"y": "poisson"}, "n_init": 2, "max_iter": 10, "random_state": 0, "stop": "iterations"}
    fits = [hs.LatentClass(2, n_jobs=jobs, **options).fit(both(frame)).loglik_ for jobs in (1, 2)]
    assert fits == [hs.LatentClass(2, **options).fit(frame).loglik_] * 2


@pytest.mark.parametrize("holes", [False, True])
def test_a_classifier_takes_weights_and_labels_from_columns(both, holes):
    rng = np.random.default_rng(2)
    frame = mixed(2000).assign(n=lambda f: rng.integers(0, 3, len(f)), label=lambda f: np.where(f["k"] == 0, "u", "v"))
    if holes:
        frame.loc[::3, "label"] = None
    table = both(frame, weight="n", target="label")
    one = hs.NaiveBayes(guard=False).fit(table)
    X = frame.drop(columns=["n", "label"])
    other = hs.NaiveBayes(guard=False).fit(X, frame["label"], sample_weight=frame["n"])
    assert one.classes_.tolist() == ["u", "v"]
    assert one.loglik_ == other.loglik_
    np.testing.assert_array_equal(one.predict(table), other.predict(X))
    if not holes:
        assert one.score(table) == other.score(X, frame["label"], frame["n"])


def test_the_guard_works_on_a_stream(both):
    frame = mixed(1500).assign(label=lambda f: np.where(f["k"] == 0, "u", "v"))
    frame.loc[::2, "label"] = None
    one = hs.NaiveBayes().fit(both(frame, target="label"))
    assert one.guard_ == hs.NaiveBayes().fit(frame.drop(columns="label"), frame["label"]).guard_


def test_unknown_categories_are_counted_over_all_batches(both):
    model = hs.LatentClass(1, random_state=0).fit(mixed()[["town"]])
    frame = pd.DataFrame({"town": ["a", "z"] * 4000})
    with pytest.warns(UnknownCategoryWarning, match=r"column 'town': 'z' \(4000x\)"):
        model.predict(both(frame))


def test_chunks_made_later_are_made_each_time():
    made = []
    later = Later([1, 2, 3], lambda chunk: made.append(chunk) or chunk * 10)
    assert len(later) == 3
    assert made == []
    assert list(later[1:]) == [20, 30]
    assert made == [2, 3]


# ------------------------------------------------------------------------------------------------- in how much memory

PROGRAM = """
import json, re, sys, threading, time
import halfseen as hs

def own_memory():
    with open("/proc/self/status") as file:
        return 1024 * int(re.search(r"RssAnon:\\s+(\\d+)", file.read())[1])

def fit(path):
    options = dict(n_init=1, max_iter=4, random_state=0, stop="iterations")
    return hs.LatentClass(2, **options).fit(hs.open_table(path, memory=int(sys.argv[3])))

fit(sys.argv[1])  # a small one: libraries are loaded, pools are warm
before, peak, done = own_memory(), [0], threading.Event()

def watch():
    while not done.wait(0.005):
        peak[0] = max(peak[0], own_memory())

watcher = threading.Thread(target=watch)
watcher.start()
try:
    model = fit(sys.argv[2])
finally:
    done.set()
    watcher.join()
print(json.dumps({"peak": peak[0] - before, "loglik": model.loglik_, "mean": model.params_["x0"]["mean"].tolist()}))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory of a process is read from /proc")
def test_a_table_larger_than_its_memory_is_fitted_in_it(tmp_path):
    """72 MB of numbers, fitted with 16 MB for the table: what the process holds stays under 36 MB all the time."""
    rng = np.random.default_rng(0)
    n, d = 300_000, 30
    X = rng.normal(size=(n, d)) + 3 * rng.integers(0, 2, n)[:, None]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])
    frame.to_parquet(tmp_path / "large.parquet", row_group_size=10_000, compression=None)
    frame.head(1000).to_parquet(tmp_path / "small.parquet")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "small.parquet"), str(tmp_path / "large.parquet")]
    done = subprocess.run([*command, "16000000"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    model = hs.LatentClass(2, n_init=1, max_iter=4, random_state=0, stop="iterations").fit(frame)
    assert found["loglik"] == model.loglik_
    assert found["mean"] == model.params_["x0"]["mean"].tolist()
    assert found["peak"] < X.nbytes / 2


# ------------------------------------------------------------------------------------------------- by several threads


def written(frame, path):
    """The frame as a file of the format that the suffix names."""
    if path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=2000)
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
@pytest.mark.parametrize("family", [hs.LatentClass, hs.GaussianMixture])
def test_a_fit_has_the_same_bits_for_any_threads_memory_and_format(family, suffix, tmp_path, monkeypatch):
    monkeypatch.setattr("halfseen.data.stream.LEAST", 700)
    monkeypatch.setattr("halfseen.data.stream.OF_WORKER", 1000)
    frame = mixed()[["x", "y"]] if family is hs.GaussianMixture else mixed()
    path = written(frame, tmp_path / f"t{suffix}")
    options = {"random_state": 0, "n_init": 2, "max_iter": 5, "stop": "iterations"}
    whole = family(2, **options).fit(open_table(path))
    for n_jobs, memory in [(1, SMALL), (2, SMALL), (5, 3 * SMALL), (None, SMALL)]:
        streamed = family(2, n_jobs=n_jobs, **options).fit(open_table(path, memory=memory))
        assert streamed.loglik_ == whole.loglik_
        np.testing.assert_array_equal(streamed.weights_, whole.weights_)
        np.testing.assert_array_equal(streamed.trace_, whole.trace_)


@pytest.mark.parametrize(
    ("column", "last"),
    [
        ("town", "zz"),  # a category that the first rows do not have
        ("k", 99),
        ("same", 2.5),  # constant in the first rows
        ("late", "b"),  # empty in the first rows
        ("code", "n.a."),  # texts that are numbers, but for the last
    ],
)
def test_columns_that_the_first_rows_do_not_show_are_learned_from_all(column, last, both):
    frame = mixed()
    frame["same"], frame["late"] = 1.5, None
    frame["code"] = np.arange(len(frame)).astype(str)
    frame["code"] = "c" + frame["code"].str[-1]
    frame.loc[len(frame) - 1, column] = last
    options = {"random_state": 0, "n_init": 1, "max_iter": 3, "stop": "iterations"}
    whole = hs.LatentClass(2, **options).fit(frame)
    streamed = hs.LatentClass(2, **options).fit(both(frame))
    assert streamed.loglik_ == whole.loglik_
    assert streamed._schema == whole._schema


def test_a_table_is_read_once_if_its_first_rows_show_its_columns(both, monkeypatch):
    scans = []
    original = StreamSource.batches

    def batches(self):
        for batch in original(self):
            scans.append(batch.n_rows)
            yield batch

    frame = mixed()
    table = both(frame)
    monkeypatch.setattr(StreamSource, "batches", batches)
    hs.LatentClass(2, random_state=0, n_init=1, max_iter=2, stop="iterations").fit(table)
    assert sum(scans[1:]) == len(frame)  # the first batch is that of the head


def test_columns_that_are_settled_are_not_read_again(both):
    source = read(both(mixed()))
    asked = []
    original = source._scan.batches
    source._scan.batches = lambda names, *rest: (asked.append(list(names)), original(names, *rest))[1]
    assert Schema.learn(source) == Schema.learn(read(mixed()))
    assert asked == [["x", "y", "town", "k", "yes"], ["town", "k", "yes"]]


def test_the_first_error_is_raised_whichever_thread_is_first(both, monkeypatch):
    monkeypatch.setattr("halfseen.data.stream.OF_WORKER", 1000)
    frame = mixed()
    frame.loc[[5000, 7900], "x"] = np.inf
    for n_jobs in (1, 4):
        with pytest.raises(DataError, match=r"in rows 4\d\d\d to 5\d\d\d .*row \d+ is inf \(1 in this column\)"):
            hs.LatentClass(2, n_jobs=n_jobs).fit(both(frame))


def test_rows_of_weight_0_are_left_out_as_they_are_dealt(both):
    frame = mixed()
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], len(frame))
    source = read(both(frame))
    schema = Schema.learn(source)
    assert_same(schema.gather(source, weight), schema.gather(read(frame), weight))


def test_the_space_of_a_bucket_is_free_once_it_is_merged(monkeypatch):
    """Rows take their space on disk about once."""
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(20_000, 4))
    with Buckets([np.empty((0, 4))], len(cells), SMALL) as buckets:
        buckets.add(buckets.deal([cells], rng.integers(0, 1 << 63, len(cells)).astype(np.uint64) << np.uint64(1)))
        still_open = []

        def merge(arrays):
            still_open.append(sum(not file.closed for file in buckets._files))
            return arrays

        [merged] = buckets.merged(merge)
    assert buckets.n_buckets == 256
    assert (still_open[0], still_open[-1]) == (15, 0)
    np.testing.assert_array_equal(np.sort(merged, axis=0), np.sort(cells, axis=0))
