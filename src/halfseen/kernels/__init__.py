"""Hot loops over arrays. Each kernel fills arrays given by the caller and knows nothing of data or models.

`plain` holds all of them in NumPy, written from the formula: the test oracle, and the fallback. `compiled` holds them
in C++, with the same names and arguments. `active` has the ones in use, function by function: the compiled one where
there is one, else the plain one; so a kernel may be written in NumPy first. With the environment variable
HALFSEEN_KERNELS="plain" all are plain; "compiled" raises where the extension was not built.
"""

import logging
import os
from types import ModuleType
from typing import Any

from halfseen.errors import ParameterError
from halfseen.kernels import plain

__all__ = ["active", "backend", "fallbacks", "plain"]


def _compiled() -> ModuleType | None:
    """Return the extension; None where it is not wanted or was not built."""
    wanted = os.environ.get("HALFSEEN_KERNELS", "")
    if wanted not in ("", "plain", "compiled"):
        raise ParameterError(f"HALFSEEN_KERNELS={wanted!r} is not 'plain' or 'compiled'.")
    if wanted == "plain":
        return None
    try:
        from halfseen.kernels import compiled
    except ImportError:
        if wanted == "compiled":
            raise
        return None
    return compiled


def _kernels(module: ModuleType) -> dict[str, Any]:
    """Return the functions of a module by name, without what it imports from elsewhere."""

    def is_kernel(name: str, value: Any) -> bool:
        return callable(value) and not name.startswith("_") and getattr(value, "__module__", "").startswith(__name__)

    return {name: value for name, value in vars(module).items() if is_kernel(name, value)}


def _merged(first: ModuleType, second: ModuleType) -> tuple[ModuleType, tuple[str, ...]]:
    """Return a module with the functions of `first` and those that only `second` has, and the names of the latter.

    Resolved once, at import: a call is one lookup in a module, as it would be without the merging.
    """
    own, other = _kernels(first), _kernels(second)
    merged = ModuleType(f"{__name__}.active", "The kernels in use.")
    vars(merged).update(other | own)
    return merged, tuple(sorted(other.keys() - own.keys()))


_extension = _compiled()
active, fallbacks = (plain, ()) if _extension is None else _merged(_extension, plain)
backend = "plain" if _extension is None else "compiled"
logging.getLogger("halfseen").debug("kernels: %s", ", ".join([backend, *(f"{each} in NumPy" for each in fallbacks)]))
