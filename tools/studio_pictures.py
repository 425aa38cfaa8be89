"""Pictures of the studio for README and docs: ``python -m tools.studio_pictures``; needs Chromium and Playwright.

Each picture is a screen of a studio that is started, fitted and clicked for it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "_static"
QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run")
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-quic", *QUIET)
PENGUINS = ("example:penguins", "--model", "gaussian", "--ignore", "species,year,island,sex")
COINS = "series,heads\na,5\nb,9\nc,8\nd,4\ne,7\n"
MINUTE = 60_000


@contextmanager
def studio(*words: str) -> Iterator[str]:
    """Start a studio; yield the address with its token."""
    command = [sys.executable, "-m", "halfseen", "studio", *words, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


@contextmanager
def opened(browser: Any, *words: str, height: int = 860) -> Iterator[Page]:
    """Open a studio in a new page."""
    with studio(*words) as address:
        page = browser.new_page(viewport={"width": 1180, "height": height}, device_scale_factor=1.25)
        page.goto(address)
        page.get_by_role("navigation").first.wait_for()
        yield page
        page.close()


def go(page: Page, screen: str) -> None:
    """Go to a screen by its tab."""
    page.get_by_role("navigation").get_by_role("link", name=screen, exact=True).click()


def fit(page: Page) -> None:
    """Fit, and wait for the outcome."""
    go(page, "Fit")
    page.get_by_role("button", name="Fit", exact=True).click()
    page.get_by_role("link", name="Look at the").wait_for(timeout=MINUTE)


def taken(page: Page, name: str) -> None:
    """Take a picture once the page is quiet."""
    page.wait_for_load_state("load")
    page.wait_for_timeout(1200)
    page.mouse.move(0, 0)
    page.screenshot(path=FOLDER / f"studio_{name}.png")


def penguins(browser: Any) -> None:
    """Data, fit, classes and decisions of the penguins."""
    with opened(browser, *PENGUINS, "-k", "2..4") as page:
        taken(page, "data")
        fit(page)
        taken(page, "fit")
        go(page, "Classes")
        page.get_by_text("Before you rely on it").first.wait_for(timeout=MINUTE)
        taken(page, "classes")
        page.goto(page.url.partition("#")[0] + "#/decide?reject=0.1")
        page.get_by_text("What it does").wait_for(timeout=MINUTE)
        taken(page, "decide")
        go(page, "Compare")
        taken(page, "compare")


def earthquakes(browser: Any) -> None:
    """The timeline of the earthquakes."""
    words = ("example:earthquakes", "--model", "hmm", "--time", "year", "--columns", "count=poisson", "-k", "2")
    with opened(browser, *words) as page:
        fit(page)
        go(page, "Timeline")
        taken(page, "timeline")


def coins(browser: Any) -> None:
    """The coins of Do and Batzoglou, number by number."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "coins.csv")
        path.write_text(COINS)
        with opened(browser, str(path), "--ignore", "series", "--columns", "heads=binomial(10)", height=980) as page:
            go(page, "EM")
            page.get_by_role("spinbutton", name="p of heads, class 0").fill("0.6")
            page.get_by_role("spinbutton", name="p of heads, class 1").fill("0.5")
            page.get_by_role("combobox", name="Shares of the classes").select_option(label="held equal")
            page.get_by_role("button", name="Step through it").click()
            page.wait_for_timeout(1500)
            page.get_by_role("button", name="One step forth").click()
            page.get_by_text("0.713").first.click()
            taken(page, "em")


def main() -> None:
    """Take all pictures, or those that are named."""
    makers = {maker.__name__: maker for maker in (penguins, earthquakes, coins)}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(OPTIONS))
        for name in sys.argv[1:] or makers:
            makers[name](browser)
        browser.close()


if __name__ == "__main__":
    main()
