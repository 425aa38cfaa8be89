"""Fits in a browser: choices, curves as they climb, the outcome, and the keyboard alone."""

import itertools
import json
import re

import pytest

from tests.app.in_process import run
from tests.studio.browser import expect

pytestmark = pytest.mark.slow

HEARD = """() => {
    window.heard = [];
    const source = new EventSource("/api/events?after=0");
    for (const type of ["progress", "done", "failed"])
        source.addEventListener(type, (event) => heard.push([type, JSON.parse(event.data)]));
    return new Promise((opened) => { source.onopen = () => opened(); });
}"""


def curves_of(events):
    """Return the objectives of each start of each search, as the events bring them."""
    found = {}
    for name, data in events:
        if name == "progress":
            for start, curve in data["curves"].items():
                known = found.setdefault((data["search"], start), [])
                del known[curve["from"] :]
                assert len(known) == curve["from"], "points of a curve are missing"
                known += curve["values"]
    return found


def test_states_of_earthquakes(open_studio):
    studio = open_studio("example:earthquakes")
    studio.screen("Data").get_by_role("combobox", name="Kind of count").select_option("poisson")
    main = studio.screen("Fit")
    main.get_by_label("Model", exact=True).select_option(label="hidden Markov models")
    number = main.get_by_label("Number of states")
    number.fill("2")
    number.press("Enter")
    main.get_by_text("More options").click()
    main.get_by_label("Time", exact=True).select_option("year")
    studio.until(lambda state: state["spec"]["options"] == {"time": "year"})
    state = studio.fit()
    assert state["spec"]["columns"] == {"count": "poisson"}
    assert round(state["versions"][-1]["loglik"], 2) == -341.88
    main.get_by_role("img", name=re.compile(r"^Objective of .*; the best is -341\.88$")).wait_for()
    expect(main.locator(".outcome")).to_contain_text("log-likelihood -341.9 (maximum likelihood)")
    main = studio.screen("States")
    expect(main.get_by_role("heading", name="state 1", exact=True)).to_be_visible()
    main.get_by_role("region", name="Profile of each state").wait_for()


def test_curves_climb_while_it_fits_and_the_outcome_is_that_of_the_command_line(open_studio):
    words = ("example:penguins", "--classes", "2..4", "--ignore", "species")
    studio = open_studio(*words)
    studio.page.evaluate(HEARD)
    studio.fit()
    studio.wait_for("heard.some(([type]) => type === 'done')")
    events = studio.page.evaluate("heard")
    before = list(itertools.takewhile(lambda event: event[0] == "progress", events))
    assert events[len(before)][0] == "done"
    assert len(before) >= 3
    curves = curves_of(before)
    assert {search for search, _ in curves} == set(range(3))
    for values in curves.values():
        pairs = itertools.pairwise(value for value in values if value is not None)
        assert all(b >= a - 1e-9 * max(1, abs(a)) for a, b in pairs)
    assert max(map(len, curves.values())) >= 3
    found = json.loads(run("fit", *words, "--json").stdout)
    [version] = studio.state()["versions"]
    assert version["bic"] == found["bic"]
    shown = studio.role("combobox", "Version").locator("option:checked")
    expect(shown).to_have_text(f"1: {version['n_components']} classes, BIC {found['bic']:,.1f}")


def test_a_refused_choice_is_said_at_its_field(open_studio):
    studio = open_studio("example:penguins")
    main = studio.screen("Fit")
    studio.allow("status of 422")
    seed = main.get_by_label("Seed", exact=True)
    seed.fill("-1")
    seed.press("Enter")
    expect(seed).to_have_attribute("aria-invalid", "true")
    assert studio.state()["spec"]["options"] == {}


KEYS = """(keys) => keys.forEach((key) => document.body.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })))"""
CUT_OFF = """() => {  // a letter goes into a field, the page takes the field away, and the text goes on
    const field = document.querySelector("main").appendChild(document.createElement("input"));
    const press = (at, key) => at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    press(field, "l");
    field.remove();
    ["e", "f", "t", "3"].forEach((key) => press(document.body, key));
}"""


def test_a_fit_starts_once_and_by_no_letter_of_a_text(open_studio):
    studio = open_studio("example:votes", "--classes", "2")
    studio.screen("Data")
    studio.page.evaluate(CUT_OFF)
    assert studio.page.evaluate("location.hash") == "#/data"
    studio.page.evaluate(KEYS, ["Escape", "f", "f"])
    studio.page.wait_for_url(re.compile("#/fit"))
    studio.until(lambda state: state["version"] == 1 and state["job"] is None)
    studio.role("button", "Fit").dblclick()
    studio.until(lambda state: state["version"] == 2 and state["job"] is None)
    expect(studio.role("button", "Fit")).to_be_enabled()
    expect(studio.role("main").get_by_role("alert")).to_have_count(0)  # nor was a second one refused
    assert len(studio.state()["versions"]) == 2


def test_a_fit_with_the_keyboard_alone(open_studio):
    studio = open_studio("example:votes")
    keys = studio.page.keyboard

    def tab_to(name, role):
        for _ in range(60):
            keys.press("Tab")
            focused = studio.role(role, name)
            if focused.count() and focused.first.evaluate("one => one === document.activeElement"):
                return
        raise AssertionError(f"Tab does not reach {name}")

    tab_to("Fit", "link")
    keys.press("Enter")
    tab_to("Number of classes", "textbox")
    keys.press("Control+A")
    keys.type("2")
    keys.press("Enter")
    studio.until(lambda state: state["spec"]["classes"] == "2")
    tab_to("Fit", "button")
    keys.press("Enter")
    studio.until(lambda state: state["version"] == 1 and state["job"] is None)
    expect(studio.role("main").locator(".outcome")).to_contain_text("2 classes")
    keys.press("3")
    expect(studio.role("button", "Name the classes")).to_be_visible()
    tab_to("Name the classes", "button")
    keys.press("Enter")
    expect(studio.role("textbox", "Name of class 0")).to_be_focused()
    keys.press("Control+A")
    keys.type("left")
    keys.press("Enter")
    studio.until(lambda state: state["components"] == ["left", "class 1"])
    expect(studio.role("button", "Name the classes")).to_be_focused()  # the form is gone: letters are shortcuts again
    expect(studio.role("heading", "left").first).to_be_visible()
    keys.press("u")
    studio.until(lambda state: state["components"] == ["class 0", "class 1"])
