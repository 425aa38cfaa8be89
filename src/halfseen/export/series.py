"""Series for the log-densities of large counts, as formulas: few databases have the gamma function."""

from __future__ import annotations

from halfseen.export.formula import Formula

FEW_COUNTS = 16  # from here on Stirling's series has all its digits
NEAR = 0.1  # below this d - log(1 + d) comes from its series
ODD = (17, 15, 13, 11, 9, 7, 5, 3)  # at |d| < NEAR the term after them is below 1e-23


def stirling_series(y: Formula) -> Formula:
    """Return log y! - (y + 1/2) log y + y - log(2 pi) / 2 for y of at least `FEW_COUNTS`."""
    w = 1.0 / (y * y)
    return (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w * (1 / 1188))))) / y


def excess(d: Formula, log: Formula) -> Formula:
    """Return d - log(1 + d), given that logarithm; near 0, where digits would be lost, by a series.

    With v = d / (2 + d) it is d v - 2 v^3 (1/3 + v^2 / 5 + v^4 / 7 + ...).
    """
    v = d / (2.0 + d)
    w = v * v
    series = d.language.constant(1 / 19)
    for term in ODD:
        series = 1 / term + w * series
    return d.language.choose((abs(d) < NEAR, d * v - 2.0 * v * w * series), otherwise=d - log)
