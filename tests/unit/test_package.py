"""The package as a whole: quick to import, quiet, its names agreeing everywhere, its layers in order."""

import ast
import logging
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import halfseen as hs
from halfseen import families
from halfseen.families import ESTIMATORS
from tools.stub import stub

ROOT = Path(hs.__file__).parent
DOCS = Path(__file__).resolve().parents[2] / "docs"
PROJECT = DOCS.parent / "pyproject.toml"
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py"))


def run(code):
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def parsed(path):
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def test_import_is_lazy():
    """`import halfseen` loads neither numpy nor any module of its own: names are fetched when first used."""
    loaded = run("import sys, halfseen; print(*sys.modules)")
    assert "numpy" not in loaded
    assert [name for name in loaded if name.startswith("halfseen.")] == []


def test_every_name_is_there_and_only_those():
    assert sorted(dir(hs)) == sorted(hs.__all__)
    for name in hs.__all__:
        assert getattr(hs, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'LatentClasses'"):
        _ = hs.LatentClasses


def test_star_import_gives_every_name():
    found = run("from halfseen import *; print(*sorted(set(globals())))")
    assert set(hs.__all__) <= set(found)


def test_stub_tells_editors_the_same_names():
    written = (ROOT / "__init__.pyi").read_text(encoding="utf-8")
    assert written == stub(), "run: python -m tools.stub"
    ast.parse(written)


def test_reference_documents_the_same_names():
    """docs/api.md lists every public name, every module offered, and nothing that is not there."""
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    documented = re.findall(r"^   ([\w.]+)$", page, flags=re.MULTILINE)
    assert sorted(name for name in documented if "." not in name) == sorted(hs._homes())
    assert re.findall(r"automodule:: halfseen\.(\w+)", page) == list(hs._MODULES)
    for name in documented:
        *module, attribute = name.split(".")
        assert hasattr(import_module(".".join(["halfseen", *module])), attribute), name


def test_version_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.?(dev|a|b|rc)\d+)?", hs.__version__)


def test_type_hints_are_shipped():
    assert (ROOT / "py.typed").exists()


# ------------------------------------------------------------------------------------------------------------- layers


def test_imports_keep_to_the_contracts():
    """Layers, independent families and the rest of [tool.importlinter] in pyproject.toml."""
    lint = f"from importlinter.cli import lint_imports; exit(lint_imports({str(PROJECT)!r}, no_cache=True))"
    done = subprocess.run([sys.executable, "-c", lint], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[done.stdout.find("Contracts") :] + done.stderr


def test_contracts_name_every_family():
    contracts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    [independent] = [contract["modules"] for contract in contracts if contract["type"] == "independence"]
    assert sorted(independent) == sorted(f"halfseen.families.{name}" for name in families.NAMES)


EACH_ALONE = """
import sys
import tomllib
from importlib import import_module
for name in {names}:
    for module in [m for m in sys.modules if m.startswith("halfseen") and not m.startswith("halfseen.kernels")]:
        del sys.modules[module]
    getattr(import_module("halfseen"), name)
    print(name, *[m for m in sys.modules if m.startswith("halfseen.families.")], sep=",")
"""


def test_a_family_imports_no_other():
    """A class loads its own folder; of the others only the manifests, which load nothing."""
    for line in run(EACH_ALONE.format(names=sorted(ESTIMATORS))):
        name, *loaded = line.split(",")
        home = ESTIMATORS[name].rpartition(".")[0]
        assert ESTIMATORS[name] in loaded
        foreign = [m for m in loaded if m.count(".") > 2 and not m.startswith(f"{home}.")]
        assert [m for m in foreign if not m.endswith(".manifest")] == [], name


def test_manifests_are_light():
    loaded = run("import sys, halfseen.families; print(*sys.modules)")
    own = {name for name in loaded if name.startswith("halfseen.")}
    kinds = ("halfseen.families", "halfseen.families.family", "halfseen.families.options")
    folders = [f"halfseen.families.{name}" for name in families.NAMES]
    assert own == {*kinds, *folders, *(f"{folder}.manifest" for folder in folders)}
    assert not {"numpy", "typer", "rich"} & set(loaded)


def test_every_module_says_what_it_is_for():
    assert [path for path in MODULES if not ast.get_docstring(parsed(path))] == []


# -------------------------------------------------------------------------------------------------------------- manners


def test_fitting_logs_and_never_prints(capfd, caplog):
    with caplog.at_level(logging.DEBUG, logger="halfseen"):
        hs.LatentClass(2, random_state=0, n_init=2).fit([[0, 1], [1, 0], [0, 1], [1, 1]])
    assert capfd.readouterr() == ("", "")
    assert {record.name for record in caplog.records} == {"halfseen"}
    assert "2 classes" in caplog.text


def test_no_module_prints():
    for path in MODULES:
        if path.parts[0] == "app":
            continue
        calls = [node.func for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
        assert "print" not in [call.id for call in calls if isinstance(call, ast.Name)], path


def test_logging_is_off_until_asked_for():
    """No handler is attached and no level set: that is for applications to do."""
    handlers = "logging.getLogger('halfseen').handlers, logging.root.handlers"
    assert run(f"import halfseen, logging; halfseen.LatentClass; print({handlers})") == ["[]", "[]"]


def test_errors_and_warnings_form_one_tree():
    from halfseen import errors

    classes = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
    kinds = {name: kind for name, kind in classes.items() if kind.__module__ == "halfseen.errors"}
    assert set(kinds) <= set(errors.__all__)
    for name, kind in kinds.items():
        assert issubclass(kind, errors.HalfseenWarning if issubclass(kind, Warning) else errors.HalfseenError)
        assert name in errors.__doc__
