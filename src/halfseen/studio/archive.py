"""A session in a file: what was chosen, what was fitted, labels, and the way back. Reading one runs no code.

A ZIP file with ``session.json`` and a model file for each version. It holds no rows: the data are named again when it
is opened, and must be those that it was made with.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halfseen.app.model_file import read_model
from halfseen.errors import DataError, HalfseenError, ModelFileError
from halfseen.studio.session import Moment, Session
from halfseen.studio.spec import Spec
from halfseen.studio.versions import Version
from halfseen.whole_file import whole_file

FORMAT, VERSION = "halfseen session", 1
MOST_MODELS, MOST_BYTES = 1000, 1 << 30  # that are read


def content_of(session: Session) -> bytes:
    """Return a session as the bytes of its file."""
    with session.lock:
        record = {
            "format": FORMAT,
            "version": VERSION,
            "data": _fingerprint(session),
            "position": session.position,
            "moments": [_moment(moment) for moment in session.moments],
            "versions": [_version(version) for version in session.versions],
        }
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("session.json", json.dumps(record, ensure_ascii=False, indent=1))
            for version in session.versions:
                file.writestr(f"model-{version.number}.halfseen", version.content)
    return out.getvalue()


def keep(session: Session, path: str) -> None:
    """Write a session into a file, as a whole or not at all, now and after each change."""

    def write() -> None:
        with whole_file(path) as file:
            file.write(content_of(session))

    session.file = path
    session.on_change = write
    write()


def reopen(session: Session, path: str) -> None:
    """Take over what is in the file of a session."""
    try:
        with zipfile.ZipFile(path) as file:
            record = _record(file, path)
            _check_data(session, record["data"], path)
            versions = [_read_version(file, one) for one in record["versions"]]
            moments = [_read_moment(one) for one in record["moments"]]
            position = int(record["position"])
    except (HalfseenError, OSError):
        raise
    except Exception as error:  # a file may hold anything
        raise ModelFileError(
            f"{path}: it is not the file of a session, or it is damaged ({type(error).__name__}: {error}). "
            "Name another file with --session to begin anew."
        ) from None
    numbers = {version.number for version in versions}
    if not moments or not 0 <= position < len(moments) or not {m.version for m in moments} - {None} <= numbers:
        raise ModelFileError(
            f"{path}: its moments and models do not belong together. Name another file with --session."
        )
    session.versions, session.moments, session.position = versions, moments, position


def _record(file: zipfile.ZipFile, path: str) -> dict[str, Any]:
    if sum(entry.file_size for entry in file.infolist()) > MOST_BYTES or len(file.infolist()) > MOST_MODELS + 1:
        raise ModelFileError(f"{path}: it is larger than the file of a session can be.")
    record = json.loads(file.read("session.json"))
    if record["format"] != FORMAT or record["version"] != VERSION:
        raise ModelFileError(
            f"{path}: it is a session of another version of halfseen ({record['version']!r:.20}). Upgrade."
        )
    found: dict[str, Any] = record
    return found


def _fingerprint(session: Session) -> dict[str, Any]:
    """Return what a file of data is recognised by."""
    if not session.has_rows:
        return {"files": list(session.moments[0].spec.data)}
    rows = session.rows()
    return {"files": list(session.moments[0].spec.data), "rows": rows.n_rows, "columns": list(rows.names)}


def _check_data(session: Session, given: Mapping[str, Any], path: str) -> None:
    own = _fingerprint(session)
    if not own["files"] or list(given["files"]) != own["files"]:
        raise DataError(
            f"{path}: this session is about {' '.join(map(str, given['files']))}: name these data on the command line, "
            f"halfseen studio {' '.join(map(str, given['files']))} --session {path}."
        )
    if given != own:
        raise DataError(
            f"{path}: the data have changed since: {given.get('rows')} rows then, {own.get('rows')} now, or other "
            "columns. Name another file with --session to begin anew."
        )


def _moment(moment: Moment) -> dict[str, Any]:
    labels = {str(row): name for row, name in moment.labels.items()}
    return {"what": moment.what, "spec": moment.spec.to_dict(), "version": moment.version, "labels": labels}


def _read_moment(given: Mapping[str, Any]) -> Moment:
    return Moment(str(given["what"]), Spec.from_dict(given["spec"]), given["version"], _labels(given["labels"]))


def _labels(given: Mapping[str, Any]) -> dict[int, str]:
    return {int(row): str(name) for row, name in given.items()}


def _version(version: Version) -> dict[str, Any]:
    return {
        "number": version.number,
        "parent": version.parent,
        "how": version.how,
        "reading": dict(version.reading),
        "spec": version.spec.to_dict(),
        "labels": {str(row): name for row, name in version.labels.items()},
        "seconds": version.seconds,
        "notes": list(version.notes),
    }


def _read_version(file: zipfile.ZipFile, given: Mapping[str, Any]) -> Version:
    number = int(given["number"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"model-{number}.halfseen")
        path.write_bytes(file.read(path.name))
        model = read_model(path)
    seconds = None if given["seconds"] is None else float(given["seconds"])
    parent = None if given["parent"] is None else int(given["parent"])
    return Version(
        number, parent, str(given["how"]), model, model._origin.reading or {}, Spec.from_dict(given["spec"]),
        _labels(given["labels"]), seconds, tuple(map(str, given["notes"])),
    )  # fmt: skip
