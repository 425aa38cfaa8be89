"""One Chromium for all tests of pages, driven through its debugging pipe: no driver has to be installed."""

import base64
import contextlib
import json
import os
import shutil
import subprocess

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")
QUIET = ("--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-component-update")


class Browser:
    """A browser with one tab; `problems` are errors, exceptions and violations of policies since the page opened."""

    def __init__(self, folder):
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        command = [CHROMIUM, *OPTIONS, *QUIET, f"--user-data-dir={folder}"]
        redirected = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'  # where Chromium looks for its pipe
        self._process = subprocess.Popen(
            ["bash", "-c", redirected, *command],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._number, self._rest, self._session, self.problems, self._loaded = 0, b"", None, [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        with contextlib.suppress(OSError):
            self.call("Browser.close")
        self._process.wait(timeout=20)
        os.close(self._out)
        os.close(self._in)

    def call(self, method, **params):
        """Send a command and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None and not method.startswith(("Target.", "Browser.")):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self._number:
                assert "error" not in found, found
                return found["result"]

    def _next(self):
        while b"\0" not in self._rest:
            more = os.read(self._in, 1 << 20)
            if not more:
                raise OSError("Chromium has ended.")
            self._rest += more
        line, self._rest = self._rest.split(b"\0", 1)
        found = json.loads(line)
        self._note(found.get("method"), found.get("params", {}))
        return found

    def _note(self, method, params):
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.problems.append(params["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.problems.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.problems.append(params["entry"]["text"])

    def open(self, path):
        """Open a file and wait until it is there."""
        self.problems, self._loaded = [], False
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not self._loaded:
            self._next()

    def look(self, width, dark=False, media="screen"):
        """Set the width of the window, the colour scheme and the medium."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def run(self, script):
        """Return the value of a script."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def shot(self):
        """Return a picture of the whole page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def pdf(self):
        """Return the page as it is printed on A4."""
        paper = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": False, "preferCSSPageSize": False}
        return base64.b64decode(self.call("Page.printToPDF", **paper)["data"])
