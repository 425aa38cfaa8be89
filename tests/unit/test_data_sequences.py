"""Sequences: every form of input, chunks of whole sequences, answers in the form of the question."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from halfseen.data import Schema, Sequences, read_sequences, rows_of
from halfseen.errors import DataError, ParameterError


def frame(library):
    return library.DataFrame(
        {"who": ["b", "a", "b", "a", "b"], "when": [3, 1, 1, 2, 2], "x": [0.3, 1.1, 0.1, 1.2, 0.2]}
    )


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_columns_of_group_and_time_order_the_rows_and_are_no_features(library):
    source, cut = read_sequences(frame(library), groups="who", time="when")
    assert source.names == ("x",)
    assert source.column(0).values.tolist() == [0.1, 0.2, 0.3, 1.1, 1.2]
    assert cut.lengths.tolist() == [3, 2]
    assert cut.names == ("b", "a")
    assert cut.name(1) == "sequence 1 ('a')"
    assert cut.back(np.array([10, 20, 30, 40, 50])).tolist() == [30, 40, 10, 50, 20]


def test_dates_are_times():
    days = [datetime.date(2024, 3, d) for d in (3, 1, 2)]
    source, _ = read_sequences(pd.DataFrame({"day": pd.to_datetime(days), "x": [3.5, 1.5, 2.5]}), time="day")
    assert source.column(0).values.tolist() == [1.5, 2.5, 3.5]
    with pytest.raises(DataError, match="time: row 1 is missing"):
        read_sequences(pd.DataFrame({"day": pd.to_datetime([days[0], None]), "x": [1.5, 2.5]}), time="day")


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_a_list_of_frames_keeps_names_and_kinds(library):
    parts = [library.DataFrame({"x": [1.5, 2.5], "c": ["u", "v"]}), library.DataFrame({"x": [3.5], "c": ["u"]})]
    source, cut = read_sequences(parts)
    assert source.named
    assert Schema.learn(source).blocks == {"gaussian": (0,), "categorical": (1,)}
    first, second = cut.back(np.arange(3))
    assert (first.tolist(), second.tolist()) == ([0, 1], [2])


def test_nested_lists_are_sequences_and_flat_ones_are_rows():
    assert read_sequences([[[1.5], [2.5]], [[3.5]]])[1].lengths.tolist() == [2, 1]
    assert read_sequences([[1.5], [2.5], [3.5]])[1].lengths.tolist() == [3]
    assert read_sequences(["a", "b"])[0].n_rows == 2


def test_labels_of_a_list_are_stacked():
    _, cut = read_sequences([np.zeros(2), np.zeros(1)])
    assert cut.stacked([["u", None], None]) == ["u", None, None]
    assert cut.stacked([np.ones((2, 3)), np.ones((1, 3))]).shape == (3, 3)
    with pytest.raises(DataError, match="1 parts, but X has 2 sequences"):
        cut.stacked([["u", None]])


def test_evidence_of_some_sequences_of_a_list():
    _, cut = read_sequences([np.zeros(2), np.zeros(3)])
    stacked = cut.stacked([np.array([[1.0, 0.0], [0.0, 1.0]]), None])
    assert stacked.tolist() == [[1, 0], [0, 1], [1, 1], [1, 1], [1, 1]]


def test_groups_of_several_types_and_times_without_an_order():
    _, cut = read_sequences(np.zeros(4), groups=np.array(["b", 1, "b", 1], dtype=object), time=[2, 1, 1, 2])
    assert cut.names == ("b", 1)
    assert cut.order.tolist() == [2, 0, 1, 3]
    with pytest.raises(DataError, match=r"time: its values cannot be sorted .* one type"):
        read_sequences(np.zeros(2), time=np.array(["b", 1], dtype=object))


def test_chunks_hold_whole_sequences():
    source, cut = read_sequences(np.arange(40.0), lengths=[3, 20, 1, 1, 15])
    found = Sequences.of(Schema.learn(source).encode(source), cut.lengths, np.array([1.0, 2.0, 1.0, 1.0, 0.5]))
    for size in (1, 4, 10, 25, None):
        chunks = found.chunks(size)
        assert np.concatenate([chunk.blocks.lengths for chunk in chunks]).tolist() == cut.lengths.tolist()
        assert all(len(chunk.blocks["gaussian"]) == chunk.blocks.lengths.sum() for chunk in chunks)
        assert [chunk.first for chunk in chunks] == np.cumsum([0, *(len(c.weight) for c in chunks[:-1])]).tolist()
        if size is not None:
            assert all(len(chunk.weight) == 1 or chunk.blocks.lengths.sum() <= size for chunk in chunks)
    assert found.steps.weight[3] == 2.0
    some = found.take([4, 0])
    assert some.blocks["gaussian"][:, 0].tolist() == [*range(25, 40), 0, 1, 2]
    assert some.weight.tolist() == [0.5, 1.0]


def test_observed_steps_are_counted_by_weight():
    X = np.array([[1.5, np.nan], [np.nan, np.nan], [2.5, 3.0], [np.nan, 1.0]])
    source, cut = read_sequences(X, lengths=[2, 2])
    kinds = {"x0": "gaussian", "x1": "categorical"}
    found = Sequences.of(Schema.learn(source, kinds).encode(source), cut.lengths, np.array([1.0, 3.0]))
    assert found.n_observed == 7.0


def test_rows_of_chosen_sequences():
    assert rows_of(np.array([2, 3, 1]), np.array([], dtype=np.int64)).tolist() == []
    assert rows_of(np.array([2, 3, 1]), np.array([1, 1])).tolist() == [2, 3, 4, 2, 3, 4]


def test_forms_that_contradict_each_other_are_refused():
    with pytest.raises(ParameterError, match="groups= does not apply to a list of sequences"):
        read_sequences([np.zeros(2)], groups=[0, 0])
    with pytest.raises(ParameterError, match="groups='who' is no column of X"):
        read_sequences(np.zeros((2, 1)), groups="who")
    with pytest.raises(DataError, match="sequence 1 has 0 steps"):
        read_sequences([np.zeros(2), np.zeros(0)])
