"""Model files: a fitted model in one file that is safe to load, readable without halfseen, and kept readable.

The file is a safetensors file. Its arrays are the parameters (``params/...``), the expected statistics of the training
data (``stats/...``) and what the model was built from (``summary/...``), all float64. Its metadata are text:

format, format_version     "halfseen model", "1"
halfseen_version, class    version and class of the model: "LatentClass"
record                     JSON: options, columns, names of classes, container, training record, seed, time, ...
checksum                   of all of the above and the arrays

Loading reads numbers and text and never runs code. Every part is checked before it is used.

To add a family
---------------
1. Give the estimator ``_state(self) -> State``: plain values and float64 arrays from which it can be built again.
   `halfseen.app.plain_values` lists what is plain; `halfseen.estimators.state` does it for mixtures over tables.
2. Give it the class method ``_from_state(cls, state) -> Self`` that builds it. A state is untrusted input: check names,
   types and shapes, ask `Leaf.flaw` about parameters, and raise `ParameterError` saying what is wrong.
3. List the class in the manifest of its family, add a fitted model to ``tests/unit/test_model_file.py`` and a file of
   it to ``tests/unit/format_1``.

Later versions of a class read earlier records: give a missing entry its default in ``_from_state``. When that cannot be
done, raise `FORMAT_VERSION` and turn the old record into a new one in `load`. Files in ``format_1`` are never replaced.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from sklearn.utils.validation import check_is_fitted

from halfseen.app import plain_values
from halfseen.errors import DiskError, ModelFileError, ParameterError
from halfseen.estimators.state import State
from halfseen.families import ESTIMATORS
from halfseen.leaves.leaf import Floats, frozen
from halfseen.whole_file import whole_file

__all__ = ["load", "read_record", "save"]

FORMAT = "halfseen model"
FORMAT_VERSION = 1
KEYS = {"format", "format_version", "halfseen_version", "class", "record", "checksum"}
LONGEST = 100_000_000  # bytes of a header, as in safetensors itself
DAMAGED = "The file is damaged: restore it from a copy, or fit and save the model again."


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file.

    The file is written completely or not at all: under a temporary name in the same folder, and then renamed.

    Parameters
    ----------
    model : fitted estimator
    path : str or path
        Any name; ".halfseen" is the usual extension. An existing file is replaced.

    Raises
    ------
    ModelFileError
        The file cannot be written, or an option of the model cannot be saved.
    DiskFullError
        There is no room for it. An older file of this name stays as it was.

    Examples
    --------
    >>> import halfseen as hs, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "colors.halfseen")
    >>> model = hs.LatentClass(2, random_state=0).fit([["red", 1]] * 6 + [["blue", 0]] * 3)
    >>> hs.save(model, path)
    >>> bool((hs.load(path).predict_proba([["red", None]]) == model.predict_proba([["red", None]])).all())
    True
    """
    name = type(model).__name__
    if ESTIMATORS.get(name) != type(model).__module__:
        raise ParameterError(
            f"a {name} has no file format. Those with one: {', '.join(sorted(ESTIMATORS))}. Of a pipeline or a "
            "search, save the model inside it."
        )
    check_is_fitted(model)
    content = _content(name, model._state())
    _model_in(content, f"this {name} cannot be saved")  # check that it can be loaded
    _write(Path(path), content)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote: it behaves as the fitted model, with the same results to the last bit.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    the estimator that was saved

    Raises
    ------
    ModelFileError
        The file does not exist, is not a model file, is damaged, or was written by a later version.

    Examples
    --------
    >>> import halfseen as hs
    >>> hs.load("no_such_file")
    Traceback (most recent call last):
        ...
    halfseen.errors.ModelFileError: no_such_file: cannot be read: No such file or directory.
    """
    return _model_in(_read(path), os.fspath(path))


def read_record(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the metadata of a model file without building the model: class, versions, columns, training record, ...

    Examples
    --------
    >>> import halfseen as hs, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "colors.halfseen")
    >>> hs.save(hs.LatentClass(2, random_state=0).fit([["red", 1]] * 6 + [["blue", 0]] * 3), path)
    >>> record = read_record(path)
    >>> record["class"], record["training"]["n_rows"], record["columns"][0]["categories"]
    ('LatentClass', 9.0, ['blue', 'red'])
    """
    name = os.fspath(path)
    metadata, _ = _parts(_read(path), name)
    try:
        record = plain_values.loads(metadata["record"])
        return {key: metadata[key] for key in ("class", "halfseen_version", "format_version")} | record
    except Exception as error:
        raise ModelFileError(f"{name}: its record is {type(error).__name__}: {error}. {DAMAGED}") from error


# ---- bytes -------------------------------------------------------------------------------------------------------


def _content(name: str, state: State) -> bytes:
    """Return a model file as bytes."""
    from halfseen import __version__

    try:
        record = plain_values.dumps(state.record)
    except (TypeError, ValueError) as error:
        raise ModelFileError(
            f"this {name} cannot be saved: {error}. Give such an option as lists of numbers."
        ) from None
    tensors = {key: np.ascontiguousarray(array, dtype=np.float64) for key, array in state.tensors.items()}
    metadata = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "halfseen_version": __version__,
        "class": name,
        "record": record,
    }
    return _safetensors({**metadata, "checksum": _checksum(metadata, tensors)}, tensors)


def _safetensors(metadata: Mapping[str, str], tensors: Mapping[str, Floats]) -> bytes:
    """Return a safetensors file: length of the header, header, arrays. Equal models give equal files."""
    header: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name in sorted(tensors):
        start, end = end, end + tensors[name].nbytes
        header[name] = {"dtype": "F64", "shape": tensors[name].shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # arrays begin at a multiple of 8
    arrays = [tensors[name].astype("<f8", copy=False).tobytes() for name in sorted(tensors)]
    return b"".join([len(text).to_bytes(8, "little"), text, *arrays])


def _checksum(metadata: Mapping[str, str], tensors: Mapping[str, Floats]) -> str:
    """Return the checksum of all text and numbers, independent of their order in the file."""
    digest = blake2b(digest_size=16)
    for key in sorted(KEYS - {"checksum"}):
        digest.update(f"{key}={len(metadata[key])}:{metadata[key]}".encode("utf-8", "surrogatepass"))
    for key in sorted(tensors):
        digest.update(f"{key}{tensors[key].shape}".encode("utf-8", "surrogatepass"))
        digest.update(tensors[key].astype("<f8", copy=False).tobytes())
    return digest.hexdigest()


def _read(path: str | os.PathLike[str]) -> bytes:
    """Return the content of a file that may be a model file."""
    try:
        with open(path, "rb") as file:
            head = file.read(8)
            _check_head(head, os.fstat(file.fileno()).st_size, os.fspath(path))
            return head + file.read()
    except OSError as error:
        raise ModelFileError(f"{os.fspath(path)}: cannot be read: {error.strerror}.") from error


def _check_head(head: bytes, size: int, path: str) -> None:
    """Refuse a file that cannot be safetensors, before it is read."""
    if size == 0:
        raise ModelFileError(f"{path}: the file is empty. {DAMAGED}")
    if head[:1] == b"\x80" and len(head) > 1 and head[1] < 6 and int.from_bytes(head, "little") > LONGEST:
        raise ModelFileError(
            f"{path}: this looks like a pickle, which could run any program when loaded. Load it with pickle if you "
            "trust it, and save the model with halfseen.save."
        )
    length = int.from_bytes(head, "little")
    if len(head) < 8 or length > LONGEST:
        raise ModelFileError(f"{path}: this is not a model file of halfseen, or its first bytes are damaged.")
    if length > size - 8:
        raise ModelFileError(f"{path}: the file ends after {size} bytes, within its header. {DAMAGED}")


def _model_in(content: bytes, path: str) -> Any:
    """Return the model in the content of a file; every error is reported as an error of the file."""
    metadata, tensors = _parts(content, path)
    home = ESTIMATORS.get(metadata["class"])
    if home is None:
        raise ModelFileError(
            f"{path}: it holds a {metadata['class']!r:.80}, which is unknown to this version of halfseen. "
            f"Known: {', '.join(sorted(ESTIMATORS))}. Upgrade halfseen."
        )
    try:
        record = plain_values.loads(metadata["record"])
        return getattr(import_module(home), metadata["class"])._from_state(State(record, tensors))
    except ModelFileError as error:  # already says what to do
        raise ModelFileError(f"{path}: {error}") from None
    except Exception as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ModelFileError(f"{path}: the {metadata['class']} in it is not valid: {reason} {DAMAGED}") from error


def _parts(content: bytes, path: str) -> tuple[dict[str, str], dict[str, Floats]]:
    """Return metadata and arrays, with the format checked."""
    metadata = _metadata(content, path)
    try:
        listed = safetensors.deserialize(content)
    except safetensors.SafetensorError as error:
        raise ModelFileError(f"{path}: {error}. {DAMAGED}") from None
    tensors = {name: _array(name, found, path) for name, found in listed}
    if _checksum(metadata, tensors) != metadata["checksum"]:
        raise ModelFileError(f"{path}: its checksum does not match its content. {DAMAGED}")
    return metadata, tensors


def _metadata(content: bytes, path: str) -> dict[str, str]:
    """Return the texts in the header; refuse other formats and later versions."""
    length = int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8 : 8 + length])
    except (ValueError, RecursionError):
        raise ModelFileError(f"{path}: its header is not JSON. {DAMAGED}") from None
    found = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ModelFileError(f"{path}: this is not a model file of halfseen. Model files are written by halfseen.save.")
    version = found.get("format_version")
    if not isinstance(version, str) or not version.isdecimal() or len(version) > 9 or int(version) < 1:
        raise ModelFileError(f"{path}: its format version is {version!r:.80}. {DAMAGED}")
    if int(version) > FORMAT_VERSION:
        raise ModelFileError(
            f"{path}: it was written by halfseen {found.get('halfseen_version')!s:.80} in format {version}; this "
            f"version reads formats up to {FORMAT_VERSION}. Upgrade halfseen."
        )
    if not set(found) >= KEYS or not all(isinstance(text, str) for text in found.values()):
        raise ModelFileError(f"{path}: its metadata are incomplete. {DAMAGED}")
    return found


def _array(name: str, found: Mapping[str, Any], path: str) -> Floats:
    if found["dtype"] != "F64":
        raise ModelFileError(f"{path}: array {name!r:.80} is of {found['dtype']}, expected F64. {DAMAGED}")
    return frozen(np.frombuffer(found["data"], dtype="<f8").reshape(found["shape"]).astype(np.float64))


def _write(path: Path, content: bytes) -> None:
    try:
        with whole_file(path) as file:
            file.write(content)
    except DiskError:
        raise
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be written: {error.strerror}. Use another path.") from error
