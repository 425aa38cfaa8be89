"""Versions of libraries and kernels in use: for bug reports, and to check for the compiled kernels."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "narwhals",
    "threadpoolctl",
    "safetensors",
    "pandas",
    "polars",
    "pyarrow",
    "duckdb",
    "typer",
    "rich",
    "jinja2",
    "matplotlib",
    "skl2onnx",
    "onnx",
)


def versions() -> dict[str, str]:
    """Return names and versions of everything that affects results."""
    from halfseen import __version__, kernels

    in_use = kernels.backend
    if in_use == "compiled":
        in_use += f" ({kernels.active.instruction_set()})"
    if kernels.fallbacks:
        in_use += f"; in NumPy: {', '.join(kernels.fallbacks)}"
    found = {"halfseen": __version__, "kernels": in_use, "python": platform.python_version()}
    found |= {"system": platform.platform(), "cores": str(os.cpu_count())}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def show_versions() -> None:
    """Print the versions of halfseen and its dependencies, and the kernels in use.

    Examples
    --------
    >>> import halfseen as hs
    >>> hs.show_versions()  # doctest: +ELLIPSIS
    halfseen       ...
    kernels        ...
    """
    sys.stdout.write("".join(f"{name:14} {value}\n" for name, value in versions().items()))
