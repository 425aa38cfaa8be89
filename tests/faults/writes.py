"""Failing writes: every open, write, fsync, rename, mkdir and resize of a file fails in turn, once or from then on.

Afterwards
- the whole old file is there, or the whole new one;
- nothing is left behind, in the folder or in that of temporary files;
- the error says in words what could not be written, and where;
- the same command works when the disk does, and a fit resumes to the result of an undisturbed one.

The calls fail before they reach libc: `failing.c`, compiled when it is first needed. Needs Linux and a C compiler.
"""

from __future__ import annotations

import ctypes
import errno
import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from typer.testing import CliRunner

import halfseen as hs
from halfseen.app.cli import app
from halfseen.engine.services import checkpoint as checkpoints
from tests.faults.campaign import FINE, NO_CASE, REFUSED, ROOT, Campaign, Failed, answer, folder, watched_warnings
from tests.faults.fits import learned, same

SOURCE = Path(__file__).with_name("failing.c")
LIBRARY = ROOT / "build" / "faults" / "failing.so"
CALLS = ("open", "write", "fsync", "rename", "mkdir", "resize")
ERRORS = (errno.ENOSPC, errno.EIO)
MOST = 40  # calls of a kind that fail in turn; a longer scenario repeats what the first ones do

# ---- what is written -------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
ROWS = [["red" if i % 3 else "blue", i % 5, float(RNG.normal())] for i in range(60)]
PAIRS = ["das Haus ||| the house", "das Buch ||| the book", "ein Buch ||| a book"] * 3
GRAMMAR = "S -> NP VP [1.0]\nNP -> 'dogs' [0.5] | 'cats' [0.5]\nVP -> 'bark' [0.6] | 'sleep' [0.4]\n"


def table(n: int = 60) -> str:
    lines = [f"{'red' if i % 3 else 'blue'},{i % 5},{np.sin(i) * 3:.3f}" for i in range(n)]
    return "\n".join(["color,n,size", *lines]) + "\n"


def small_fit() -> Any:
    return hs.LatentClass(2, n_init=2, max_iter=10, random_state=0).fit(ROWS)


@cache
def model() -> Any:
    return small_fit()


def words_fit() -> Any:
    with mock.patch.object(checkpoints, "LARGE", 1):
        return hs.WordAligner("ibm1", direction="forward", max_iter=4, random_state=0).fit(PAIRS)


def spilled_fit(path: Any) -> Any:
    return hs.LatentClass(2, n_init=1, max_iter=3, random_state=0).fit(hs.open_table(path, memory=200_000))


class CommandFailed(Exception):
    """A command of the command line ended with an error: what it wrote to the terminal."""


def halfseen(*arguments: Any) -> None:
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    if done.exit_code:
        raise CommandFailed(done.output)


class Scenario(NamedTuple):
    """What is done, with which files before, and which of them it writes."""

    act: Callable[[Path], Any]
    writes: tuple[str, ...] = ()
    before: Callable[[Path], Any] = lambda home: None
    resumes: bool = False  # `act` gives a model; after a failure it gives the same one


def in_checkpoint(fit: Callable[[], Any]) -> Callable[[Path], Any]:
    def act(home: Path) -> Any:
        with mock.patch.object(checkpoints, "FLUSH_AFTER", 0.0), hs.checkpoint(home / "run.checkpoint"):
            return fit()

    return act


def with_model(home: Path) -> None:
    (home / "rows.csv").write_text(table())
    hs.save(_of_the_table(), home / "m.halfseen")


@cache
def _of_the_table() -> Any:
    return hs.LatentClass(2, n_init=1, random_state=0).fit(hs.open_table(io.StringIO(table())))


def with_grammar(home: Path) -> None:
    (home / "said.txt").write_text("dogs bark\ncats sleep\n")
    hs.save(hs.PCFG(GRAMMAR, random_state=0).fit(["dogs bark", "cats sleep"]), home / "m.halfseen")


def with_words(home: Path) -> None:
    (home / "pairs.txt").write_text("\n".join(PAIRS) + "\n")
    hs.save(hs.WordAligner("ibm1", max_iter=2).fit(PAIRS), home / "m.halfseen")


def network() -> Any:
    return hs.BayesNet("x0 -> x1", random_state=0, n_init=1).fit([["a", "b"], ["a", "c"], ["d", "c"]])


SCENARIOS = {
    "save": Scenario(lambda home: hs.save(model(), home / "out"), ("out",)),
    "report": Scenario(lambda home: hs.report(model(), ROWS, home / "out"), ("out",)),
    "checkpoint": Scenario(in_checkpoint(small_fit), resumes=True),
    "positions": Scenario(in_checkpoint(words_fit), resumes=True),
    "spill": Scenario(
        lambda home: spilled_fit(home / "rows.csv"),
        before=lambda home: (home / "rows.csv").write_text(table(20_000)),
        resumes=True,
    ),
    "spool": Scenario(lambda home: spilled_fit(io.StringIO(table(4_000))), resumes=True),
    "write_bif": Scenario(lambda home: hs.write_bif(network(), home / "out.bif"), ("out.bif",)),
    "fit_command": Scenario(
        lambda home: halfseen("fit", home / "rows.csv", *FIT, "-o", home / "out", *resumed(home)),
        ("out",),
        with_model,
    ),
    "predict_csv": Scenario(
        lambda home: halfseen("predict", home / "m.halfseen", home / "rows.csv", "-o", home / "out.csv"),
        ("out.csv",),
        with_model,
    ),
    "predict_parquet": Scenario(
        lambda home: halfseen("predict", home / "m.halfseen", home / "rows.csv", "-o", home / "out.parquet"),
        ("out.parquet",),
        with_model,
    ),
    "impute_csv": Scenario(
        lambda home: halfseen("impute", home / "m.halfseen", home / "rows.csv", "-o", home / "out.csv"),
        ("out.csv",),
        with_model,
    ),
    "parse": Scenario(
        lambda home: halfseen("parse", home / "m.halfseen", home / "said.txt", "-o", home / "out.txt"),
        ("out.txt",),
        with_grammar,
    ),
    "align": Scenario(
        lambda home: halfseen("align", home / "m.halfseen", home / "pairs.txt", "-o", home / "out.txt"),
        ("out.txt",),
        with_words,
    ),
}
OLD = b"the old file"
FIT = ("-k", "2", "--restarts", "2", "--seed", "0")


def resumed(home: Path) -> list[str]:
    return ["--resume"] if (home / "out.checkpoint").exists() else []


# ---- failing calls ---------------------------------------------------------------------------------------------------


def prepare() -> None:
    """Compile the library of failing calls, and have every process load it that starts from now on."""
    LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    if not LIBRARY.exists() or LIBRARY.stat().st_mtime < SOURCE.stat().st_mtime:
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", LIBRARY, SOURCE, "-ldl"], check=True)
    os.environ["LD_PRELOAD"] = str(LIBRARY)


class Fault(NamedTuple):
    """The nth call of a kind fails with an error of the system, and if `lasting` all after it."""

    call: str
    nth: int
    error: int
    lasting: bool


@cache
def libc() -> Any:
    found = ctypes.CDLL(None)
    if not hasattr(found, "fault_arm"):
        raise Failed("the library of failing calls is not loaded: run through python -m tests.faults writes")
    found.fault_count.restype = ctypes.c_long
    return found


def armed(fault: Fault | None, home: Path) -> None:
    kind = CALLS.index(fault.call) if fault else -1
    nth, error, lasting = fault[1:] if fault else (0, 0, False)
    libc().fault_arm(kind, ctypes.c_long(nth), error, int(lasting), str(home).encode())


# ---- a case ----------------------------------------------------------------------------------------------------------


def fresh(scenario: Scenario) -> Path:
    """A folder with what a scenario needs, old files in the place of those it writes, and one for temporary files."""
    home = folder() / "home"
    shutil.rmtree(home, ignore_errors=True)
    (home / "tmp").mkdir(parents=True)
    tempfile.tempdir = os.environ["TMPDIR"] = str(home / "tmp")
    with watched_warnings(strict=False):
        scenario.before(home)
    for name in scenario.writes:
        (home / name).write_bytes(OLD)
    return home


def acted(scenario: Scenario, home: Path) -> Any:
    with watched_warnings(strict=False):
        return scenario.act(home)


@cache
def faults(subject: str) -> list[Fault]:
    """All faults of a scenario: each call of each kind that an undisturbed run makes, each error, once and lasting."""
    home = fresh(SCENARIOS[subject])
    armed(None, home)
    acted(SCENARIOS[subject], home)
    counts = [min(libc().fault_count(kind), MOST) for kind in range(len(CALLS))]
    libc().fault_disarm()
    return [
        Fault(call, nth, error, lasting)
        for call, count in zip(CALLS, counts, strict=True)
        for nth, error, lasting in product(range(1, count + 1), ERRORS, (False, True))
    ]


@cache
def undisturbed(subject: str) -> Any:
    """What a scenario gives, and the sizes of what it writes."""
    home = fresh(SCENARIOS[subject])
    return acted(SCENARIOS[subject], home)


def write_case(subject: str, number: int) -> str:
    """Let one call fail."""
    scenario, listed = SCENARIOS[subject], faults(subject)
    if number >= len(listed):
        return NO_CASE
    whole, fault = undisturbed(subject), listed[number]
    home = fresh(scenario)
    before = {path.name for path in home.rglob("*")}
    armed(fault, home)
    try:
        found = answered(scenario, home)
    finally:
        libc().fault_disarm()
    try:
        check_files(scenario, home, before, found)
        again = acted(scenario, home)
        if scenario.resumes and not same(learned(again), learned(whole)):
            raise Failed("after a failed write a fit gives another result")
    except Failed as error:
        raise Failed(f"{error} ({fault}; {answer.reason})") from error
    return REFUSED if found is REFUSED else FINE


def answered(scenario: Scenario, home: Path) -> Any:
    """What a scenario gives, or `REFUSED` if the error names the place; anything else is raised."""
    try:
        found = answer(lambda: acted(scenario, home), strict=False)
    except CommandFailed as error:
        answer.reason = str(error)
        if "Traceback" in answer.reason or not answer.reason.splitlines()[-1].startswith("halfseen: "):
            raise Failed(f"an error of the command line is not in words: {answer.reason}") from None
        found = REFUSED
    if found is REFUSED and str(home) not in answer.reason:
        raise Failed(f"the error does not say where: {answer.reason}")
    return found


def check_files(scenario: Scenario, home: Path, before: set[str], found: Any) -> None:
    """The old files or the new ones, whole; nothing else but a checkpoint to resume from."""
    for name in scenario.writes:
        content = (home / name).read_bytes() if (home / name).exists() else None
        if content is None:
            raise Failed(f"the old file is gone: {name}")
        if found is not REFUSED and content == OLD:
            raise Failed(f"nothing was written, and no error said so: {name}")
        if found is REFUSED and content != OLD and not complete(home / name):
            raise Failed(f"a part of a file: {name}, {len(content)} bytes")
    left = {path.name for path in home.rglob("*")} - before - set(scenario.writes)
    left -= {name for name in left if ".checkpoint" in name and found is REFUSED}
    if left:
        raise Failed(f"left behind: {sorted(left)}")


def complete(path: Path) -> bool:
    """Whether a new file is whole: it is the one that a run without faults writes."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return pq.read_table(path).num_rows == 60
    if path.suffix == "":
        return path.read_bytes().rstrip().endswith(b"</html>") or answer(lambda: hs.load(path)) is not REFUSED
    return path.read_bytes().endswith(b"\n")


CAMPAIGN = Campaign("writes", tuple(SCENARIOS), write_case, size=400, seconds=60, memory=4 << 30)
