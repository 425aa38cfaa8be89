"""The package as a whole: quick to import, quiet, its names agreeing everywhere, its layers in order."""

import ast
import logging
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import halfseen as hs
from halfseen import families
from halfseen.families import ESTIMATORS
from tools.stub import stub

ROOT = Path(hs.__file__).parent
DOCS = Path(__file__).resolve().parents[2] / "docs"
LAYERS = (
    *("kernels", "data", "leaves", "structures", "engine", "runners", "kinds", "estimators", "families"),
    *("analysis", "plots", "app", "faces"),
)
# small modules that any layer may use
APART = ("assign", "errors", "datasets", "optional", "registry", "seeds", "whole_file")
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("*.py") if path.name != "__main__.py")  # a door, no room


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


def layer_of(module):
    """Position of a dotted module in the order of the layers; None for those apart."""
    parts = module.split(".")
    if parts[1:2] == ["families"] and parts[-1].startswith(("report", "cli", "plots", "rows", "scored_sequences")):
        return LAYERS.index("faces")  # what a family shows
    return LAYERS.index(parts[1]) if len(parts) > 1 and parts[1] in LAYERS else None


def imported(path):
    """Modules of halfseen that a file imports when it runs; what only a type checker sees does not count."""
    tree = parsed(path)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "halfseen")
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path} uses a relative import; write the full name"
            if node.module and node.module.split(".")[0] == "halfseen":
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module == "halfseen")


@pytest.mark.parametrize("path", [path for path in MODULES if path != Path("__init__.py")], ids=str)
def test_imports_point_upward(path):
    """A layer imports only from itself and from the layers before it: data, kernels, leaves, ..., app."""
    here = layer_of("halfseen." + ".".join(path.with_suffix("").parts))
    for module in imported(path):
        there = layer_of(module)
        if there is None:
            continue
        assert here is not None, f"{path} belongs to no layer, and imports {module}"
        assert there <= here, f"{path} imports {module}, which comes after {LAYERS[here]}"


def test_data_and_kernels_know_nothing_of_each_other():
    for path in MODULES:
        if path.parts[0] == "kernels":
            assert not [m for m in imported(path) if layer_of(m) == LAYERS.index("data")], path


def test_every_module_has_its_place():
    places = {path.parts[0].removesuffix(".py") for path in MODULES}
    assert places <= {*LAYERS, *APART, "__init__"}


EACH_ALONE = """
import sys
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


@pytest.mark.parametrize(
    "path", [path for path in MODULES if len(path.parts) == 3 and path.parts[0] == "families"], ids=str
)
def test_no_module_of_a_family_names_another(path):
    """Also not to show something: what families share is in estimators, analysis, plots and app."""
    named = [module.split(".") for module in imported(path) if module.startswith("halfseen.families.")]
    others = {parts[2] for parts in named if parts[2] in families.NAMES}
    assert others <= {path.parts[1]}


def test_manifests_are_light():
    loaded = run("import sys, halfseen.families; print(*sys.modules)")
    own = {name for name in loaded if name.startswith("halfseen.")}
    kinds = ("halfseen.families", "halfseen.families.family", "halfseen.families.options")
    folders = [f"halfseen.families.{name}" for name in families.NAMES]
    assert own == {*kinds, *folders, *(f"{folder}.manifest" for folder in folders)}
    assert not {"numpy", "typer", "rich"} & set(loaded)


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_every_module_says_what_it_is_for(path):
    assert ast.get_docstring(parsed(path)), f"{path} has no docstring"


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
        calls = [
            node.func
            for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
        ]
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
