"""Pickles that carry the version: made for processes that run side by side, not for keeping."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from halfseen import __version__
from halfseen.errors import VersionWarning, warn


class Pickled(BaseEstimator):
    """An estimator whose pickle says who wrote it, and warns where another version reads it."""

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_halfseen_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        written = state.pop("_halfseen_version", "unknown")
        if written != __version__:
            warn(
                f"a {type(self).__name__} pickled by halfseen {written} may not work with {__version__}. Keep models "
                "with halfseen.save, which later versions read.",
                VersionWarning,
            )
        super().__setstate__(state)
