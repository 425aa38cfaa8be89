"""A watched call: the same result, a curve that climbs while it runs, stops, and what is said outside of notebooks."""

import signal
import sys
import threading
import types
from itertools import pairwise

import ipywidgets
import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.engine.services.progress import Draws, report_draws
from halfseen.errors import DataError, InterruptedWarning, ParameterError
from halfseen.studio import watch as module
from halfseen.studio.display import display
from tests.studio.bridged import Comm


@pytest.fixture(scope="module")
def table():
    return hs.load_penguins()


@pytest.fixture
def notebook(monkeypatch):
    """A notebook that keeps the widgets that it shows."""
    shown = []
    monkeypatch.setattr(ipywidgets.comm, "create_comm", lambda **given: Comm(**given))
    monkeypatch.setattr(module, "display", lambda: shown.append)
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(module, "SHARE", 0.0)
    return shown


def told(widget):
    """Everything that a page was told of the fit, in order."""
    found = [data["state"] for _, data, _ in widget.comm.sent]
    return [state["told"] for state in found if "told" in state]


def test_the_result_is_that_of_the_call(notebook, table):
    model = hs.watch(hs.LatentClass(3, random_state=0).fit, table)
    plain = hs.LatentClass(3, random_state=0).fit(table)
    assert model.loglik_ == plain.loglik_
    assert hs.watch(sorted, [2, 1], reverse=True) == [2, 1]
    assert [widget.told["ended"] for widget in notebook] == ["done", "done"]
    assert notebook[0].told["outcome"].startswith("log-likelihood")
    assert notebook[1].told["outcome"] == "Done"


def test_curves_climb_while_it_runs(notebook, table):
    hs.watch(hs.LatentClass(3, random_state=0, n_init=5).fit, table)
    [widget] = notebook
    states = [state for state in told(widget) if state["run"] is not None]
    running = [state for state in states if state["ended"] is None]
    assert len(running) >= 3
    for before, after in pairwise(states):
        for start, curve in before["run"]["curves"].items():
            values = after["run"]["curves"][start]["values"]
            assert values[: len(curve["values"])] == curve["values"]  # what was told stays so
            assert (np.diff(values) >= -1e-9).all()
    last = states[-1]["run"]["curves"]
    assert len(last) == 5
    assert [curve["state"] for curve in last.values()].count("best") == 1
    assert len(states[-1]["run"]["seen"]["shares"]) == 3
    assert states[-1]["component"] == ["class", "classes"]


def test_all_numbers_of_classes_are_kept(notebook, table):
    hs.watch(hs.LatentClass(range(1, 4), random_state=0, n_init=2).fit, table)
    [widget] = notebook
    assert [run["progress"]["n_components"] for run in widget.earlier] == [1, 2]
    assert widget.told["run"]["progress"]["n_components"] == 3
    assert all(run["curves"] for run in widget.earlier)


def test_a_short_search_between_two_looks_is_told(notebook, table, monkeypatch):
    monkeypatch.setattr(module, "PAUSE", 1e9)
    hs.watch(hs.LatentClass(range(1, 6), random_state=0, n_init=2).fit, table)
    [widget] = notebook
    told = [*widget.earlier, widget.told["run"]]
    assert [run["progress"]["n_components"] for run in told] == [1, 2, 3, 4, 5]
    assert all(len(curve["values"]) > 1 for run in told[1:] for curve in run["curves"].values())


def test_long_curves_are_thinned_and_keep_their_ends():
    run = module._Run(0)
    for start in range(64):
        curve = {"values": [float(n) for n in range(5000)], "state": "running"}
        run.add({"search": 0, "seen": None, "curves": {str(start): curve}})
    plain = run.plain()["curves"]
    assert sum(len(curve["values"]) for curve in plain.values()) < 1.2 * module.MOST_POINTS
    assert plain["7"]["at"][0] == plain["7"]["values"][0] == 0
    assert plain["7"]["at"][-1] == plain["7"]["values"][-1] == 4999


def slow(seed=0):
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(20_000, 6)))


def press_stop(widget):
    """Press Stop on the page of a widget, from a thread, once the fit runs."""

    def press():
        with widget.comm.heard:
            while not any("told" in data["state"] and data["state"]["told"]["run"] for _, data, _ in widget.comm.sent):
                widget.comm.heard.wait(30)
        message = {"content": {"data": {"method": "custom", "content": {"stop": True}}}, "buffers": []}
        widget._handle_msg(message)

    thread = threading.Thread(target=press)
    thread.start()
    return thread


def test_stop_keeps_the_best(notebook, monkeypatch):
    threads = []
    monkeypatch.setattr(
        module, "display", lambda: lambda widget: (notebook.append(widget), threads.append(press_stop(widget)))
    )
    with pytest.warns(InterruptedWarning, match="the best model so far is kept"):
        model = hs.watch(hs.GaussianMixture(6, n_init=40, tol=1e-12, random_state=0).fit, slow())
    threads[0].join()
    assert model.stop_reason_ == "interrupted"
    [widget] = notebook
    assert widget.told["stopping"]
    assert widget.told["ended"] == "stopped"
    assert widget.told["outcome"].startswith("Interrupted after")


def test_an_interrupt_keeps_the_best(notebook):
    seen = []

    def interrupt(widget):
        widget.observe(lambda change: seen.append(1) or (len(seen) == 3 and signal.raise_signal(signal.SIGINT)), "told")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "display", lambda: lambda widget: (notebook.append(widget), interrupt(widget)))
        with pytest.warns(InterruptedWarning):
            model = hs.watch(hs.GaussianMixture(6, n_init=40, tol=1e-12, random_state=0).fit, slow())
    assert model.stop_reason_ == "interrupted"
    assert notebook[0].told["ended"] == "stopped"


def test_a_fit_that_fails_says_so_and_raises(notebook):
    with pytest.raises(DataError, match="infinity"):
        hs.watch(hs.LatentClass(2).fit, pd.DataFrame({"a": [1.0, np.inf]}))
    assert notebook[0].told["ended"] == "failed"
    assert "infinity" in notebook[0].told["outcome"]

    def nothing():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hs.watch(nothing)
    assert notebook[1].told["outcome"] == "Stopped before there was a model."


def test_draws_are_counted(notebook):
    def draw():
        for done in range(1, 4):
            report_draws("bootstrap", done, 3)
        return "drawn"

    assert hs.watch(draw) == "drawn"
    assert [state["draws"]["done"] for state in told(notebook[0]) if state["draws"]][:3] == [1, 2, 3]
    assert Draws("x", 1, 2).wanted == 2


def test_a_page_that_is_gone_ends_no_fit(notebook, table, monkeypatch):
    model = hs.LatentClass(2, random_state=0)

    def gone(*given, **more):
        raise RuntimeError("closed")

    monkeypatch.setattr(module, "display", lambda: lambda widget: monkeypatch.setattr(widget.comm, "send", gone))
    assert hs.watch(model.fit, table) is model


def test_keywords_arrays_and_lists_of_sequences(notebook):
    rng = np.random.default_rng(0)
    assert hs.watch(hs.GaussianMixture(2, random_state=0).fit, X=rng.normal(size=(60, 2))).n_components_ == 2
    parts = [rng.normal(size=(20, 1)), rng.normal(size=(30, 1))]
    assert hs.watch(hs.HMM(2, random_state=0).fit, parts).n_components_ == 2
    assert notebook[1].told["component"] == ["state", "states"]


def test_without_a_notebook_nothing_is_shown(table, capsys):
    model = hs.watch(hs.LatentClass(2, random_state=0).fit, table)
    assert model.n_components_ == 2
    assert capsys.readouterr() == ("", "")


def test_a_terminal_has_a_line(table, monkeypatch):
    written = []

    class Terminal:
        isatty = staticmethod(lambda: True)
        fileno = staticmethod(lambda: 99)
        flush = staticmethod(lambda: None)
        write = staticmethod(written.append)

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    said = []
    monkeypatch.setattr(module.status_line, "say", lambda *parts: said.append(parts))
    hs.watch(hs.LatentClass(2, random_state=0).fit, table)
    assert any("fitting" in text for text in written)
    assert written[-1] == module.status_line.CLEAR  # it leaves nothing behind
    assert said[0][0] == "2 classes"


def test_without_the_extra_it_fits_and_says_what_for(notebook, table, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    model = hs.watch(hs.LatentClass(2, random_state=0).fit, table)
    assert model.n_components_ == 2
    said = capsys.readouterr().err
    assert "no live curve; the fit itself runs without it" in said
    assert 'pip install "halfseen[notebook]"' in said
    assert notebook == []


def test_a_call_that_was_made_already_is_refused(table):
    model = hs.LatentClass(2, random_state=0).fit(table)
    with pytest.raises(ParameterError, match=r"LatentClass cannot be called.*hs.watch\(model.fit, X\)"):
        hs.watch(model)


def test_where_a_widget_can_be_shown(monkeypatch):
    assert display() is None
    kernel, terminal = types.SimpleNamespace(kernel=object()), types.SimpleNamespace()
    ipython = types.ModuleType("IPython")
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    ipython.get_ipython = lambda: terminal
    assert display() is None
    shows = types.ModuleType("IPython.display")
    shows.display = print
    monkeypatch.setitem(sys.modules, "IPython.display", shows)
    ipython.get_ipython = lambda: kernel
    assert display() is print
    marimo = types.SimpleNamespace(running_in_notebook=lambda: True, output=types.SimpleNamespace(append=repr))
    monkeypatch.setitem(sys.modules, "marimo", marimo)
    assert display() is repr
    marimo.running_in_notebook = lambda: False
    assert display() is print
