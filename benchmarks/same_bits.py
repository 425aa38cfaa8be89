"""Prove that a change of the code leaves every result the same, bit for bit.

    python -m benchmarks.same_bits record before.json     # with the code before the change
    python -m benchmarks.same_bits compare before.json    # with the code after it

Both fit every family on the bundled data and on the real data sets that the tests use (`HALFSEEN_DATA`, or
../shared/data), through the public API and the command line only. `compare` prints a line for each case: `same`, or
which quantities differ, with the first value that differs and the largest difference. It ends with exit code 1 on any
difference, also when a case or a quantity is missing, new, or fails.

Results are of two categories. Numbers may not change; names of columns, kinds and classes are among them. Words (texts
of `describe`, reports, warnings and the command line) are compared and reported, and fail with `--words` only.

Cases run in a process of their own, with one thread of linear algebra. `--kernels plain` takes the kernels in NumPy,
`--only TEXT` the cases whose name contains it. The bits are those of one machine: a file says little on another one.
The cases are in `benchmarks.same_bits_cases`.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
READABLE = ("loglik_", "objective_", "n_iter_", "stop_reason_")  # shown in the file beside the digests
CATEGORIES = ("numbers", "words")


# ---- a result as numbers, texts and a form --------------------------------------------------------------------------


class Flat:
    """A result taken apart: its numbers as float64, its texts, and the form that held them."""

    def __init__(self, value: Any) -> None:
        self.arrays: list[np.ndarray] = []
        self.texts: list[str] = []
        self.form = self._take(value)

    def entry(self) -> dict[str, Any]:
        """Return what is kept in the file: a digest, and what it takes to say what differs."""
        numbers = np.concatenate([np.empty(0), *self.arrays])
        numbers[np.isnan(numbers)] = np.nan  # one NaN is as good as another
        texts = json.dumps(self.texts).encode()
        digest = blake2b(digest_size=16)
        for part in (self.form.encode(), numbers.tobytes(), texts):
            digest.update(len(part).to_bytes(8, "little") + part)
        kept = {"numbers": _packed(numbers.tobytes()), "texts": _packed(texts)}
        return {"digest": digest.hexdigest(), "form": self.form, **kept}

    def _take(self, value: Any) -> str:
        """Collect the numbers and texts of `value`, and return its form."""
        if value is None:
            return "None"
        if isinstance(value, str | bytes):
            self.texts.append(value if isinstance(value, str) else value.hex())
            return "text"
        if isinstance(value, bool | int | float | np.generic | np.ndarray):
            return self._array(np.asarray(value))
        if hasattr(value, "columns") and hasattr(value, "to_numpy"):  # a data frame
            parts = [f"{name!s}: {self._array(value[name].to_numpy())}" for name in value.columns]
            return f"frame({', '.join(parts)})"
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{_name(key)}: {self._take(part)}" for key, part in value.items()) + "}"
        if is_dataclass(value):
            names = [field.name for field in fields(value) if not field.name.startswith("_")]
            return "(" + ", ".join(f"{name}: {self._take(getattr(value, name))}" for name in names) + ")"
        if isinstance(value, set | frozenset):
            return self._take(sorted(map(str, value)))
        if hasattr(value, "toarray"):  # a sparse matrix
            return "sparse " + self._array(value.toarray())
        if isinstance(value, Iterable) and not hasattr(value, "picture"):
            return "[" + _runs([self._take(part) for part in value]) + "]"
        self.texts.append(str(value))  # trees and the like
        return "text"

    def _array(self, array: np.ndarray) -> str:
        form = f"{array.dtype.kind}{array.dtype.itemsize if array.dtype.kind in 'fiu' else ''}{list(array.shape)}"
        if array.dtype.kind in "fiub":
            self.arrays.append(array.astype(np.float64).ravel())
            return form
        return f"{list(array.shape)} of {_runs([self._cell(cell) for cell in array.ravel().tolist()])}"

    def _cell(self, cell: Any) -> str:
        """Take a cell of an array of objects; what is missing may be None, NaN or NA."""
        if isinstance(cell, bool | int | float):
            self.arrays.append(np.array([cell], dtype=np.float64))
            return "number"
        self.texts.append(str(cell))
        return "text"


def _name(key: Any) -> str:
    return str(key.item() if isinstance(key, np.generic) else key)


def _runs(forms: list[str]) -> str:
    """Write equal neighbours once, with their number."""
    found: list[list[Any]] = []
    for form in forms:
        if found and found[-1][0] == form:
            found[-1][1] += 1
        else:
            found.append([form, 1])
    return ", ".join(form if n == 1 else f"{n} x {form}" for form, n in found)


def _packed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode()


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


class Record:
    """What one case found: numbers and words by name."""

    def __init__(self) -> None:
        self.numbers: dict[str, dict[str, Any]] = {}
        self.words: dict[str, dict[str, Any]] = {}
        self.readable: dict[str, Any] = {}
        self.raised: dict[str, str] = {}

    def number(self, name: str, value: Any) -> None:
        """Keep a result that may not change; a quantity of that name must be new."""
        if name in self.numbers:
            raise KeyError(f"{name!r} is recorded twice in one case")
        self.numbers[name] = Flat(value).entry()
        if name in READABLE:
            self.readable[name] = value.item() if isinstance(value, np.generic) else value

    def word(self, name: str, value: Any) -> None:
        """Keep a text whose wording may change."""
        self.words[name] = Flat(value).entry()

    def call(self, name: str, task: Any) -> None:
        """Keep what a task returns, or the kind of error that it raises: a refusal is a result, too."""
        try:
            value = task()
        except Exception as error:
            self.number(name, f"raises {type(error).__name__}")
            self.word(f"{name}: message", str(error))
            self.raised[name] = f"{type(error).__name__}: {error}"
            return
        self.number(name, value)

    def result(self) -> dict[str, Any]:
        kept = {"readable": self.readable, "numbers": self.numbers, "words": self.words}
        return kept | ({"raised": self.raised} if self.raised else {})


# ---- runs -----------------------------------------------------------------------------------------------------------


def measure(kernels: str, only: str) -> dict[str, Any]:
    """Run all cases in a process of their own, and return what they found."""
    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder) / "found.json"
        command = [sys.executable, "-m", "benchmarks.same_bits_cases", str(found), only]
        paths = os.pathsep.join(
            [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
        )  # this code, no other
        environment = os.environ | ONE_THREAD | {"HALFSEEN_KERNELS": kernels, "PYTHONPATH": paths}
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        cases = json.loads(found.read_text(encoding="utf-8"))
    return {"kernels": kernels, "versions": versions(), "cases": cases}


def versions() -> dict[str, str]:
    """Return what else may change the bits."""
    names = ("numpy", "scipy", "scikit-learn", "pandas")
    return {"python": sys.version.split()[0]} | {name: version(name) for name in names}


def record(path: Path, kernels: str, only: str) -> int:
    """Write the results of all cases; 1 if one failed."""
    found = measure(kernels, only)
    path.write_text(json.dumps(found, indent=1), encoding="utf-8")
    failed = 0
    for name, case in found["cases"].items():
        print(f"{name}: {_summary(case)}")
        failed += "failed" in case
        for quantity, error in case.get("raised", {}).items():
            print(f"    {quantity} raises {error}")
    print(f"{len(found['cases'])} cases, {failed} failed, written to {path}")
    return int(failed > 0)


def _summary(case: Mapping[str, Any]) -> str:
    for state in ("failed", "skipped"):
        if state in case:
            return f"{state}: {case[state]}"
    readable = ", ".join(f"{name} {value}" for name, value in case["readable"].items())
    return f"{len(case['numbers'])} numbers, {len(case['words'])} words; {readable}"


# ---- comparison -----------------------------------------------------------------------------------------------------


def compare(path: Path, kernels: str, only: str, strict_words: bool) -> int:
    """Run all cases again and print what differs; 1 on any difference that counts."""
    before = json.loads(path.read_text(encoding="utf-8"))
    if before["kernels"] != kernels:
        print(f"{path} was recorded with the {before['kernels']} kernels: add --kernels {before['kernels']}")
        return 1
    now = measure(kernels, only)
    if before["versions"] != now["versions"]:
        print(f"note: recorded with {before['versions']}, compared with {now['versions']}")
    old = {name: case for name, case in before["cases"].items() if only in name}
    names = list(old) + [name for name in now["cases"] if name not in old]
    if not names:
        print(f"no case has {only!r} in its name: nothing was compared")
        return 1
    n_bad = n_words = 0
    for name in names:
        state, numbers, words = differences(old.get(name), now["cases"].get(name))
        n_bad += state == "bad" or (strict_words and bool(words))
        n_words += bool(words)
        said = numbers + [f"(words) {line}" for line in words]
        print(f"{name}: {'same' if state == 'same' and not words else ''}{'; '.join(said)}")
    print(f"{len(names)} cases: {n_bad} with differences that count, {n_words} with other words")
    return int(n_bad > 0)


def differences(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> tuple[str, list[str], list[str]]:
    """Return "same", "skipped" or "bad", what differs in numbers, and what differs in words."""
    if new is None:
        return "bad", ["MISSING: the case is in the file and not among those that ran"], []
    if "failed" in new:
        return "bad", [f"FAILED: {new['failed']}"], []
    if old is None:
        return "bad", ["NEW: the case is not in the file; record it with the code before the change"], []
    if "skipped" in old and "skipped" in new:
        return "skipped", [f"skipped: {new['skipped']}"], []
    for said, case in (("when the file was recorded", old), ("now", new)):
        for state in ("failed", "skipped"):
            if state in case:
                return "bad", [f"MISSING: {state} {said}: {case[state]}"], []
    numbers, words = (_differing(old[kind], new[kind]) for kind in CATEGORIES)
    return ("bad" if numbers else "same"), numbers, words


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    found = [f"{name} is missing" for name in old if name not in new]
    found += [f"{name} is new" for name in new if name not in old]
    both = [name for name in old if name in new and old[name]["digest"] != new[name]["digest"]]
    return found + [f"{name} {_how(old[name], new[name])}" for name in both]


def _how(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Say how two entries differ: form, texts, or numbers with the first and the largest difference."""
    if old["form"] != new["form"]:
        return f"has another form: {_first_texts([old['form']], [new['form']])}"
    texts = [json.loads(_unpacked(entry["texts"])) for entry in (old, new)]
    if texts[0] != texts[1]:
        return f"has other texts: {_first_texts(*texts)}"
    a, b = (np.frombuffer(_unpacked(entry["numbers"])) for entry in (old, new))
    wrong = np.flatnonzero(a.view(np.int64) != b.view(np.int64))
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - b)[wrong]
    most = np.nanmax(gap) if not np.isnan(gap).all() else np.nan
    first = wrong[0]
    return f"differs in {len(wrong)} of {len(a)}: first [{first}] {a[first]!r} -> {b[first]!r}, at most {most:.3g}"


def _first_texts(old: list[str], new: list[str]) -> str:
    """Show the place where two lists of texts first differ."""
    if len(old) != len(new):
        return f"{len(old)} -> {len(new)} of them"
    a, b = next((a, b) for a, b in zip(old, new, strict=True) if a != b)
    at = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    begin = max(0, at - 20)
    return f"{a[begin : at + 40]!r} -> {b[begin : at + 40]!r}"


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_bits", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--kernels", choices=("compiled", "plain"), default="compiled")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose name contains it")
    parser.add_argument("--words", action="store_true", help="other words fail, too")
    given = parser.parse_args()
    if given.what == "record":
        return record(given.file, given.kernels, given.only)
    return compare(given.file, given.kernels, given.only, given.words)


if __name__ == "__main__":
    sys.exit(main())
