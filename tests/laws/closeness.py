"""What 'equal' means in the laws: the same bits, or the same numbers up to rounding."""

from __future__ import annotations

import numpy as np

from halfseen.leaves.leaf import arrays

ROUNDING = 1e-10  # relative to the largest number around: sums of a few dozen terms in another order


def close(actual, expected, rounding: float = ROUNDING) -> None:
    """Assert that two arrays, or trees of arrays, agree up to rounding."""
    for one, other in zip(arrays(actual), arrays(expected), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        largest = max(1.0, np.abs(other[np.isfinite(other)]).max(initial=0.0))
        np.testing.assert_allclose(one, other, rtol=rounding, atol=rounding * largest)


def same_bits(actual, expected) -> None:
    """Assert that two arrays, or trees of arrays, are equal to the last bit."""
    for one, other in zip(arrays(actual), arrays(expected), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def same_step(actual, expected, rounding: float = ROUNDING) -> None:
    """Assert that two passes found the same statistics and objective, up to rounding."""
    close(actual.expected.stats, expected.expected.stats, rounding)
    close(actual.objective, expected.objective, rounding)
