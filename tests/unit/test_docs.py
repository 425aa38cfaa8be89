"""Every Python block in the pages runs, and prints what the page shows; every example runs.

A block of text right after a Python block is what it prints. Words must match; numbers must be close, so that the
rounding of another machine is no failure. A picture of a page, ``_static/figures/NAME.png``, is a file that its code
saves as NAME.png, and looks like it. ``UPDATE_DOCS=1 pytest tests/unit/test_docs.py`` writes what was printed into the
pages, and the pictures into their folder, instead.
"""

import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from halfseen.app.cli import app

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in PAGES if not page.name.startswith("coming_from_")]  # tests/peers/test_migration_pages.py
COMMANDS = [ROOT / "docs" / "command_line.md", ROOT / "docs" / "survey.md"]  # commands and code, in turns
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.DOTALL | re.MULTILINE)
STEP = re.compile(
    r"^```console\n(?P<shown>.*?)^```$|^```python\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<printed>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
DEMO = re.compile(r"^```console\n\$ make demo\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FIGURES = ROOT / "docs" / "_static" / "figures"
FIGURE = re.compile(r"!\[[^\]]+\]\(_static/figures/([\w.]+)\)")
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?")
FIGURE_CLOSE = 5  # of 255 levels of grey, on average over a thumbnail
CLOSE = 0.02  # numbers are shown to two or three digits
STEPS = 2  # and whole numbers may be passes over the data, of which another machine may need one more


def pages_with_code():
    return [page for page in PAGES if page not in COMMANDS and BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", pages_with_code(), ids=lambda page: page.name)
def test_page_runs_and_prints_what_it_shows(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    namespace = {"__name__": page.stem}
    updated, end = "", 0
    for block in BLOCK.finditer(text):
        line = text[: block.start("code")].count("\n")
        printed = run("\n" * line + block["code"], str(page), namespace)
        if block["shown"] is not None and os.environ.get("UPDATE_DOCS"):
            updated += text[end : block.start("shown")] + printed
            end = block.end("shown")
        elif block["shown"] is not None:
            assert_alike(block["shown"], printed, f"{page.name}, line {line + 1}")
    if updated:
        page.write_text(updated + text[end:], encoding="utf-8")
    for name in FIGURE.findall(text):
        check_figure(tmp_path / name, FIGURES / name, page.name)


def test_every_figure_is_on_a_page():
    shown = {name for page in PAGES for name in FIGURE.findall(page.read_text(encoding="utf-8"))}
    assert shown == {path.name for path in FIGURES.iterdir()}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_example_runs(example):
    with redirect_stdout(io.StringIO()) as out:
        runpy.run_path(str(example))
    assert out.getvalue()


def test_readme_shows_the_demo(tmp_path):
    """What the README shows is what `make demo` prints, in its order; dots stand for lines left out."""
    shown = DEMO.search((ROOT / "README.md").read_text(encoding="utf-8"))[1]
    demo = (ROOT / "examples" / "demo.sh").read_text(encoding="utf-8")
    environment = os.environ | {"HALFSEEN": str(Path(sys.executable).with_name("halfseen"))}
    command = ["sh", "-c", demo, "demo", "build/demo"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    printed, at = done.stdout.splitlines(), 0
    for part in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE):
        lines = part.splitlines()
        starts = range(at, len(printed) - len(lines) + 1)
        found = [i for i in starts if all(map(alike, lines, printed[i : i + len(lines)]))]
        assert found, f"README.md shows\n{part}\nbut make demo printed\n{done.stdout}"
        at = found[0] + len(lines)


@pytest.mark.parametrize("page", COMMANDS, ids=lambda page: page.name)
def test_commands_print_what_the_page_shows(page, tmp_path, monkeypatch):
    """Every command of a page, in its order: results without what goes beside them, or the message of a refusal."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    updated, end = "", 0
    namespace = {"__name__": page.stem}
    for block in STEP.finditer(text):
        if block["shown"] is not None:
            part, printed = "shown", "".join(command_and_output(block["shown"]))
        else:  # may make a file that the commands after it read, or read one that they made
            part, printed = "printed", run(block["code"], str(page), namespace)
        if block[part] is None:
            continue
        updated += text[end : block.start(part)] + printed
        end = block.end(part)
        if not os.environ.get("UPDATE_DOCS"):
            assert_alike(block[part], printed, page.name)
    if os.environ.get("UPDATE_DOCS"):
        page.write_text(updated + text[end:], encoding="utf-8")


def command_and_output(shown):
    """Run the commands of a block; yield each with its results, or with its message where the page shows a refusal."""
    refused = "\nhalfseen: " in shown
    for command in re.findall(r"^\$ halfseen (.*)$", shown, flags=re.MULTILINE):
        done = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
        assert done.exit_code == int(refused), done.output
        yield f"$ halfseen {command}\n{done.stderr.splitlines()[-1] + chr(10) if refused else done.stdout}"


def run(code, name, namespace):
    with redirect_stdout(io.StringIO()) as out:
        exec(compile(code, name, "exec"), namespace)
    return out.getvalue()


def check_figure(drawn, kept, where):
    """The picture in the folder looks like what the page draws; fonts and antialiasing may differ."""
    assert drawn.exists(), f"{where} shows {kept.name}, which no code on it saves"
    if drawn.suffix == ".svg" and os.environ.get("UPDATE_DOCS"):
        shutil.copyfile(drawn, kept)
    elif drawn.suffix == ".svg":
        marks = [re.findall(r"<(?:text|line|path)[^>]*>[^<]*", path.read_text("utf-8")) for path in (drawn, kept)]
        assert marks[0] == marks[1], f"{where} draws {kept.name} differently now: UPDATE_DOCS=1"
    elif os.environ.get("UPDATE_DOCS"):
        Image.open(drawn).convert("RGB").quantize(64).save(kept, optimize=True)
    else:
        difference = np.abs(thumbnail(drawn) - thumbnail(kept)).mean()
        assert difference < FIGURE_CLOSE, f"{where} draws {kept.name} differently now ({difference:.1f}): UPDATE_DOCS=1"


def thumbnail(path):
    return np.asarray(Image.open(path).convert("L").resize((40, 30)), dtype=float)


def assert_alike(shown, printed, where, close=None):
    """Words must match, and numbers be close in the sense of a function of two texts."""
    pairs = zip(shown.splitlines(), printed.splitlines(), strict=False)
    for a, b in pairs:
        assert alike(a, b, close), f"{where}: the page shows\n{a}\nbut this was printed:\n{b}"
    assert len(shown.splitlines()) == len(printed.splitlines()), f"{where}: printed\n{printed}"


def alike(shown, printed, close=None):
    words = [" ".join(NUMBER.sub("#", line).split()) for line in (shown, printed)]
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=False)
    return words[0] == words[1] and all((close or nearly)(a, b) for a, b in pairs)


def nearly(shown, printed):
    whole = "." not in shown
    a, b = (float(number.replace(",", "")) for number in (shown, printed))
    return b == pytest.approx(a, rel=CLOSE, abs=STEPS if whole else CLOSE)
