"""Damage to files: bytes, lines, tokens and values, as accident and malice bring them about."""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np

Rng = np.random.Generator

LONG = 50_000  # characters of a token that is repeated: what is quadratic takes minutes
ODD_BYTES = (
    b"\x00",
    b"\xff",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\r",
    b"\r\n",
    b"\x1a",
    b"\\",
    b'"',
    b"'",
)
ODD_TOKENS = (
    b"NaN", b"inf", b"-inf", b"-1", b"0", b"1e999", b"1e-999", b"99999999999999999999", b"-0.0", b"0x10", b"1_000",
    b"\xc2\xb2", b"\xd9\xa3", b"None", b"null", b"true", b"{}", b"[]", b"()", b"<", b">", b"&", b"%s", b"../../x",
    b"|||", b"->", b"[1.0]", b"(", b")", b"0-0", b"--", b"{", b"}", b"]", b"[", b";", b",", b"\t", b"|", b"\n", b" ",
    b"\xe2\x80\xa8", b"\xf0\x9f\x98\x80", b"=cmd", b"'; DROP TABLE data; --", b"*", b"?",
)  # fmt: skip
TOKEN = re.compile(rb"[A-Za-z_]+|[-+]?\d+(?:\.\d+)?|\S")
NUMBER = re.compile(rb"[-+]?\d+(?:\.\d+)?")


def place(rng: Rng, data: bytes) -> int:
    return int(rng.integers(len(data) + 1))


def flip(rng: Rng, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        if out:
            out[int(rng.integers(len(out)))] ^= 1 << int(rng.integers(8))
    return bytes(out)


def overwrite(rng: Rng, data: bytes) -> bytes:
    at, length = place(rng, data), int(rng.integers(1, 9))
    return data[:at] + rng.bytes(length) + data[at + length :]


def truncate(rng: Rng, data: bytes) -> bytes:
    return data[: place(rng, data)]


def cut_out(rng: Rng, data: bytes) -> bytes:
    at = place(rng, data)
    return data[:at] + data[at + int(rng.integers(1, 40)) :]


def double(rng: Rng, data: bytes) -> bytes:
    at = place(rng, data)
    part = data[at : at + int(rng.integers(1, 80))]
    return data[:at] + part * int(rng.integers(2, 6)) + data[at:]


def insert(rng: Rng, data: bytes) -> bytes:
    at = place(rng, data)
    odd = (*ODD_BYTES, *ODD_TOKENS)
    return data[:at] + odd[int(rng.integers(len(odd)))] + data[at:]


def length_field(rng: Rng, data: bytes) -> bytes:
    """Overwrite two, four or eight bytes with a huge or tiny number, as in a declared size."""
    at, width = place(rng, data), int(rng.choice([2, 4, 8]))
    value = int(rng.choice([0, 1, 2, 255])) if rng.random() < 0.3 else (1 << (8 * width - int(rng.integers(0, 3)))) - 1
    return data[:at] + value.to_bytes(width, str(rng.choice(["little", "big"]))) + data[at + width :]


def replace_token(rng: Rng, data: bytes) -> bytes:
    found = list(TOKEN.finditer(data))
    if not found:
        return insert(rng, data)
    token = found[int(rng.integers(len(found)))]
    odd = ODD_TOKENS[int(rng.integers(len(ODD_TOKENS)))]
    if rng.random() < 0.3:  # one from elsewhere in the file
        odd = found[int(rng.integers(len(found)))].group()
    return data[: token.start()] + odd + data[token.end() :]


def replace_number(rng: Rng, data: bytes) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return replace_token(rng, data)
    number = found[int(rng.integers(len(found)))]
    digits = b"9" * int(rng.choice([1, 5, 20, 400, 5000]))
    odd = (b"-1", b"0", b"1.5", b"1e308", b"-1e308", b"NaN", b"inf", b"1e-320", digits, digits + b".5", b"")
    return data[: number.start()] + odd[int(rng.integers(len(odd)))] + data[number.end() :]


def repeat_token(rng: Rng, data: bytes) -> bytes:
    """Put a token a great many times, with and without blanks."""
    found = [*TOKEN.findall(data)[:200], *ODD_TOKENS]
    token = found[int(rng.integers(len(found)))] + (b"", b" ", b"\n")[int(rng.integers(3))]
    at = place(rng, data)
    return data[:at] + token * (LONG // max(len(token), 1)) + data[at:]


def lines(rng: Rng, data: bytes) -> bytes:
    """Drop, repeat, swap or join lines."""
    found = data.split(b"\n")
    at, other = int(rng.integers(len(found))), int(rng.integers(len(found)))
    how = int(rng.integers(5))
    if how == 0:
        del found[at]
    elif how == 1:
        found.insert(other, found[at])
    elif how == 2:
        found[at], found[other] = found[other], found[at]
    elif how == 3:
        found[at] = b""
    else:
        return data.replace(b"\n", (b"\r", b"\r\n", b" ", b"\n\n")[int(rng.integers(4))])
    return b"\n".join(found)


def encode(rng: Rng, data: bytes) -> bytes:
    """Give a text another encoding."""
    text = data.decode("utf-8", "replace")
    return text.encode(str(rng.choice(["utf-16", "utf-16-be", "latin-1", "cp1252", "utf-8-sig", "utf-32"])), "replace")


BYTES: tuple[Callable[[Rng, bytes], bytes], ...] = (flip, overwrite, truncate, cut_out, double, insert, length_field)
TEXT = (*BYTES, replace_token, replace_token, replace_number, replace_number, lines, lines, encode)


def mutant(rng: Rng, data: bytes, ways: tuple[Callable[[Rng, bytes], bytes], ...]) -> bytes:
    """Damage a file once, or a few times; now and then make it long."""
    for _ in range(int(rng.choice([1, 1, 2, 4]))):
        data = ways[int(rng.integers(len(ways)))](rng, data)
    return repeat_token(rng, data) if rng.random() < 0.02 else data


# ---- plain values ----------------------------------------------------------------------------------------------------

ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 1e308, -1e308, 1e-320, 0.5, 10**9, 10**30, -(10**18), "", "a", "nan", "weights",
    "gaussian", "categorical", "poisson", "text", "full", "\u0000", "\ud800", "x" * 10_000, [], {}, [[]], [None],
    [1, 2], {"$float": "nan"}, {"$float": "inf"}, {"$float": "x"}, {"$tuple": []}, {"$tuple": 3}, {"$set": [[1]]},
    {"$range": [0, 10**15, 1]}, {"$range": [0, 5, 0]}, {"$array": [1.0, 2.0], "dtype": "float64"},
    {"$array": [1], "dtype": "object"}, {"$array": "x", "dtype": "int64"}, {"$dict": [[1, 2]]}, {"$dict": [[[], 1]]},
    {"$unknown": 1}, {"a": {"b": {"c": []}}},
)  # fmt: skip


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the parts of a nested value are."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(below for key, part in inside for below in paths(part, (*path, key)))]


def edited(rng: Rng, value: Any) -> Any:
    """Change one part of a nested value in place: replace, drop, repeat, swap or rename it."""
    found = paths(value)[1:]
    if not found:
        return ODD_VALUES[int(rng.integers(len(ODD_VALUES)))]
    path = found[int(rng.integers(len(found)))]
    parent = at(value, path[:-1])
    key, how = path[-1], int(rng.integers(8))
    if how == 0:
        del parent[key]
    elif how == 1 and isinstance(parent, list):
        parent.insert(key, parent[key])
    elif how == 1:
        parent[str(key) + "x"] = parent.pop(key)
    elif how == 2:
        parent[key] = deepcopy(at(value, found[int(rng.integers(len(found)))]))
    elif how == 3 and isinstance(parent[key], int | float) and not isinstance(parent[key], bool):
        parent[key] = parent[key] * int(rng.choice([-1, 0, 2, 1000])) + int(rng.integers(-1, 2))
    else:
        parent[key] = deepcopy(ODD_VALUES[int(rng.integers(len(ODD_VALUES)))])
    return value


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def damaged_array(rng: Rng, array: np.ndarray) -> np.ndarray:
    """Change values or the shape of an array."""
    array = np.array(array, dtype=np.float64)
    how = int(rng.integers(9))
    if how <= 3 and array.size:
        odd = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1.0, 2.0, 0.5, 1e308, -1e308, 1e-320, 1e18]
        where = rng.random(array.shape) < (0.2 if how < 2 else 1.0)
        where.reshape(-1)[int(rng.integers(array.size))] = True
        array[where] = odd[int(rng.integers(len(odd)))]
        return array
    if how == 4:
        return array.reshape(-1)
    if how == 5:
        return array.T
    if how == 6:
        return array[None]
    if how == 7 and array.ndim:
        return np.concatenate([array, array], axis=int(rng.integers(array.ndim)))
    return array[:0] if array.ndim and rng.random() < 0.5 else array * float(rng.choice([-1, 2, 1e9]))
