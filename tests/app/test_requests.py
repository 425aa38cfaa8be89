"""Commands as functions of this process: requests from words, fits and predictions from requests."""

import threading
import time
import warnings

import pytest

import halfseen as hs
from halfseen.app import console, requests, status_line, verbs
from halfseen.app.requests import request_of
from halfseen.app.verbs.fit import fitted
from halfseen.errors import HalfseenError, ParameterError
from tests.app.in_process import run

VOTES = ["example:votes", "--ignore", "party", "-k", "2"]


def test_a_request_has_every_option_of_the_verb_and_what_was_typed():
    request = request_of("fit", ["votes.csv", "-k", "3", "--ml"])
    assert request["given"] == {"data", "classes", "ml"}
    assert (request["data"], request["classes"], request["ml"], request["restarts"]) == (
        ["votes.csv"],
        "3",
        True,
        "auto",
    )
    assert request["target"] is None  # an option of a family
    assert request["flags"]["weight_kind"] == "--weight-kind"
    assert request["command"] == "halfseen fit votes.csv -k 3 --ml"
    assert request["translate"]("n_components=0 is too few") == "--classes 0 is too few"


def test_words_with_blanks_are_quoted_in_the_command():
    assert request_of("fit", ["my votes.csv"])["command"] == "halfseen fit 'my votes.csv'"


@pytest.mark.parametrize(
    ("verb", "words", "told"),
    [
        ("fit", ["a.csv", "--n_clusters", "3"], "No such option: --n_clusters. Here it is --classes."),
        ("fit", ["a.csv", "--seed", "x"], "'--seed'.*valid integer"),
        ("fit", ["a.csv", "--max-iter", "0"], "'--max-iter'.*greater than or equal to 1"),
        ("fit", ["a.csv", "-k"], "requires an argument"),
        ("fit", ["--help"], "No such option: --help"),
        ("predict", [], "(?i)missing argument.*MODEL"),
        ("guess", ["a.csv"], "there is no command 'guess'. Commands: fit, predict"),
    ],
)
def test_a_wrong_command_raises_and_prints_nothing(verb, words, told, capfd):
    with pytest.raises(ParameterError, match=told):
        request_of(verb, words)
    assert capfd.readouterr() == ("", "")


def test_a_fit_from_a_request_is_that_of_the_command_line(tmp_path, capfd):
    path = tmp_path / "votes.halfseen"
    run("fit", *VOTES, "--names", "left,right", "-o", path)
    with console.collected() as said:
        found = fitted(request_of("fit", [*VOTES, "--names", "left,right"]))
    assert capfd.readouterr() == ("", "")
    expected = hs.load(path)
    assert found.model.loglik_ == expected.loglik_
    assert found.model.class_names_ == expected.class_names_ == ("left", "right")
    assert found.model._origin.command == "halfseen fit example:votes --ignore party -k 2 --names left,right"
    assert found.model._origin.reading == expected._origin.reading
    assert any(line.startswith("column") for line in said.notes)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["example:votes", "--hidden", "C=2"], "--hidden is an option of"),
        (["example:votes", "--ml", "--prior", "1"], "--ml means no prior"),
        (["example:votes", "-k", "3", "--names", "a,b"], "--names a,b: 2 names for 3 classes"),
        (["example:votes", "--model", "clases"], "'clases' is not known"),
        (["no_such.csv"], "no_such.csv"),
    ],
)
def test_a_fit_from_a_request_is_checked_as_that_of_the_command_line(words, told):
    with pytest.raises((HalfseenError, OSError)) as raised:
        fitted(request_of("fit", words))
    assert told in str(raised.value)
    assert told in run("fit", *words, code=verbs.run("fit", request_of("fit", words))).stderr


def test_a_fit_from_a_request_writes_no_file(tmp_path):
    with console.collected():
        fitted(request_of("fit", [*VOTES, "-o", str(tmp_path / "m.halfseen"), "--report", str(tmp_path / "r.html")]))
    assert list(tmp_path.iterdir()) == []


def test_predictions_from_a_request_are_those_of_the_command_line(tmp_path, capfd):
    path = tmp_path / "votes.halfseen"
    run("fit", *VOTES, "-o", path)
    run("predict", path, "example:votes", "-o", tmp_path / "shell.csv")
    with console.collected() as said:
        verbs.use("predict", request_of("predict", [str(path), "example:votes", "-o", str(tmp_path / "file.csv")]))
        request = request_of("predict", ["-", "example:votes", "-o", str(tmp_path / "held.csv")])
        verbs.use("predict", request, hs.load(path))
    assert capfd.readouterr() == ("", "")
    assert said.status[0] == "reading example:votes"
    shell = (tmp_path / "shell.csv").read_bytes()
    assert (tmp_path / "file.csv").read_bytes() == (tmp_path / "held.csv").read_bytes() == shell


def test_notes_results_and_warnings_are_collected(capfd):
    with console.collected() as said, console.shown_warnings(str.upper) as seen:
        console.note("a note")
        console.fail("a fault")
        console.show("a result")
        console.show_json([1])
        console.show_table(("a", "b"), [("x", 2)], to_errors=True)
        status_line.say("reading", "3 rows")
        warnings.warn("twice", UserWarning, stacklevel=1)
        warnings.warn("twice", UserWarning, stacklevel=1)
    assert capfd.readouterr() == ("", "")
    assert said.notes == ["a note", "halfseen: a fault", "a  b", "x  2", "note: TWICE"]
    assert said.results == ["a result", "[\n  1\n]"]
    assert said.status == ("reading", "3 rows")
    assert seen == {UserWarning}


def test_two_threads_collect_their_own_notes_and_warnings():
    found = {}
    begun = threading.Barrier(2)

    def speak(name):
        with console.collected() as said, console.shown_warnings(str):
            begun.wait()
            console.note(name)
            warnings.warn(name, UserWarning, stacklevel=1)
            begun.wait()
        found[name] = said.notes

    before = warnings.showwarning, list(warnings.filters)
    threads = [threading.Thread(target=speak, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"one": ["one", "note: one"], "two": ["two", "note: two"]}
    assert (warnings.showwarning, list(warnings.filters)) == before


def test_other_threads_print_as_ever(capfd):
    with console.collected() as said:
        other = threading.Thread(target=console.note, args=("from elsewhere",))
        other.start()
        other.join()
    assert said.notes == []
    assert capfd.readouterr().err == "from elsewhere\n"


def test_requests_of_several_threads_are_read_one_after_the_other(monkeypatch):
    """Pages of the studio ask for one while another is read, and Typer changes the environment meanwhile."""
    command, inside, most = requests._command("fit"), [], []

    class Watched:
        def make_context(self, *given, **how):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            context = command.make_context(*given, **how)
            inside.pop()
            return context

    monkeypatch.setattr(requests, "_command", lambda verb: Watched())
    threads = [threading.Thread(target=request_of, args=("fit", ["a.csv", "-k", "3"])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 4
