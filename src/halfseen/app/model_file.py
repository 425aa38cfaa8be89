"""Model files: a fitted model in one file that is safe to load, readable without halfseen, and kept readable.

The file is a safetensors file. Its arrays are the parameters (``params/...``), the expected statistics of the training
data (``stats/...``) and what the model was built from (``summary/...``), all float64. Its metadata are text:

format, format_version     "halfseen model", "1"
halfseen_version, class    version and class of the model: "LatentClass"
record                     JSON: options, columns, names of classes, container, training record, seed, time, ...
checksum                   of all of the above and the arrays
description, described     JSON: what ``halfseen info`` prints of the model; checksum of this text

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
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
from sklearn.utils.validation import check_is_fitted

from halfseen.app import description, plain_values
from halfseen.app.blocks import Block
from halfseen.app.model_header import (
    DAMAGED,
    FORMAT,
    FORMAT_VERSION,
    checksum,
    is_description_whole,
    metadata_in,
    read,
    text_checksum,
)
from halfseen.errors import DiskError, ModelFileError, ParameterError
from halfseen.estimators.state import State
from halfseen.families import ESTIMATORS
from halfseen.leaves.leaf import Floats, frozen
from halfseen.whole_file import whole_file

__all__ = ["load", "read_record", "save"]


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
    content = _content(name, model._state(), lambda record: description.blocks_of(model, record))
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
        Its tables (`selection_`, `to_frame()`) are in the library of the data it was fitted to; if that was a file, at
        the command line, in the first of pandas, Polars and PyArrow that is installed.

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
    model = read_model(path)
    template = getattr(model, "_template", None)
    if template is not None and model._origin.reading is not None:  # fitted at the command line, to a file
        template.of_file = True
    return model


def read_model(path: str | os.PathLike[str]) -> Any:
    """Read a model for the command line, whose tables are in Arrow."""
    return _model_in(read(path), os.fspath(path))


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
    metadata, _ = _parts(read(path), name)
    try:
        return _record(metadata)
    except Exception as error:
        raise ModelFileError(f"{name}: its record is {type(error).__name__}: {error}. {DAMAGED}") from error


# ---- bytes -------------------------------------------------------------------------------------------------------


def _record(metadata: Mapping[str, str]) -> dict[str, Any]:
    """Return the record in the metadata, with class and versions."""
    texts = {key: metadata[key] for key in ("class", "halfseen_version", "format_version")}
    return texts | plain_values.loads(metadata["record"])


def _content(name: str, state: State, describe: Callable[[dict[str, Any]], list[Block]] | None = None) -> bytes:
    """Return a model file as bytes; `describe` returns the description of the model from its record."""
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
    metadata["checksum"] = _checksum(metadata, tensors)
    if describe is not None:
        metadata["description"] = json.dumps(describe(_record(metadata)))
        metadata["described"] = text_checksum(metadata["description"])
    return _safetensors(metadata, tensors)


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
    flat = {name: (array.shape, array.astype("<f8", copy=False).reshape(-1).data) for name, array in tensors.items()}
    return checksum(metadata, flat)


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
    metadata = metadata_in(content, path)
    try:
        listed = safetensors.deserialize(content)
    except safetensors.SafetensorError as error:
        raise ModelFileError(f"{path}: {error}. {DAMAGED}") from None
    tensors = {name: _array(name, found, path) for name, found in listed}
    if _checksum(metadata, tensors) != metadata["checksum"] or not is_description_whole(metadata):
        raise ModelFileError(f"{path}: its checksum does not match its content. {DAMAGED}")
    return metadata, tensors


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
