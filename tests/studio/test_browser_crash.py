"""A server that is killed: its page says so, and the session is there when it is started again."""

import signal

import pytest

from tests.studio.browser import Server, expect

pytestmark = pytest.mark.slow


def test_a_session_survives_its_server(open_studio, tmp_path):
    words = ("example:votes", "--classes", "2", "--session", tmp_path / "work.session")
    studio = open_studio(*words)
    studio.fit()
    studio.post("names", names=["left", "right"])
    studio.post("labels", row=3, label="right")
    studio.post("labels", row=5, label="left")
    studio.post("undo")
    before = studio.state()
    port = studio.server.port
    studio.allow(
        "ERR_CONNECTION_REFUSED|ERR_SOCKET_NOT_CONNECTED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET"
    )
    studio.server.kill()
    lost = studio.page.get_by_role("alert").filter(has_text="The connection to the studio is lost")
    expect(lost).to_be_visible()

    again = Server(*words, port=port)
    try:
        studio.allow("status of 401")  # the cookie is that of the former server
        expect(studio.role("main")).to_contain_text("This page needs the address", timeout=60_000)
        studio.server = again
        studio.enter()
        after = studio.state()
        changing = ("revision", "event")
        assert {k: v for k, v in after.items() if k not in changing} == {
            k: v for k, v in before.items() if k not in changing
        }
        assert after["labels"] == {"3": "right"}
        main = studio.screen("Classes")
        expect(main.get_by_role("heading", name="left", exact=True)).to_be_visible()
        studio.role("button", "Redo: label row 5").click()
        studio.until(lambda state: state["labels"] == {"3": "right", "5": "left"})
        for what in ("label row 5", "label row 3", "rename"):
            studio.role("button", f"Undo: {what}").click()
        studio.until(lambda state: state["components"] == ["class 0", "class 1"])
    finally:
        again.close()


def test_ctrl_c_ends_a_server_with_an_open_page(open_studio):
    studio = open_studio("example:votes")
    studio.allow(
        "ERR_CONNECTION_REFUSED|ERR_SOCKET_NOT_CONNECTED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET"
    )
    studio.server.process.send_signal(signal.SIGINT)
    assert studio.server.process.wait(30) == 0
    assert "ERROR" not in studio.server.said()
    lost = studio.page.get_by_role("alert").filter(has_text="The connection to the studio is lost")
    expect(lost).to_be_visible()
