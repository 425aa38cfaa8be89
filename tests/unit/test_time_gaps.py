"""Steps that sequences leave out are noted: rows are neighbours for the model, however far apart their times are."""

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.data.sequences import Cut
from halfseen.families.hmm.time_gaps import skipped_steps


def without(times, *rows):
    return np.delete(np.asarray(times), rows)


YEARS = pd.date_range("1950-01-01", periods=30, freq="YS").to_numpy()
MONTHS = pd.date_range("2020-01-31", periods=30, freq="ME").to_numpy()
WORKING = pd.bdate_range("2024-01-01", periods=60).to_numpy()
HOURS = pd.date_range("2024-03-01", periods=30, freq="h").to_numpy()


@pytest.mark.parametrize(
    ("times", "n_skipped"),
    [
        (YEARS, 0),
        (without(YEARS, 5, 6, 20), 3),
        (without(MONTHS, 5), 1),
        (without(HOURS, 5), 1),
        (without(WORKING, 7), 0),  # a holiday
        (without(WORKING, 7, 8, 9), 3),
        (without(np.arange(30) * 0.1, 4, 9), 2),
        (np.cumsum(np.random.default_rng(0).exponential(size=30)), 0),
        (np.arange(0, 30) ** 2, 0),
        (np.array([1, 2, 9]), 0),  # too few to say
        (np.array(["b", "a", "c", "d", "e", "f"]), 0),
    ],
)
def test_regular_times_with_gaps(times, n_skipped):
    notes = skipped_steps(Cut(np.array([len(times)]), times=times))
    assert [note.split(" step")[0] for note in notes] == ([f"times: {n_skipped}"] if n_skipped else [])


def test_the_gap_is_named_in_its_sequence_and_a_fit_notes_it():
    times = np.concatenate([np.arange(12), without(np.arange(12), 6, 7)])
    notes = skipped_steps(Cut(np.array([12, 10]), times=times))
    assert "2 steps are left out, the first between 5 and 8," in notes[0]
    frame = pd.DataFrame({"who": [0] * 12 + [1] * 10, "hour": times, "x": np.sin(times)})
    fit = hs.HMM(2, n_init=1, random_state=0).fit(frame, groups="who", time="hour")
    assert notes[0] in fit.events_
    whole = hs.HMM(2, n_init=1, random_state=0).fit(frame[:12], groups="who", time="hour")
    assert not any("left out" in event for event in whole.events_)
