"""Jobs: a fit, or another long computation, in a thread of its own; one at a time.

A job can be stopped: a fit then ends as one that Ctrl-C interrupts, with the best model so far.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any

from halfseen.errors import HalfseenError
from halfseen.studio.events import Events
from halfseen.studio.refusal import Busy

log = logging.getLogger("halfseen")

STOPPED = "It was stopped before there was a model."


@dataclass(eq=False)
class Job:
    """A running computation.

    Attributes
    ----------
    number : int
    what : str            "fit", "refit", "test"
    event : int           number of the last event before it
    began : str           time in UTC
    stop : Event          set to end it
    words : dict          what else pages show of it
    """

    number: int
    what: str
    event: int = 0
    words: dict[str, Any] = field(default_factory=dict)
    began: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    stop: Event = field(default_factory=Event)
    _clock: float = field(default_factory=monotonic)

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return round(monotonic() - self._clock, 3)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"number": self.number, "what": self.what, "began": self.began, "event": self.event, **self.words}


class Jobs:
    """The running job, if there is one."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._lock = Lock()
        self._number = 0
        self.running: Job | None = None
        self._thread: Thread | None = None

    def start(self, what: str, work: Callable[[Job], dict[str, Any]], **words: Any) -> Job:
        """Run `work` in a thread; what it returns is told with the event `done`. Refuse a second one."""
        with self._lock:
            if self.running is not None:
                raise Busy(f"A {self.running.what} is running. Stop it first, or wait until it has ended.")
            self._number += 1
            job = self.running = Job(self._number, what, self._events.newest, words)
            context = copy_context()
            self._thread = Thread(target=context.run, args=(self._run, job, work), name="halfseen job", daemon=True)
            self._thread.start()
        self._events.publish("state", {})
        return job

    def stop(self) -> Job | None:
        """Ask the running job to end."""
        with self._lock:
            if self.running is not None:
                self.running.stop.set()
            return self.running

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the running job; whether it has ended."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()

    def _run(self, job: Job, work: Callable[[Job], dict[str, Any]]) -> None:
        name, said = self._outcome(job, work)
        with self._lock:
            self.running = None
        self._events.publish(name, {"job": job.number, "what": job.what, **said, "elapsed": job.elapsed})
        self._events.publish("state", {})

    def _outcome(self, job: Job, work: Callable[[Job], dict[str, Any]]) -> tuple[str, dict[str, Any]]:
        """Run the work; return the event that says how it ended."""
        try:
            found = work(job)
            return "done", {"stopped": job.stop.is_set(), **found}
        except KeyboardInterrupt:
            return "failed", {"error": STOPPED, "stopped": True}
        except (HalfseenError, OSError, ImportError, MemoryError) as error:
            return "failed", {"error": str(error) or type(error).__name__, "stopped": False}
        except Exception as error:  # a bug: the page says so, the terminal has the traceback
            log.exception("studio: a job failed")
            return "failed", {
                "error": f"{type(error).__name__}: {error}. This is a bug; please report it.",
                "stopped": False,
            }
