"""Screens of families in a browser: they show what the library says, work with keys alone, and live in the address."""

import json
import threading
import urllib.parse

import numpy as np
import pytest

import halfseen as hs
from halfseen.studio.session import Session
from halfseen.studio.spec import Spec
from tests.browser import CHROMIUM

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")]

OFFLINE = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(OFFLINE))
        yield browser
        browser.close()


class Studio:
    """A server of one session, and a page of it."""

    def __init__(self, chromium, session, **how):
        import uvicorn

        from halfseen.studio.guard import Keys
        from halfseen.studio.server import application
        from halfseen.studio.start import _socket, address_of

        listening = _socket("127.0.0.1", 0)
        keys, host = Keys(), address_of(listening)
        config = uvicorn.Config(application(session, host, keys), log_level="warning", lifespan="on")
        self.server, self.session = uvicorn.Server(config), session
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listening]})
        self.thread.start()
        self.context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
        self.context.set_default_timeout(60_000)  # the machine may be busy
        self.page = self.context.new_page()
        self.problems = []
        self.page.on("console", self._hear)
        self.page.on("response", self._refused)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.goto(f"http://{host}/#token={keys.token}")
        self.page.wait_for_selector("nav a")

    def _hear(self, one):
        if one.type in ("error", "warning") and not one.text.startswith("Failed to load resource"):
            self.problems.append(one.text)

    def _refused(self, response):
        """A view that was refused; the screen that is shown first, which may need data, is not of a family."""
        if response.status >= 400 and "/api/view" in response.url:
            self.problems.append(f"{response.status}: {response.url}")

    def show(self, screen, **params):
        self.page.evaluate("hash => { location.hash = hash; }", f"#/{screen}?{urllib.parse.urlencode(params)}")

    def params(self):
        return dict(urllib.parse.parse_qsl(self.page.evaluate("location.hash").partition("?")[2]))

    def until(self, script, argument=None):
        return self.page.wait_for_function(script, arg=argument, timeout=60_000)

    def close(self):
        self.context.close()
        self.session.events.close()
        self.server.should_exit = True
        self.thread.join(10)
        self.session.close()


@pytest.fixture
def opened(chromium):
    """Return a function that opens a session in the browser; nothing may go wrong on its page."""
    there = []

    def open_session(model, *data, word, **how):
        there.append(Studio(chromium, Session(Spec(tuple(map(str, data)), word, ""), model), **how))
        return there[-1]

    yield open_session
    problems = [problem for studio in there for problem in studio.problems]
    for studio in there:
        studio.close()
    assert problems == []


def percent(share):
    """A share as pages write it."""
    near = min(share, 1 - share)
    if 0 < near < 0.0005:
        return "<0.1%" if share < 0.5 else ">99.9%"
    return f"{share:.1%}" if 0 < near < 0.01 else f"{share:.0%}"


PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "is_mobile": True, "has_touch": True}


def check_fits_a_phone(studio):
    """No sideways scroll of the page, and a name for everything that can be pressed."""
    assert studio.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    nameless = """() => [...document.querySelectorAll("main button, main input, main select, main [role=button]")]
        .filter(one => !(one.ariaLabel || one.getAttribute("aria-label") || one.textContent.trim()
            || (one.labels && one.labels.length && one.labels[0].textContent.trim())))
        .map(one => one.outerHTML.slice(0, 200))"""
    assert studio.page.evaluate(nameless) == []
    inline = "[...document.querySelectorAll('main *')].filter(one => one.hasAttribute('onclick')).length"
    assert studio.page.evaluate(inline) == 0


# ---- timelines -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weather(tmp_path_factory):
    """Two cities with dates, numbers that are missing at times, and categories."""
    rng = np.random.default_rng(0)
    days = np.arange("2024-01-01", "2026-03-31", dtype="datetime64[D]")
    rows = []
    for city in ("Oslo", "Lima"):
        warm = (np.arange(len(days)) // 40) % 2
        heat = [f"{value:.1f}" if rng.random() > 0.05 else "" for value in rng.normal(20 * warm, 2)]
        sky = np.where(rng.random(len(days)) < 0.2 + 0.6 * warm, "clear", "rain")
        rows += zip([city] * len(days), days.astype(str), heat, sky, strict=True)
    path = tmp_path_factory.mktemp("weather") / "weather.csv"
    path.write_text("\n".join(["city,day,heat,sky", *(",".join(row) for row in rows)]))
    model = hs.HMM(2, emission="auto", n_init=2, random_state=0)
    return model.fit(hs.open_table(str(path)), groups="city", time="day"), path


def test_a_window_is_dragged_kept_in_the_address_and_there_again_after_a_reload(opened, weather):
    studio = opened(*weather, word="hmm")
    studio.show("timeline")
    box = studio.page.wait_for_selector(".brush").bounding_box()
    mouse = studio.page.mouse
    mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 20)
    mouse.down()
    mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20, steps=6)
    mouse.up()
    studio.until("() => location.hash.includes('from=')")
    drawn = studio.params()
    first, last = int(drawn["from"]), int(drawn["to"])
    assert 120 < first < 240
    assert 300 < last < 460
    studio.page.reload()
    studio.until(
        "words => document.querySelector('.brush')?.ariaValueText === words", f"steps {first} to {last - 1} of 820"
    )
    assert studio.params() == drawn


def test_keys_move_and_zoom_the_window(opened, weather):
    studio = opened(*weather, word="hmm")
    studio.show("timeline", **{"from": 100, "to": 300})
    studio.page.wait_for_selector(".brush")
    studio.page.focus(".brush")
    for key, expected in (
        ("ArrowRight", (120, 320)),
        ("Shift+ArrowLeft", (0, 200)),
        ("+", (33, 166)),
        ("End", (687, 820)),
    ):
        studio.page.keyboard.press(key)
        studio.until("hash => location.hash.endsWith(hash)", f"from={expected[0]}&to={expected[1]}")
    studio.page.keyboard.press("0")
    studio.until("() => !location.hash.includes('from=')")


def test_the_readout_says_what_the_library_says(opened, weather):
    model, path = weather
    studio = opened(model, path, word="hmm")
    studio.show("timeline", sequence=1, **{"from": 200, "to": 260})
    studio.until("() => document.querySelector('.brush')?.ariaValueText.startsWith('steps 200')")
    studio.page.focus("svg.chart")
    studio.page.wait_for_timeout(500)
    for _ in range(4):
        studio.page.keyboard.press("ArrowRight")
    words = studio.page.inner_text(".timeline .readout")
    table = hs.open_table(str(path))
    proba = model.predict_proba(table, groups="city", time="day")[820 + 203]
    name = model.state_names_[int(proba.argmax())]
    assert words.startswith("2024-07-22")
    assert f"{name} {percent(proba.max())}" in words
    heat = path.read_text().splitlines()[1 + 820 + 203].split(",")[2]
    assert ("heat missing" if heat == "" else f"heat {float(heat):.2f}".rstrip("0")) in words.replace("−", "-")


def test_another_sequence_and_back(opened, weather):
    studio = opened(*weather, word="hmm")
    studio.show("timeline")
    studio.page.click("text=Next")
    studio.until("() => location.hash.includes('sequence=1')")
    studio.until("() => document.querySelector('.chooser select').selectedOptions[0].text.startsWith('Lima')")
    studio.page.go_back()
    studio.until("() => document.querySelector('.chooser select').selectedOptions[0].text.startsWith('Oslo')")


def test_a_forecast_begins_after_the_last_step(opened, weather):
    studio = opened(*weather, word="hmm", **PHONE)
    studio.show("timeline", **{"from": 100, "to": 200})
    field = studio.page.get_by_label("Forecast, steps")
    field.fill("30")
    field.press("Enter")
    studio.page.wait_for_selector(".timeline .fan")
    assert studio.params() == {"from": "720", "to": "820", "ahead": "30"}
    assert studio.page.locator(".timeline .fan").count() == 2
    check_fits_a_phone(studio)


def test_an_address_that_is_wrong_shows_something_all_the_same(opened, weather):
    studio = opened(*weather, word="hmm")
    studio.show("timeline", sequence="77", columns="5,x,1", ahead="-3", **{"from": "9", "to": "4"})
    studio.until("() => document.querySelector('.chooser select')?.selectedOptions[0].text.startsWith('Lima')")
    studio.page.wait_for_selector(".timeline .category")


# ---- networks --------------------------------------------------------------------------------------------------------

SPRINKLER = {
    "rain": [0.8, 0.2],
    "sprinkler": [[0.6, 0.4], [0.99, 0.01]],
    "wet": [[[1.0, 0.0], [0.1, 0.9]], [[0.2, 0.8], [0.01, 0.99]]],
}


def garden():
    edges = [("rain", "sprinkler"), ("rain", "wet"), ("sprinkler", "wet")]
    return hs.BayesNet.from_params(SPRINKLER, edges, states={name: ["no", "yes"] for name in SPRINKLER})


def shares(studio, name):
    return studio.page.locator(f".node[data-name={name}] .share").all_text_contents()


def test_a_press_of_a_state_sets_evidence_and_another_takes_it_back(opened):
    net = garden()
    studio = opened(net, word="classes")
    studio.show("network")
    studio.page.locator(".node[data-name=wet] .row").nth(1).click()
    studio.until("() => document.querySelector('.evidence .chips')?.textContent.includes('wet = yes')")
    assert json.loads(studio.params()["evidence"]) == {"wet": "yes"}
    expected = [f"{p:.0%}" for p in np.asarray(net.query("rain", {"wet": "yes"}))]
    shown = "[...document.querySelectorAll('.node[data-name=rain] .share')].map(one => one.textContent).join()"
    studio.until(f"texts => {shown} === texts", ",".join(expected))
    assert studio.page.locator(".node[data-name=rain] .before").count() == 2
    assert shares(studio, "wet") == ["0%", "100%"]
    studio.page.locator(".node[data-name=wet] .row").nth(1).click()
    studio.until("() => !document.querySelector('.evidence .chips')")
    studio.until("text => document.querySelector('.node[data-name=rain] .share').textContent === text", "80%")
    studio.page.go_back()
    studio.until("() => document.querySelector('.evidence .chips')?.textContent.includes('wet = yes')")


def test_a_network_with_keys_alone(opened):
    studio = opened(garden(), word="classes", **PHONE)
    studio.show("network")
    studio.page.wait_for_selector(".node")
    studio.page.focus(".node[data-name=rain]")
    studio.page.keyboard.press("ArrowDown")
    assert studio.page.evaluate("document.activeElement.dataset.name") == "sprinkler"
    studio.page.keyboard.press("Enter")
    studio.until("() => document.activeElement.matches('.states button')")
    studio.page.keyboard.press("Tab")
    studio.page.keyboard.press("Enter")
    studio.until("() => document.querySelector('.evidence .chips')?.textContent.includes('sprinkler = yes')")
    assert studio.page.get_attribute(".states button >> nth=1", "aria-pressed") == "true"
    studio.page.keyboard.press("Escape")
    assert studio.page.evaluate("document.activeElement.dataset.name") == "sprinkler"
    check_fits_a_phone(studio)
    studio.page.click("text=Clear evidence")
    studio.until("() => !location.hash.includes('evidence')")


def test_impossible_evidence_is_said_and_can_be_taken_back(opened):
    studio = opened(garden(), word="classes")
    studio.show("network", evidence=json.dumps({"wet": "yes", "rain": "no", "sprinkler": "no"}))
    studio.until("() => document.querySelector('.evidence .problem')?.textContent.includes('impossible')")
    assert [problem[:4] for problem in studio.problems] == ["422:"]
    studio.problems.clear()
    studio.page.click("button[aria-label='Take back rain = no']")
    studio.until("() => !document.querySelector('.evidence .problem')")
    studio.until("text => document.querySelector('.evidence [role=status]')?.textContent.includes(text)", "log")


# ---- word alignment --------------------------------------------------------------------------------------------------

LINES = ["das Haus ||| the house", "das Buch ||| the book", "ein Buch ||| a book", "ein Haus ||| a house"] * 5


def test_links_of_the_word_that_is_pointed_at(opened, tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("\n".join(LINES))
    model = hs.WordAligner("hmm", max_iter=5, random_state=0).fit(str(path))
    studio = opened(model, path, word="words")
    studio.show("links")
    studio.page.wait_for_selector(".link.best")
    token = studio.page.locator(".pair-card").first.locator("[data-side=source][data-at='1']")
    token.hover()
    [pair] = [studio.page.locator(".pair-card").first]
    assert pair.locator(".token.near").all_inner_texts() == ["Haus", "house"]
    assert pair.locator(".link.best.near").count() == 1
    share = model.align_proba(LINES[:1])[0][1, 1]
    assert f"house {percent(share)}" in pair.locator(".readout").inner_text()
    token.focus()
    studio.page.keyboard.press("Enter")
    studio.page.wait_for_selector(".word-of .bars li")
    assert studio.params()["word"] == "Haus"
    assert "house" in studio.page.inner_text(".word-of .bars li >> nth=0")


def test_pairs_are_found_page_by_page(opened, tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("\n".join(LINES))
    model = hs.WordAligner("ibm1", max_iter=5, random_state=0).fit(str(path))
    studio = opened(model, path, word="words", **PHONE)
    studio.show("links")
    studio.page.wait_for_selector(".pair-card")
    studio.page.click("text=Next")
    studio.until("() => document.querySelector('.pair-card h3').textContent === 'Pair 9'")
    studio.page.get_by_label("Find in either language").fill("ein haus")
    studio.page.keyboard.press("Enter")
    studio.until("() => document.querySelector('.pair-card h3').textContent === 'Pair 4'")
    assert studio.page.locator(".pair-card").count() == 5
    check_fits_a_phone(studio)


# ---- grammars --------------------------------------------------------------------------------------------------------

RULES = """
S -> NP VP [1.0]
NP -> Det N [0.6] | NP PP [0.4]
VP -> V NP [0.7] | VP PP [0.3]
PP -> P NP [1.0]
Det -> 'the' [1.0]
N -> 'dog' [0.5] | 'park' [0.3] | 'cat' [0.2]
V -> 'saw' [1.0]
P -> 'in' [1.0]
"""


def test_a_sentence_of_ones_own_has_its_tree_and_rules(opened):
    grammar = hs.PCFG.from_string(RULES)
    studio = opened(grammar, word="classes", **PHONE)
    studio.show("trees")
    studio.page.get_by_label("A sentence of your own").fill("the dog saw the cat in the park")
    studio.page.keyboard.press("Enter")
    studio.page.wait_for_selector("svg.tree")
    best = grammar.parse("the dog saw the cat in the park")
    assert studio.page.get_attribute("svg.tree", "aria-label") == f"Tree: {best.tree}"
    assert f"{best.log_probability:.3f}".replace("-", "−") in studio.page.inner_text(".parsed")
    studio.page.locator("svg.tree .symbol", has_text="PP").first.focus()
    assert studio.page.inner_text(".parsed .readout") == "PP -> P NP 100%"
    assert studio.page.locator("svg.tree .word.near").all_text_contents() == ["in", "the", "park"]
    studio.page.locator("svg.tree .symbol", has_text="NP").first.focus()
    assert studio.page.locator("svg.tree .word.near").all_text_contents() == ["the", "dog"]
    studio.page.locator("svg.tree .symbol", has_text="N").last.press("Enter")
    studio.until("() => location.hash.includes('symbol=')")
    check_fits_a_phone(studio)
    assert studio.page.evaluate("document.querySelector('main h2').getBoundingClientRect().top") < 400  # in its place


def test_why_a_sentence_has_no_tree(opened):
    studio = opened(hs.PCFG.from_string(RULES), word="classes")
    studio.show("trees", text="the bird saw the cat")
    studio.until(
        "() => document.querySelector('.parsed .problem')?.textContent.includes(\"not in the grammar: 'bird'\")"
    )


def test_a_grammar_that_is_not_fitted_yet_and_its_fit(open_studio):
    studio = open_studio("example:english.txt", "--model", "example:english.cfg")
    assert studio.screen("Trees").locator(".lead").inner_text() == "There is no model yet: fit one first."
    studio.fit()
    assert studio.page.locator(".live h3").first.inner_text() == "The starts"  # not "1 rule"
    studio.screen("Trees")
    studio.page.wait_for_selector("svg.tree")


# ---- transcripts -----------------------------------------------------------------------------------------------------


def test_words_of_an_utterance_over_time(opened, tmp_path):
    rng, places = np.random.default_rng(0), {"a": 0.0, "b": 6.0, "c": 12.0}
    spoken = {"x": "a b c", "y": "c a", "z": "b a b"}
    rows = [
        (name, rng.normal(places[unit], 1)) for name, said in spoken.items() for unit in said.split() for _ in range(5)
    ]
    data, transcripts = tmp_path / "steps.csv", tmp_path / "transcripts.csv"
    data.write_text("\n".join(["who,f", *(f"{name},{value}" for name, value in rows)]))
    transcripts.write_text("\n".join(["name,transcript", *(f"{name},{said}" for name, said in spoken.items())]))
    model = hs.TranscriptAligner(1, random_state=0)
    model.fit(hs.open_table(str(data)), spoken, groups="who")
    model._origin = model._origin._replace(reading={"data": str(data), "group": "who", "transcripts": str(transcripts)})
    studio = opened(model, data, word="transcript", **PHONE)
    studio.show("utterances", find="b a")
    studio.page.wait_for_selector(".segment.word")
    assert studio.page.locator(".segment.word").count() == 3
    studio.page.locator(".segment.word").nth(1).focus()
    part = model.align(hs.open_table(str(data)), spoken, groups="who")[2].words[1]
    words = f"a: {part.start:.0f} to {part.end:.0f}"
    assert studio.page.inner_text(".readout").startswith(words)
    check_fits_a_phone(studio)
