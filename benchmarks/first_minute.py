"""How long commands take, in terms of what Python users import anyway; and when the first output is on the screen.

Every command takes turns with its reference. The least CPU time of each whole process (user and system) counts: it
depends little on what else the machine does. The time to the first output is by the clock, on a terminal.
"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tempfile
import time
from typing import Any

ROUNDS = 5
NUMPY = "import numpy"
LIBRARIES = "import pandas, sklearn.mixture, matplotlib.pyplot"
HALFSEEN = [sys.executable, "-m", "halfseen"]
FIT = [*HALFSEEN, "fit", "example:penguins", "--ignore", "species,year", "--report", "r.html", "-o", "m.halfseen"]
COMMANDS = {  # what -> command, and what to compare it with; `info` reads what the fits wrote
    "help": ([*HALFSEEN, "--help"], "import typer, rich"),
    "fit of the penguins with its report, 3 classes": ([*FIT, "-k", "3"], LIBRARIES),
    "the same with 1, 2, ... classes": (FIT, LIBRARIES),
    "info": ([*HALFSEEN, "info", "m.halfseen"], NUMPY),
}


def first_minute(console: Any) -> dict[str, Any]:
    """Time commands beside the imports that any program of their kind makes."""
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for what, (command, imports) in COMMANDS.items():
            turns = [(cpu(command, folder), cpu([sys.executable, "-c", imports], folder)) for _ in range(ROUNDS)]
            own, other = (min(seconds) for seconds in zip(*turns, strict=True))
            results[what] = {"halfseen": own, imports: other, "ratio": own / other}
            console.print(f"{what}: {own:.2f} s CPU, '{imports}' {other:.2f} s: {own / other:.2f} times")
        first = min(first_output(FIT, folder) for _ in range(ROUNDS))
    console.print(f"first output of a fit on a terminal after {first:.2f} s")
    return {"results": results | {"first output": first}, "agree": True}


def cpu(command: list[str], folder: str) -> float:
    """Return the CPU time of a command."""
    before = os.times()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def first_output(command: list[str], folder: str) -> float:
    """Return the seconds until a command writes to a terminal."""
    ours, theirs = pty.openpty()
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.read(ours, 1)
        seconds = time.perf_counter() - began
        process.kill()
    os.close(ours)
    os.close(theirs)
    return seconds
