"""The pages for users of other libraries: every block runs, against the real library where it is installed.

A block of text after a Python block, and lines after a command, are what is printed; ``UPDATE_DOCS=1`` writes them
anew. A block that imports a library that is not installed is left out, and so are later blocks that use its names; the
test is then skipped with their lines, after all others were checked. ``<!-- data: faithful/faithful.csv -->`` at the
head of a page names a file of real data; blocks that read it are left out where it is missing.
"""

import ast
import builtins
import os
import re
import shlex
import shutil
import sys
from decimal import Decimal
from importlib.util import find_spec

import pytest

import halfseen as hs
from tests.app import in_process
from tests.shared_data import shared_data
from tests.unit.test_docs import ROOT, assert_alike, run

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore"),  # those of other libraries are theirs
    pytest.mark.filterwarnings("error::halfseen.errors.HalfseenWarning"),
]
PAGES = sorted((ROOT / "docs").rglob("coming_from_*.md"))
BLOCK = re.compile(
    r"^```(?:python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?|console\n(?P<commands>.*?)^```\n)",
    re.DOTALL | re.MULTILINE,
)
COMMAND = re.compile(r"^\$ (halfseen (?:\\\n|.)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
DATA = re.compile(r"^<!-- data: (\S+) -->$", re.MULTILINE)
HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
ESTIMATORS = {  # by page and heading
    "sklearn": {"Naive Bayes": hs.NaiveBayes},
    "stepmix": {"Parameters": hs.LatentClass},
    "polca": {"Arguments": hs.LatentClass},
    "mclust": {"Arguments": hs.GaussianMixture},
    "hmmlearn": {"Parameters": hs.HMM},
    "bayesian_networks": {"Names": hs.BayesNet},
}
SECTIONS = [(page, title) for page, titles in ESTIMATORS.items() for title in titles]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["page"])
    text = page.read_text(encoding="utf-8")
    absent = [name for name in DATA.findall(text) if not copied(name, tmp_path)]
    namespace = {"__name__": page.stem}
    updated, end, left_out = "", 0, {}
    for block in BLOCK.finditer(text):
        kind = "commands" if block["code"] is None else "printed"
        line = text[: block.start()].count("\n") + 1
        needs = next((name for name in absent if name.rpartition("/")[2] in block[0]), None)
        needs = needs or needed(block["code"] or "", left_out)
        if needs is not None:
            names = assigned(block["code"] or "") | (imported(block["code"] or "") - set(namespace))
            left_out |= dict.fromkeys(names, needs) | {f"line {line}": needs}
            continue
        if kind == "commands":
            printed = commands(block["commands"])
        else:
            printed = run("\n" * line + block["code"], str(page), namespace)
            left_out = {name: needs for name, needs in left_out.items() if name not in assigned(block["code"])}
        if block[kind] is None:
            continue
        updated += text[end : block.start(kind)] + printed
        end = block.end(kind)
        if not os.environ.get("UPDATE_DOCS"):
            assert_alike(block[kind], printed, f"{page.name}, line {line}", to_the_last_digit)
    if os.environ.get("UPDATE_DOCS"):
        page.write_text(updated + text[end:], encoding="utf-8")
    if left_out:
        lines = [f"{name} needs {needs}" for name, needs in left_out.items() if name.startswith("line ")]
        pytest.skip(f"{'; '.join(lines)} (`make slow`, `make heavy-peers` and HALFSEEN_DATA bring them)")


@pytest.mark.parametrize(("page", "title"), SECTIONS)
def test_tables_name_the_option_that_the_library_answers_with(page, title):
    """`hs.LatentClass(nclass=3)` says what it is called here; the table of the page says the same."""
    text = (ROOT / "docs" / f"coming_from_{page}.md").read_text(encoding="utf-8")
    section = sections(text)[title]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    names = {name: row for row in rows for name in re.findall(r"`(\w+)(?:=[^`]*)?`", row[0])}
    answers = {name: answered(ESTIMATORS[page][title], name) for name in names}
    assert any(answers.values())
    for name, own in answers.items():
        if own is not None:
            found = re.search(rf"`[^`]*\b{own}\b", " | ".join(names[name][1:]))
            assert found, f"{name} is {own}, not as in {names[name]}"


def sections(text):
    """Return the text of each section by its title."""
    parts = HEADING.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def answered(estimator, name):
    """Return what an option of another library is called here, as the error message says; None if it does not say."""
    try:
        estimator(**{name: None})
    except TypeError as error:
        found = re.search(r"here it is (\w+)\.", str(error))
        return found and found[1]
    return None


def copied(name, folder):
    """Copy a file of real data into a folder, if it is there."""
    try:
        shutil.copy(shared_data(name), folder)
    except pytest.skip.Exception:
        return False
    return True


def to_the_last_digit(shown, printed):
    """The pages say that numbers are equal, so a unit of the last digit shown is all that rounding may change."""
    a, b = (Decimal(number.replace(",", "")) for number in (shown, printed))
    return abs(a - b) <= Decimal(10) ** a.as_tuple().exponent


def needed(code, left_out):
    """Return the library, not installed here, that a block imports or whose results it uses; None without one."""
    own = assigned(code)
    for node in ast.walk(ast.parse(code)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module]
        for name in names:
            if find_spec(top := name.partition(".")[0]) is None:
                return top
        if isinstance(node, ast.Name) and node.id in left_out and node.id not in own:
            return left_out[node.id]
    return None


def assigned(code):
    """Return the names that a block gives values to."""
    tree = ast.parse(code)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return names - set(dir(builtins))


def imported(code):
    """Return the names that the imports of a block bind."""
    found = [node for node in ast.walk(ast.parse(code)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return {(alias.asname or alias.name).partition(".")[0] for node in found for alias in node.names}


def commands(block):
    """Run the commands of a block; return them with what they print, where the page shows it."""
    printed = ""
    for command, shown in COMMAND.findall(block):
        done = in_process.run(*shlex.split(command.replace("\\\n", " "))[1:])
        printed += f"$ {command}\n{done.stdout if shown.strip() else shown}"
    assert printed.count("$ ") == block.count("$ "), "only commands of halfseen can be run"
    return printed


def test_numbers_are_compared_to_the_last_digit():
    assert to_the_last_digit("-293.705", "-293.704")
    assert not to_the_last_digit("-293.705", "-293.703")
    assert to_the_last_digit("1,096", "1,097")
    assert not to_the_last_digit("12", "14")


def test_blocks_of_a_library_that_is_missing_are_left_out():
    left_out = {}
    assert needed("import no_such_library", left_out) == "no_such_library"
    assert needed("from no_such_library.part import name", left_out) == "no_such_library"
    assert needed("import numpy as np", left_out) is None
    assert assigned("theirs = 1\nfor row in theirs: pass\ndef f(): pass") == {"theirs", "row", "f"}
    assert imported("import a.b, c as d\nfrom e import f as g, h") == {"a", "d", "g", "h"}
    assert needed("print(theirs)", {"theirs": "no_such_library"}) == "no_such_library"
    assert needed("theirs = 2\nprint(theirs)", {"theirs": "no_such_library"}) is None


def test_commands_are_run_and_shown_only_where_the_page_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("the house\nthe book\n")
    (tmp_path / "b.txt").write_text("das Haus\ndas Buch\n")
    fit = "$ halfseen fit a.txt b.txt --model words \\\n    -o m.halfseen\n"
    assert commands(fit) == fit
    align = "$ halfseen align m.halfseen a.txt b.txt\n"
    assert commands(align + "?\n") == align + "0-0 1-1\n0-0 1-1\n"
