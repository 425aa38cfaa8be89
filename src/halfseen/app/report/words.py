"""Numbers and lists in words."""

from __future__ import annotations

from collections.abc import Sequence

from halfseen.kinds.wording import cut, number, percent, spread

__all__ = ["chance", "count", "cut", "listed", "number", "one_in", "percent", "plural", "spread"]


def count(value: float) -> str:
    """Return a number of rows or cells."""
    return f"{value:,.0f}"


def plural(value: float, one: str, many: str | None = None) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(2000, "row"), plural(2, "class", "classes")
    ('1 row', '2,000 rows', '2 classes')
    """
    return f"{count(value)} {one if round(value) == 1 else many or one + 's'}"


def listed(words: Sequence[str], most: int = 5) -> str:
    """Return a list in words.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a"]), listed(list("abcdefg"), most=3)
    ('a, b and c', 'a', 'a, b, c and 4 others')
    """
    words = list(words)
    if len(words) > most + 1:
        words = [*words[:most], f"{len(words) - most} others"]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def chance(p: float) -> str:
    """Return a probability of a chance result.

    Examples
    --------
    >>> chance(0.2), chance(0.00001)
    ('0.20', 'below 0.001')
    """
    return "below 0.001" if p < 0.001 else f"{p:.2f}" if p >= 0.01 else f"{p:.3f}"


def one_in(share: float, least: float) -> str:
    """Return a small share as 'one in so many'; `least` is the smallest that could be seen.

    Examples
    --------
    >>> one_in(0.004, 0.0005), one_in(0.0, 0.0005), one_in(0.3, 0.0005)
    ('1 in 250', 'under 1 in 2,000', '30%')
    """
    if share < least:
        return f"under 1 in {round(1 / least):,}"
    return percent(share) if share > 0.1 else f"1 in {round(1 / share):,}"
