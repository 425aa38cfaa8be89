"""plot_timeline: a sequence and its states along time."""

import sys

import numpy as np
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
