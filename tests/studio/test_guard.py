"""Who may ask: not other names of this machine, not other pages, not without the token; what the page may do."""

import pytest
from starlette.testclient import TestClient

from halfseen.studio.guard import Keys
from halfseen.studio.server import PAGE as FOLDER
from halfseen.studio.server import application
from tests.studio.served import HOST, PAGE, studio


@pytest.fixture(scope="module")
def opened():
    with studio("example:penguins") as found:
        yield found


@pytest.fixture
def stranger(opened):
    """A client without a cookie, and the keys of its server."""
    keys = Keys()
    return TestClient(application(opened.session, HOST, keys), base_url=PAGE, headers={"Origin": PAGE}), keys


@pytest.mark.parametrize(
    "host",
    ["localhost:8123", "127.0.0.1", "127.0.0.1:81", "evil.example", "127.0.0.1:8123.evil.example", "", "[::1]:8123"],
)
@pytest.mark.parametrize("path", ["/", "/api/state", "/page/app.js", "/api/enter"])
def test_another_host_is_refused(opened, host, path):
    answer = opened.client.get(path, headers={"Host": host})
    assert answer.status_code == 403
    assert HOST in answer.json()["error"]


def test_without_the_cookie_nothing_is_told(stranger, opened):
    client, _ = stranger
    for method, path in (
        ("GET", "/api/state"),
        ("GET", "/api/rows"),
        ("POST", "/api/fit"),
        ("GET", "/api/events"),
        ("GET", "/api/x"),
    ):
        answer = client.request(method, path)
        assert answer.status_code == 401, path
        assert "halfseen studio printed" in answer.json()["error"]
    assert client.get("/", headers={}).status_code == 200  # the page itself holds no data
    client.cookies.set("halfseen_8123", "guessed")
    assert client.get("/api/state").status_code == 401


def test_the_token_works_once_and_the_cookie_is_for_this_page_alone(stranger):
    client, keys = stranger
    token = keys.token
    assert client.post("/api/enter", json={"token": "x" + token}).status_code == 401
    assert client.post("/api/enter", json={"token": None}).status_code == 401
    assert client.post("/api/enter", json=["x"]).status_code == 422
    answer = client.post("/api/enter", json={"token": token})
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert cookie.startswith("halfseen_8123=")
    assert client.get("/api/state").status_code == 200
    client.cookies.clear()
    assert client.post("/api/enter", json={"token": token}).status_code == 401
    assert client.post("/api/enter", json={"token": ""}).status_code == 401
    assert client.post("/api/enter", json={"token": keys.renew()}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:81", f"https://{HOST}", "http://localhost:8123"]
)
def test_other_pages_are_refused(opened, origin):
    assert opened.client.post("/api/stop", json={}, headers={"Origin": origin}).status_code == 403
    assert opened.client.get("/api/state", headers={"Origin": origin}).status_code == 403


def test_a_write_names_its_page(opened):
    client = TestClient(opened.client.app, base_url=PAGE, cookies=dict(opened.client.cookies))
    assert client.get("/api/state").status_code == 200
    assert client.post("/api/stop", json={}).status_code == 403


def test_what_the_browser_says_of_other_sites_is_heard(opened):
    assert opened.client.get("/api/state", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert opened.client.get("/api/state", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200


def test_every_answer_has_the_policy(opened):
    for path in ("/", "/page/app.js", "/api/state", "/api/nothing", "/nothing"):
        answer = opened.client.get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers


def test_only_files_of_the_page_are_served(opened):
    for path in ("/page/../server.py", "/page/%2e%2e/server.py", "/page/..%2fserver.py", "/page//etc/passwd"):
        assert opened.client.get(path).status_code in (400, 404)
    for file in FOLDER.rglob("*.js"):
        answer = opened.client.get(f"/page/{file.relative_to(FOLDER).as_posix()}")
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"


def test_bodies_that_are_no_requests(opened):
    send = opened.client.post
    for content in (b"{", b"[1]", b'"x"', b"\xff", b"[" * 100_000):
        assert send("/api/label", content=content).status_code in (404, 422)
        assert send("/api/labels", content=content).status_code == 422
    assert send("/api/labels", content=b'{"row": "' + b"x" * (5 << 20) + b'"}').status_code == 413


def test_methods_and_addresses_that_are_not_there(opened):
    assert opened.refused("state", "POST")[0] == 404
    assert opened.client.delete("/api/state").status_code == 405
    assert opened.client.get("/api/__class__").status_code == 404
