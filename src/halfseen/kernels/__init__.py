"""Hot loops over arrays. Each kernel fills arrays given by the caller and knows nothing of data or models.

`plain` holds them in NumPy, written from the formula: it is the test oracle and runs everywhere.
"""

from halfseen.kernels import plain as active

__all__ = ["active"]
