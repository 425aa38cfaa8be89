"""Optional libraries: files, plots and reports need the extra `app`, other uses other ones."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def optional(module: str, purpose: str, extra: str = "app") -> ModuleType:
    """Return a module of an extra, or say what it is for and how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ImportError(
            f"{purpose} needs {library}, which cannot be imported ({error}). "
            f'Install it with: pip install "halfseen[{extra}]", or pip install {library}'
        ) from error
