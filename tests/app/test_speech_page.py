"""The report on recordings in Chromium: it plays, words play by mouse and keyboard, a cursor moves, nothing is cut."""

import re
import time

import pytest

from tests.browser import CHROMIUM, Browser
from tests.speech_page import speech

pytest.importorskip("jinja2")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium found to draw the pages"),
]
WIDTHS = pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["wide", "narrow"])
DEADLINE = 20.0  # seconds until what must happen has happened
CUT = """(() => {
  const found = [];
  for (const svg of document.querySelectorAll(".tiles svg")) {
    const box = svg.getBoundingClientRect();
    if (box.right > document.documentElement.clientWidth + 1) found.push("beyond the window");
    for (const text of svg.querySelectorAll("text")) {
      const own = text.getBoundingClientRect();
      if (own.left < box.left - 3 || own.right > box.right + 3 || own.bottom > box.bottom + 3)
        found.push("cut: " + text.textContent);
      if (own.height < 9) found.push("small: " + text.textContent);
    }
  }
  return found;
})()"""
STATE = """(() => {
  const audio = document.querySelector("#sound-1 audio"), cursors = [...document.querySelectorAll("#sound-1 .cursor")];
  const shown = cursors.filter((one) => one.getAttribute("visibility") === "visible");
  return {time: audio.currentTime, paused: audio.paused, error: audio.error && audio.error.message,
    seconds: audio.duration, places: shown.map((one) => one.getBoundingClientRect().left)};
})()"""


HEIGHTS = """Promise.all([...document.querySelectorAll(".tiles image")].map((one) => {
  const image = new Image();
  image.src = one.href.baseVal;
  return image.decode().then(() => image.naturalHeight);
}))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("chromium"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "speech.html"
    path.write_text(speech(), encoding="utf-8")
    return path


def wait(browser, script):
    """Wait until a script returns something true, and return it."""
    end = time.monotonic() + DEADLINE
    while not (found := browser.run(script)):
        assert time.monotonic() < end, f"never true: {script}"
        time.sleep(0.02)
    return found


def click(browser, selector):
    """Click the middle of the part of an element that is on the screen, by the mouse."""
    at = browser.run(
        f"""(() => {{
          const one = document.querySelector({selector!r});
          one.scrollIntoView({{block: "center"}});
          const box = one.getBoundingClientRect();
          return [box.left + box.width / 2, box.top + box.height / 2];
        }})()"""
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)


def press(browser, key):
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=KEYS[key])


KEYS = {"Enter": 13, "ArrowRight": 39, "ArrowLeft": 37}


def opened(browser, page, width, dark=False):
    browser.open(page)
    browser.look(width, dark)
    wait(browser, "[...document.querySelectorAll('audio')].every((one) => one.readyState > 0 || one.error)")


@WIDTHS
def test_every_sound_can_be_played(browser, page, width, dark):
    opened(browser, page, width, dark)
    assert (
        browser.run("[...document.querySelectorAll('audio')].filter((one) => one.error || !one.duration).length") == 0
    )
    click(browser, "#sound-1 .said")  # so that the page may play
    names = browser.run("[...document.querySelectorAll('audio')].map((one) => one.getAttribute('aria-label'))")
    assert len(names) == len(set(names)) >= 3
    played = """Promise.all([...document.querySelectorAll("audio")].map(async (one) => {
        one.currentTime = 0; await one.play(); one.pause(); return true; }))"""
    for number in range(len(names)):
        one = played.replace('audio")]', f'audio")].slice({number}, {number + 1})')
        assert browser.run(one) == [True]
    assert browser.problems == []


@WIDTHS
def test_a_click_plays_a_word_and_the_cursor_moves(browser, page, width, dark):
    opened(browser, page, width, dark)
    start, end = browser.run("Object.values(document.querySelectorAll('#sound-1 .said')[1].dataset).map(Number)")
    browser.run("document.querySelectorAll('#sound-1 .said')[1].setAttribute('id', 'second')")
    click(browser, "#second .area")
    first = wait(
        browser, f"(() => {{ const now = {STATE}; return now.time > {start} && now.places.length === 1 && now; }})()"
    )
    ended = wait(browser, f"(() => {{ const now = {STATE}; return now.paused && now.time >= {end} && now; }})()")
    assert first["error"] is None
    assert start < first["time"] <= ended["time"] < end + 0.3
    assert ended["time"] < ended["seconds"]
    assert len(ended["places"]) == 1
    assert browser.problems == []


def test_the_whole_sound_plays_on_after_a_word(browser, page):
    """The end of a word stops the sound once, and not when it is played again by its own button."""
    opened(browser, page, 1280)
    end = browser.run("Number(document.querySelector('#sound-1 .said').dataset.to)")
    click(browser, "#sound-1 .said .area")
    wait(browser, f"{STATE}.paused && {STATE}.time >= {end}")
    browser.run("document.querySelector('#sound-1 audio').currentTime = 0")
    browser.run("document.querySelector('#sound-1 audio').play()")
    wait(browser, f"{STATE}.time > {end} + 0.1")


def test_only_one_sound_plays_at_a_time(browser, page):
    opened(browser, page, 1280)
    click(browser, "#sound-1 .said .area")
    browser.run("document.querySelector('#sound-1 audio').play()")
    click(browser, "#sound-2 .said .area")
    wait(
        browser,
        "!document.querySelector('#sound-2 audio').paused || document.querySelector('#sound-2 audio').currentTime",
    )
    wait(browser, "document.querySelector('#sound-1 audio').paused")


def test_words_are_reached_and_played_by_the_keyboard(browser, page):
    opened(browser, page, 1280)
    stops = browser.run("[...document.querySelectorAll('#sound-1 .said')].map((one) => one.tabIndex)")
    assert stops[0] == 0
    assert set(stops[1:]) == {-1}
    browser.run("document.querySelector('#sound-1 .said').focus()")
    press(browser, "ArrowRight")
    name = browser.run("document.activeElement.getAttribute('aria-label')")
    assert re.fullmatch(r"Play \S+, \S+ s to \S+ s, confidence [01]\.\d\d, start ± \S+ ms", name)
    assert browser.run("document.activeElement.getAttribute('role')") == "button"
    start, end = browser.run("Object.values(document.activeElement.dataset).map(Number)")
    assert start > 0
    press(browser, "Enter")
    wait(browser, f"{STATE}.paused && {STATE}.time >= {end}")
    press(browser, "ArrowLeft")
    assert browser.run("document.activeElement === document.querySelector('#sound-1 .said')")
    assert browser.problems == []


@WIDTHS
def test_doubtful_places_play_from_their_table(browser, page, width, dark):
    opened(browser, page, width, dark)
    rows = browser.run(
        "[...document.querySelectorAll('.plays a')].map((one) => [one.hash, one.dataset.from, one.dataset.to])"
    )
    assert browser.run("document.querySelectorAll('.plays button').length") == len(rows) >= 3
    key, start, end = rows[0]
    click(browser, ".plays button")
    audio = f"document.querySelector('{key} audio')"
    wait(browser, f"{audio}.paused && {audio}.currentTime >= {end}")
    assert browser.run(f"{audio}.played.start(0)") == pytest.approx(float(start), abs=0.02)
    name = browser.run("document.querySelector('.plays button').getAttribute('aria-label')")
    assert re.fullmatch(r"Play \S+ in ann/u\d\d, \d\.\d\d s", name)
    copied = browser.run("document.querySelector('#look .tools a').href")
    assert "Play" not in copied
    assert browser.problems == []


@WIDTHS
def test_pictures_are_whole(browser, page, width, dark):
    opened(browser, page, width, dark)
    assert browser.run(CUT) == []
    assert browser.run("document.documentElement.scrollWidth") <= width
    images = browser.run(HEIGHTS)
    assert min(images) > 20
    assert browser.problems == []


def test_nothing_is_requested(browser, page):
    opened(browser, page, 1280)
    asked = browser.run("performance.getEntriesByType('resource').map((one) => one.name)")
    assert [name for name in asked if not name.startswith("data:")] == []


def test_print_has_pictures_and_no_buttons(browser, page):
    opened(browser, page, 700)
    browser.look(700, media="print")
    assert browser.run("[...document.querySelectorAll('audio, .plays')].every((one) => !one.getClientRects().length)")
    assert browser.run("document.querySelectorAll('.tiles svg')[0].getClientRects()[0].width") > 100


def test_without_script_the_page_has_players_and_links(browser, page):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
        browser.look(1280)
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert browser.run("document.querySelectorAll('audio[controls]').length") >= 3
    assert browser.run("document.querySelectorAll('.plays a').length") >= 3
    assert browser.run("document.querySelectorAll('.plays button, [role=button]').length") == 0
    assert browser.problems == []
