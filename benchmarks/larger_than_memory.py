"""What a table larger than memory costs before the first pass.

`python -m benchmarks.larger_than_memory [ROWS] [MEMORY...]`. A Parquet file of 12 columns (six of categories, four of
numbers, two of counts; 5% of the cells missing) is fitted with `memory=` of several sizes, each in its own process.
Printed are CPU seconds, which a busy machine changes less than seconds, of

- *learn*: the kinds of all columns, as they are learned where the first rows do not show them;
- *prepare*: reading, encoding and ordering the rows, as a fit does it;
- *pass*: one E-step over all rows, four classes; and prepare / pass;

*cores*, CPU seconds of prepare by seconds of the clock; *memory*, the most anonymous memory of the fit beyond that of
the process with all libraries loaded, and *disk*, the space of the temporary files for each row.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROWS = 2_000_000
MEMORY = ("50MB", "100MB", "400MB")
PASSES = (2, 12)  # of two fits: their difference is that of 10 passes


def write_table(path: Path, n_rows: int) -> None:
    """Write the Parquet file, a million rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    writer = None
    for first in range(0, n_rows, 1 << 20):
        n = min(1 << 20, n_rows - first)
        hidden = rng.integers(0, 4, n)

        def column(values: Any, n: int = n) -> Any:
            return pa.array(values, mask=rng.random(n) < 0.05)

        table = {}
        for j in range(6):
            codes = (hidden + rng.integers(0, 3 + j, n) * (rng.random(n) < 0.6)) % (3 + j)
            table[f"c{j}"] = column(np.array([f"level{v}" for v in range(3 + j)])[codes])
        table |= {f"x{j}": column(rng.normal(hidden * (j + 1.0))) for j in range(4)}
        table |= {f"n{j}": column(rng.poisson(2 + 5 * hidden)) for j in range(2)}
        rows = pa.table(table)
        writer = writer or pq.ParquetWriter(path, rows.schema)
        writer.write_table(rows, row_group_size=1 << 17)
    assert writer is not None
    writer.close()


def own_memory() -> int:
    """Return the anonymous memory of this process."""
    found = re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())
    return 1024 * int(found[1]) if found else 0


class Peak:
    """The most memory and disk space that are used from now on."""

    def __init__(self) -> None:
        self.memory, self.disk = 0, 0
        self._free = self._space()
        threading.Thread(target=self._watch, daemon=True).start()

    def _space(self) -> int:
        found = os.statvfs(tempfile.gettempdir())
        return found.f_bavail * found.f_frsize

    def _watch(self) -> None:
        while True:
            self.memory = max(self.memory, own_memory())
            self.disk = max(self.disk, self._free - self._space())
            time.sleep(0.01)


def cpu(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return CPU seconds, seconds, and the result."""
    began, clock = time.process_time(), time.perf_counter()
    result = work()
    return time.process_time() - began, time.perf_counter() - clock, result


def measure(path: str, memory: str) -> dict[str, float]:
    """Measure one size of memory, in this process."""
    import halfseen as hs
    from halfseen.data import Schema, open_table, read

    warnings.simplefilter("ignore")
    head = next(open_table(path).batches(5000))
    hs.LatentClass(4, n_init=1, max_iter=1).fit(head)  # libraries are loaded
    before, peak = own_memory(), Peak()
    source: Any = read(open_table(path, memory=memory))
    source.workers = os.cpu_count() or 1
    options = {"n_init": 1, "random_state": 0, "tol": 0.0, "n_jobs": -1}
    model = hs.LatentClass(4, **options)
    prepared, clock, table = cpu(lambda: model._gathered(source, None, None))
    disk = peak.disk
    model._remember(source, table.schema)
    fits = []
    for passes in PASSES:
        model.set_params(max_iter=passes)
        fits.append(cpu(lambda: model._search(table, 4, np.random.SeedSequence(0)))[0])
    memory_used = peak.memory - before
    learned = cpu(lambda: Schema.learn(source))[0]
    one_pass = (fits[1] - fits[0]) / (PASSES[1] - PASSES[0])
    return {
        "learn": learned,
        "prepare": prepared,
        "pass": one_pass,
        "prepare / pass": prepared / one_pass,
        "cores": prepared / clock,
        "memory MB": memory_used / 1e6,
        "disk bytes a row": disk / source.n_rows,
        "base MB": before / 1e6,
    }


def main(n_rows: int, sizes: tuple[str, ...]) -> None:
    """Measure all sizes of memory, each in its own process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write_table(path, n_rows)
        for memory in sizes:
            program = [sys.executable, "-m", __spec__.name if __spec__ else __name__, "--one", str(path), memory]
            done = subprocess.run(program, stdout=subprocess.PIPE, text=True, check=True)
            figures = "  ".join(f"{name} {value:.2f}" for name, value in json.loads(done.stdout).items())
            print(f"{n_rows:,} rows, memory={memory}:  {figures}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(*sys.argv[2:4])))
    else:
        given = sys.argv[1:]
        main(int(float(given[0])) if given else ROWS, tuple(given[1:]) or MEMORY)
