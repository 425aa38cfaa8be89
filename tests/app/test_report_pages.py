"""Reports of all families in Chromium: nothing empty, nothing that runs over, light, dark, wide, narrow and printed."""

import io
import re

import numpy as np
import pytest

from tests.browser import CHROMIUM, Browser
from tests.report_pages import PAGES

Image = pytest.importorskip("PIL.Image")
pytest.importorskip("jinja2")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium found to draw the pages"),
]
NAMES = pytest.mark.parametrize("name", PAGES)
LEAST_TEXT = 7.0  # height in pixels of the smallest text of a figure
CHECKS = """(() => {
  const found = [], page = document.documentElement, width = page.clientWidth;
  const name = (one) => `${one.tagName}.${one.getAttribute("class")} ${one.textContent.trim().slice(0, 50)}`;
  if (page.scrollWidth > width) found.push(`the page is ${page.scrollWidth} wide in a window of ${width}`);
  for (const one of document.querySelectorAll("body *")) {
    if (one.closest(".scroll, figure.wide, svg, script, style") || !one.getClientRects().length) continue;
    if (one.getBoundingClientRect().right > width + 1) found.push("beyond the window: " + name(one));
    if (one.clientWidth && one.scrollWidth > one.clientWidth + 1) found.push("runs over: " + name(one));
  }
  for (const one of document.querySelectorAll("section")) {
    const words = one.innerText.trim().length - one.querySelector("h2").innerText.length;
    if (words < 20) found.push("empty section: " + one.id);
  }
  for (const one of document.querySelectorAll("table"))
    if (!one.tBodies[0].rows.length) found.push("empty: " + name(one));
  for (const one of document.querySelectorAll(".cards, .checks, .steps, .facts, .beside"))
    if (!one.children.length) found.push("empty: " + name(one));
  for (const figure of document.querySelectorAll("figure")) {
    const svg = figure.querySelector("svg"), box = svg && svg.getBoundingClientRect();
    if (!svg || box.width < 60 || box.height < 20) { found.push("no picture: " + name(figure)); continue; }
    for (const text of svg.querySelectorAll("text")) {
      const own = text.getBoundingClientRect();
      if (!text.textContent.trim()) continue;
      if (own.left < box.left - 3 || own.right > box.right + 3 || own.top < box.top - 3 || own.bottom > box.bottom + 3)
        found.push("text cut in a figure: " + text.textContent);
      if (own.height < LEAST && !figure.closest(".wide")) found.push("small text in a figure: " + text.textContent);
    }
  }
  return found;
})()""".replace("LEAST", str(LEAST_TEXT))
FIGURES = """[...document.querySelectorAll("figure svg")].map((one) => {
  const box = one.getBoundingClientRect();
  return [box.left + scrollX, box.top + scrollY, box.right + scrollX, box.bottom + scrollY];
})"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("chromium"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The files of the pages, each written once."""
    folder, done = tmp_path_factory.mktemp("pages"), {}

    def page(name):
        if name not in done:
            done[name] = folder / f"{name.replace(' ', '_')}.html"
            done[name].write_text(PAGES[name][0](), encoding="utf-8")
        return done[name]

    return page


@NAMES
def test_nothing_is_empty_or_runs_over(browser, pages, name):
    browser.open(pages(name))
    found = {}
    for width in (1280, 390):
        for dark in (False, True):
            browser.look(width, dark)
            found[width, dark] = browser.run(CHECKS)
    assert found == {key: [] for key in found}
    assert browser.problems == []


@NAMES
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["wide and light", "narrow and dark"])
def test_every_figure_has_ink(browser, pages, name, width, dark):
    browser.open(pages(name))
    browser.look(width, dark)
    boxes = browser.run(FIGURES)
    pixels = np.asarray(Image.open(io.BytesIO(browser.shot())).convert("L"), dtype=float)
    paper = pixels[2, 2]
    assert (paper < 60) == dark
    assert pixels.shape[1] == width
    for left, top, right, bottom in boxes:
        part = pixels[int(top) : int(bottom), max(int(left), 0) : int(right)]
        assert 0.003 < np.mean(np.abs(part - paper) > 50) < 0.7, f"figure at {left:.0f}, {top:.0f}"
        if dark:
            assert np.mean(part > 200) < 0.2, f"figure at {left:.0f}, {top:.0f} is bright on a dark page"


@NAMES
def test_print(browser, pages, name):
    """A page has no more sheets than it should, and commands are not cut."""
    browser.open(pages(name))
    browser.look(700, media="print")
    cut = """[...document.querySelectorAll("pre, code, .table, section")]
        .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth)
        .map((one) => one.textContent.slice(0, 60))"""
    assert browser.run(cut) == []
    sheets = len(re.findall(rb"/Type\s*/Page\b", browser.pdf()))
    assert 1 < sheets <= PAGES[name][1]
    assert browser.problems == []


def test_nine_classes_fit_a_window(browser, pages):
    browser.open(pages("nine classes"))
    browser.look(1280)
    wide = "[...document.querySelectorAll('#profiles .scroll')].map((one) => one.scrollWidth - one.clientWidth)"
    assert max(browser.run(wide)) <= 0


def test_tables_are_sorted_and_filtered(browser, pages):
    browser.open(pages("gaussian"))
    browser.look(1280)
    column = "[...document.querySelectorAll('#rows tbody tr')].slice(0, 4).map((row) => row.cells[0].textContent)"
    before = browser.run(column)
    browser.run("document.querySelector('#rows thead th').click()")
    after = browser.run(column)
    numbers = [int(words.removeprefix("row ")) for words in after]
    assert after != before
    assert numbers == sorted(numbers)
    browser.run(
        "const box = document.querySelector('#reproduce .long input'); box.value = 'n_init';"
        "box.dispatchEvent(new Event('input'))"
    )
    shown = "[...document.querySelectorAll('#reproduce .long tbody tr')].filter((row) => !row.hidden).length"
    everything = "document.querySelectorAll('#reproduce .long tbody tr').length"
    assert 0 < browser.run(shown) < browser.run(everything)
    assert browser.run("document.querySelectorAll('.tools button').length") > 5
    assert browser.problems == []


def test_without_script_the_page_is_whole(browser, pages):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(pages("gaussian"))
        browser.look(1280)
        shot = np.asarray(Image.open(io.BytesIO(browser.shot())).convert("L"), dtype=float)
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert np.mean(np.abs(shot - shot[2, 2]) > 60) > 0.01
    links = browser.run("[...document.querySelectorAll('.tools a')].map((one) => one.protocol + one.download)")
    assert links
    assert all(link.startswith("data:") and link.endswith(".csv") for link in links)
    assert browser.problems == []


def test_the_policy_lets_nothing_else_run(browser, pages, tmp_path):
    html = pages("gaussian").read_text(encoding="utf-8")
    changed = tmp_path / "changed.html"
    evil = '<script>document.title = "it ran"</script><p style="color: red">red</p></body>'
    changed.write_text(html.replace("</body>", evil), encoding="utf-8")
    browser.open(changed)
    assert browser.run("document.title") != "it ran"
    assert len(browser.problems) == 2
    assert all("Content Security Policy" in words for words in browser.problems)
