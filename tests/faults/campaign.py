"""Campaigns: many random cases, each counted as fine, refused in words, or failed.

- *campaign*: what is done to the library, such as random fits; *subject*: to which part of it, such as ``hmm``.
- *case*: one trial, given by its number, from which everything random in it is drawn. It returns `FINE` or `REFUSED`,
  or raises: `Failed` where a promise is broken, any other exception where the library let one out.
- *limits*: of processor time and of memory, for each case; a case that ends its process or does not come back is a
  failure like any other.

Worker processes take the cases in blocks. Which worker takes a case changes nothing: a case knows its number alone.
"""

from __future__ import annotations

import atexit
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from halfseen.errors import HalfseenError, HalfseenWarning, ObjectiveFell

FINE, REFUSED = "fine", "refused"
NO_CASE = "no case"  # where a subject has fewer cases than were asked for; not counted
BLOCK = 20  # cases that a worker takes at a time
PATIENCE = 10  # times the limit of processor time, after which a case that does not come back is ended
SHOWN = 3  # failures printed of those that have one cause
FOLDER = "HALFSEEN_FAULTS"  # the variable that names the folder of a campaign
ROOT = Path(__file__).parents[2]


class Failed(Exception):
    """A promise is broken."""


class TimeLimit(BaseException):
    """A case took too long; no `except Exception` holds it up."""


@dataclass(frozen=True)
class Campaign:
    """What to try, on which subjects, how often, and within which limits."""

    name: str
    subjects: tuple[str, ...]
    case: Callable[[str, int], str]  # subject, number of the case -> FINE or REFUSED
    size: int  # cases of each subject in a full run
    seconds: float = 20.0  # of processor time, for a case
    memory: int = 2 << 30  # bytes beyond what a worker has at its start
    sizes: dict[str, int] = field(default_factory=dict)  # of subjects with another size

    def size_of(self, subject: str) -> int:
        return self.sizes.get(subject, self.size)


def new_folder() -> str:
    """A folder for files of cases; in memory where there is one: a campaign syncs more often than a disk likes."""
    memory = Path("/dev/shm")
    inside = os.environ.get(FOLDER) or (str(memory) if memory.is_dir() else None)
    return tempfile.mkdtemp(prefix="halfseen-faults-", dir=inside)


@cache
def folder() -> Path:
    """The folder of this process; that of the campaign is removed in the end, with those of workers that were lost."""
    made = new_folder()
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


def case_rng(subject: str, number: int) -> np.random.Generator:
    """The generator of a case."""
    return np.random.default_rng([zlib.crc32(subject.encode()), number])


# ---- one case --------------------------------------------------------------------------------------------------------


def in_words(error: BaseException) -> bool:
    """Whether an exception is an answer to the user: one of halfseen's own, or raised with a sentence by halfseen."""
    if isinstance(error, ObjectiveFell):
        return False
    if isinstance(error, HalfseenError):
        return len(str(error).split()) >= 3
    if not isinstance(error, NotFittedError) and type(error) not in (ValueError, TypeError):
        return False
    return len(str(error).split()) >= 3 and _raised_in(error, "halfseen", "sklearn")


def _raised_in(error: BaseException, *packages: str) -> bool:
    """Whether the line that raised is in one of the packages."""
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    return any(f"/{package}/" in last for package in packages)


@contextmanager
def watched_warnings(strict: bool) -> Iterator[None]:
    """Our own warnings are answers, and so is one of a fit that has not converged; others are errors, if `strict`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error" if strict else "ignore")
        warnings.simplefilter("ignore", HalfseenWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def answer(action: Callable[[], Any], strict: bool = True) -> Any:
    """Return what an action gives, or `REFUSED` if it is refused in words; anything else is raised."""
    try:
        with watched_warnings(strict):
            return action()
    except Exception as error:
        if in_words(error):
            answer.reason = f"{type(error).__name__}: {error}"
            return REFUSED
        raise


answer.reason = ""


class Outcome(NamedTuple):
    """What came of a case; `cause` groups failures that are likely to be one."""

    subject: str
    number: int
    result: str  # FINE, REFUSED or "failed"
    cause: str = ""
    detail: str = ""


def run_case(campaign: Campaign, subject: str, number: int) -> Outcome:
    """Run a case in this process, within its limit of time."""
    answer.reason = ""
    before = signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, campaign.seconds)
    try:
        return Outcome(subject, number, campaign.case(subject, number), cause=answer.reason)
    except (Exception, TimeLimit) as error:
        return Outcome(subject, number, "failed", _cause(error), "".join(traceback.format_exception(error)))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _too_long(*_: Any) -> None:
    raise TimeLimit("the limit of processor time")


def _cause(error: BaseException) -> str:
    """The exception and the deepest line of halfseen in it; of a broken promise its first words."""
    if isinstance(error, Failed):
        return f"{str(error).partition(':')[0]}"
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/halfseen/" in frame.filename] or list(frames)
    at = f"{Path(ours[-1].filename).name}:{ours[-1].lineno} {ours[-1].name}" if ours else ""
    return f"{type(error).__name__} at {at}"


# ---- many cases ------------------------------------------------------------------------------------------------------


class Block(NamedTuple):
    subject: str
    numbers: range


@dataclass
class Worker:
    """A process that runs blocks of cases and reports each of them."""

    process: Any
    pipe: Connection
    block: Block | None = None
    done: int = 0  # cases of the block that were reported
    since: float = 0.0  # when the last one was
    ready: bool = False  # whether it has imported all it needs

    @property
    def case(self) -> tuple[str, int] | None:
        """The case that it is at."""
        if self.block is None or self.done == len(self.block.numbers):
            return None
        return self.block.subject, self.block.numbers[self.done]


def _serve(pipe: Connection, module: str, memory: int) -> None:
    """Run the blocks that come through the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    campaign: Campaign = import_module(module).CAMPAIGN
    run_case(campaign, campaign.subjects[0], 0)  # import what a case needs, before memory is limited
    limit_memory(memory)
    pipe.send(None)  # ready
    while (block := pipe.recv()) is not None:
        for number in block.numbers:
            pipe.send(run_case(campaign, block.subject, number))


def limit_memory(more: int) -> tuple[int, int]:
    """Let this process take so many bytes more than it has, and return the limits before; only where Linux tells."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    if Path("/proc/self/statm").exists():
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, before[1]))
    return before


class Crew:
    """Worker processes; one that dies or hangs is replaced, and its case is a failure."""

    def __init__(self, module: str, campaign: Campaign, n_workers: int) -> None:
        self.module, self.campaign = module, campaign
        self.workers = [self._new() for _ in range(n_workers)]

    def _new(self) -> Worker:
        ours, theirs = get_context("spawn").Pipe()
        process = get_context("spawn").Process(
            target=_serve, args=(theirs, self.module, self.campaign.memory), daemon=True
        )
        process.start()
        theirs.close()
        return Worker(process, ours)

    def outcomes(self, blocks: Sequence[Block]) -> Iterator[Outcome]:
        """Run all blocks and yield their outcomes as they come."""
        waiting = list(reversed(blocks))
        for worker in self.workers:
            self._feed(worker, waiting)
        while any(worker.case for worker in self.workers):
            busy = [worker for worker in self.workers if worker.case]
            ready = wait([worker.pipe for worker in busy], timeout=1.0)
            for worker in busy:
                if worker.pipe in ready:
                    yield from self._reports(worker, waiting)
                elif worker.ready and time.monotonic() - worker.since > PATIENCE * self.campaign.seconds:
                    yield self._lost(worker, "hang: the case does not come back", waiting)

    def _feed(self, worker: Worker, waiting: list[Block]) -> None:
        worker.block, worker.done, worker.since = (waiting.pop() if waiting else None), 0, time.monotonic()
        if worker.block is not None:
            worker.pipe.send(worker.block)

    def _reports(self, worker: Worker, waiting: list[Block]) -> Iterator[Outcome]:
        try:
            while worker.case and worker.pipe.poll():
                outcome = worker.pipe.recv()
                worker.since = time.monotonic()
                if outcome is None:
                    worker.ready = True
                    continue
                worker.done += 1
                yield outcome
        except (EOFError, ConnectionError):
            worker.process.join()
            yield self._lost(worker, f"crash: the process ended with {worker.process.exitcode}", waiting)
            return
        if not worker.case:
            self._feed(worker, waiting)

    def _lost(self, worker: Worker, why: str, waiting: list[Block]) -> Outcome:
        """Replace a worker, and put what it had not begun back."""
        assert worker.block is not None
        subject, number = worker.case or ("", -1)
        worker.process.kill()
        worker.process.join()
        rest = worker.block.numbers[worker.done + 1 :]
        if rest:
            waiting.append(Block(subject, rest))
        fresh = self._new()
        worker.process, worker.pipe, worker.ready = fresh.process, fresh.pipe, False
        self._feed(worker, waiting)
        return Outcome(subject, number, "failed", why, why)

    def close(self) -> None:
        for worker in self.workers:
            worker.process.kill()
            worker.process.join()


def blocks_of(campaign: Campaign, subjects: Sequence[str], size: int | None, first: int = 0) -> list[Block]:
    """Cut the cases of some subjects into blocks, those of all subjects in turn."""
    found = [
        Block(subject, range(start, min(start + BLOCK, first + (size or campaign.size_of(subject)))))
        for subject in subjects
        for start in range(first, first + (size or campaign.size_of(subject)), BLOCK)
    ]
    return sorted(found, key=lambda block: block.numbers[0])


@dataclass
class Tally:
    """What came of the cases of a campaign."""

    campaign: Campaign
    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    reasons: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    failures: list[Outcome] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, outcome: Outcome) -> None:
        if outcome.result == NO_CASE:
            return
        self.counts[outcome.subject][outcome.result] += 1
        if outcome.result != "failed" and outcome.cause:
            self.reasons[outcome.subject][outcome.cause[:90]] += 1
        if outcome.result == "failed":
            self.failures.append(outcome)

    def table(self) -> str:
        """Tried, refused in words and failed, for each subject and in all."""
        lines = [f"{self.campaign.name:<24}{'tried':>10}{'fine':>10}{'refused':>10}{'failed':>10}"]
        total: Counter[str] = Counter()
        for subject, counts in self.counts.items():
            lines.append(self._line(subject, counts))
            total += counts
        return "\n".join([*lines, self._line(f"all, in {self.seconds:,.0f} s", total)])

    def _line(self, name: str, counts: Counter[str]) -> str:
        cells = "".join(f"{counts[result]:>10,}" for result in (FINE, REFUSED, "failed"))
        return f"  {name:<22}{counts.total():>10,}{cells}"

    def causes(self) -> Iterator[tuple[str, list[Outcome]]]:
        """Failures by cause, the most frequent first."""
        by_cause: dict[str, list[Outcome]] = defaultdict(list)
        for failure in self.failures:
            by_cause[failure.cause].append(failure)
        yield from sorted(by_cause.items(), key=lambda item: -len(item[1]))

    def account(self) -> str:
        """Every cause of failures with the commands that show some of them; all are in the file that is named."""
        lines = []
        for cause, failures in self.causes():
            last = failures[0].detail.strip().rpartition("\n")[2]
            lines.append(f"FAILED {len(failures):,} x {cause}\n    for instance {last:.200}")
            lines += [f"    {self.command(failure)}" for failure in failures[:SHOWN]]
        return "\n".join(lines)

    def command(self, failure: Outcome) -> str:
        return f"python -m tests.faults {self.campaign.name} {failure.subject} --case {failure.number}"

    def write(self, folder: Path) -> Path:
        """Write all failures with their tracebacks to a file."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.campaign.name}.txt"
        parts = [f"{self.command(failure)}\n{failure.cause}\n{failure.detail}\n" for failure in self.failures]
        path.write_text("\n".join([self.table(), "", *parts]))
        return path


def run_campaign(
    campaign: Campaign,
    subjects: Sequence[str],
    size: int | None,
    n_workers: int,
    first: int = 0,
    progress: bool = False,
) -> Tally:
    """Run the cases ``first ... first + size - 1`` of some subjects."""
    tally = Tally(campaign)
    begun = shown = time.monotonic()
    blocks = blocks_of(campaign, subjects, size, first)
    n_cases = sum(len(block.numbers) for block in blocks)
    getattr(import_module(campaign.case.__module__), "prepare", lambda: None)()
    os.environ["MALLOC_ARENA_MAX"] = "2"  # address space that threads only reserve would count as memory
    os.environ[FOLDER] = new_folder()
    crew = Crew(campaign.case.__module__, campaign, n_workers)
    try:
        for n, outcome in enumerate(crew.outcomes(blocks), 1):
            new = outcome.result == "failed" and all(outcome.cause != known.cause for known in tally.failures)
            tally.add(outcome)
            if progress and new:
                print(f"  FAILED {tally.command(outcome)}: {outcome.cause}", file=sys.stderr, flush=True)
            if progress and time.monotonic() - shown > 10:
                shown = time.monotonic()
                print(
                    f"  {n:,} of {n_cases:,} cases, {len(tally.failures):,} failed, {shown - begun:,.0f} s",
                    file=sys.stderr,
                    flush=True,
                )
    except KeyboardInterrupt:
        print("interrupted: what was done so far", file=sys.stderr)
    finally:
        crew.close()
        shutil.rmtree(os.environ.pop(FOLDER), ignore_errors=True)
    tally.seconds = time.monotonic() - begun
    return tally
