"""``halfseen fit``: from a file to a model file."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from halfseen.app import console, families
from halfseen.app.model_file import save
from halfseen.engine.services.checkpoint import checkpoint
from halfseen.engine.services.progress import watching
from halfseen.errors import ParameterError


def run(**request: Any) -> None:
    """Fit, show what was found, and write what was asked for."""
    family = families.named(request["model"])
    families.check_options(request)
    output = request["output"]
    resumes = getattr(family, "RESUMES", True)
    if request["resume"] and not resumes:
        raise ParameterError(f"--resume has no meaning with --model {request['model']}: it keeps no checkpoint.")
    _check_output(output)
    journal = Path(f"{output}.checkpoint") if output is not None and resumes else None
    _check(journal, request["resume"])
    with console.progress() as watch, watching(watch), nullcontext() if journal is None else checkpoint(journal):
        fitted = family.fit(request)
    command = _command()
    fitted.model._origin = fitted.model._origin._replace(command=command, reading=fitted.reading)
    if output is not None:
        save(fitted.model, output)
    if request["json"]:
        console.show_json(family.summary(fitted.model))
    else:
        family.describe(fitted.model)
        console.note(family.outcome(fitted.model))
    for event in fitted.model.events_:
        console.note(f"note: {event}")
    if output is not None:
        console.note(f"model: {output}")
    if request["report"] is not None:
        from halfseen.app.report.page import report

        report(fitted.model, fitted.X, request["report"], command=command)
        console.note(f"report: {request['report']}")


def _check_output(output: str | None) -> None:
    if output is not None and not Path(output).parent.is_dir():
        raise ParameterError(f"-o: there is no directory {Path(output).parent}.")


def _check(journal: Path | None, resume: bool) -> None:
    """Refuse to lose an interrupted fit, and to go on with none."""
    if journal is None:
        if resume:
            raise ParameterError("--resume needs -o: the checkpoint lies beside the model file.")
        return
    if resume and not journal.exists():
        console.note(f"note: there is no checkpoint {journal}: the fit begins at the beginning")
    if not resume and journal.exists():
        raise ParameterError(
            f"{journal} is left from an interrupted fit. Add --resume to go on with it, or delete it to begin anew."
        )


def _command() -> str:
    """Return the command as it was typed."""
    return shlex.join(["halfseen", *sys.argv[1:]])
