"""Plain Python values as JSON, and back without loss: types that JSON lacks are marked.

value                      JSON
None, bool, int, str       as it is
float                      as it is, to the last bit; {"$float": "nan"} (inf, -inf) as JSON lacks them
list                       as it is
tuple, set, range          {"$tuple": [...]}, {"$set": [...]}, {"$range": [start, stop, step]}
dict                       as it is with text as keys, else {"$dict": [[key, value], ...]}
array                      {"$array": [...], "dtype": "int64"}

NumPy's scalars become Python's. Nothing else is read or written, so that loading never runs code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import numpy as np

__all__ = ["dumps", "loads"]

_DTYPES = ("bool", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
LONGEST = 1_000_000  # numbers of a range
_FLOATS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


def dumps(value: Any) -> str:
    """Return a value as JSON text; `TypeError` for what is not plain.

    Examples
    --------
    >>> dumps({"sizes": range(1, 4), "tied": (), "prior": None})
    '{"sizes": {"$range": [1, 4, 1]}, "tied": {"$tuple": []}, "prior": null}'
    """
    return json.dumps(_encoded(value), allow_nan=False)


def loads(text: str) -> Any:
    """Return the value written by `dumps`; `ValueError` for anything else."""
    return _read(json.loads(text, parse_constant=_refuse))


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _encoded(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if isfinite(value) else {"$float": repr(float(value))}
    if isinstance(value, list):
        return [_encoded(part) for part in value]
    if isinstance(value, tuple):
        return {"$tuple": [_encoded(part) for part in value]}
    if isinstance(value, range):
        return {"$range": [value.start, value.stop, value.step]}
    if isinstance(value, set | frozenset):
        return {"$set": [_encoded(part) for part in sorted(value, key=repr)]}
    if isinstance(value, Mapping):
        return _encoded_mapping(value)
    return _encoded_array(value)


def _encoded_mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    if all(isinstance(key, str) and not key.startswith("$") for key in value):
        return {key: _encoded(part) for key, part in value.items()}
    return {"$dict": [[_encoded(key), _encoded(part)] for key, part in value.items()]}


def _encoded_array(value: Any) -> dict[str, Any]:
    array = np.asarray(value) if hasattr(value, "__array__") else None
    if array is None or not (array.dtype.kind in "UO" or array.dtype.name in _DTYPES):
        raise TypeError(f"{value!r:.80} of type {type(value).__name__} is not a plain value")
    dtype = {"U": "str", "O": "object"}.get(array.dtype.kind, array.dtype.name)
    return {"$array": _encoded(array.tolist()), "dtype": dtype}


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(part) for part in value]
    if not isinstance(value, dict):
        return value
    word = next(iter(value), "")
    if not word.startswith("$"):
        return {key: _read(part) for key, part in value.items()}
    if word not in _READERS:
        raise ValueError(f"{word!r:.80} is not a known marker")
    return _READERS[word](value)


def _read_array(value: Mapping[str, Any]) -> Any:
    cells, dtype = _read(value["$array"]), value["dtype"]
    if dtype == "str":
        return np.array(cells, dtype=str)
    if dtype == "object":
        array = np.empty(len(cells), dtype=object)
        array[:] = cells
        return array
    if dtype not in _DTYPES:
        raise ValueError(f"{dtype!r:.80} is not a dtype of plain values")
    return np.array(cells, dtype=dtype)


def _read_range(start: int, stop: int, step: int) -> range:
    found = range(start, stop, step)
    if not -LONGEST <= stop - start <= LONGEST:  # a few bytes that would take days to go through
        raise ValueError(f"{found!r:.80} is longer than any that is written")
    return found


_READERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "$float": lambda value: _FLOATS[value["$float"]],
    "$tuple": lambda value: tuple(_read(value["$tuple"])),
    "$set": lambda value: set(_read(value["$set"])),
    "$range": lambda value: _read_range(*value["$range"]),
    "$dict": lambda value: {key: part for key, part in map(_read, value["$dict"])},  # noqa: C416, checks pairs
    "$array": _read_array,
}
