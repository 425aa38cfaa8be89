"""Sums without rounding, so that they do not depend on the order of the rows.

A number is cut into slices of BITS bits. *Bin* t holds multiples of 2^(BITS t), and

    x = slice(t) + slice(t - 1) + slice(t - 2) + a remainder below 2^(BITS (t - 2) - 1),     |x| < 2^(BITS (t + 1) - 1),

where a slice is what rounding to a multiple gives; in the bins above t that is 0. Up to 2^27 slices of one bin add up
without rounding. A sum keeps the FOLDS highest bins, from that of its largest number on, its *top*; what lies below is
dropped from every number alike. So the result is a function of the set of numbers, to at least 2^-52 of the largest one
for each (Demmel and Nguyen 2015).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BITS = 26  # of a slice
FOLDS = 3  # slices kept of each number
LOWEST, HIGHEST = -39, 35  # bins within the range of floats
ROUNDER = 1.5 * 2.0**52  # added to a number below 2^51 and taken off again, it rounds the number


def _bin_of(x: Floats) -> Ints:
    """Return the bin of the first slice: |x| < 2^(BITS (bin + 1) - 1)."""
    _, exponent = np.frexp(x)
    bins = -(-(exponent.astype(np.int64) + 1) // BITS) - 1
    bins = np.where(np.isfinite(x), np.clip(bins, LOWEST, HIGHEST + 1), HIGHEST + 1)
    return np.where(x == 0, LOWEST, bins)


def _rounder(bins: Ints) -> Floats:
    """Return what rounds a number to a multiple of 2^(BITS bin); beyond the range, what makes it NaN."""
    return np.where(bins > HIGHEST, np.inf, np.ldexp(ROUNDER, (BITS * np.minimum(bins, HIGHEST)).astype(np.int32)))


def exact_moments(
    values: Floats,  # (N, D)     in, NaN = missing
    mean: Floats,  # (D,)       in, the pivot of the moments
    component: Ints,  # (N,)       in
    weight: Floats,  # (N,)       in
    tops: Ints,  # (P, K, D)  out, the bin of the first slice
    folds: Floats,  # (P F, K, D)  out, sums of slices
) -> None:
    """Sum weight[n] seen[n, d] (values[n, d] - mean[d])^p over the rows of component k, p < P, without rounding."""
    n_components = tops.shape[1]
    folds[:] = 0.0
    for d, column in enumerate(values.T):
        seen = ~np.isnan(column)
        own, part = component[seen], weight[seen]
        with np.errstate(over="ignore", invalid="ignore"):
            deviation = column[seen] - mean[d]
            for p in range(len(tops)):
                largest = np.zeros(n_components)
                np.maximum.at(largest, own, np.abs(part))
                tops[p, :, d] = _bin_of(largest)
                left = part
                for f in range(FOLDS):
                    rounder = _rounder(tops[p, :, d] - f)[own]
                    piece = (left + rounder) - rounder
                    folds[p * FOLDS + f, :, d] = np.bincount(own, piece, minlength=n_components)
                    left = left - piece
                part = part * deviation
