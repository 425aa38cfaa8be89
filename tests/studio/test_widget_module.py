"""The page as one module: all that is imported, each after what it imports; a style that stays in its element."""

import json
import re

import pytest

from halfseen.studio import browser_module as module
from halfseen.studio.browser_module import PAGE, browser_module, linked, style

STARTS = ("notebook/studio.js", "notebook/watch.js")
BROWSER = ("stage.js", "start.js", "http.js", "route.js", "notebook/host.js", "notebook/messages.js")
OWN = sorted(path for path in PAGE.rglob("*.js") if "vendor" not in path.parts)


def name(path):
    return path.relative_to(PAGE).as_posix()


@pytest.mark.parametrize("start", STARTS)
def test_every_import_is_of_a_module_before(start):
    texts = linked(start)
    for i, text in enumerate(texts):
        assert not re.search(r'^(import|export) .*from "\.', text, re.MULTILINE)
        assert all(int(number) < i for number in re.findall(r'from "module:(\d+)";', text))
    assert len(texts) == len(set(texts))


def test_the_studio_has_all_modules_but_those_of_the_server():
    firsts = {text.splitlines()[0] for text in linked(STARTS[0])}
    missing = {name(path) for path in OWN if path.read_text(encoding="utf-8").splitlines()[0] not in firsts}
    assert missing == {"start.js", "notebook/watch.js"}


@pytest.mark.parametrize("start", STARTS)
def test_the_texts_are_those_of_the_files(start):
    text = browser_module(start)
    [modules] = re.findall(r"^const modules = (.*);$", text, re.MULTILINE)
    assert json.loads(modules) == linked(start)
    assert "</" not in text  # it can stand in a page of HTML
    assert text.count("import(") == 1


def test_modules_that_import_each_other_are_named(tmp_path, monkeypatch):
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\n')
    (tmp_path / "b.js").write_text('import { a } from "./a.js";\n')
    monkeypatch.setattr(module, "PAGE", tmp_path)
    with pytest.raises(AssertionError, match=r"a\.js imports b\.js imports a\.js"):
        linked("a.js")


def test_the_style_stays_in_its_element():
    text = re.sub(r"/\*.*?\*/", "", style(), flags=re.DOTALL)
    selectors = [one.strip() for part in re.findall(r"([^{};]+)\{", text) for one in part.split(",")]
    assert not [one for one in selectors if re.match(r"(:root|html|body)\b", one)]
    assert "prefers-color-scheme" not in text
    assert "@media (max-width" not in text
    for variable in ("--ink", "--paper", "--c7"):
        assert len(re.findall(rf"{variable}:", text)) == 2  # light and dark


@pytest.mark.parametrize("path", [path for path in OWN if name(path) not in BROWSER], ids=name)
def test_modules_leave_the_document_and_the_address_alone(path):
    """In a notebook they are the notebook's: `stage.js` and `route.js` have what takes their place."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"document\.(createElement|fonts)\b", "", text)
    assert not re.search(
        r"\bdocument\.|\bwindow\.|\blocation\.|\bhistory\.|(?<![.\w])(add|remove)EventListener\(", text
    )
