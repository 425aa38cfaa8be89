"""A studio for tests: a session of a file, and a client that asks for it as the page does, without a network."""

import contextlib
import time

from starlette.testclient import TestClient

from halfseen.app.requests import request_of
from halfseen.studio import start
from halfseen.studio.guard import Keys
from halfseen.studio.server import application

HOST = "127.0.0.1:8123"
PAGE = f"http://{HOST}"


class Studio:
    """A session and its client; `get` and `post` return JSON and fail on errors, `refused` returns status and words."""

    def __init__(self, session):
        self.session = session
        self.keys = Keys()
        self.client = TestClient(application(session, HOST, self.keys), base_url=PAGE, headers={"Origin": PAGE})
        assert self.client.post("/api/enter", json={"token": self.keys.token}).json() == {"entered": True}

    def get(self, path, **params):
        answer = self.client.get(f"/api/{path}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path, status=200, **body):
        answer = self.client.post(f"/api/{path}", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    def refused(self, path, method="POST", params=None, **body):
        answer = self.client.request(method, f"/api/{path}", params=params, json=body if method == "POST" else None)
        assert answer.status_code >= 400, answer.text
        return answer.status_code, answer.json()["error"]

    def file(self, path, **params):
        answer = self.client.get(f"/api/download/{path}", params=params)
        assert answer.status_code == 200, answer.text
        return answer.content

    def run(self, path="fit", seconds=60, **body):
        """Start a job and wait for its end; return the state after it."""
        job = self.post(path, 202, **body)["job"]
        assert self.session.jobs.wait(seconds), "the job did not end"
        [ended] = [event for event in self.events() if event[0] in ("done", "failed") and event[1]["job"] == job]
        assert ended[0] == "done", ended
        return self.get("state")

    def events(self):
        """All events that are kept: name and data."""
        import json

        return [(event.name, json.loads(event.data)) for event in self.session.events.after(0)]

    def until(self, holds, seconds=20):
        """Wait until something holds."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.01)


@contextlib.contextmanager
def studio(*words):
    """Open a studio by the words of its command."""
    session = start.opened(request_of("studio", [*map(str, words)]))
    try:
        yield Studio(session)
    finally:
        session.close()
