"""How much memory a table may take: a number of bytes as users write it, and what is free."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np

from halfseen.errors import ParameterError

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def read_memory(memory: int | str | None) -> int:
    """Parse a number of bytes; by default half of the free memory.

    Examples
    --------
    >>> read_memory("500MB"), read_memory("2 GiB")
    (500000000, 2147483648)
    """
    if memory is None:
        return free_memory() // 2
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*)\s*([KMGT]?I?)B?\s*", memory.upper())
        if match and match[2] in UNITS:
            return int(float(match[1]) * UNITS[match[2]])
    elif isinstance(memory, int | np.integer) and not isinstance(memory, bool) and memory > 0:
        return int(memory)
    raise ParameterError(f"memory={memory!r} is not a number of bytes, such as 500_000_000, '500MB' or '2GB'.")


def free_memory() -> int:
    """Return how many bytes of memory are free, within the limits of a container; 2 GB if that is unknown."""
    free = [_meminfo(), _cgroup()]
    return min((amount for amount in free if amount is not None), default=2 << 30)


def _meminfo() -> int | None:
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
        return int(found[1]) * 1024 if found else None
    except OSError:
        pages, size = "SC_PHYS_PAGES", "SC_PAGE_SIZE"
        known = getattr(os, "sysconf_names", {})
        return os.sysconf(pages) * os.sysconf(size) // 2 if pages in known and size in known else None


def _cgroup() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        return int((folder / "memory.max").read_text()) - int((folder / "memory.current").read_text())
    except (OSError, ValueError):  # no such limit
        return None
