"""What is chosen on the screens is the words of a command, which the command line reads as they were meant."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfseen.app import options
from halfseen.errors import ParameterError
from halfseen.studio.session import command_of
from halfseen.studio.spec import Spec

names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda text: text == text.strip()
)


@given(st.dictionaries(names, st.sampled_from(["gaussian", "poisson"]), max_size=4), st.lists(names, max_size=4))
def test_names_arrive_as_they_were_written(kinds, ignored):
    spec = Spec(("t.csv",), kinds=kinds, ignore=tuple(ignored))
    request = spec.request()
    assert options.kinds(request["columns"]) == kinds
    assert options.names(request["ignore"]) == ignored
    assert shlex.split(command_of(spec)) == ["halfseen", "fit", *spec.words()]


def test_changes_one_after_the_other():
    spec = Spec(("t.csv",)).changed({"columns": {"a": "poisson", "b": "gaussian"}, "options": {"seed": "3"}})
    spec = spec.changed({"columns": {"a": None}, "classes": "2..4", "missing": ["-9", "-9", "?"]})
    assert spec.words() == ["t.csv", "--classes", "2..4", "--columns", "b=gaussian", "--missing", "-9,?", "--seed", "3"]
    assert spec.request()["seed"] == 3


def test_a_spec_is_its_plain_values():
    spec = Spec(("t.csv",), "hmm", "2", {"n": "poisson"}, ("a, b",), ("?",), {"time": "year"}, {"sql": "FROM data"})
    assert Spec.from_dict(spec.to_dict()) == spec


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"data": ["/etc/passwd"]}, "data cannot be changed"),
        ({"options": {"sql": "FROM '/etc/passwd'"}}, "sql cannot be set here"),
        ({"options": {"output": "x"}}, "output cannot be set here"),
        ({"options": {"on": "dask://there"}}, "on cannot be set here"),
        ({"ignore": "a"}, "not a list"),
        ({"columns": ["a"]}, "not a mapping"),
        ({"classes": 3}, "not a short text"),
        ({"missing": ["x" * 20_000]}, "not a short text"),
    ],
)
def test_what_a_page_cannot_change(changes, says):
    with pytest.raises(ParameterError, match=says):
        Spec(("t.csv",)).changed(changes)


def test_what_the_command_line_refuses_is_refused():
    for changes in ({"options": {"seed": "many"}}, {"options": {"frobnicate": "1"}}):
        with pytest.raises(ParameterError, match=r"seed|frobnicate"):
            Spec(("t.csv",)).changed(changes).request()
