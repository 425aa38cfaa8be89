"""Show me the code: the commands and the Python that make a version again.

A version is the end of a chain: a fit, or a model that was opened, then names, another number of classes, labels. Each
link adds a command and some lines of Python.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from halfseen.app.code import DESCRIBED, Given, data_of, fit_of, python_of
from halfseen.studio.export import label_column
from halfseen.studio.session import Session, command_of
from halfseen.studio.versions import Version

MODEL = "model.halfseen"  # what commands that are shown call the model file
MANY = 12  # labels in a line of Python


@dataclass(frozen=True)
class Code:
    """What makes a model again.

    Attributes
    ----------
    commands : list of str
    python : list of str     lines
    files : list of dict     files that the commands read beside the data: name, and what and version to download
    notes : list of str
    model : str              the model file that the commands lead to
    """

    commands: list[str]
    python: list[str]
    files: list[dict[str, object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    model: str = MODEL

    def to_dict(self) -> dict[str, object]:
        """Return it as plain values."""
        python = [*self.python, "", DESCRIBED] if DESCRIBED not in self.python else self.python
        return {
            "python": "\n".join(python) + "\n",
            "command": "\n".join(self.commands),
            "files": self.files,
            "notes": self.notes,
        }


def code_of(session: Session, version: Version) -> Code:
    """Return the code of a version."""
    parent = None if version.parent is None else session.version(version.parent)
    if version.how == "rename" and parent is not None:
        return _renamed(code_of(session, parent), version.names)
    if version.how == "refit" and parent is not None:
        return _labelled(session, code_of(session, parent), version)
    return _fitted(session, version)


def _given(session: Session, version: Version) -> Given | None:
    """Return the table of a notebook; None where the data are files."""
    return None if session.held is None else session.held.given(version.model, version.reading)


def _fitted(session: Session, version: Version) -> Code:
    """Return the code of a fit, or of a model that was opened; a table of a notebook has no commands."""
    notes, given = list(_notes(version)), _given(session, version)
    python = [line for line in python_of(version.model, given).splitlines() if line != DESCRIBED]
    if given is not None:
        return Code([], python, notes=[note for note in notes if "model file" not in note])
    if version.how != "opened":
        return Code([f"{command_of(version.spec)} -o {MODEL}"], python, notes=notes)
    command = version.model._origin.command
    if command is None:
        return Code([f"# This model was fitted in Python; {MODEL} is its file."], python, notes=notes)
    output = _output(command)
    return Code([command if output else f"{command} -o {MODEL}"], python, notes=notes, model=output or MODEL)


def _output(command: str) -> str | None:
    """Return the file that a command writes its model to, as it was typed."""
    words = shlex.split(command)
    return next((words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-o", "--output")), None)


def _notes(version: Version) -> Iterator[str]:
    if version.summary["stop_reason"] == "interrupted":
        yield "The fit was stopped: run to its end, it may lead to another result."
    if version.how == "opened" and version.model._origin.reading is None:
        yield "The model file does not say how its data were read: name them in place of the dots."


def _renamed(code: Code, names: Sequence[str]) -> Code:
    plain = not any("=" in name or name.startswith("-") for name in names)
    words = names if plain else [f"{k}={name}" for k, name in enumerate(names)]
    commands = [shlex.join(["halfseen", "rename", code.model, *words])] if code.commands else []
    python = f"model = model.rename({list(names)!r})"
    return replace(code, commands=[*code.commands, *commands], python=[*code.python, python])


def _labelled(session: Session, code: Code, version: Version) -> Code:
    """Return the code with a fit that begins at the model so far and knows the class of some rows."""
    given, notes = _given(session, version), [*code.notes, *_notes(version)]
    lines, more = _label_lines(version, session.rows().n_rows), {"begin": "model"}
    if lines:
        more |= {"labels": "labels", "classes": "list(model.class_names_)"}
    fit = f"model = {fit_of(version.model, data_of(version.model, given), given, **more)}"
    python = [*code.python, *lines, fit]
    if given is not None:
        return Code([], python, code.files, notes)
    spec, words, files = version.spec, ["--start", code.model], list(code.files)
    if version.labels:
        name = labels_name(session, version)
        files.append({"name": name, "what": "labels", "version": version.number})
        spec = replace(spec, data=(name,), reading={})
        words += ["--labels", label_column(session)]
    command = f"{command_of(spec)} {shlex.join(words)} -o {MODEL}"
    return Code([*code.commands, command], python, files, notes)


def labels_name(session: Session, version: Version) -> str:
    """Return the name of the file of the rows with their labels."""
    return f"{PurePath(session.title).stem} labels {version.number}.parquet"


def _label_lines(version: Version, n_rows: int) -> list[str]:
    """Return the lines that make a list of labels, None where a row has none; no lines without labels."""
    labels = sorted(version.labels.items())
    if not labels:
        return []
    parts = [labels[i : i + MANY] for i in range(0, len(labels), MANY)]
    rows = ["    " + ", ".join(f"{row}: {name!r}" for row, name in part) + "," for part in parts]
    return ["known = {  # row: class", *rows, "}", f"labels = [known.get(row) for row in range({n_rows})]"]
