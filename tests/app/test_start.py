"""What the command answers before anything heavy is imported: the same as the full command, from the file alone."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import halfseen as hs
from halfseen import families
from halfseen.app import blocks, console, model_header, start
from tests.app.in_process import run

FORMAT_1 = Path(__file__).parents[1] / "unit" / "format_1"
HEAVY = {
    "numpy",
    "scipy",
    "sklearn",
    "pandas",
    "pyarrow",
    "narwhals",
    "duckdb",
    "matplotlib",
    "typer",
    "rich",
    "jinja2",
}
LOADED = """
import sys
from halfseen.app import start
sys.argv = ["halfseen", *{words!r}]
try:
    start.main()
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""


@pytest.fixture(params=families.ESTIMATORS)
def path(request, tmp_path):
    """A model file of this version, of every estimator."""
    written = tmp_path / f"{request.param}.halfseen"
    hs.save(hs.load(FORMAT_1 / written.name), written)
    return written


def loaded_by(*words):
    """Return the top-level modules that a command imports."""
    return {name.partition(".")[0] for name in modules_of(*words)}


def modules_of(*words):
    """Return the modules that a command imports."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(words=list(map(str, words)))], capture_output=True, text=True, check=True
    )
    return set(done.stderr.splitlines()[-1].split())


def test_info_prints_the_same_without_loading_the_model(path, capsys):
    assert start.answered(["info", str(path)])
    quick = capsys.readouterr()
    full = run("info", path)
    assert quick.out == full.stdout
    assert quick.err == full.stderr
    assert quick.out.startswith("model ")


def test_info_imports_nothing_heavy(path):
    assert not HEAVY & loaded_by("info", path)


def test_help_needs_no_numpy():
    assert not HEAVY - {"typer", "rich"} & loaded_by("fit", "--help")


def test_a_fit_with_its_report_imports_what_it_needs(tmp_path):
    """scikit-learn would import scipy.stats at once, which takes longer than the fit."""
    small = tmp_path / "small.csv"
    small.write_text("a,b\n" + "".join(f"{i % 7}.5,{'xy'[i % 2]}\n" for i in range(30)))
    output = ("-o", tmp_path / "m.halfseen", "--report", tmp_path / "r.html")
    loaded = modules_of("fit", small, "-k", "2", "--restarts", "1", *output)
    assert (tmp_path / "r.html").exists()
    assert "sklearn.base" in loaded
    assert not {"scipy.stats", "sklearn.preprocessing", "sklearn.model_selection", "matplotlib.pyplot"} & loaded


def test_deferred_libraries_are_there_when_they_are_used():
    code = """
import sys
from halfseen.app.deferred import import_sklearn
import_sklearn()
assert not {"pandas", "scipy.stats"} & set(sys.modules)
from sklearn.utils import fixes
assert fixes.pd.DataFrame({"a": [1]}).shape == (1, 1)
assert fixes.scipy.stats.mode([1, 1, 2]).mode == 1
import pandas, scipy.stats
assert fixes.pd.DataFrame is pandas.DataFrame
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_info_may_not_answer_from_the_file_alone(tmp_path, capsys):
    old = FORMAT_1 / "LatentClass.halfseen"
    new = tmp_path / "m.halfseen"
    hs.save(hs.load(old), new)
    content = new.read_bytes()
    assert not start.answered(["info", str(old)])  # it has no description
    assert not start.answered(["info", str(new), "--json"])
    assert not start.answered(["info", "--help"])
    assert not start.answered(["info", str(tmp_path / "no_such_file")])
    assert model_header.description_in(str(new), "another version") is None
    for damaged in (content[:-1], content + b"\0", content[:-1] + bytes([content[-1] ^ 1]), b"", content[:9]):
        new.write_bytes(damaged)
        assert not start.answered(["info", str(new)])
    assert capsys.readouterr().out == ""
    run("info", new, code=1)  # which says what is wrong


@pytest.mark.parametrize(
    "described",
    [
        {},
        [1],
        [{"picture": ""}],
        [{"text": 1}],
        [{"facts": []}],
        [{"facts": [["a"]]}],
        [{"table": {"header": ["a"], "rows": [["b", "c"]], "left": 1}}],
        [{"table": {"header": ["a"], "rows": [["b"]]}}],
        [{"text": "", "note": ""}],
    ],
)
def test_a_description_that_cannot_be_printed_is_not_used(described, tmp_path):
    assert not blocks.are_blocks(described)
    path = tmp_path / "m.halfseen"
    hs.save(hs.load(FORMAT_1 / "LatentClass.halfseen"), path)
    content = path.read_bytes()
    start_of_arrays = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start_of_arrays])
    text = json.dumps(described)
    header["__metadata__"] |= {"description": text, "described": model_header.text_checksum(text)}
    again = json.dumps(header).encode()
    path.write_bytes(len(again).to_bytes(8, "little") + again + content[start_of_arrays:])
    hs.load(path)  # everything else is in order
    assert not start.answered(["info", str(path)])


def test_tables_fit_whatever_their_cells_are(capsys):
    console.show_table(("name", "n"), [("[bold]", 1), ("東京", 22), ("e\u0301t\u00e9", 3)], left=1)
    assert capsys.readouterr().out == "name     n\n[bold]   1\n東京    22\ne\u0301t\u00e9      3\n"


def test_a_cell_of_two_lines_stays_on_one_line(capsys):
    console.show_table(("name", "n"), [("a\nb", 1), ("[c]", 2)], left=1)
    assert capsys.readouterr().out.splitlines() == ["name  n", "a b   1", "[c]   2"]
