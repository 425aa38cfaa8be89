"""Sequences of files that do not fit into memory: the same bits as of sequences in memory."""

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.data import open_table
from halfseen.data.schema import Schema
from halfseen.data.sequence_stream import UnsortedSteps, _keys, read_large_sequences
from halfseen.data.sequences import Sequences, read_sequences
from halfseen.data.stream import StreamSource
from halfseen.errors import DataError, ParameterError

SMALL = 40_000  # bytes
OPTIONS = {"random_state": 0, "n_init": 2, "max_iter": 4, "stop": "iterations"}


def visits(n=6000, seed=0):
    """Steps of 60 patients with missing cells, in no order."""
    rng = np.random.default_rng(seed)
    who = rng.integers(0, 60, n)
    frame = pd.DataFrame(
        {
            "who": np.array([f"p{i}" for i in range(60)], dtype=object)[who],
            "when": rng.permutation(n) - 2500.0,
            "x": rng.normal(size=n) + 3 * (who % 2),
            "y": rng.normal(size=n),
            "mood": np.array(["low", "mid", "high"], dtype=object)[rng.integers(0, 3, n)],
        }
    )
    frame.loc[rng.random(n) < 0.1, ["x", "mood"]] = None
    return frame


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr("halfseen.data.stream.LEAST", 500)
    monkeypatch.setattr("halfseen.data.stream.OF_WORKER", 1000)


def written(frame, path):
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False, row_group_size=1000)
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("order", ["mixed", "sorted", "sorted by time only"])
@pytest.mark.parametrize("emission", ["auto", "gaussian"])
def test_a_fit_has_the_same_bits_as_in_memory(tmp_path, suffix, order, emission):
    frame = visits()
    if order != "mixed":
        frame = frame.sort_values(["who", "when"] if order == "sorted" else "when")
    if emission == "gaussian":
        frame = frame.drop(columns="mood")
    path = written(frame, tmp_path / f"t{suffix}")
    marks = {"groups": "who", "time": "when"}
    whole = hs.HMM(2, emission, **OPTIONS).fit(open_table(path), **marks)
    for n_jobs, memory in ((1, SMALL), (3, SMALL), (None, 2 * SMALL)):
        table = open_table(path, memory=memory)
        source = read_large_sequences(table, None, "who", "when")[0]
        assert type(source) is (StreamSource if order == "sorted" else UnsortedSteps)
        streamed = hs.HMM(2, emission, n_jobs=n_jobs, **OPTIONS).fit(table, **marks)
        assert streamed.loglik_ == whole.loglik_
        np.testing.assert_array_equal(streamed.transmat_, whole.transmat_)
        np.testing.assert_array_equal(streamed.trace_, whole.trace_)
        assert streamed._origin.fingerprint == whole._origin.fingerprint
        assert streamed.bic(unit="sequences") == whole.bic(unit="sequences")


@pytest.mark.parametrize("kind", ["numbers", "dates", "texts", "none"])
def test_steps_are_sorted_by_any_time(tmp_path, kind):
    frame = visits().drop(columns=["mood"])
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(frame["when"], unit="D")
    if kind == "dates":
        frame["when"] = days
    elif kind == "texts":
        frame["when"] = days.dt.strftime("%Y-%m-%d").astype(object)
    elif kind == "none":
        frame = frame.drop(columns="when")
    time = None if kind == "none" else "when"
    path = written(frame, tmp_path / "t.parquet")
    source, cut = read_large_sequences(open_table(path, memory=SMALL), None, "who", time)
    assert isinstance(source, UnsortedSteps)
    plain, known = read_sequences(open_table(path), None, "who", time)
    schema = Schema.learn(plain)
    assert Schema.learn(source) == schema
    assert (cut.names, cut.lengths.tolist()) == (known.names, known.lengths.tolist())
    np.testing.assert_array_equal(source.steps(schema).blocks["gaussian"], schema.encode(plain).blocks["gaussian"])


def test_sequences_are_put_in_order_outside_memory(tmp_path):
    path = written(visits(), tmp_path / "t.parquet")
    source, cut = read_large_sequences(open_table(path, memory=SMALL), None, "who", "when")
    plain, known = read_sequences(open_table(path), None, "who", "when")
    schema = Schema.learn(plain)
    weight = np.random.default_rng(0).choice([0.5, 2.0], 60)
    spilled = Sequences.of(source.steps(schema), cut.lengths, weight).canonical()
    whole = Sequences.of(schema.encode(plain), known.lengths, weight).canonical()
    assert spilled.steps.memory_limit == SMALL
    for name in schema.blocks:
        np.testing.assert_array_equal(spilled.blocks[name], whole.blocks[name])
    np.testing.assert_array_equal(spilled.steps.weight, whole.steps.weight)
    np.testing.assert_array_equal(spilled.lengths, whole.lengths)


def test_keys_are_in_the_order_of_numbers():
    numbers = np.array([-np.inf, -2.5, -1e-300, -0.0, 0.0, 1e-300, 1.0, 7.5])
    keys = _keys(numbers, {})
    assert (np.diff(keys)[[0, 1, 2, 4, 5, 6]] > 0).all()
    assert keys[3] == keys[4]


@pytest.mark.parametrize(("column", "words"), [("who", "groups: row 5000 is missing"), ("when", "time: row 5000 is")])
def test_rows_without_a_sequence_or_a_time_are_named(tmp_path, column, words):
    frame = visits()
    frame.loc[5000, column] = None
    table = open_table(written(frame, tmp_path / "t.parquet"), memory=SMALL)
    with pytest.raises(DataError, match=words):
        hs.HMM(2, "auto").fit(table, groups="who", time="when")


def test_two_steps_at_one_time_are_named(tmp_path):
    frame = visits()
    first, second = np.flatnonzero(frame["who"] == "p7")[[3, 40]]
    frame.loc[second, "when"] = frame.loc[first, "when"]
    table = open_table(written(frame, tmp_path / "t.parquet"), memory=SMALL)
    with pytest.raises(DataError, match=f"time: rows {first} and {second} of sequence 'p7' are at the same time"):
        hs.HMM(2, "auto").fit(table, groups="who", time="when")


def test_what_needs_all_rows_in_memory_is_refused(tmp_path):
    table = open_table(written(visits(), tmp_path / "t.parquet"), memory=SMALL)
    for options, words in [
        ({"labels": [None] * 6000}, "labels: the table does not fit into memory"),
        ({"sample_weight": [0.0] + [1.0] * 59}, "sample_weight: sequences of weight 0"),
        ({"groups": np.zeros(6000)}, "groups: of a table that does not fit into memory"),
    ]:
        with pytest.raises(ParameterError, match=words):
            hs.HMM(2, "auto").fit(table, **{"groups": "who", "time": "when"} | options)
