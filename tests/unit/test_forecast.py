"""Forecasts as tables: names of sequences, times of the steps ahead."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.data import Cut
from halfseen.families.hmm.forecast import times_ahead


def model():
    columns = {"x": {"mean": [0, 5], "sd": [1, 1]}, "c": {"a": [0.9, 0.2], "b": [0.1, 0.8]}}
    return hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], columns)


def frame():
    days = pd.date_range("2026-01-05", periods=3)
    return pd.DataFrame(
        {
            "x": [0.1, 0.2, -0.3, 5.1, 4.8, 5.2],
            "c": ["a", "a", "a", "b", "b", None],
            "who": ["ann"] * 3 + ["bob"] * 3,
            "day": [*days, *days],
        }
    )


def test_a_frame_has_names_times_and_every_number():
    found = model().forecast(frame(), steps=2, groups="who", time="day")
    table = found.to_frame()
    assert list(table.columns) == ["sequence", "step", "time", "state 0", "state 1", "x mean", "x sd", "c=a", "c=b"]
    assert table["sequence"].tolist() == ["ann", "ann", "bob", "bob"]
    assert table["time"].tolist() == list(pd.to_datetime(["2026-01-08", "2026-01-09"])) * 2
    assert_allclose(table["state 1"], found.states[:, :, 1].ravel())
    assert_allclose(table["x sd"], found.observations["x"]["sd"].ravel())


def test_it_prints_as_a_table():
    lines = str(model().forecast(frame(), steps=2, groups="who", time="day")).splitlines()
    assert lines[0].split() == ["sequence", "step", "time", "state", "0", "state", "1", "x", "c=a", "c=b"]
    assert lines[1].split() == ["ann", "1", "2026-01-08", "90%", "10%", "0.5", "±", "1.8", "83%", "17%"]
    assert len(lines) == 5
    assert len(set(map(len, lines))) == 1
    assert "object at" not in repr(model().forecast(frame()[["x", "c"]]))


def test_a_long_one_is_cut():
    lines = str(model().forecast(frame()[["x", "c"]], steps=30)).splitlines()
    assert len(lines) == 22
    assert lines[-1] == "... 10 more rows: to_frame() returns all"


def test_sequences_without_names_are_numbered_and_polars_stays_polars():
    table = pl.DataFrame({"x": [0.1, 0.2, 5.0]})
    fitted = hs.HMM(1, n_init=1).fit(table)
    ahead = fitted.forecast(table, lengths=[2, 1])
    assert isinstance(ahead.to_frame(), pl.DataFrame)
    assert ahead.to_frame()["sequence"].to_list() == [0, 1]
    assert "time" not in ahead.to_frame().columns


@pytest.mark.parametrize(
    ("times", "ahead"),
    [
        ([3, 5, 7], [9, 11]),
        ([0.5, 1.0, 1.5], [2.0, 2.5]),
        (["2026-01-08", "2026-01-09", "2026-01-12"], ["2026-01-13", "2026-01-14"]),  # working days
        (["2026-01-09", "2026-01-10", "2026-01-11"], ["2026-01-12", "2026-01-13"]),
        (["2025-11-15", "2025-12-15", "2026-01-15"], ["2026-02-15", "2026-03-15"]),
        (["2025-11-30", "2025-12-31", "2026-01-31"], ["2026-02-28", "2026-03-31"]),
        (["2024-01-01", "2025-01-01", "2026-01-01"], ["2027-01-01", "2028-01-01"]),
        (["2026-01-01T00:00", "2026-01-01T06:00", "2026-01-01T12:00"], ["2026-01-01T18:00", "2026-01-02T00:00"]),
        ([1, 2, 7], None),
        (["2026-01-01", "2026-01-03", "2026-01-09"], None),
        (["2026-01-29", "2026-02-28", "2026-03-29"], None),
        (["first", "second", "third"], None),
        ([1], None),
    ],
)
def test_regular_times_go_on(times, ahead):
    for values in [times, [np.datetime64(time, "ns") for time in times]] if "-" in str(times[0]) else [times]:
        found = times_ahead(Cut(np.array([len(times)]), times=np.array(values)), 2)
        if ahead is None:
            assert found is None
        elif isinstance(ahead[0], str):
            assert found[0].astype("datetime64[s]").tolist() == [np.datetime64(time, "s").item() for time in ahead]
        else:
            assert found[0].tolist() == ahead
