"""Which modules a fit passes: those of halfseen that are executed, in the order of their first call, and imported.

python -m tools.walk                 one line for each fit
python -m tools.walk HMM BayesNet    the modules of these fits, in order

Each fit runs in an interpreter of its own. A module is executed when one of its functions is called after its import,
and imported when it is in `sys.modules` at the end. `docs/architecture.md` shows what this prints.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

NUMBERS = "import numpy as np; rng = np.random.default_rng(0); X = rng.normal(size=(60, 2)); X[::7, 1] = np.nan"
SEQUENCES = f"{NUMBERS}; X = [X[i : i + 12] for i in range(0, 60, 12)]"
ANSWERS = "X = [['a', 'x'], ['b', 'y'], ['a', None], ['b', 'x']] * 10"
RULES = "S -> NP VP [1.0]\nNP -> 'dogs' [0.5] | 'cats' [0.5]\nVP -> 'bark' [0.6] | 'sleep' [0.4]"

# name -> data, then the fit; what makes the data counts as imported, not as executed
FITS = {
    "LatentClass": ("X = hs.load_penguins()", "hs.LatentClass(2, random_state=0).fit(X)"),
    "GaussianMixture": (NUMBERS, "hs.GaussianMixture(2, random_state=0).fit(X)"),
    "KMeans": (NUMBERS, "hs.KMeans(2, random_state=0).fit(X)"),
    "HMM": (SEQUENCES, "hs.HMM(2, random_state=0).fit(X)"),
    "TranscriptAligner": (SEQUENCES, "hs.TranscriptAligner().fit(X, ['low high'] * 5)"),
    "BayesNet": (ANSWERS, "hs.BayesNet('x0 <- C -> x1', hidden={'C': 2}, random_state=0).fit(X)"),
    "PCFG": (f"rules = {RULES!r}", "hs.PCFG.from_string(rules).fit(['dogs bark', 'cats sleep'])"),
    "WordAligner": ("", "hs.WordAligner().fit(['das haus', 'das buch'], ['the house', 'the book'])"),
    "G2P": ("", "hs.G2P().fit({'cat': [['K', 'AE', 'T']], 'act': [['AE', 'K', 'T']]})"),
    "halfseen fit --report": (
        "hs.load_penguins().to_csv('penguins.csv', index=False); from halfseen.app.cli import app",
        "app(['fit', 'penguins.csv', '-k', '2', '-o', 'm.halfseen', '--report', 'r.html'], standalone_mode=False)",
    ),
}

TRACED = """
import json, os, sys, threading, warnings
import halfseen as hs
warnings.simplefilter("ignore")
{data}
home, passed = os.path.dirname(hs.__file__) + os.sep, {{}}

def importing(frame):
    while frame is not None and frame.f_code.co_filename != "<string>":
        if frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False

def profile(frame, event, arg):
    file = frame.f_code.co_filename
    ours = file.startswith(home) and file.endswith(".py")
    if event == "call" and ours and file not in passed and not importing(frame):
        passed[file] = file[len(home):-3].replace(os.sep, ".").removesuffix(".__init__")

def work():
    {fit}

threading.setprofile(profile)
sys.setprofile(profile)
work()
sys.setprofile(None)
imported = sorted(name for name in sys.modules if name.split(".")[0] == "halfseen")
print("\\n" + json.dumps([list(passed.values()), imported]))
"""


def walk(fit: str) -> tuple[list[str], list[str]]:
    """Return the modules that a fit executes, in order, and those that are imported."""
    data, call = FITS[fit]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", TRACED.format(data=data, fit=call)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    executed, imported = json.loads(done.stdout.splitlines()[-1])
    return executed, imported


def main(asked: list[str]) -> None:
    """Print the walks that are asked for, or the numbers of all."""
    for fit in asked or FITS:
        executed, imported = walk(fit)
        lines = [f"{fit}: {len(executed)} executed, {len(imported)} imported", *(executed if asked else ())]
        sys.stdout.write("\n    ".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
