"""EM number by number in a browser: coins step by step, the lesson by keys alone, and both on a small screen."""

import json
import re

import pytest

from halfseen.studio.lessons import lesson
from tests.shared_data import shared_data
from tests.studio.browser import PHONE, expect

pytestmark = pytest.mark.slow

COINS = {"columns": '["heads"]', "kinds": '{"heads":"binomial(10)"}', "start": '{"heads":{"p":[0.6,0.5]}}'}
FITS = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"


@pytest.fixture
def coins():
    return shared_data("coins/coins.csv")


def shows(studio, title, n, *cells):
    """Expect row n of a grid of numbers to have these cells."""
    row = studio.role("region", title).get_by_role("table").locator("tbody tr").nth(n)
    expect(row).to_have_text("".join(cells))


def at(studio, iteration):
    expect(studio.page.locator(".stepper .place")).to_contain_text(iteration)


def test_coins_step_by_step(open_studio, coins):
    studio = open_studio(coins)
    main = studio.screen("EM")
    main.get_by_role("combobox", name="Kind of heads").select_option("binomial")
    main.get_by_role("spinbutton", name="Number of trials of heads").fill("10")
    main.get_by_role("spinbutton", name="Number of trials of heads").press("Enter")
    for k, p in enumerate(("0.6", "0.5")):
        main.get_by_role("spinbutton", name=f"p of heads, class {k}").fill(p)
        main.get_by_role("spinbutton", name=f"p of heads, class {k}").press("Tab")
    expect(main.get_by_role("button", name="Forget what was typed")).to_be_visible()
    studio.role("button", "Step through it").click()
    at(studio, "The start")
    shows(studio, "Parameters", 0, "P(class)", "0.500000", "0.500000")
    shows(studio, "Parameters", 1, "p of heads", "0.600000", "0.500000")
    studio.page.keyboard.press("ArrowRight")
    at(studio, "Iteration 1")
    shows(studio, "M-step", 1, "p of heads", "0.713012", "0.581339")
    studio.role("button", "0.713012").click()
    arithmetic = studio.role("region", "Arithmetic")
    expect(arithmetic).to_contain_text("21.29748 / (21.29748 + 8.572247) = 0.713012")
    studio.page.keyboard.press("ArrowRight")
    expect(arithmetic).to_contain_text("11.70252 / (11.70252 + 8.427753) = 0.581339")
    studio.page.keyboard.press("Escape")
    expect(arithmetic).to_be_empty()
    expect(
        studio.page.get_by_role("img", name=re.compile("the lower bound touches the log-likelihood"))
    ).to_be_visible()
    studio.role("button", "One step back").click()
    at(studio, "The start")
    shows(studio, "Parameters", 1, "p of heads", "0.600000", "0.500000")
    studio.page.go_back()
    at(studio, "Iteration 1")
    studio.page.reload()
    at(studio, "Iteration 1")
    shows(studio, "M-step", 1, "p of heads", "0.713012", "0.581339")


def test_the_parts_of_an_iteration_follow_each_other(open_studio, coins):
    studio = open_studio(coins)
    studio.show("em", **COINS, at=0, phase="joint")
    at(studio, "The start")
    for part in ("Joint", "E-step", "Counts", "M-step"):
        studio.page.keyboard.press("ArrowRight")
        at(studio, f"Iteration 1: {part}")
        expect(studio.page.locator(".panel[aria-current=step] h3")).to_have_text(part)
    studio.page.keyboard.press("ArrowRight")
    at(studio, "Iteration 2: Joint")
    assert studio.page.locator(".panel.later h3").all_inner_texts() == ["E-step", "Counts", "M-step"]
    studio.page.keyboard.press("ArrowLeft")
    at(studio, "Iteration 1: M-step")
    studio.role("radio", "hard").check()
    expect(studio.page.locator(".lead")).to_contain_text("hard assignment")
    at(studio, "Iteration 1: M-step")


def test_the_lesson_by_keys_alone(open_studio):
    titles = [page["title"] for page in lesson("em")["pages"]]
    last, coins = len(titles), titles.index("Two coins: heads and tails are shared out") + 1
    studio = open_studio("--lesson", "em", enter=False)
    page = studio.page
    page.goto(studio.server.address)
    place, heading = page.locator(".progress"), page.locator(".words h2")
    expect(place).to_contain_text(f"Page 1 of {last}")
    for key, number in (("ArrowRight", 2), ("PageDown", 3), ("Space", 4), ("ArrowLeft", 3), ("End", last), ("Home", 1)):
        page.keyboard.press(key)
        expect(place).to_contain_text(f"Page {number} of {last}")
    page.evaluate(f"location.hash = '#/lesson?page={coins - 1}'")
    expect(heading).to_have_text(titles[coins - 2])
    page.keyboard.press("PageDown")
    expect(heading).to_have_text(titles[coins - 1])
    expect(studio.role("button", "0.713012")).to_be_visible()
    page.keyboard.press(".")
    at(studio, "Iteration 2")
    page.keyboard.press(",")
    at(studio, "Iteration 1: M-step")
    page.reload()
    expect(heading).to_have_text(titles[coins - 1])
    expect(studio.role("button", "0.713012")).to_be_visible()
    studio.role("button", "0.713012").focus()
    page.keyboard.press("Enter")
    expect(studio.role("region", "Arithmetic")).to_contain_text("= 0.713012")
    page.keyboard.press("Escape")
    expect(studio.role("region", "Arithmetic")).to_be_empty()
    page.go_back()
    expect(place).to_contain_text(f"Page {coins} of {last}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_fit_on_a_small_screen(open_studio, coins, scheme):
    studio = open_studio(coins, "--lesson", "em", color_scheme=scheme, **PHONE)
    for params in (
        {**COINS, "at": 3, "cell": "counts:2:1"},
        {"columns": json.dumps(["heads", "tails"]), "model": "kmeans", "at": 1, "compare": 1},
    ):
        studio.show("em", **params)
        expect(studio.page.locator(".stepper")).to_be_visible()
        expect(studio.page.locator(".waiting")).to_have_count(0)
        assert studio.page.evaluate(FITS)
    looks = [(page["show"]["kind"], page["show"]["grid"]) for page in lesson("em")["pages"]]
    for look in (("explain", "completions"), ("explain", "responsibilities"), ("bound", ""), ("kmeans", "distances")):
        number = looks.index(look) + 1
        studio.show("lesson", page=number)
        expect(studio.page.locator(".progress")).to_contain_text(f"Page {number} of")
        expect(studio.page.locator(".piece figure, .piece .panel").first).to_be_visible()
        assert studio.page.evaluate(FITS)
