"""The bytes of a model file up to its arrays: what can be read and checked without NumPy.

`read`, `metadata_in`      the content of a file; the texts in its header
`checksum`                 of texts and arrays, as in the metadata
`description_in`           what ``halfseen info`` prints, if this version of halfseen wrote the file

`halfseen.app.model_file` describes the format.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from halfseen.app.blocks import Block, are_blocks
from halfseen.errors import ModelFileError

__all__ = [
    "DAMAGED",
    "FORMAT",
    "FORMAT_VERSION",
    "checksum",
    "description_in",
    "is_description_whole",
    "metadata_in",
    "read",
    "text_checksum",
]

FORMAT = "halfseen model"
FORMAT_VERSION = 1
KEYS = {"format", "format_version", "halfseen_version", "class", "record", "checksum"}
LONGEST = 100_000_000  # bytes of a header, as in safetensors itself
DAMAGED = "The file is damaged: restore it from a copy, or fit and save the model again."

Shaped = tuple[tuple[int, ...], bytes | memoryview]  # shape and numbers of an array


def read(path: str | os.PathLike[str]) -> bytes:
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


def metadata_in(content: bytes, path: str) -> dict[str, str]:
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


def checksum(metadata: Mapping[str, str], arrays: Mapping[str, Shaped]) -> str:
    """Return the checksum of all text and numbers, independent of their order in the file."""
    digest = blake2b(digest_size=16)
    for key in sorted(KEYS - {"checksum"}):
        digest.update(f"{key}={len(metadata[key])}:{metadata[key]}".encode("utf-8", "surrogatepass"))
    for key in sorted(arrays):
        shape, numbers = arrays[key]
        digest.update(f"{key}{shape}".encode("utf-8", "surrogatepass"))
        digest.update(numbers)
    return digest.hexdigest()


def text_checksum(text: str) -> str:
    """Return the checksum of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def is_description_whole(metadata: Mapping[str, str]) -> bool:
    """Whether the description is as it was written; files of earlier versions have none."""
    return metadata.get("described", text_checksum("")) == text_checksum(metadata.get("description", ""))


def description_in(path: str, version: str) -> list[Block] | None:
    """Return the description in a model file; None if it has none of this version, or is not as it was written."""
    try:
        content = read(path)
        metadata = metadata_in(content, path)
        text = metadata["description"]
        whole = (
            metadata["halfseen_version"] == version
            and is_description_whole(metadata)
            and metadata["checksum"] == checksum(metadata, _arrays_in(content))
        )
        found = json.loads(text)
        return found if whole and are_blocks(found) else None
    except (ModelFileError, LookupError, TypeError, ValueError, RecursionError):
        return None  # loading the model says what is wrong


def _arrays_in(content: bytes) -> dict[str, Shaped]:
    """Return shapes and bytes of the arrays, as the header lists them."""
    start = 8 + int.from_bytes(content[:8], "little")
    listed: dict[str, Any] = json.loads(content[8:start])
    del listed["__metadata__"]
    data = memoryview(content)[start:]
    if sum(end - first for first, end in (one["data_offsets"] for one in listed.values())) != len(data):
        raise ValueError("bytes that belong to no array")
    if any(one["dtype"] != "F64" for one in listed.values()):
        raise ValueError("an array of another type")
    return {
        name: (tuple(one["shape"]), data[one["data_offsets"][0] : one["data_offsets"][1]])
        for name, one in listed.items()
    }
