"""Widgets in Chromium, in a page that plays a notebook: what users do, and that neither page touches the other."""

import threading
import warnings

import ipywidgets
import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen.studio import watch as watching
from tests.studio.bridged import Comm
from tests.studio.notebook_page import ORIGIN, Notebook

pytestmark = pytest.mark.slow
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: it drives Chromium")
expect = playwright.expect


@pytest.fixture
def notebook(chromium, monkeypatch):
    monkeypatch.setattr(ipywidgets.comm, "create_comm", lambda **given: Comm(**given))
    context = chromium.new_context(viewport={"width": 1100, "height": 900}, accept_downloads=True)
    context.set_default_timeout(60_000)
    found = Notebook(context)
    yield found
    found.check()
    for widget in found.widgets.values():
        widget.close()
    context.close()


@pytest.fixture(scope="module")
def penguins():
    return hs.load_penguins()


@pytest.fixture(scope="module")
def model(penguins):
    return hs.LatentClass(3, random_state=0).fit(penguins)


def tab(cell, title):
    cell.get_by_role("navigation", name="Screens").get_by_role("link", name=title, exact=True).click()
    expect(cell.locator("nav [aria-current=page]")).to_have_text(title)


def test_classes_are_named_and_rows_labelled(notebook, model, penguins):
    widget = model.studio(penguins)
    cell = notebook.add("w", widget)
    expect(cell.locator("nav [aria-current=page]")).to_have_text("Classes")
    expect(cell.locator(".card")).to_have_count(3)
    cell.get_by_role("button", name="Name the classes").click()
    cell.get_by_role("textbox").first.fill("Adelie")
    cell.get_by_role("textbox").first.press("Enter")
    expect(cell.locator(".card h4").first).to_have_text("Adelie")  # a field in its place has no text
    assert widget.model.class_names_ == ("Adelie", "class 1", "class 2")
    tab(cell, "Data")
    expect(cell.get_by_role("grid").first).to_contain_text("Torgersen")
    notebook.page.wait_for_function("notebook.models.get('w').state.revision > 1")
    assert widget.revision > 1


def test_a_fit_climbs_on_the_page(notebook, penguins):
    widget = hs.studio(penguins)
    cell = notebook.add("w", widget)
    tab(cell, "Fit")
    classes = cell.get_by_label("Number of classes")
    classes.fill("2..3")
    classes.press("Tab")
    cell.get_by_role("button", name="Fit", exact=True).click()
    expect(cell.get_by_role("status").filter(has_text="converged")).to_be_visible()
    expect(cell.locator(".live canvas").first).to_be_visible()
    assert widget.model.n_components_ in (2, 3)
    assert widget.model.loglik_ == hs.LatentClass(range(2, 4), random_state=0).fit(penguins).loglik_


def test_the_notebook_stays_as_it_is(notebook, model, penguins):
    page = notebook.page
    look = "(one) => { const s = getComputedStyle(one); return [s.color, s.fontFamily, s.padding, s.backgroundColor]; }"
    before = [page.locator(name).evaluate(look) for name in ("#own", "#run")]
    cell = notebook.add("w", model.studio(penguins))
    tab(cell, "Fit")
    button = cell.get_by_role("button", name="Fit", exact=True)
    assert [page.locator(name).evaluate(look) for name in ("#own", "#run")] == before
    colour, font, padding, background = button.evaluate(look)
    assert (colour, background) == ("rgb(255, 255, 255)", "rgb(27, 108, 168)")
    assert "system-ui" in font
    assert padding != "40px"
    assert page.url == f"{ORIGIN}/"
    assert page.title() == "A notebook"
    assert page.evaluate("document.styleSheets.length") == 1


def test_keys_stay_where_they_are_pressed(notebook, model, penguins):
    page, widget = notebook.page, model.studio(penguins)
    cell = notebook.add("w", widget)
    expect(cell.locator(".card")).to_have_count(3)
    page.locator("#run").focus()
    for key in ("f", "1", "u", "?"):
        page.keyboard.press(key)
    assert page.evaluate("notebook.keys") == ["f", "1", "u", "?"]
    expect(cell.locator("nav [aria-current=page]")).to_have_text("Classes")
    cell.get_by_role("link", name="Classes", exact=True).focus()
    page.keyboard.press("1")
    expect(cell.locator("nav [aria-current=page]")).to_have_text("Data")
    page.keyboard.press("f")
    expect(cell.locator(".version option")).to_have_count(2)
    assert page.evaluate("notebook.keys.length") == 4
    assert len(widget.models) == 2


def test_the_theme_is_that_of_the_notebook(notebook, model, penguins):
    page = notebook.page
    cell = notebook.add("w", model.studio(penguins))
    paper = "(one) => getComputedStyle(one).backgroundColor"
    expect(cell.locator(".card").first).to_be_visible()
    assert cell.locator(".page").evaluate(paper) == "rgb(255, 255, 255)"
    page.evaluate("document.body.classList.add('night')")
    expect(cell.locator(".dark")).to_have_count(1)
    assert cell.locator(".page").evaluate(paper) == "rgb(21, 24, 29)"
    page.evaluate("document.body.classList.remove('night')")
    expect(cell.locator(".dark")).to_have_count(0)
    page.evaluate("document.body.style.background = 'oklch(0.2 0.02 250)'")  # whatever form a colour has
    expect(cell.locator(".dark")).to_have_count(1)


def test_two_studios_and_two_views_share_nothing(notebook, model, penguins):
    first, second = model.studio(penguins), hs.studio(penguins[["species", "sex"]])
    one, two = notebook.add("one", first), notebook.add("two", second)
    expect(one.locator(".card")).to_have_count(3)
    expect(two.locator("nav [aria-current=page]")).to_have_text("Data")
    tab(two, "Fit")
    two.get_by_role("button", name="Fit", exact=True).click()
    expect(two.get_by_role("status").filter(has_text="converged")).to_be_visible()
    expect(one.locator("nav [aria-current=page]")).to_have_text("Classes")
    assert (len(first.models), len(second.models)) == (1, 1)
    again = notebook.show("one", 1)
    tab(again, "Compare")
    expect(one.locator("nav [aria-current=page]")).to_have_text("Classes")
    notebook.page.evaluate("notebook.keys.length")
    notebook.end("one", 1)
    tab(one, "Data")
    expect(one.get_by_role("grid").first).to_contain_text("Torgersen")


def test_a_view_that_is_gone_asks_nothing(notebook, model, penguins):
    widget = model.studio(penguins)
    cell = notebook.add("w", widget)
    expect(cell.locator(".card")).to_have_count(3)
    notebook.end("w")
    expect(cell).to_have_count(0)
    assert notebook.page.evaluate("notebook.models.get('w').bus.count()") == 0
    asked = notebook.asked
    widget._session.changed()  # pages ask for the state then
    notebook.page.wait_for_timeout(300)
    assert notebook.asked == asked
    again = notebook.show("w", 1)
    expect(again.locator(".card")).to_have_count(3)


def test_files_are_saved(notebook, model, penguins, tmp_path):
    widget = model.studio(penguins)
    cell = notebook.add("w", widget)
    tab(cell, "Export")
    with notebook.page.expect_download() as found:
        cell.get_by_role("button", name="model", exact=False).first.click()
    path = tmp_path / found.value.suggested_filename
    found.value.save_as(path)
    assert path.suffix == ".halfseen"
    assert hs.load(path).loglik_ == model.loglik_


def test_a_silent_kernel_is_told(notebook, model, penguins):
    cell = notebook.add("w", model.studio(penguins))
    expect(cell.locator(".card")).to_have_count(3)
    notebook.page.evaluate("notebook.deaf = true")
    tab(cell, "Data")
    expect(cell.get_by_role("alert").filter(has_text="The kernel does not answer")).to_be_visible(timeout=30_000)
    notebook.page.evaluate("notebook.deaf = false")
    tab(cell, "Fit")  # asks again
    expect(cell.get_by_role("alert")).to_have_count(0)


# ---- a watched call ----


class Running:
    """A watched call in a thread, as the kernel has it while a page is looked at."""

    def __init__(self, monkeypatch, call, *args):
        self.widget, self.result, shown = None, None, threading.Event()

        def show(widget):
            self.widget = widget
            shown.set()

        def run():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.result = hs.watch(call, *args)

        monkeypatch.setattr(watching, "display", lambda: show)
        self.thread = threading.Thread(target=run)
        self.thread.start()
        assert shown.wait(60)

    def join(self):
        self.thread.join(60)
        assert not self.thread.is_alive()
        return self.result


def slow():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(20_000, 6)), columns=list("abcdef"))


def long_fit():
    return hs.GaussianMixture(6, n_init=40, tol=1e-12, random_state=0).fit


def test_a_watched_fit_climbs_and_stops(notebook, monkeypatch):
    running = Running(monkeypatch, long_fit(), slow())
    cell = notebook.add("c", running.widget)
    expect(cell.locator(".job")).to_contain_text("iteration")
    expect(cell.locator("canvas").first).to_be_visible()
    cell.get_by_role("button", name="Stop").click()
    expect(cell.locator(".job")).to_contain_text("Interrupted after")
    assert running.join().stop_reason_ == "interrupted"
    late = notebook.show("c", 1)  # a view that opens after the end shows all of it
    expect(late.locator(".job")).to_contain_text("Interrupted after")
    expect(late.locator("canvas").first).to_be_visible()


@pytest.mark.parametrize("interrupts", [True, False])
def test_stop_where_no_message_arrives(notebook, monkeypatch, interrupts):
    running = Running(monkeypatch, long_fit(), slow())
    cell = notebook.add("c", running.widget, interrupts)
    expect(cell.locator(".job")).to_contain_text("iteration")
    monkeypatch.setattr(running.widget, "_handle_msg", lambda message: None)  # a kernel that is busy with the cell
    cell.get_by_role("button", name="Stop").click()
    if interrupts:
        notebook.page.wait_for_function("notebook.interrupts === 1")
        expect(cell.get_by_text("Interrupt the cell")).to_have_count(0)
    else:
        expect(cell.get_by_text("Interrupt the cell")).to_be_visible()
    monkeypatch.undo()
    running.widget._handle_msg({"content": {"data": {"method": "custom", "content": {"stop": True}}}, "buffers": []})
    assert running.join().stop_reason_ == "interrupted"
