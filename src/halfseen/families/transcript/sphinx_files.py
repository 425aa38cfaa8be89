"""The files of an acoustic model of CMU Sphinx, read with care: sizes are checked before anything is allocated.

- *phone*, *senone*: a unit, and a state's emission. Context-independent phones and their senones are the first.
- *codebook*: normal components that several senones share, each with weights of its own.
- *stream*: some of the columns; each has components of its own, and the streams of a senone are independent.

`mdef` names phones and the senones of their states; `means` and `variances` hold the codebooks; `mixture_weights` or
`sendump` (one byte for each weight) the weights; `transition_matrices` how states follow each other; `feat.params` the
options of the front end. Binary files have either byte order and, mostly, a checksum.
"""

from __future__ import annotations

import itertools
import math
import re
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halfseen.data.encodings import read_text
from halfseen.errors import DataError

__all__ = ["Phones", "read_codebooks", "read_options", "read_phones", "read_transitions", "read_weights"]

Floats = NDArray[np.float64]

MAGIC = 0x11223344  # as 32 bits in the byte order of a file
MOST_PHONES = 10_000  # context-independent ones; languages have less than 200
MOST_STATES = 10  # of a phone
SCALE = 1024 * math.log(
    1.0001
)  # a weight is exp(-SCALE q) in a sendump: logs to base 1.0001, without their lowest 10 bits
BINARY = b"BMDF"


class Phones(NamedTuple):
    """The context-independent phones of a model.

    Attributes
    ----------
    names : tuple of str
    senones : (U, S) ints      senone of each state
    matrices : (U,) ints       transition matrix of each phone
    n_senones : int            with those of triphones
    """

    names: tuple[str, ...]
    senones: NDArray[np.int64]
    matrices: NDArray[np.int64]
    n_senones: int


class _Bytes:
    """A file in memory and where it is read; every error says which file and where."""

    def __init__(self, path: Path) -> None:
        self.path, self.at, self.order = path, 0, "<"
        try:
            self.raw = path.read_bytes()
        except FileNotFoundError:
            raise DataError(f"{path}: there is no such file.") from None
        except OSError as error:
            raise DataError(f"{path}: the file cannot be read ({error.strerror or error}).") from None

    def flaw(self, what: str) -> DataError:
        """Return the error that something is wrong about here."""
        return DataError(f"{self.path}, byte {self.at}: {what} The file is damaged, or not of a model of Sphinx.")

    def take(self, size: int, what: str) -> bytes:
        """Return the next bytes."""
        if size > len(self.raw) - self.at:
            raise self.flaw(f"the file ends before {what}: {size} bytes expected, {len(self.raw) - self.at} left.")
        self.at += size
        return self.raw[self.at - size : self.at]

    def array(self, n: int, kind: str, what: str) -> NDArray[Any]:
        """Return the next n numbers of a kind such as "i4"."""
        dtype = np.dtype(self.order + kind)
        return np.frombuffer(self.take(n * dtype.itemsize, what), dtype=dtype)

    def count(self, what: str, least: int, most: int) -> int:
        """Return the next integer, which must be within limits."""
        found = int(self.array(1, "i4", what)[0])
        if not least <= found <= most:
            raise self.flaw(f"{found} {what}, expected {least} to {most}.")
        return found


# ---- files that begin with s3 ----------------------------------------------------------------------------------------


def _opened(path: Path) -> tuple[_Bytes, int | None]:
    """Return a file after its header, and where its checksum begins to count; None if it has no checksum."""
    file = _Bytes(path)
    end = file.raw.find(b"endhdr\n", 0, 10_000)
    if not file.raw.startswith(b"s3") or end < 0:
        raise file.flaw("the header does not begin with s3 and end with endhdr.")
    header = file.raw[:end].decode("ascii", "replace")
    file.at = end + len(b"endhdr\n")
    raw = file.take(4, "the mark of its byte order")
    file.order = "<" if struct.unpack("<I", raw)[0] == MAGIC else ">"
    if struct.unpack(f"{file.order}I", raw)[0] != MAGIC:
        raise file.flaw(f"the mark of the byte order is {raw.hex()}.")
    return file, file.at if re.search(r"^chksum0\s+yes", header, re.MULTILINE) else None


def _numbers(path: Path, n_sizes: int, what: str) -> tuple[list[int], Floats]:
    """Return the sizes at the beginning of a file and its numbers; sizes of -1 as many numbers as the file has."""
    file, first = _opened(path)
    sizes = [file.count(f"{what} (size {i})", 1, 1 << 30) for i in range(n_sizes)]
    if what == "codebooks":
        sizes += [file.count("columns of a stream", 1, 10_000) for _ in range(min(sizes[1], len(file.raw)))]
    expected = math.prod(sizes[:n_sizes]) if what != "codebooks" else sizes[0] * sizes[2] * sum(sizes[n_sizes:])
    total = file.count("numbers", 1, 1 << 30)
    if total != expected:
        raise file.flaw(f"{total} numbers, but the sizes {sizes} are of {expected}.")
    with np.errstate(invalid="ignore"):  # a signalling NaN, which is refused below
        found = file.array(total, "f4", what).astype(np.float64)
    if first is not None:
        words = np.frombuffer(file.raw[first : file.at], dtype=np.dtype(file.order + "u4"))
        if (given := int(file.array(1, "u4", "its checksum")[0])) != (own := _checksum(words.tolist())):
            raise file.flaw(f"the checksum is {given:08x}, that of its numbers {own:08x}.")
    if not np.isfinite(found).all():
        raise file.flaw(f"number {np.flatnonzero(~np.isfinite(found))[0]} is not finite.")
    return sizes, found


def _checksum(words: list[int]) -> int:
    """Return the sum of 32-bit words that is rotated by 20 bits before each."""
    total = 0
    for word in words:
        total = ((total << 20 | total >> 12) + word) & 0xFFFFFFFF
    return total


def read_codebooks(path: Path) -> tuple[list[int], Floats]:
    """Return the columns of each stream and the numbers of `means` or `variances`, (C, M, D).

    In the file they are by codebook, stream and component.
    """
    sizes, found = _numbers(path, 3, "codebooks")
    n_codebooks, _, n_components, *columns = sizes
    by_codebook = found.reshape(n_codebooks, -1)
    cuts = np.cumsum([0, *(n_components * width for width in columns)])
    streams = [
        by_codebook[:, first:last].reshape(n_codebooks, n_components, -1) for first, last in itertools.pairwise(cuts)
    ]
    return columns, np.concatenate(streams, axis=2)


def read_transitions(path: Path) -> Floats:
    """Return the transition matrices, (n, S, S + 1): the last column ends the phone. Rows sum to one."""
    (n, n_from, n_to), found = _numbers(path, 3, "transition matrices")
    matrices = found.reshape(n, n_from, n_to)
    if n_to != n_from + 1 or not (matrices >= 0).all() or not (matrices.sum(axis=2) > 0).all():
        raise DataError(f"{path}: transition matrices are {n_from} by {n_to}, or have numbers below 0 or empty rows.")
    return np.asarray(matrices / matrices.sum(axis=2, keepdims=True))


def read_weights(folder: Path, n_senones: int) -> Floats:
    """Return the weights of the first senones, (S, F, M), from `mixture_weights` or `sendump`; they sum to one."""
    path = folder / "mixture_weights"
    if path.exists():
        (n, n_streams, n_components), found = _numbers(path, 3, "mixture weights")
        weights = found.reshape(n, n_streams, n_components)[:n_senones]
    else:
        path = folder / "sendump"
        weights = _sendump(_Bytes(path), n_senones)
    if len(weights) < n_senones or not (weights >= 0).all() or not (weights.sum(axis=2) > 0).all():
        raise DataError(f"{path}: weights of {len(weights)} senones, {n_senones} expected, with a positive sum each.")
    return np.asarray(weights / weights.sum(axis=2, keepdims=True))


def _sendump(file: _Bytes, n_senones: int) -> Floats:
    """Return the weights of a sendump: lines of text, sizes, then a byte for each stream, component and senone."""
    if not 1 <= struct.unpack("<i", file.raw[:4].ljust(4, b"\0"))[0] <= 10_000:
        file.order = ">"
    lines = []
    while size := file.count("bytes of a line", 0, 10_000):
        lines.append(file.take(size, "a line of its header").rstrip(b"\0").decode("ascii", "replace"))
    header = dict(line.split(maxsplit=1) for line in lines if len(line.split()) == 2)
    if header.get("cluster_count", "0") != "0":
        raise DataError(f"{file.path}: its weights are clustered, which is not supported. Use mixture_weights instead.")
    n_components = file.count("components", 1, 1 << 20)
    width = file.count("senones", n_senones, 1 << 24)
    left = len(file.raw) - file.at
    n_streams = left // (n_components * width)
    if not n_streams or header.get("feature_count", str(n_streams)) != str(n_streams) or left % (n_components * width):
        raise file.flaw(f"{left} bytes of weights are not those of {n_components} components and {width} senones.")
    codes = file.array(left, "u1", "its weights").reshape(n_streams, n_components, width)[:, :, :n_senones]
    return np.asarray(np.exp(-SCALE * codes.transpose(2, 0, 1).astype(np.float64)))


# ---- phones ----------------------------------------------------------------------------------------------------------


def read_phones(path: Path) -> Phones:
    """Return the context-independent phones of an `mdef`, binary or text."""
    file = _Bytes(path)
    binary = file.raw[:4] in (BINARY, BINARY[::-1])
    found = _binary_phones(file) if binary else _text_phones(path)
    names, senones = found.names, found.senones
    if len(set(names)) != len(names) or not all(name and name.split() == [name] for name in names):
        raise DataError(f"{path}: names of phones are not distinct words: {', '.join(names)[:200]}.")
    if senones.min() < 0 or senones.max() >= found.n_senones or found.matrices.min() < 0:
        raise DataError(f"{path}: a phone has a senone that is not one of {found.n_senones}, or no transitions.")
    return found


def _binary_phones(file: _Bytes) -> Phones:
    file.order = "<" if file.take(4, "its mark") == BINARY else ">"
    file.count("(version)", 1, 1)
    file.take(file.count("bytes of its description", 0, len(file.raw)), "its description")
    n_phones = file.count("phones", 1, MOST_PHONES)
    n_all = file.count("phones with their contexts", n_phones, 1 << 28)
    n_states = file.count("states of a phone (0: phones differ, which is not supported)", 1, MOST_STATES)
    file.count("senones without context", 1, 1 << 28)
    n_senones = file.count("senones", 1, 1 << 28)
    file.count("transition matrices", 1, 1 << 28)
    n_rows = file.count("rows of senones", 1, 1 << 28)
    file.count("contexts", 0, 1 << 28)
    n_nodes = file.count("nodes of the tree of contexts", 0, 1 << 28)
    file.count("(silence)", -1, n_phones)
    begin = file.at
    names = []
    for _ in range(n_phones):
        end = file.raw.find(b"\0", file.at, file.at + 1000)
        if end < 0:
            raise file.flaw("the name of a phone does not end.")
        names.append(file.take(end + 1 - file.at, "a name")[:-1].decode("utf-8", "replace"))
    file.take(-(file.at - begin) % 4, "the tree of contexts")
    file.take(8 * n_nodes, "the tree of contexts")
    phones = file.array(3 * n_all, "i4", "phones").reshape(n_all, 3)[:n_phones]
    if file.count("senones in rows", 1, 1 << 30) != n_rows * n_states:
        raise file.flaw(f"the sizes of {n_rows} rows of {n_states} senones do not agree.")
    rows = file.array(n_rows * n_states, "u2", "rows of senones").reshape(n_rows, n_states)
    if phones[:, 0].min() < 0 or phones[:, 0].max() >= n_rows:
        raise file.flaw("a phone has a row of senones that does not exist.")
    return Phones(tuple(names), rows[phones[:, 0]].astype(np.int64), phones[:, 1].astype(np.int64), n_senones)


def _text_phones(path: Path) -> Phones:
    """Read lines such as `AA - - - n/a 3 9 10 11 N`: phone, context, attribute, matrix, senones, N (no emission)."""
    sizes: dict[str, int] = {}
    rows: dict[str, list[str]] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) == 2 and words[1].startswith("n_") and words[0].isdigit():
            sizes[words[1]] = int(words[0])
        elif words[1:4] == ["-", "-", "-"]:
            if len(words) < 7 or words[-1] != "N" or not all(map(str.isdigit, words[5:-1])) or words[0] in rows:
                raise DataError(f"{path}, line {number}: {line!r:.80} is not a phone with its senones.")
            rows[words[0]] = words[5:-1]
    widths = {len(row) for row in rows.values()}
    if not rows or len(widths) > 1 or sizes.get("n_base") != len(rows) or "n_tied_state" not in sizes:
        raise DataError(
            f"{path}: {len(rows)} phones with {sorted(widths)} numbers, {sizes.get('n_base')} expected (n_base), all "
            "with as many states. The file is damaged, or not an mdef of Sphinx."
        )
    try:
        numbers = np.array([[int(cell) for cell in row] for row in rows.values()], dtype=np.int64)
    except OverflowError:
        raise DataError(f"{path}: the number of a senone is too large.") from None
    return Phones(tuple(rows), numbers[:, 1:], numbers[:, 0], sizes["n_tied_state"])


def read_options(path: Path) -> dict[str, str]:
    r"""Return the options in `feat.params`: a name such as -nfilt and a value on each line.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "feat.params")
    >>> _ = path.write_text("-nfilt 25\n-transform dct\n")
    >>> read_options(path)
    {'nfilt': '25', 'transform': 'dct'}
    """
    words = read_text(path).split()
    names, values = words[::2], words[1::2]
    if len(names) != len(values) or not all(name.startswith("-") for name in names):
        raise DataError(f"{path}: expected a name such as -nfilt and a value on each line.")
    return {name[1:]: value for name, value in zip(names, values, strict=True)}
