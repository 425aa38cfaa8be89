"""Plots of sequences and their states along time, and of transitions."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import halfseen as hs
from halfseen.errors import ParameterError


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def axes():
    return pytest.importorskip("matplotlib.figure").Figure().subplots()


def pump():
    return hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"heat": {"mean": [0, 5], "sd": [1, 1]}})


def test_colours_are_the_probabilities_of_states(pyplot):
    model, X = pump(), np.array([[0.1], [0.4], [5.2], [np.nan], [0.3]])
    ax = hs.plot_timeline(model, X)
    first, second = ax.patches
    resp = model.predict_proba(X)
    assert_allclose(first.get_data().values, resp[:, 0])
    assert_allclose(second.get_data().values, 1.0)
    assert_allclose(second.get_data().baseline, resp[:, 0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["state 0", "state 1"]
    [beside] = [other for other in ax.figure.axes if other is not ax]
    assert beside.get_ylabel() == "heat"
    assert_allclose(beside.lines[0].get_ydata(), X[:, 0])
    path = model.predict(X)
    assert ax.lines[1].get_xdata().tolist() == np.flatnonzero(path == 1).tolist()


def test_one_of_several_sequences_on_given_axes(pyplot):
    _, own = pyplot.subplots()
    ax = hs.plot_timeline(pump(), [np.zeros(4), np.full(7, 5.0)], sequence=1, ax=own)
    assert ax is own
    assert ax.get_xlim() == (-0.5, 6.5)


def test_categories_have_no_line(pyplot):
    model = hs.HMM.from_params([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], {"x": {"a": [0.9, 0.2], "b": [0.1, 0.8]}})
    ax = hs.plot_timeline(model, ["a", "b", "b"])
    assert len(ax.figure.axes) == 1


def test_what_cannot_be_drawn_is_refused(pyplot):
    with pytest.raises(ParameterError, match="sequence=2: there are 1"):
        hs.plot_timeline(pump(), np.zeros(3), sequence=2)
    with pytest.raises(ParameterError, match="column='cold' is not a column of numbers"):
        hs.plot_timeline(pump(), np.zeros(3), column="cold")
    with pytest.raises(ParameterError, match="draws a fitted HMM, got LatentClass"):
        hs.plot_timeline(hs.LatentClass(2), np.zeros(3))


def test_without_matplotlib_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'plot_timeline needs matplotlib.*pip install "halfseen\[app\]"'):
        hs.plot_timeline(pump(), np.zeros(3))


def cities():
    days = pd.date_range("2024-01-30", periods=4)
    late = pd.date_range("2024-03-01", periods=2)
    rows = {"heat": [0.1, 0.2, 5.1, 4.9, 5.0, np.nan], "city": ["Oslo"] * 4 + ["Lima"] * 2, "day": [*days, *late]}
    return pd.DataFrame(rows)


def test_dates_are_on_the_axis_and_a_sequence_is_chosen_by_name():
    matplotlib = pytest.importorskip("matplotlib")
    ax = hs.plot_timeline(pump(), cities(), groups="city", time="day", sequence="Lima", ax=axes())
    assert (ax.get_title(), ax.get_xlabel()) == ("Lima", "day")
    first, last = matplotlib.dates.num2date(ax.get_xlim())
    assert (first.day, first.month, last.month) == (29, 2, 3)
    ax.figure.canvas.draw()
    assert any("2024" in text or "Mar" in text for text in [label.get_text() for label in ax.get_xticklabels()])
    text = cities().assign(day=lambda table: table["day"].astype(str))
    assert_allclose(
        hs.plot_timeline(pump(), text, groups="city", time="day", sequence=1, ax=axes()).get_xlim(), ax.get_xlim()
    )


def test_numbers_of_patients_are_names():
    table = cities().assign(city=[7, 7, 7, 7, 0, 0])
    ax = hs.plot_timeline(pump(), table, groups="city", time="day", sequence=0, ax=axes())
    assert ax.get_title() == "0"
    with pytest.raises(ParameterError, match=r"sequence='Rome': there are 2 sequences.*Names: Oslo, Lima"):
        hs.plot_timeline(pump(), cities(), groups="city", time="day", sequence="Rome")


def test_paths_begin_where_their_times_begin():
    ax = hs.plot_paths(pump(), cities(), groups="city", time="day", ax=axes())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Oslo", "Lima"]
    bars = [part.get_paths() for part in ax.collections]  # state 0 of both, then state 1 of both
    begins = [min(path.vertices[:, 0].min() for path in paths) if paths else None for paths in bars]
    assert begins[1] is None  # Lima is never in state 0
    assert begins[3] - begins[0] == 31  # from January 30 to March 1
    assert ax.get_xlabel() == "day"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["state 0", "state 1"]


def test_paths_of_many_sequences_say_how_many_are_left_out():
    ax = hs.plot_paths(pump(), [np.zeros(3)] * 25, ax=axes())
    assert len(ax.get_yticklabels()) == 20
    assert ax.get_ylabel() == "sequence (5 more not shown)"
    assert ax.get_xlabel() == "step"
    assert len(hs.plot_paths(pump(), [np.zeros(3)] * 25, sequences=[3, 4], ax=axes()).get_yticklabels()) == 2


def test_transitions_are_a_table_of_probabilities():
    ax = hs.plot_transitions(pump(), axes())
    assert [text.get_text() for text in ax.texts] == ["90%", "10%", "20%", "80%"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["state 0 (10)", "state 1 (5)"]
