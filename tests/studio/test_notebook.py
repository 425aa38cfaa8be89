"""The studio in a notebook: messages in, messages out; what the user has in Python; what is said where it cannot be."""

import json
import os
import subprocess
import sys
import threading

import ipywidgets
import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.errors import ParameterError
from halfseen.studio.messages import QUESTIONS
from halfseen.studio.routes import Ask, answered, table
from tests.studio.bridged import Comm, Page


@pytest.fixture(autouse=True)
def comms(monkeypatch):
    monkeypatch.setattr(ipywidgets.comm, "create_comm", lambda **given: Comm(**given))


@pytest.fixture(scope="module")
def penguins():
    found = sys.modules["__main__"].penguins = hs.load_penguins()  # as a cell of a notebook names it
    yield found
    del sys.modules["__main__"].penguins


@pytest.fixture(scope="module")
def slow():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(20_000, 8)), columns=list("abcdefgh"))


@pytest.fixture(scope="module")
def fitted(penguins):
    return hs.LatentClass(3, random_state=0).fit(penguins)


@pytest.fixture
def page(fitted, penguins):
    widget = fitted.studio(penguins)
    yield Page(widget)
    widget.close()


def test_answers_are_those_of_the_routes(page):
    session = page.widget._session
    for path in ("state", "columns", "classes", "compare", "fit/options"):
        status, found = answered("GET", path, Ask(session, {}, {}))
        assert status == 200
        assert page.get(path) == json.loads(session.held.renamed(json.dumps(found)))
    assert page.get("rows?start=3&count=2")["rows"][0]["row"] == 3
    assert page.post("names", names=["a", "b", "c"])["components"] == ["a", "b", "c"]


def test_errors_have_their_status_and_words(page):
    assert page.request("GET", "nothing") == (404, {"error": "There is nothing to get at 'nothing'."})
    status, found = page.request("POST", "names", {"names": ["one"]})
    assert (status, "1 names for 3 classes" in found["error"]) == (422, True)
    for wrong in ({"method": "DELETE", "path": "/api/state"}, {"method": "GET", "path": "/etc/passwd"}, {"path": 3}):
        content, _ = page.ask(**wrong)
        assert content["status"] == 422
        assert "not a request" in content["text"]


def test_questions_that_are_posted_are_routes():
    assert {("POST", path) for path in QUESTIONS} <= set(table())


def test_what_is_no_message_is_dropped(page, caplog):
    for wrong in ({"method": "GET"}, {"id": 3, "method": "GET"}):
        page.send(**wrong)
    page.widget._pages.hear("text")
    assert page.get("state")["title"] == "penguins"  # it goes on
    assert caplog.text.count("a message that is none") == 3


def test_a_mistake_in_a_route_is_told_in_words(page, monkeypatch, caplog):
    def broken(*given):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(type(page.widget._session), "state", broken)
    status, found = page.request("GET", "state")
    assert (status, "Please report it" in found["error"]) == (500, True)
    assert "ZeroDivisionError: oh" in caplog.text


def test_a_fit_runs_beside_the_kernel_and_tells_how_it_goes(page):
    page.ask(after=page.get("state")["event"])
    before = len(page.events())
    page.post("spec", changes={"classes": "2..3"})
    name, ended = page.fit()
    assert (name, ended["stopped"], ended["version"]) == ("done", False, 2)
    events = page.events()[before:]
    assert [number for number, _, _ in events] == sorted({number for number, _, _ in events})  # each once, in order
    curves = [json.loads(text)["curves"] for _, event, text in events if event == "progress"]
    assert any(curves)
    assert page.widget.model.n_components_ == 3
    assert sorted(page.widget.models) == [1, 2]


def test_stop_keeps_the_best(slow):
    widget = hs.studio(slow)
    page = Page(widget)
    page.ask(after=0)
    page.post("spec", changes={"classes": "6", "options": {"restarts": "60"}})
    job = page.post("fit")["job"]
    page.until(lambda: any(name == "progress" and json.loads(text)["n_passes"] > 1 for _, name, text in page.events()))
    page.post("stop")
    page.until(lambda: page.ends(job))
    [(name, ended)] = page.ends(job)
    assert (name, ended["stopped"]) == ("done", True)
    assert widget.model.stop_reason_ == "interrupted"
    widget.close()


def test_events_that_come_while_a_page_opens_are_neither_lost_nor_doubled(page):
    events = page.widget._session.events
    first = events.newest
    ending = threading.Event()

    def publish():
        for n in range(1500):
            events.publish("note", {"text": str(n)})
            if ending.is_set() and n > 300:
                return

    thread = threading.Thread(target=publish)
    thread.start()
    try:
        content, _ = page.ask(after=first)
        second, _ = page.ask(after=first)
    finally:
        ending.set()
        thread.join()
    page.ask(ping=True)
    found = [content for content, _ in page.customs() if "events" in content]
    for answer in (content, second):  # from its answer on, a page takes what comes, and sees each event once
        taken = found[found.index(answer) :]
        numbers = [event[0] for own in taken if own.get("id") in (None, answer["id"]) for event in own["events"]]
        assert numbers == list(range(first + 1, first + 1 + len(numbers)))
        assert len(numbers) == events.newest - first


def test_files_come_beside_the_message(page):
    content, [beside] = page.ask(method="GET", path="/api/download/model", body=None)
    assert content["file"] == {"name": "penguins.halfseen", "media": "application/octet-stream"}
    assert bytes(beside) == page.widget._session.version().content
    rows = page.request("GET", "download/rows")[1].decode().splitlines()
    assert len(rows) == 345
    status, found = page.request("GET", "download/session")
    assert (status, "cannot be opened again" in found["error"]) == (422, True)


def test_the_name_of_the_table_stands_for_its_file(page):
    path = page.widget._session.held.path
    for asked in ("state", "columns", "classes", "code", "rows"):
        page.get(asked)
    page.fit()
    page.request("POST", "spec", {"changes": {"columns": {"colour": "poisson"}}})
    page.ask(after=0)
    told = json.dumps([content for content, _ in page.customs()])
    assert path.endswith("penguins.arrow")
    assert path not in told
    assert page.get("state")["title"] == "penguins"
    assert b"penguins" in page.request("GET", "download/report")[1]
    assert path.encode() not in page.request("GET", "download/report")[1]
    assert page.widget.model._origin.reading["data"] == "penguins"


def test_what_is_done_on_the_page_is_in_the_widget(page):
    page.post("names", names=["x", "y", "z"])
    page.post("labels", row=5, label="z")
    assert page.widget.labels == {5: "z"}
    page.fit("refit")
    assert page.widget.model.class_names_ == ("x", "y", "z")
    [row] = page.get("rows?start=5&count=1")["rows"]
    assert (row["class"], row["certainty"], row["label"]) == ("z", 1.0, "z")
    page.post("undo")
    page.post("undo")
    page.post("undo")
    assert page.widget.model.class_names_ == ("class 0", "class 1", "class 2")


def test_the_model_that_was_given_is_not_changed(fitted, penguins):
    before = fitted.get_params(), dict(vars(fitted))
    widget = fitted.studio(penguins)
    page = Page(widget)
    page.post("names", names=["x", "y", "z"])
    page.request("GET", "download/rows")
    assert (fitted.get_params(), vars(fitted)) == before
    widget.close()


def test_models_of_arrays_stay_those_of_arrays():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(40, 2)), rng.normal(5, 1, (40, 2))]
    model = hs.KMeans(2, random_state=0).fit(X)
    widget = model.studio(X)
    page = Page(widget)
    assert page.get("rows")["names"] == ["x0", "x1"]
    page.fit()
    assert (widget.model.predict(X) == widget.models[1].predict(X)).all()
    assert not hasattr(model, "feature_names_in_")
    widget.close()


def test_without_data_the_model_is_described(fitted):
    widget = fitted.studio()
    page = Page(widget)
    assert [screen["key"] for screen in page.get("state")["screens"]] == ["classes", "compare", "export"]
    assert page.get("state")["title"] == "latent classes and classifiers"
    assert page.get("classes")["cards"] == []
    [section] = page.get("sections")["sections"]
    assert section["parts"][0]["text"].startswith("class 0 (44%)")
    status, found = page.request("GET", "download/report")
    assert (status, found["error"].startswith("This needs the data")) == (422, True)
    assert page.widget.model is not None
    widget.close()


def test_a_table_without_a_model(penguins):
    widget = hs.studio(penguins)
    page = Page(widget)
    assert widget.model is None
    assert [screen["key"] for screen in page.get("state")["screens"]][:2] == ["data", "fit"]
    assert widget.screen == ""
    widget.close()


def test_a_file_is_opened_by_its_path(fitted, tmp_path, penguins):
    path = tmp_path / "p.csv"
    penguins.to_csv(path, index=False)
    widget = hs.studio(fitted, path)
    page = Page(widget)
    assert page.get("state")["title"] == "p.csv"
    assert page.get("state")["n_rows"] == 344
    widget.close()


def test_studios_that_pile_up_are_closed(penguins, monkeypatch):
    from halfseen.studio import widgets

    monkeypatch.setattr(widgets, "MOST", 2)
    found = [hs.studio(penguins) for _ in range(3)]
    assert [widget.comm is None for widget in found] == [True, False, False]
    assert found[0]._session.events.closed
    found[2].comm._closed = True  # as marimo does where a cell is run again
    found.append(hs.studio(penguins))
    assert [widget.comm is None for widget in found] == [True, False, True, False]
    for widget in found:
        widget.close()
        widget.close()
    assert not widgets._open


def test_closing_stops_the_fit_and_removes_the_copy(slow):
    widget = hs.studio(slow)
    page = Page(widget)
    page.post("spec", changes={"classes": "7", "options": {"restarts": "90"}})
    page.post("fit")
    path = widget._session.held.path
    assert os.path.exists(path)
    widget.close()
    assert not os.path.exists(path)
    assert widget._session.jobs.wait(10)
    assert not any(thread.is_alive() for thread in widget._pages._threads)


def test_what_cannot_be_shown_is_refused_in_words(fitted, penguins):
    from sklearn.exceptions import NotFittedError

    for given, error, words in (
        ((), ParameterError, "give a fitted model, a table, or both"),
        ((fitted, None, [1]), ParameterError, "give a fitted model"),
        (({"a": 1}, penguins), ParameterError, "dict is no model of halfseen"),
        ((hs.LatentClass(2), penguins), NotFittedError, "not fitted"),
        ((fitted, "nothing.csv", [1]), ParameterError, "y= is for tables in memory"),
    ):
        with pytest.raises(error, match=words):
            hs.studio(*given)


@pytest.mark.parametrize("module", ["anywidget", "duckdb"])
def test_without_the_extra_it_is_named(fitted, penguins, monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf'needs {module}.* pip install "halfseen\[notebook\]"'):
        fitted.studio(penguins)


def test_the_function_and_the_package_have_one_name():
    """Importing a part of the package makes it the attribute of that name; both can be called."""
    call = "try:\n    hs.studio()\nexcept ValueError as error:\n    print('give a fitted model' in str(error))"
    for first in ("hs.studio", "import halfseen.studio.events"):
        code = f"import halfseen as hs\n{first}\n{call}"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        assert found.stdout.strip() == "True", found.stderr
