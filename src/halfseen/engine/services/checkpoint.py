"""Checkpoints: a record of passes over the data, from which an interrupted fit resumes to the identical result.

Every search is a function of data, options and seed, and the passes take nearly all of its time. So no state of a run
is stored. The file keeps what each pass found; resuming repeats the same search with recorded results in the place of
passes until the record ends, and goes on from there. This serves every mode, method, number of starts and range of
sizes alike, and several fits in a row.

`evaluate` here is that of the loop, wrapped: inside `checkpoint` what it finds is recorded, or taken from the record.

The file
--------
One line of JSON (format, versions, kernels), then records:

    mark (4 bytes)  kind (1)  length of the payload (8)  CRC-32 of kind, length and payload (4)  payload

kind   payload
S      the seed of a fit, as JSON
D      fingerprint of the data and of the kind of model that the following passes are about
P      fingerprint of the input of a pass, then its results: log-likelihoods, digests, statistics
N      fingerprint of what some draws of a bootstrap are about, then a row of numbers for each of them

Where statistics are large and a run needs nothing but its last parameters (a lexicon, plain iterations), results of
passes are not kept. Instead the position of the run, its parameters and trace, is in a file of its own, `path.1` for
the first such run, which is replaced as a whole or not at all. Resuming goes on from there.

Fingerprints detect a record of another fit. A damaged end, as a killed process leaves it, is cut off; damage before an
intact record is an error. Records are flushed after every second of recorded work: a killed process loses no more than
that, and the pass it was in.
"""

from __future__ import annotations

import json
import logging
import os
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import wraps
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from weakref import ref

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from halfseen import locks
from halfseen.assign import SOFT, Assign
from halfseen.data.counts import Counts
from halfseen.disk import enough_space, size_text
from halfseen.engine.loop import em
from halfseen.engine.loop.expected import Expected, Step
from halfseen.engine.loop.model import Model, Reduced
from halfseen.errors import CheckpointError, DiskError
from halfseen.leaves.leaf import Floats, Leaf, arrays, frozen
from halfseen.leaves.limits import Params
from halfseen.seeds import seed_of
from halfseen.structures.tree import Sentences
from halfseen.sums import Runner, serial
from halfseen.whole_file import whole_file

__all__ = [
    "Checkpoint",
    "checkpoint",
    "current",
    "evaluate",
    "lasting_seed",
    "recorded",
    "recorded_rows",
    "stop_recording",
]

log = logging.getLogger("halfseen")

FORMAT = "halfseen checkpoint"
VERSION = 1
MARK = b"\xffhs\n"
HEAD = struct.Struct("<4scQ")
CRC = struct.Struct("<I")
PRINT = 16  # bytes of a fingerprint
BUFFER = 1 << 20  # bytes gathered before they are handed to the system, unless a second has passed
LARGE = 1 << 20  # numbers in the statistics of a pass from which on positions are kept in place of passes, if possible
SPARE = 9  # a position is saved again after this many times the time that saving took: a tenth of all time at most
FLUSH_AFTER = 1.0  # seconds of work that a killed process may lose beside the pass it was in

Evaluate = Callable[..., list[Step]]
Draw = tuple[np.random.SeedSequence | None, Sequence[tuple[int, ...]] | None]  # seed and keys of `evaluate`

_current: ContextVar[Checkpoint | None] = ContextVar("halfseen_checkpoint", default=None)


def current() -> Checkpoint | None:
    """Return the open checkpoint that passes are to be recorded in, or None."""
    return _current.get()


def stop_recording() -> None:
    """Record nothing more in the open checkpoint, if there is one: a fit was interrupted."""
    if open_one := current():
        open_one.stop()


def recorded(evaluate: Evaluate) -> Evaluate:
    """Return an `evaluate` that, inside `checkpoint`, records what it finds or takes it from the record."""

    @wraps(evaluate)
    def recording(
        model: Model,
        data: Reduced,
        candidates: Sequence[Params],
        assign: Assign = SOFT,
        runner: Runner = serial,
        seed: np.random.SeedSequence | None = None,
        keys: Sequence[tuple[int, ...]] | None = None,
    ) -> list[Step]:
        def one_pass() -> list[Step]:
            return evaluate(model, data, candidates, assign, runner, seed, keys)

        open_one = current()
        if open_one is None:
            return one_pass()
        return open_one.steps(model, data, candidates, assign, (seed, keys), one_pass)

    return recording


evaluate = recorded(em.evaluate)


@contextmanager
def checkpoint(path: str | os.PathLike[str]) -> Iterator[Checkpoint]:
    """Record the progress of the fits inside in a file, and resume from it when run again.

    Run the same lines again after a crash, a kill or an interruption: passes that were made are taken from the file,
    and the result is bit for bit that of an uninterrupted run on this machine. The file is removed when the block ends
    without an error.

    Parameters
    ----------
    path : str or path
        The file; created if it does not exist. It holds the statistics of each pass and running start. For a
        `WordAligner` with a large lexicon, files beside it hold the last parameters of each model in place of passes.

    Yields
    ------
    Checkpoint
        `n_replayed` and `n_recorded` count passes taken from the file, and passes made.

    Raises
    ------
    CheckpointError
        The file belongs to another fit (other data, options or seed) or to another version, is in use by a fit that
        is still running, is damaged before its end, or cannot be written.
    DiskFullError
        There is no room for the record. What is recorded is kept; the fit can be resumed once there is room.

    Notes
    -----
    The order of fits in the block must be the same each time. Seeds drawn where `random_state` is None or a generator
    are in the file, so that such fits resume too. Fits in other threads or processes are not recorded. An interrupted
    fit that returns its best model so far leaves the file, and what follows in the block is no longer recorded.

    Examples
    --------
    >>> import halfseen as hs, tempfile, os
    >>> path = os.path.join(tempfile.mkdtemp(), "run.checkpoint")
    >>> with hs.checkpoint(path) as record:
    ...     model = hs.LatentClass(2, random_state=0).fit([["a", 1]] * 5 + [["b", 0]] * 4)
    >>> record.n_replayed, record.n_recorded > model.n_iter_, os.path.exists(path)
    (0, True, False)
    """
    opened = Checkpoint(os.fspath(path))
    token = _current.set(opened)
    try:
        yield opened
    except BaseException:
        opened.close()
        raise
    else:
        opened.close(done=not opened.stopped)
    finally:
        _current.reset(token)


def lasting_seed(random_state: Any) -> np.random.SeedSequence:
    """Return a seed that a resumed fit finds again: inside `checkpoint` a seed drawn at random is in the file.

    A seed chosen by the user must be the recorded one.
    """
    seed, open_one = seed_of(random_state), current()
    return seed if open_one is None else open_one.seed(seed, chosen=isinstance(random_state, int | np.integer))


def recorded_rows(about: bytes, make: Callable[[], Floats]) -> Floats:
    """Return rows of numbers that `make` makes, (n, R); inside `checkpoint` they are recorded, or taken from a record.

    `about` tells them from others: all that they depend on beside the code.
    """
    open_one = current()
    return make() if open_one is None else open_one.rows(about, make)


class Position(NamedTuple):
    """The position of a run: the objectives of its passes, and the parameters to evaluate next."""

    trace: list[float]
    params: dict[str, Any]


class Checkpoint:
    """An open checkpoint; made by `checkpoint`.

    Attributes
    ----------
    path : str
    n_replayed, n_recorded : int    passes taken from the file, and passes made
    stopped : bool                  whether a fit was interrupted: nothing is replayed or recorded any more
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.n_replayed = self.n_recorded = 0
        self.stopped = False
        self._about: tuple[Any, bytes] = (lambda: None, b"")  # the data last seen, weakly, and their fingerprint
        self._flushed = time.monotonic()
        self._position_files: list[Path] = []
        self._position_of: Callable[[], Any] = lambda: None  # the data of the run whose position is saved, weakly
        self._position_about = ""  # their fingerprint
        self._took = self._saved_at = 0.0
        self._file = _locked_file(path)
        self._new = not os.fstat(self._file.fileno()).st_size
        self._writing = False
        try:
            with self._enough_space(len(_header())):
                self._check_header()
            self._end = self._check_records()
        except BaseException:
            self.close()
            raise

    # ---- opening and closing -------------------------------------------------------------------------------------

    def _check_header(self) -> None:
        """Read the first line and refuse what is not a checkpoint of this version; write it into an empty file."""
        expected = _header()
        found = self._file.readline(len(expected) + 1000)
        if expected != found and expected.startswith(found):  # a new file, or one whose first line was being written
            self._file.seek(0)
            self._file.truncate()
            self._file.write(expected)
            self._file.flush()
        elif expected != found:
            raise CheckpointError(_foreign(self.path, found))

    def _check_records(self) -> int:
        """Return where the intact records end; refuse a file in which an intact one follows after damage."""
        first = self._file.tell()
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(first)
        end = first
        while _read_record(self._file, size) is not None:
            end = self._file.tell()
        self._file.seek(end)
        if _intact_later(self._file.read()):
            raise CheckpointError(
                f"{self.path}: this checkpoint is damaged at byte {end}, with intact records behind. Delete it to "
                "start anew, or restore it from a copy."
            )
        if end > first:
            log.info("resuming from %s, %d bytes", self.path, end)
        self._file.seek(first)
        return end

    def close(self, done: bool = False) -> None:
        """Close the file; remove it if all is done, or if nothing was begun."""
        needless = done or (self._new and not self.n_recorded)
        if needless and sys.platform != "win32":  # where open files cannot be removed
            self._remove()  # while it is locked, so that it is not the file of another run
        try:
            self._file.close()
        except OSError as error:
            if not needless:  # the last records are lost, and no more: a model or another error is on its way
                log.warning("%s: its last second is lost: %s", self.path, error.strerror)
        if needless and sys.platform == "win32":
            self._remove()

    def _remove(self) -> None:
        for path in (Path(self.path), *self._position_files):
            path.unlink(missing_ok=True)

    def _enough_space(self, size: int) -> AbstractContextManager[None]:
        """Turn errors about a full disk into words."""
        folder, name = os.path.split(os.path.realpath(self.path))
        kept = ": what is recorded is kept, and the fit can be resumed" if self.n_recorded else ""
        return enough_space(folder, lambda: f"{name} needs {size_text(size)} more", f"use another folder{kept}")

    def stop(self) -> None:
        """Leave the file as it is: a fit was interrupted, and fits after it in the block are not recorded."""
        self.stopped = True

    # ---- what is recorded ----------------------------------------------------------------------------------------

    def seed(self, seed: np.random.SeedSequence, chosen: bool) -> np.random.SeedSequence:
        """Return the recorded seed, or record this one."""
        entropy = json.dumps(seed.entropy).encode()
        recorded = self._next(b"S")
        if recorded is None:
            self._write(b"S", entropy)
            return seed
        if chosen and recorded != entropy:
            raise self._mismatch(f"its seed is {recorded.decode()}, not {entropy.decode()}")
        return np.random.SeedSequence(json.loads(recorded))

    def steps(
        self,
        model: Model,
        data: Reduced,
        candidates: Sequence[Params],
        assign: Assign,
        draw: Draw,
        one_pass: Callable[[], list[Step]],
    ) -> list[Step]:
        """Return what a pass found: from the file, or by making the pass and recording it."""
        if self.stopped:
            return one_pass()
        if self._position_of() is data:
            self.n_recorded += 1
            return one_pass()
        about = self._fingerprint(model, data)
        fingerprint = _of_pass(about, candidates, assign, draw)
        recorded = self._next(b"P")
        if recorded is None:
            found = one_pass()
            self._write(b"P", fingerprint + _packed([step.expected for step in found]))
            self.n_recorded += 1
            return found
        if recorded[:PRINT] != fingerprint:
            raise self._mismatch(f"pass {self.n_replayed + 1} was about other parameters")
        self.n_replayed += 1
        replayed = zip(candidates, _unpacked(recorded[PRINT:], len(candidates)), strict=True)
        return [Step(params, expected, model.log_prior(params)) for params, expected in replayed]

    def rows(self, about: bytes, make: Callable[[], Floats]) -> Floats:
        """Return rows of numbers: from the file, or by making and recording them."""
        if self.stopped:
            return make()
        fingerprint = blake2b(about, digest_size=PRINT).digest()
        recorded = self._next(b"N")
        if recorded is None:
            found = np.ascontiguousarray(make(), dtype="<f8")
            self._write(b"N", fingerprint + struct.pack("<Q", len(found)) + found.tobytes())
            self.n_recorded += 1
            return found
        if recorded[:PRINT] != fingerprint:
            raise self._mismatch("its draws are of other data, or of another model")
        self.n_replayed += 1
        [n_rows] = struct.unpack_from("<Q", recorded, PRINT)
        return np.frombuffer(recorded, dtype="<f8", offset=PRINT + 8).astype(np.float64).reshape(n_rows, -1)

    def position(self, model: Model, data: Reduced, max_iter: int) -> Position | None:
        """Return the saved position of a run of plain iterations, if there is one.

        From now on `save_position` replaces the recording of its passes. Small statistics are recorded as ever.
        """
        if self.stopped or model.stats_shape[0] < LARGE:
            return None
        about = self._fingerprint(model, data).hex()
        path = Path(f"{self.path}.{len(self._position_files) + 1}")
        self._position_files.append(path)
        self._position_of, self._saved_at = ref(data), 0.0
        self._position_about = about
        if self._new or not path.exists():
            return None
        try:
            with safe_open(path, framework="numpy") as file:
                known = (file.metadata() or {}).get("about")
                params = {name: frozen(file.get_tensor(name)) for name in set(file.keys())}
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"{path}: this part of a checkpoint cannot be read: {error}.") from error
        if known != about:
            raise self._mismatch(f"{path} is about other data")
        trace = params.pop("trace").tolist()
        if len(trace) >= max_iter:
            raise self._mismatch(f"it has {len(trace)} iterations, but max_iter={max_iter}")
        self.n_replayed += len(trace)
        return Position(trace, params)

    def save_position(self, data: Reduced, trace: Sequence[float], params: Mapping[str, Any]) -> None:
        """Save the position of the run over these data in place of the one before, unless that was just now."""
        begun = time.monotonic()
        if self.stopped or self._position_of() is not data or begun - self._saved_at < SPARE * self._took:
            return
        tensors = {name: np.ascontiguousarray(part) for name, part in params.items()}
        tensors["trace"] = np.array(trace, dtype=np.float64)
        with self._writes(sum(part.nbytes for part in tensors.values())):
            self._file.flush()  # records that lead to the run come before its position
            with whole_file(self._position_files[-1]) as file:
                file.write(safetensors.numpy.save(tensors, {"about": self._position_about}))
        self._saved_at = time.monotonic()
        self._took = self._saved_at - begun

    def _fingerprint(self, model: Model, data: Reduced) -> bytes:
        """Return the fingerprint of the data, and record or check it when they are new."""
        known, fingerprint = self._about
        if known() is data:
            return fingerprint
        fingerprint = _of_data(model, data)
        recorded = self._next(b"D")
        if recorded is None:
            self._write(b"D", fingerprint)
        elif recorded != fingerprint:
            raise self._mismatch("its data are others, or another number or kind of components was fitted to them")
        self._about = (ref(data), fingerprint)
        return fingerprint

    def _mismatch(self, what: str) -> CheckpointError:
        return CheckpointError(
            f"{self.path}: this checkpoint is of another run: {what}. Use the same data, options and seed to "
            "resume it, or delete it to start anew."
        )

    # ---- records -------------------------------------------------------------------------------------------------

    def _next(self, kind: bytes) -> bytes | None:
        """Return the payload of the next record, which must be of this kind; None at the end of the record."""
        if self.stopped or self._writing:
            return None
        if self._file.tell() >= self._end:
            with self._writes(0):
                self._file.seek(self._end)
                self._file.truncate()
            self._writing = True
            return None
        record = _read_record(self._file, self._end)
        if record is None or record[0] != kind:
            raise self._mismatch("its fits came in another order")
        return record[1]

    def _write(self, kind: bytes, payload: bytes) -> None:
        if self.stopped:
            return
        head = HEAD.pack(MARK, kind, len(payload))
        with self._writes(max(len(payload), BUFFER)):
            self._file.write(head + CRC.pack(_checksum(head, payload)) + payload)
            if time.monotonic() - self._flushed > FLUSH_AFTER:
                self._file.flush()
                self._flushed = time.monotonic()

    @contextmanager
    def _writes(self, size: int) -> Iterator[None]:
        """Record nothing more after an error or an interrupt, which may leave a part of a record; say what is wrong."""
        try:
            with self._enough_space(size):
                yield
        except DiskError:
            self.stop()
            raise
        except OSError as error:
            self.stop()
            raise CheckpointError(f"{self.path}: cannot be written: {error.strerror}. The fit was ended.") from error
        except BaseException:
            self.stop()
            raise


def in_use(path: str | os.PathLike[str]) -> bool:
    """Whether a fit is running that records in this file."""
    try:
        with open(path, "rb") as file:
            return not locks.take(file.fileno())
    except OSError:
        return False


def _locked_file(path: str) -> BinaryIO:
    """Open a checkpoint for reading and writing, for this process alone."""
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        except OSError as error:
            raise CheckpointError(
                f"{path}: cannot be opened for writing: {error.strerror}. Use another path."
            ) from error
        file = open(descriptor, "r+b", buffering=BUFFER)  # noqa: SIM115
        try:
            free = locks.take(descriptor)
        except OSError as error:
            log.info("%s: not locked, because the file system has no locks: %s", path, error.strerror)
            return file
        if not free:
            file.close()
            raise CheckpointError(
                f"{path}: another fit that is still running uses this checkpoint. Wait until it has ended, or use "
                "another path."
            )
        if locks.same_file(descriptor, path):
            return file
        file.close()  # the fit that used it has just ended and removed it


def _header() -> bytes:
    """Return the first line: results are the same bit for bit only with the same version and kernels."""
    from halfseen import __version__, kernels

    instructions = getattr(kernels.active, "instruction_set", lambda: "")()
    header = {"format": FORMAT, "format_version": VERSION, "halfseen": __version__, "numpy": np.__version__}
    return json.dumps({**header, "kernels": f"{kernels.backend} {instructions}".strip()}).encode() + b"\n"


def _foreign(path: str, found: bytes) -> str:
    """Say what a file is that does not begin as a checkpoint of this version does."""
    try:
        header = json.loads(found)
    except ValueError:
        header = None
    if not isinstance(header, Mapping) or header.get("format") != FORMAT:
        return f"{path}: this is not a checkpoint of halfseen, and is left alone. Use another path."
    ours = json.loads(_header())
    differing = [name for name in ours if header.get(name) != ours[name]]
    parts = [f"{name.replace('_', ' ')} {header.get(name)!r}, here {ours[name]!r}" for name in differing]
    return (
        f"{path}: this checkpoint was written under other conditions: {'; '.join(parts)}. Resume it there, or "
        "delete it to start anew."
    )


def _checksum(head: bytes, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(head))


def _read_record(file: BinaryIO, size: int) -> tuple[bytes, bytes] | None:
    """Return kind and payload of the record that begins here, or None if no intact one does."""
    start = file.tell()
    head = file.read(HEAD.size)
    crc = file.read(CRC.size)
    if len(head) < HEAD.size or len(crc) < CRC.size:
        return None
    mark, kind, length = HEAD.unpack(head)
    if mark != MARK or length > size - start - HEAD.size - CRC.size:
        return None
    payload = file.read(length)
    return (kind, payload) if _checksum(head, payload) == CRC.unpack(crc)[0] else None


def _intact_later(rest: bytes) -> bool:
    """Whether an intact record begins anywhere in `rest`."""
    start = rest.find(MARK)
    while start >= 0:
        body = start + HEAD.size + CRC.size
        if body <= len(rest):
            length = HEAD.unpack_from(rest, start)[2]
            crc = CRC.unpack_from(rest, start + HEAD.size)[0]
            head, payload = rest[start : start + HEAD.size], rest[body : body + length]
            if body + length <= len(rest) and _checksum(head, payload) == crc:
                return True
        start = rest.find(MARK, start + 1)
    return False


def _packed(found: Sequence[Expected]) -> bytes:
    """Return log-likelihoods, digests and statistics of all candidates as bytes."""
    logliks = np.array([each.loglik for each in found], dtype="<f8").tobytes()
    digests = np.array([each.digest for each in found], dtype="<u8").tobytes()
    return b"".join([logliks, digests, *(each.stats.astype("<f8", copy=False).tobytes() for each in found)])


def _unpacked(payload: bytes, n_candidates: int) -> list[Expected]:
    """Invert `_packed`."""
    numbers = np.frombuffer(payload, dtype="<f8")
    digests = numbers[n_candidates : 2 * n_candidates].view("<u8").tolist()
    stats = numbers[2 * n_candidates :].reshape(n_candidates, -1).astype(np.float64)
    logliks = numbers[:n_candidates].tolist()
    return [Expected(*each) for each in zip(stats, logliks, digests, strict=True)]


# ---- fingerprints ------------------------------------------------------------------------------------------------


def _of_pass(
    about: bytes,
    candidates: Sequence[Params],
    assign: Assign,
    draw: Draw,
) -> bytes:
    """Return the fingerprint of the input of a pass."""
    digest = blake2b(about, digest_size=PRINT)
    drawn = _of_draw(*draw) if assign.mode == "sample" else ()
    digest.update(repr((assign.mode, assign.draws, assign.beta, len(candidates), drawn)).encode())
    digest.update(b"".join([array.tobytes() for params in candidates for array in arrays(params)]))
    return digest.digest()


def _of_draw(seed: np.random.SeedSequence | None, keys: Sequence[tuple[int, ...]] | None) -> tuple[Any, ...]:
    return (None if seed is None else (seed.entropy, seed.spawn_key), None if keys is None else list(keys))


def _of_data(model: Model, data: Reduced) -> bytes:
    """Return the fingerprint of data, of what kind of model reads them, and on which path."""
    digest = blake2b(digest_size=PRINT)
    _feed(digest, [_kinds(model), model.stats_shape, type(data.path).__name__])
    known = None if data.known is None else (data.known.stats, data.known.loglik)
    _feed(digest, [known, data.about])
    for of_chunk in data.total(_of_chunk) if len(data.chunks) else ():
        digest.update(of_chunk)
    return digest.digest()


def _of_chunk(chunk: Any) -> tuple[bytes]:
    """Return the fingerprint of a chunk, in a tuple: sums of these keep all of them, in order."""
    digest = blake2b(digest_size=PRINT)
    _feed(digest, [chunk.index, getattr(chunk, "fingerprinted", chunk.blocks), chunk.weight, chunk.log_evidence])
    if hasattr(chunk.blocks, "lengths"):  # sequences: the same steps may be cut otherwise
        _feed(digest, chunk.blocks.lengths)
    _feed(digest, [graph.arrays for graph in getattr(chunk.blocks, "graphs", ())])
    return (digest.digest(),)


def _kinds(leaf: Leaf) -> str:
    """Return the names of a leaf's class and of those inside it."""
    inside = dict(getattr(leaf, "leaves", {})) | ({"": leaf.leaf} if hasattr(leaf, "leaf") else {})
    structure = repr(getattr(leaf, "structure", ""))
    return f"{type(leaf).__name__}{structure}({', '.join(f'{name}={_kinds(inside[name])}' for name in inside)})"


def _feed(digest: Any, value: Any) -> None:
    """Add a tree of arrays and plain values to a fingerprint, shapes and names included."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).view(np.uint8).data if value.size else b"")
    elif isinstance(value, Mapping):
        for name, part in value.items():
            _feed(digest, [name, part])
    elif isinstance(value, list | tuple):
        digest.update(f"[{len(value)}".encode())
        for part in value:
            _feed(digest, part)
    elif isinstance(value, Counts):
        held = value.matrix()
        _feed(digest, [held.indptr.astype(np.int64), held.indices.astype(np.int64), held.data.astype(np.float64)])
    elif isinstance(value, Sentences):
        _feed(digest, value.arrays)
    else:
        assert value is None or isinstance(value, str | int | float), f"no fingerprint of a {type(value).__name__}"
        digest.update(repr(value).encode())
