"""Messages of the command line name its options, not parameters of Python: wrong values of every option of a fit."""

import re

import pytest
import typer

import halfseen as hs
from halfseen import families
from halfseen.app.cli import app
from halfseen.app.flags import translator
from tests.app.in_process import CliRunner

COMMANDS = typer.main.get_command(app).commands
ESTIMATORS = sorted(families.ESTIMATORS)
PARAMETERS = {name for own in ESTIMATORS for name in getattr(hs, own)().get_params()} | {
    "sample_weight",
    "n_samples",
    "random_state",
    "n_draws",
}
FITS = {
    "classes": ["example:votes"],
    "gaussian": ["example:penguins", "--model", "gaussian"],
    "kmeans": ["example:penguins", "--model", "kmeans", "--ignore", "species,year,island,sex"],
    "hmm": ["example:earthquakes", "--model", "hmm"],
    "net": ["example:votes", "--model", "crime <- C -> party"],
    "class-network": ["example:votes", "--model", "class-network"],
    "words": ["example:pairs.de", "example:pairs.en", "--model", "words"],
    "g2p": ["example:english.dict", "--model", "g2p"],
    "target": ["example:penguins", "--target", "species"],
}
APART = ("help", "output", "report", "on", "resume", "model", "dry_run", "sql", "glob")
WRONG = ("zzz", "-1", "a=b", "400")
IN_PYTHON = re.compile(r"given in Python, as \w+=|which only Python takes: .*")  # said on purpose


def of_python(text):
    """Names of parameters and classes of Python in a message; values in quotes are the user's."""
    text = re.sub(r"'[^']*'", "''", IN_PYTHON.sub("", text))
    found = [name for name in re.findall(r"\b([A-Za-z_]+)=", text) if name in PARAMETERS | {"X", "y"}]
    found += [name for name in re.findall(r"\b[a-z]+_[a-z_]+\b", text) if name in PARAMETERS]
    return found + [name for name in ESTIMATORS if re.search(rf"\b{name}\b", text)]


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
def test_wrong_values_are_told_in_options(name):
    for param in COMMANDS["fit"].params:
        if param.param_type_name != "option" or param.name in APART or param.is_flag:
            continue
        for value in WRONG if name == "classes" else WRONG[:2]:
            quick = ["--restarts", "1", "--max-iter", "1"] if param.name not in ("restarts", "max_iter") else []
            quick = [] if name == "words" else quick
            size = ["-k", "2"] if name not in ("target", "net", "words") and param.name != "classes" else []
            done = CliRunner().invoke(app, ["fit", *FITS[name], *quick, *size, max(param.opts, key=len), value])
            assert done.exception is None or isinstance(done.exception, SystemExit)
            assert of_python(done.stderr) == [], done.stderr


@pytest.mark.parametrize(
    ("verb", "said", "shown"),
    [
        ("fit", "no convergence after max_iter=9 iterations (objective_=-1.5). Raise max_iter or tol.", None),
        ("fit", "variable 'C' is not a column. Give its number of states: hidden={'C': 2}.", "--hidden C=2"),
        ("fit", "sample_weight: row 3 is -1", "--weight: row 3"),
        ("fit", "drop it, or use LatentClass or NaiveBayes, which take categories too", "--model classes, which takes"),
        (
            "test",
            "start from more starts (n_init) and a larger max_iter",
            "starts (--restarts) and a larger --max-iter",
        ),
        ("score", "n_samples=4 is fewer than n_components=9", "the number of rows, 4, is fewer than --classes 9"),
    ],
)
def test_messages_of_estimators_are_translated(verb, said, shown):
    params = [param for param in COMMANDS[verb].params if param.param_type_name == "option"]
    flags = {param.name: max(param.opts, key=len) for param in params}
    model = "a <- C -> b" if "hidden" in said else "classes"
    found = translator(verb, {"flags": flags, "model": model})(said)
    assert of_python(found) == []
    assert (shown or "Raise --max-iter.") in found
