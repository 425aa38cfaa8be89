"""Networks in a browser: evidence by a press of a state gives the probabilities of `halfseen query`."""

import json
import re

import pytest

import halfseen as hs
from tests.app.in_process import run
from tests.studio.browser import expect

pytestmark = pytest.mark.slow

EDGES = [("party", "crime"), ("party", "immigration"), ("crime", "education_spending")]
COLUMNS = ["party", "crime", "immigration", "education_spending"]


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    """A file with a network of votes."""
    path = tmp_path_factory.mktemp("net") / "net.halfseen"
    hs.save(hs.BayesNet(EDGES).fit(hs.load_votes()[COLUMNS]), path)
    return path


def node(main, name):
    """The box of a variable; its name says the probability of each state."""
    return main.get_by_role("button", name=re.compile(rf"^{name}\b.*Enter opens its states\.$"))


def queried(net, variable, **given):
    """Return the probability of each state as the page writes it, from what the command line says."""
    words = [word for name, state in given.items() for word in ("--given", f"{name}={state}")]
    rows = json.loads(run("query", net, variable, *words, "--json").stdout)["rows"]
    return {row[variable]: f"{row['probability']:.0%}" for row in rows}


def check(main, net, **given):
    """The box of each variable has the probabilities of the command line."""
    for name in COLUMNS:
        if name not in given:
            for state, share in queried(net, name, **given).items():
                expect(node(main, name)).to_have_accessible_name(re.compile(rf"\b{state} {share}"))


def test_evidence_by_click_and_by_key_is_that_of_query(open_studio, net):
    studio = open_studio(net, "example:votes")
    main, keys = studio.screen("Network"), studio.page.keyboard
    expect(main).to_contain_text("No evidence")
    check(main, net)
    node(main, "crime").get_by_text("y", exact=True).click()
    expect(main.get_by_role("list", name="What is given").get_by_role("listitem")).to_contain_text("crime = y")
    check(main, net, crime="y")
    node(main, "party").focus()
    keys.press("ArrowDown")
    keys.press("Enter")
    opened = studio.page.locator("[aria-label^='States of']:focus-within")
    expect(opened).to_have_accessible_name(re.compile("^States of (crime|immigration)$"))
    studio.show("network")
    expect(main).to_contain_text("No evidence")
    node(main, "immigration").focus()
    keys.press("Enter")
    states = main.get_by_role("list", name="States of immigration")
    expect(states.get_by_role("button").first).to_be_focused()
    keys.press("Tab")
    state = studio.page.evaluate("document.activeElement.querySelector('.what').textContent")
    keys.press("Enter")
    expect(states.get_by_role("button", name=re.compile(f"^{state}"))).to_have_attribute("aria-pressed", "true")
    check(main, net, immigration=state)
    studio.page.go_back()
    check(main, net)
