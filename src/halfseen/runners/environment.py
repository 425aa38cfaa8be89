"""What must be the same on all workers of a cluster, so that sums do not depend on who computes them."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

from halfseen.errors import FitError


def environment() -> dict[str, str]:
    """Return versions, kernels and instruction set of this process."""
    import halfseen
    from halfseen.kernels import active, plain

    return {
        "halfseen": halfseen.__version__,
        "kernels": "NumPy" if active is plain else "compiled",
        "instruction set": str(getattr(active, "instruction_set", lambda: "none")()),
        "numpy": np.__version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
    }


def check_alike(workers: Mapping[Any, Mapping[str, str]]) -> None:
    """Refuse workers with another version of halfseen, other kernels or another instruction set than this process."""
    own = environment()
    for worker, theirs in workers.items():
        other = [f"{name} {theirs.get(name)} (here: {own[name]})" for name in own if theirs.get(name) != own[name]]
        if other:
            raise FitError(
                f"worker {worker} differs from this process: {', '.join(other)}. Sums would depend on who computes "
                "them. Install the same version, built alike, on machines of one kind."
            )
