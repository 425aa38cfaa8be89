"""What is hostile: strangers at the server of a page, and text that would like to be a page."""

import csv
import http.client
import json

import pytest

from tests.studio.browser import expect

pytestmark = pytest.mark.slow

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = '"><script>alert(2)</script>'
LINK = "javascript:alert(3)"
TEMPLATE = "${alert(4)}{{alert(5)}}"


def asked(server, method, path, **headers):
    """Return status and answer of a request that no browser makes."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    headers = {"Host": server.origin.removeprefix("http://"), **headers}
    connection.request(method, path, body=b"{}" if method == "POST" else None, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_strangers_are_refused(open_studio):
    studio = open_studio("example:votes")
    server, cookies = studio.server, studio.context.cookies()
    [cookie] = cookies
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    entered = {"Cookie": f"{cookie['name']}={cookie['value']}"}
    own = server.origin
    assert asked(server, "GET", "/api/state", **entered)[0] == 200
    for host in ("evil.example", f"localhost:{server.port}", "127.0.0.1"):
        assert asked(server, "GET", "/", Host=host)[0] == 403
        assert asked(server, "GET", "/api/state", Host=host, **entered)[0] == 403
    for path in ("/api/state", "/api/rows", "/api/events", "/api/download/model"):
        status, words = asked(server, "GET", path)
        assert status == 401
        assert "token" in json.loads(words)["error"]
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
        assert asked(server, "POST", "/api/fit", Origin=origin, **entered)[0] == 403
    assert asked(server, "POST", "/api/fit", **entered)[0] == 403
    assert asked(server, "POST", "/api/stop", Origin=own, **entered)[0] == 200
    assert studio.state()["versions"] == []


def test_the_token_leaves_the_address_and_lets_nobody_else_in(open_studio):
    studio = open_studio("example:votes")
    assert "token" not in studio.page.url
    studio.page.go_back()
    stranger = open_studio(server=studio.server, enter=False)
    stranger.allow("status of 401")
    stranger.page.goto(studio.server.address)
    expect(stranger.role("main")).to_contain_text("printed in the terminal")
    assert stranger.page.get_by_role("navigation").count() == 0


@pytest.fixture
def hostile(tmp_path):
    """A CSV file with markup and code in names and cells."""
    path = tmp_path / f"{IMAGE[:4]} & onload=alert(0).csv"
    words = [IMAGE, SCRIPT, LINK, TEMPLATE]
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow([IMAGE, SCRIPT, LINK, "n"])
        for i in range(80):
            out.writerow([words[i % 2], words[1 - i % 2], words[2 + (i // 2) % 2], i % 7 + 10 * (i % 2)])
    return path


def test_markup_is_text_on_every_screen(open_studio, hostile, tmp_path):
    studio = open_studio(hostile, "--classes", "2")
    expect(studio.role("heading", hostile.name)).to_be_visible()
    main = studio.screen("Data")
    expect(main.get_by_role("rowheader", name=IMAGE, exact=True)).to_be_visible()
    expect(main.get_by_role("gridcell", name=SCRIPT, exact=True).first).to_be_visible()
    studio.fit()
    main = studio.screen("Classes")
    main.get_by_role("button", name="Name the classes").click()
    main.get_by_role("textbox").nth(0).fill(IMAGE)
    main.get_by_role("textbox").nth(1).fill(SCRIPT)
    main.get_by_role("button", name="Save the names").click()
    studio.until(lambda state: state["components"] == [IMAGE, SCRIPT])
    expect(main.get_by_role("heading", name=IMAGE, exact=True)).to_be_visible()
    studio.show("classes", **{"class": "all", "row": "1"})
    why = main.get_by_role("complementary", name="Row 1")
    expect(why.get_by_role("list", name="Probability of each class").get_by_text(IMAGE)).to_be_visible()
    studio.open_all()
    for screen in studio.state()["screens"]:
        main = studio.screen(screen["title"])
        studio.settle()
        expect(main.get_by_role("heading").first).to_be_visible()
        assert main.locator("img, script, iframe, object, embed").count() == 0
        links = studio.page.locator("a").evaluate_all("all => all.map((one) => one.protocol)")
        assert set(links) <= {"http:"}
    report = studio.context.new_page()  # the report is a page of its own, as a file
    path = tmp_path / "report.html"
    path.write_text(studio.page.evaluate("fetch('/api/download/report').then((answer) => answer.text())"))
    said = []
    report.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    report.goto(path.as_uri())
    expect(report.get_by_text(IMAGE).first).to_be_attached()
    assert said == []
