"""For everyone: names of all that can be pressed, the keyboard, small screens, dark, and little motion."""

import re

import pytest

from tests.studio.browser import PHONE

pytestmark = pytest.mark.slow

# Interactive elements that a user can see, beside the cells of grids, whose grid has one focus.
NAMELESS = """() => {
    const all = "a, button, input, select, textarea, summary, [tabindex], [role=button], [role=img], img, "
        + "svg:not([aria-hidden=true] *, [aria-hidden=true])";
    const worded = (one) => one.getAttribute("aria-label")
        || document.getElementById(one.getAttribute("aria-labelledby"))?.textContent.trim()
        || [...(one.labels || [])].some((label) => label.textContent.trim())
        || (one.matches("a, button, summary, [role=button]") && one.innerText.trim())
        || (one.matches("svg") && one.querySelector(":scope > title")?.textContent.trim());
    const apart = (one) => one.matches("main, pre, aside[tabindex='-1'], .skip") || one.closest("[aria-hidden=true]")
        || (one.matches("svg") && one.closest("button, a, [role=img]:not(svg)"));
    return [...document.querySelectorAll(all)]
        .filter((one) => one.checkVisibility() && !apart(one) && !worded(one))
        .map((one) => one.outerHTML.slice(0, 200));
}"""
WIDER = """() => {
    const room = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= room) return [];
    return [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > room + 1)
        .map((one) => one.outerHTML.slice(0, 120)).slice(0, 5).concat(`room: ${room}`);
}"""
FOCUSED = """() => {
    const one = document.activeElement;
    if (!one || one === document.body) return null;
    one.dataset.reached = "yes";
    const cell = document.getElementById(one.getAttribute("aria-activedescendant"));
    const parts = one instanceof SVGElement ? [one, ...one.querySelectorAll("*")] : cell ? [one, cell] : [one];
    const look = () => parts.map((part) => {
        const {outlineStyle, outlineWidth, boxShadow, borderColor, stroke, strokeWidth} = getComputedStyle(part);
        const outline = outlineStyle === "none" ? "" : outlineWidth;
        return [outline, boxShadow, borderColor, stroke, strokeWidth].join();
    }).join();
    const focused = look();
    one.blur();
    const plain = look();
    one.focus();
    return {what: one.outerHTML.slice(0, 160), seen: focused !== plain};
}"""
MISSED = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0 && one.dataset.reached !== "yes")
    .filter((one) => one.type !== "radio" && !one.matches(".skip"))
    .map((one) => one.outerHTML.slice(0, 160))"""


def screens(studio):
    """Show each screen in turn, with all of it open; yield its title."""
    for screen in studio.state()["screens"]:
        studio.screen(screen["title"])
        if screen["key"] == "classes":
            studio.show("classes", **{"class": "all", "row": "1"})
        studio.settle()
        studio.open_all()
        yield screen["title"]


@pytest.mark.parametrize(
    "words",
    [
        ("example:penguins", "--classes", "2..3"),
        ("example:earthquakes", "--model", "hmm", "-k", "2"),
        ("--lesson", "em"),
    ],
)
def test_all_has_a_name_and_the_keyboard_reaches_it(open_studio, words):
    studio = open_studio(*words)
    if words[0].startswith("example:"):
        studio.fit()
    for title in screens(studio):
        assert studio.page.evaluate(NAMELESS) == [], title
        check_snapshot(studio, title)
        studio.page.get_by_role("link", name="Skip to the content").focus()
        ring = []
        for _ in range(400):
            studio.page.keyboard.press("Tab")
            found = studio.page.evaluate(FOCUSED)
            if found is None:
                break
            ring.append(found)
        assert [one["what"] for one in ring if not one["seen"]] == [], title
        assert studio.page.evaluate(MISSED) == [], title


def check_snapshot(studio, title):
    """What a screen reader finds to press has a name: in the snapshot it follows its role in quotes."""
    lines = studio.page.locator("body").aria_snapshot().splitlines()
    pressed = re.compile(r"- (button|link|textbox|combobox|checkbox|slider|spinbutton|searchbox|img|grid)( \[|:|$)")
    assert [line.strip() for line in lines if pressed.match(line.strip())] == [], title


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_no_sideways_scroll(open_studio, scheme):
    studio = open_studio("example:penguins", "--classes", "2..3", color_scheme=scheme, reduced_motion="reduce", **PHONE)
    for title in screens(studio):
        assert studio.page.evaluate(WIDER) == [], title
    studio.screen("Fit")
    studio.role("button", "Fit").click()
    studio.until(lambda state: state["job"] is not None or state["version"] is not None)
    moving = "document.getAnimations().filter((one) => one.playState === 'running').length"
    assert studio.page.evaluate(moving) == 0
    studio.until(lambda state: state["version"] is not None and state["job"] is None)
    for title in screens(studio):
        assert studio.page.evaluate(WIDER) == [], title
        assert studio.page.evaluate(moving) == 0, title
    back, text = studio.page.evaluate(
        "(({backgroundColor, color}) => [backgroundColor, color])(getComputedStyle(document.body))"
    )
    light = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (back, text)]
    assert (light[0] > light[1]) == (scheme == "light")
