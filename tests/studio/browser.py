"""A studio as users have it: a server in a process of its own, and its page in Chromium, where nothing may go wrong.

A page that logs an error, breaks its policy, opens a dialog or asks another address than its own fails its test.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from urllib.parse import urlencode

import pytest

from tests.browser import CHROMIUM

with contextlib.suppress(ImportError):
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)  # milliseconds; the machine may be busy
SECONDS = 60  # that anything may take before a test gives up
LOOPBACK = "127.0.0.1"
OFFLINE = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    f"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {LOOPBACK}",
)
REPORTS = """addEventListener("securitypolicyviolation", (event) =>
    console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));"""
SLOWER = float(os.environ.get("HALFSEEN_SLOWER", "1"))  # so many times as slow is the page: to look for races
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


class Server:
    """`halfseen studio` in a process of its own; `address` has its token, `origin` is without."""

    def __init__(self, *words, port=0):
        self.log = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115, as long as the process
        command = [sys.executable, "-m", "halfseen", "studio", *map(str, words), "--no-browser", "--port", str(port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self._address = None

    @property
    def address(self):
        if self._address is None:
            self._address = self.process.stdout.readline().strip()
            assert self._address.startswith(f"http://{LOOPBACK}:"), self.said()
        return self._address

    @property
    def origin(self):
        return self.address.partition("/#")[0]

    @property
    def port(self):
        return int(self.origin.rpartition(":")[2])

    def said(self):
        """What it wrote into the terminal."""
        self.log.seek(0)
        return self.log.read()

    def kill(self):
        """End it as a crash does."""
        self.process.kill()
        self.process.wait(SECONDS)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()
        self.process.stdout.close()
        said = self.said()
        self.log.close()
        assert "Traceback" not in said, said


def slow_down(page):
    """Let a page have a part of the processor, as on a machine that is busy."""
    if SLOWER > 1:
        page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})


class Opened:
    """A page of a server. `problems` is what went wrong on it; `allow` names what a test expects to."""

    def __init__(self, server, context):
        self.server, self.context, self.problems, self.allowed = server, context, [], []
        context.set_default_timeout(SECONDS * 1000)
        context.add_init_script(REPORTS)
        self.page = self.tab()

    def tab(self):
        """Return another page in the same browser."""
        page = self.context.new_page()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.problems.append(f"exception: {error}"))
        page.on("dialog", lambda dialog: (self.problems.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", self._asked)
        slow_down(page)
        return page

    def _heard(self, message):
        if message.type in ("error", "warning", "assert"):
            self.problems.append(f"{message.type}: {message.text} {message.location.get('url', '')}")

    def _asked(self, request):
        if not request.url.startswith((f"{self.server.origin}/", "data:", "blob:")):
            self.problems.append(f"request: {request.url[:200]}")

    def allow(self, pattern):
        """Expect problems of this kind, such as the browser's note of a refused request."""
        self.allowed.append(pattern)

    def check(self):
        wrong = [one for one in self.problems if not any(re.search(pattern, one) for pattern in self.allowed)]
        assert wrong == [], wrong

    # ---- what a user does ----------------------------------------------------------------------------------------

    def enter(self):
        """Open the address that was printed."""
        self.page.goto(self.server.address)
        self.page.get_by_role("navigation", name="Screens").wait_for()
        return self

    def role(self, role, name=None, exact=True, **how):
        """What a screen reader finds."""
        how |= {} if name is None else {"name": name, "exact": exact and isinstance(name, str)}
        return self.page.get_by_role(role, **how)

    def screen(self, title):
        """Go to a screen by its tab."""
        self.role("navigation", "Screens").get_by_role("link", name=title, exact=True).click()
        self.role("navigation", "Screens").locator("[aria-current=page]", has_text=title).wait_for()
        return self.role("main")

    def show(self, screen, **params):
        """Go to an address."""
        self.page.evaluate("hash => { location.hash = hash; }", f"#/{screen}?{urlencode(params)}")

    def fit(self, seconds=SECONDS, press=None):
        """Press Fit, and wait for the model."""
        before = self.state()["version"]
        self.screen("Fit")
        (press or self.role("button", "Fit").click)()
        return self.until(lambda state: state["job"] is None and state["version"] != before, seconds)

    def settle(self):
        """Wait until nothing on the screen waits for an answer."""
        self.wait_for("!document.querySelector('.waiting, .loading')")

    def open_all(self):
        """Open all that is folded on this screen."""
        folded = self.role("main").locator("details:not([open]) > summary:visible")
        for _ in range(40):
            if not folded.count():
                break
            folded.first.click()
        self.settle()

    def until(self, holds, seconds=SECONDS):
        """Wait until the state of the session is such; return it."""
        for _ in range(seconds * 20):
            state = self.state()
            if holds(state):
                return state
            self.page.wait_for_timeout(50)
        raise AssertionError(f"it did not happen: {state}")

    def wait_for(self, expression, seconds=SECONDS):
        """Wait until something holds in the page; its policy forbids Playwright's own way, by eval."""
        for _ in range(seconds * 20):
            if self.page.evaluate(expression):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"it does not hold: {expression}")

    # ---- what the page's server says -----------------------------------------------------------------------------

    def get(self, path, **params):
        """Return an answer of the server, asked for with the cookie of the page."""
        given = {name: json.dumps(one) if isinstance(one, dict | list) else one for name, one in params.items()}
        return self._json("GET", f"{path}?{urlencode(given)}")

    def post(self, path, **body):
        return self._json("POST", path, json.dumps(body))

    def _json(self, method, path, body=None):
        status, text = self.page.evaluate(
            """async ([method, path, body]) => {
                const answer = await fetch(`/api/${path}`, {method, body});
                return [answer.status, await answer.text()];
            }""",
            [method, path, body],
        )
        assert status < 300, (path, text)
        return json.loads(text)

    def state(self):
        return self.get("state")

    def downloaded(self, press, path):
        """Press what downloads a file, and keep it at a path."""
        with self.page.expect_download() as found:
            press()
        found.value.save_as(path)
        return path


@pytest.fixture(scope="module")
def chromium():
    """One Chromium for the tests of a module."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed: it drives Chromium")
    os.environ.setdefault("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(OFFLINE))
        yield browser
        browser.close()


@pytest.fixture
def open_studio(chromium):
    """Return a function that opens a studio by the words of its command; nothing may go wrong on its page."""
    with contextlib.ExitStack() as stack:
        there = []

        def opened(*words, server=None, enter=True, **how):
            if server is None:
                server = Server(*words)
                stack.callback(server.close)
            context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
            stack.callback(context.close)
            found = Opened(server, context)
            there.append(found)
            return found.enter() if enter else found

        yield opened
        for one in there:
            one.check()
