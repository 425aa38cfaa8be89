"""Where the real data sets are: the one place that knows.

They are not part of the repository. Tests that need one ask for it by name and are skipped, saying which
file is missing, where it is not there.
"""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def shared_data(name: str) -> Path:
    """Path of a real data file, such as ``shared_data("carcinoma/carcinoma.csv")``; skips the test if it is missing."""
    folder = Path(os.environ.get("HALFSEEN_DATA") or ROOT / ".." / "shared" / "data").resolve()
    path = folder / name
    if not path.exists():
        pytest.skip(
            f"real data {name!r} not found in {folder}; set HALFSEEN_DATA to the folder that holds it",
            allow_module_level=True,
        )
    return path
