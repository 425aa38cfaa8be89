"""Whether a page and its server keep their size: 50 events a second for ten minutes.

    python tests/campaigns/studio_memory.py [SECONDS]

A server publishes the progress of 16 starts as a long fit does; Chromium shows it on the screen Fit. Every so often the
page's heap is measured after a collection of garbage, and the resident memory of the server; both should end where
they were in the middle. Not a test of the suite: it takes as long as it says.
"""

import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RATE, STARTS, POINTS = 50, 16, 250  # events a second; starts; rows in the picture
LENGTH = 1000  # passes of a search, then another one begins: the page keeps 12 of them
MEASURES = 20
MB = 1 << 20


# ---- the server ------------------------------------------------------------------------------------------------------


def progress(n):
    """Return event number n of a fit that does not end."""
    search, done = divmod(n, LENGTH)
    angles = [2 * math.pi * i / 48 for i in range(49)]
    classes = [
        {
            "class": k,
            "component": k,
            "centre": [k, k],
            "paths": [[[k + math.cos(a), k + math.sin(a)] for a in angles]] * 2,
        }
        for k in range(4)
    ]
    return {
        "job": 1,
        "elapsed": n / RATE,
        "search": search,
        "n_components": 2 + search,
        "n_starts": STARTS,
        "n_running": STARTS,
        "n_passes": done + 1,
        "max_iter": LENGTH,
        "objective": -1000 / (done + 1),
        "polishing": False,
        "curves": {
            str(start): {"from": done, "values": [-1000 * (1 + start / 9) / (done + 1)], "state": "running"}
            for start in range(STARTS)
        },
        "seen": {
            "start": 0,
            "shares": [0.25] * 4,
            "means": [{"column": f"x{j}", "values": [j, j + 1, j + 2, n % 7]} for j in range(8)],
            "ellipses": {"columns": ["x0", "x1"], "classes": classes},
            "points": {
                "columns": ["x0", "x1"],
                "values": [[(i * 7 + n) % 11 / 2, i % 13 / 3] for i in range(POINTS)],
                "classes": [(i + n) % 4 for i in range(POINTS)],
            },
        },
    }


def serve():
    """Serve a session in which a fit seems to run."""
    from halfseen.app.requests import request_of
    from halfseen.studio import start
    from halfseen.studio.session import Session

    session: Session = start.opened(request_of("studio", ["example:penguins"]))

    def publish():
        began, n = time.monotonic(), 0
        while True:
            session.events.publish("progress", progress(n))
            n += 1
            time.sleep(max(0.0, began + n / RATE - time.monotonic()))

    session.jobs.start("fit", lambda job: job.stop.wait() and {}, model="classes")
    threading.Thread(target=publish, daemon=True).start()
    start.serve(session, start._socket("127.0.0.1", 0), browser=False)


# ---- the measurements ------------------------------------------------------------------------------------------------


def resident(pid):
    """Return the resident memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MB


def measured(tools, page, server):
    """Return one line of figures."""
    tools.send("HeapProfiler.collectGarbage")
    found = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
    return {
        "heap_mb": round(found["JSHeapUsedSize"] / MB, 2),
        "nodes": int(found["Nodes"]),
        "listeners": int(found["JSEventListeners"]),
        "server_mb": round(resident(server.pid), 1),
        "shown": page.locator(".live .lead").inner_text(),
    }


def main(seconds):
    sys.path.insert(0, str(ROOT))
    from playwright.sync_api import sync_playwright

    from tests.studio.browser import CHROMIUM, OFFLINE

    server = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().strip()
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(OFFLINE))
            page = browser.new_page()
            problems = []
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.goto(address)
            page.get_by_role("link", name="Fit", exact=True).click()
            page.locator(".live .lead").wait_for()
            tools = page.context.new_cdp_session(page)
            tools.send("Performance.enable")
            began = time.monotonic()
            for step in range(MEASURES + 1):
                page.wait_for_timeout(max(1.0, 1000 * (began + seconds * step / MEASURES - time.monotonic())))
                print(
                    json.dumps({"second": round(time.monotonic() - began), **measured(tools, page, server)}), flush=True
                )
            browser.close()
        print(json.dumps({"problems": problems}))
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 600)
