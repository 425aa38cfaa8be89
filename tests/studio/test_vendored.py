"""The page's files: those of others are what was published, with their licences; none runs text as code or as HTML."""

import hashlib
import re
from pathlib import Path

import pytest

import halfseen

PAGE = Path(halfseen.__file__).parent / "studio" / "page"
VENDOR = PAGE / "vendor"
OWN = sorted(path for path in PAGE.rglob("*") if path.suffix in {".js", ".html", ".css"} and VENDOR not in path.parents)
VENDORED = sorted(path for path in VENDOR.iterdir() if path.suffix in {".js", ".css"})
MODULES = [path for path in OWN + VENDORED if path.suffix == ".js"]
NAMESPACE = "http://www.w3.org/"  # names of SVG and MathML: never fetched
HOME = "/*! https://github.com/leeoniya/uPlot (v1.6.32) */"  # a comment
RUN = re.compile(r"\beval\s*\(|\bnew\s+Function\b|\bFunction\s*\(\s*[\"'`]|document\.write|insertAdjacentHTML")
IMPORT = re.compile(r'^(?:import|export) [^"\n]*from "(\.{1,2}/[\w./-]+\.js)";$')


def name(path):
    return path.relative_to(PAGE).as_posix()


def test_hashes_match_and_every_file_has_one():
    listed = dict(reversed(line.split()) for line in (VENDOR / "SHA256SUMS").read_text().splitlines())
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.iterdir()}
    assert listed == {own: digest for own, digest in found.items() if own not in {"README.md", "SHA256SUMS"}}


def test_licences_are_there_and_the_table_names_every_file():
    table = (VENDOR / "README.md").read_text()
    for path in VENDORED:
        assert f"`{path.name}`" in table
        assert f"{path.stat().st_size:,}" in table
    assert "Apache License" in (VENDOR / "htm-LICENSE.txt").read_text()
    for own in ("preact", "uplot"):
        assert "Permission is hereby granted" in (VENDOR / f"{own}-LICENSE.txt").read_text()


@pytest.mark.parametrize("path", OWN + VENDORED, ids=name)
def test_no_text_is_run_as_code_and_nothing_comes_from_elsewhere(path):
    text = path.read_text(encoding="utf-8").replace(HOME, "")
    assert not RUN.search(text)
    assert not re.search(r"\bimport\s*\(", text)
    assert re.findall(r"https?://(?!www\.w3\.org/)|@import|sourceMappingURL", text) == []
    assert NAMESPACE not in text or path in VENDORED


@pytest.mark.parametrize("path", OWN, ids=name)
def test_own_files_show_everything_as_text_and_pass_the_policy(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search("innerHTML|outerHTML|dangerouslySetInnerHTML|srcdoc|setHTML", text)
    assert not re.search(r"""\sstyle=["'$]|\son[a-z]+=["']|javascript:""", text)
    if path.suffix == ".html":
        assert "<style" not in text
        assert all(script.endswith("></script>") for script in re.findall(r"<script.*", text))


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_imports_are_static_relative_and_one_per_line(path):
    """So that a notebook can serve the modules from elsewhere by rewriting these lines."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.match(r"import\b", line) or re.match(r"export\b.*\bfrom *[\"']", line):
            found = IMPORT.match(line)
            assert found, line
            assert (path.parent / found[1]).resolve().is_file(), line


@pytest.mark.parametrize("path", OWN, ids=name)
def test_a_module_is_small_and_says_what_it_is_for(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith({".js": "// ", ".css": "/* ", ".html": "<!doctype"}[path.suffix])
    assert len(lines) < (600 if path.suffix == ".css" else 300)
