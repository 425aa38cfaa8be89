"""Numbers and shares in words, as a person would write them."""

from __future__ import annotations

from math import floor, log10


def number(value: float, digits: int = 3) -> str:
    """Return a number with three digits or more, without an exponent where a person would not use one.

    Examples
    --------
    >>> number(35000.0), number(0.01234), number(1234567.8, 6), number(12.5, 6)
    ('35,000', '0.0123', '1,234,568', '12.5')
    """
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def small_percent(share: float) -> str:
    """Return a share in percent with two digits, however small.

    Examples
    --------
    >>> small_percent(0.123), small_percent(0.00123), small_percent(0.0)
    ('12%', '0.12%', '0%')
    """
    return percent(share) if share >= 0.1 or share == 0 else f"{100 * share:.2g}%"


def percent(share: float) -> str:
    """Return a share in whole percent; what is not quite 0 or 100 % does not become it.

    Examples
    --------
    >>> percent(0.123), percent(0.001), percent(0.9999), percent(1.0)
    ('12%', '<1%', '>99%', '100%')
    """
    if 0 < share < 0.005:
        return "<1%"
    if 0.995 <= share < 1:
        return ">99%"
    return f"{share:.0%}"


def spread(mean: float, sd: float) -> str:
    """Return a mean and a standard deviation with the digits that the latter warrants.

    Examples
    --------
    >>> spread(14.1666, 0.5523), spread(3357.4, 265.1), spread(43.92, 5.46)
    ('14.17 ± 0.55', '3,357 ± 265', '43.9 ± 5.5')
    """
    if not 1e-4 <= sd < 1e15:
        return f"{number(mean)} ± {number(sd)}"
    digits = max(0, 1 - floor(log10(sd)))
    mean = round(mean, digits) + 0.0  # no minus before a zero
    return f"{mean:,.{digits}f} ± {sd:,.{digits}f}"


def cut(name: str, longest: int = 40) -> str:
    """Return a name short enough for a sentence.

    Examples
    --------
    >>> cut("a name that goes on", 12)
    'a name that…'
    """
    return name if len(name) <= longest else name[: longest - 1].rstrip() + "…"


def shown(value: object) -> str:
    """Return the value of a cell in a sentence."""
    return number(value) if isinstance(value, float) else cut(str(value))
