"""``halfseen fit``: from a file to a model file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from halfseen.app import console, dispatch, dry_run, options, status_line
from halfseen.app.description import described
from halfseen.app.model_file import save
from halfseen.engine.services.checkpoint import checkpoint, in_use
from halfseen.engine.services.progress import watching
from halfseen.errors import ParameterError
from halfseen.estimators.base import new_names
from halfseen.estimators.convergence import unfinished
from halfseen.families.family import Family


def run(request: Mapping[str, Any]) -> None:
    """Fit, print the result, and write the requested files."""
    family, request = _checked(request)
    commands = family.module("cli")
    if request["dry_run"]:
        dry_run.show(commands.prepare(request), request)
        return
    output = request["output"]
    _check_output(output)
    kept = Path(f"{output}.checkpoint") if output is not None and family.resumes else None
    _check_checkpoint(kept, request["resume"])
    with nullcontext() if kept is None else checkpoint(kept):  # which is kept until the model is in its file
        with console.progress(_components(family, request["model"])) as watch, watching(watch):
            found = fitted(request)
        status_line.say("describing the model" if output is None else f"writing {Path(output).name}")
        if output is not None:
            save(found.model, output)
    _show(found.model, commands, request)
    first = unfinished(found.model)
    if output is not None:
        console.wrote("unfinished model" if first else "model", output)
    if first:
        console.note(_how_to_continue(kept, family.resumes))
    if request["report"] is not None:
        status_line.say("writing the report")
        from halfseen.app.report.page import report

        report(found.model, found.X, request["report"], command=request["command"])
        console.wrote("report", request["report"])


def fitted(request: Mapping[str, Any]) -> dispatch.Fitted:
    """Fit what a request asks for, and return the result; it writes no file, and prints nothing but notes.

    What the request says of files to write (`output`, `report`, `resume`), of `json` and of `dry_run` is for `run`.
    """
    family, request = _checked(request)
    found = _named(family.module("cli").fit(request), family, request)
    found.model._origin = found.model._origin._replace(command=request["command"], reading=found.reading)
    return found


def _checked(request: Mapping[str, Any]) -> tuple[Family, Mapping[str, Any]]:
    """Return the family that a request is for, and the request with the prior of --ml; refuse what cannot be."""
    family = dispatch.family_named(request["model"])
    dispatch.check_fit(family, request)
    request = _with_prior(request)
    _names(request)
    return family, request


def _show(model: Any, commands: Any, request: Mapping[str, Any]) -> None:
    """Print a fitted model and how its fit ended."""
    first = unfinished(model)
    if request["json"]:
        console.show_json(commands.summary(model))
    elif first:  # no description: what was found so far may change much
        console.show(first)
    else:
        console.show_blocks(described(model))
    if not request["json"]:
        console.note(commands.outcome(model))
    for event in model.events_:
        if event != first:
            console.note(f"note: {request['translate'](event)}")


def _with_prior(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the request with the prior that --ml stands for."""
    if not request["ml"]:
        return request
    if request["prior"] not in (None, "none"):
        raise ParameterError(f"--ml means no prior: leave out --prior {request['prior']}, or --ml.")
    return {**request, "prior": "none"}


def _names(request: Mapping[str, Any]) -> list[str]:
    """Return the names of --names; refuse too many or too few for a given number of classes."""
    found = options.names(request["names"])
    if not found:
        return []
    for option in ("target", "labels"):
        if request.get(option) is not None:
            raise ParameterError(f"--names cannot be used with --{option}: the classes are those of the {option}.")
    if request["classes"].isdecimal():
        try:
            new_names(found, range(int(request["classes"])), "class")
        except ParameterError as error:
            raise ParameterError(f"--names {request['names']}: {error}") from None
    return found


def _named(found: dispatch.Fitted, family: Family, request: Mapping[str, Any]) -> dispatch.Fitted:
    """Return a fit with the names of --names; where their number is not that of the classes, a note says so."""
    names = _names(request)
    if not names:
        return found
    try:
        return replace(found, model=family.module("cli").rename(found.model, names, request))
    except ParameterError as error:
        console.note(f"note: --names was not used: {error} halfseen rename names them.")
        return found


def _components(family: Family, word: str) -> str:
    """Return what the components of a model are called, if their number is what --classes gives."""
    counted = "classes" not in family.refused.get("fit", {}) and (not family.forms or word in family.models)
    return family.component[1] if counted else ""


def _check_output(output: str | None) -> None:
    if output is not None and not Path(output).parent.is_dir():
        raise ParameterError(f"-o: there is no directory {Path(output).parent}.")


def _check_checkpoint(kept: Path | None, resume: bool) -> None:
    """Refuse to overwrite an interrupted fit; note if there is none to resume."""
    if kept is None:
        if resume:
            raise ParameterError("--resume needs -o: the checkpoint is kept next to the model file.")
        return
    if resume and not kept.exists():
        console.note(f"note: there is no checkpoint {kept}: the fit starts from the beginning")
    if not resume and kept.exists() and not in_use(kept):  # else opening it says so
        raise ParameterError(
            f"{kept} is left from an interrupted fit. Add --resume to continue it, or delete it to start again."
        )


def _how_to_continue(kept: Path | None, resumes: bool) -> str:
    if kept is not None and kept.exists():
        return f"To continue the fit, add --resume to the command: {kept} has what was done so far."
    if resumes:
        return "The fit cannot be continued: a checkpoint is kept with -o only."
    return "The fit cannot be continued: this model has no checkpoints."
