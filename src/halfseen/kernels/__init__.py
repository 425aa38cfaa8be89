"""Hot loops over arrays. Each kernel fills arrays given by the caller and knows nothing of data or models.

`plain` holds them in NumPy, written from the formula: the test oracle, and the fallback where there was no compiler at
install time. `compiled` holds them in C++, with the same names and arguments. `active` is the one in use: compiled
where it exists, unless the environment variable HALFSEEN_KERNELS is "plain" ("compiled" insists, and fails without).
"""

import logging
import os
from types import ModuleType

from halfseen.errors import ParameterError
from halfseen.kernels import plain

__all__ = ["active", "plain"]


def _choose() -> ModuleType:
    wanted = os.environ.get("HALFSEEN_KERNELS", "")
    if wanted not in ("", "plain", "compiled"):
        raise ParameterError(f"HALFSEEN_KERNELS={wanted!r} is not 'plain' or 'compiled'.")
    if wanted == "plain":
        return plain
    try:
        from halfseen.kernels import compiled
    except ImportError:
        if wanted == "compiled":
            raise
        return plain
    return compiled


active = _choose()
logging.getLogger("halfseen").debug("kernels: %s", active.__name__.rpartition(".")[2])
