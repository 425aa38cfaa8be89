"""Fits of a session, as jobs: the fit of the command line, watched and stoppable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa

from halfseen.app import dispatch
from halfseen.app.collected import collected
from halfseen.app.console import shown_warnings
from halfseen.app.verbs import fit as fit_verb
from halfseen.engine.services.progress import Draws, Progress, watching
from halfseen.errors import ParameterError
from halfseen.inference.blrt import blrt
from halfseen.stop_request import stopping_when
from halfseen.studio.jobs import Job
from halfseen.studio.live import Live
from halfseen.studio.refusal import Refusal
from halfseen.studio.session import Session
from halfseen.studio.versions import Version

NOTE = "note: "
SAID = (NOTE, "left out: ", "warning: ", "halfseen: ")  # how lines begin that are about the fit
OF_A_SEARCH = ("restarts", "choose", "criterion", "blrt", "start")  # options that are not for a fit from a model
MOST_POINTS = 250  # rows shown while a fit runs
PAUSE = 0.08  # seconds between two looks at a running fit


def start_fit(session: Session) -> Job:
    """Fit what is chosen; options are refused before anything starts."""
    spec = session.spec
    if not spec.data:
        raise Refusal("There are no data to fit a model to.")
    request = spec.request()
    family = dispatch.family_named(spec.model)
    dispatch.check_fit(family, request)
    if family.of_rows:
        with collected():  # what it notes, it notes again in the fit
            family.module("cli").prepare(request)

    def work(job: Job) -> dict[str, Any]:
        version, _ = _fitted(session, job, request, "fit", spec=spec)
        return {"version": version.number}

    return session.jobs.start("fit", work, model=spec.model)


def start_refit(session: Session) -> Job:
    """Fit the shown model again, from where it stands, with the labels set by hand."""
    version, labels = session.version(), dict(session.now.labels)
    if not version.takes_labels:
        raise Refusal("This model takes no labels.")
    if labels == dict(version.labels):
        raise Refusal("The labels are those that the model was fitted with: set or change one first.")
    if version.spec.options.get("labels"):
        raise Refusal("The labels of this model come from a column: change them there.")
    options = {name: value for name, value in version.spec.options.items() if name not in OF_A_SEARCH}
    spec = replace(version.spec, classes=str(len(version.names)), options=options)
    request = {**spec.request(), "begin": version.model, "known": (version.names, labels) if labels else None}

    def work(job: Job) -> dict[str, Any]:
        new, _ = _fitted(session, job, request, "refit", spec=spec, labels=labels, parent=version.number)
        return {"version": new.number}

    return session.jobs.start("refit", work, model=spec.model)


def start_test(session: Session, draws: int) -> Job:
    """Test the number of classes of the shown model against one more."""
    version = session.version()
    if "test" not in version.family.verbs:
        raise Refusal(f"There is no test of the number of {version.family.component[1]} of {version.family.title}.")
    if isinstance(draws, bool) or not isinstance(draws, int) or not 2 <= draws <= 10_000:
        raise ParameterError(f"draws={draws!r:.40} is not a whole number from 2 to 10,000.")
    rows = session.material(version)

    def work(job: Job) -> dict[str, Any]:
        with _watched(session, job):
            found = blrt(version.model, rows, draws, n_jobs=-1, random_state=0)
        said = {"lr": found.statistic, "p": found.p, "draws": len(found.draws)}
        with session.lock:
            session.memo["test", version.number] = said
            session.changed()
        return {"version": version.number, **said}

    return session.jobs.start("test", work, model=version.spec.model)


def _watched(session: Session, job: Job, live: Live | None = None) -> ExitStack:
    """Return a context in which the engine reports to the pages of a session, and stops when the job is to stop."""
    stack = ExitStack()
    stack.enter_context(stopping_when(job.stop))
    stack.enter_context(watching(_watcher(session, job, live)))
    return stack


def _watcher(session: Session, job: Job, live: Live | None) -> Callable[[Progress | Draws], None]:
    """Return what is called after every pass: it publishes now and then, with all that happened since."""
    last = -PAUSE

    def watch(state: Progress | Draws) -> None:
        nonlocal last
        now = monotonic()
        if now - last < PAUSE and not (isinstance(state, Progress) and state.n_passes <= 3):
            return
        last = now
        if isinstance(state, Draws):
            session.events.publish(
                "draws", {"job": job.number, "what": state.what, "done": state.done, "wanted": state.wanted}
            )
        elif live is not None:
            _publish(session, job, live.look(state))

    return watch


def _fitted(session: Session, job: Job, request: Mapping[str, Any], how: str, **more: Any) -> tuple[Version, list[str]]:
    """Run a fit and add its version; notes are published as they come."""
    live = Live(_sampled(session) if session.has_rows else None)
    with collected() as said, shown_warnings(request["translate"]), _watched(session, job, live):
        found = fit_verb.fitted(request)
    notes = [line.removeprefix(NOTE) for line in said.notes if line.startswith(SAID)]
    _publish(session, job, live.last())
    for note in notes:
        session.events.publish("note", {"text": note})
    version = session.add(how, found.model, found.reading, seconds=job.elapsed, notes=tuple(notes), **more)
    return version, notes


def _publish(session: Session, job: Job, looks: Iterable[Mapping[str, Any]]) -> None:
    for found in looks:
        session.events.publish("progress", {"job": job.number, "elapsed": job.elapsed, **found})


def _sampled(session: Session) -> Callable[[list[str]], pa.Table]:
    """Return what gives some rows, spread over the file, to be shown while a fit runs."""
    rows = session.rows()
    numbers = np.unique(np.linspace(0, rows.n_rows - 1, MOST_POINTS).astype(int)).tolist()
    return lambda names: rows.cells(numbers).select(names)
