"""Arrays in temporary files that grow row by row, and are then mapped into memory."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data.spill import needing
from halfseen.disk import enough_space
from halfseen.temporary import ADVICE, PREFIX


def temporary_file() -> Any:
    """Open a file without a name."""
    return tempfile.TemporaryFile(prefix=PREFIX)  # which its owner closes


class GrowingArray:
    """An array in a temporary file to which rows are appended."""

    def __init__(self, like: NDArray[Any]) -> None:
        with enough_space(tempfile.gettempdir(), needing(like.nbytes), ADVICE):
            self._file = temporary_file()
        self._dtype, self._width, self._n_rows = like.dtype, like.shape[1:], 0

    def append(self, rows: NDArray[Any]) -> None:
        """Write some rows."""
        with enough_space(tempfile.gettempdir(), needing(rows.nbytes), ADVICE):
            self._file.write(np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data)
        self._n_rows += len(rows)

    def mapped(self) -> NDArray[Any]:
        """Return the array."""
        with enough_space(tempfile.gettempdir(), needing(0), ADVICE):
            self._file.flush()
        shape = (self._n_rows, *self._width)
        return (
            np.asarray(np.memmap(self._file, self._dtype, "r+", shape=shape))
            if 0 not in shape
            else np.zeros(shape, self._dtype)
        )

    def close(self) -> None:
        """Close the file; an array that was mapped stays."""
        with suppress(OSError):
            self._file.close()
