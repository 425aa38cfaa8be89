"""Every example of the help runs, one after the other in an empty folder, as a reader would type them."""

import shlex
from importlib.util import find_spec

import pytest

from halfseen.app import help
from halfseen.app.cli import app
from halfseen.app.examples import BEGIN, EXAMPLES
from tests.app.in_process import run

PREPARED = {command for known in EXAMPLES.values() for command in known.after}
NEEDS = {"--onnx": "onnx", "docx": "docx"}


@pytest.fixture(autouse=True)
def nothing_is_served(monkeypatch):
    """The studio opens what it was asked to and ends, in place of serving it."""
    start = pytest.importorskip("halfseen.studio.start")

    def serve(session, listening, browser):
        print(session.title)
        session.close()
        listening.close()

    monkeypatch.setattr(start, "serve", serve)


def typed(command):
    """Run a command as it is typed in a shell."""
    name, *arguments = shlex.split(command)
    assert name == "halfseen"
    return run(*arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the commands that examples start from were run."""
    where = tmp_path_factory.mktemp("examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(where)
        for command in sorted(PREPARED):
            typed(command)
    return where


def test_every_verb_has_two_examples():
    verbs = {command.callback.__name__ if command.name is None else command.name for command in app.registered_commands}
    assert verbs == set(EXAMPLES) == {verb for verbs in help.TASKS.values() for verb in verbs}
    for verb, known in EXAMPLES.items():
        assert len(known.commands) >= 2
        assert all(command.startswith(f"halfseen {verb}") for command in known.commands)


@pytest.mark.parametrize("verb", EXAMPLES)
def test_the_examples_of_a_verb_run(folder, monkeypatch, verb):
    monkeypatch.chdir(folder)
    for command in EXAMPLES[verb].commands:
        command += " --no-browser" * (verb == "studio")
        if any(sign in command and find_spec(library) is None for sign, library in NEEDS.items()):
            pytest.skip(f"{command}: a library is not installed")
        done = typed(command)
        written = command.partition(" -o ")[2].split()
        assert (folder / written[0]).stat().st_size if written else done.stdout


@pytest.mark.thorough
def test_the_commands_to_begin_with_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in BEGIN:
        typed(command)
        assert (tmp_path / command.split()[-1]).stat().st_size
    shown = run().stdout
    assert all(command in shown for command in BEGIN)
