"""Rules of grammars: a left-hand side, and symbols and words on the right."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halfseen.structures.trees import Word

__all__ = ["Right", "rule_text", "symbol_text"]

MOST_PARTS = 1000  # symbols on the right of a rule: all their beginnings are symbols of the chart
_SPECIAL = re.compile(r"""['"\[\]|#]|^%""")

Right = tuple["str | Word", ...]


def rule_text(left: str, right: Sequence[str | Word]) -> str:
    """Return a rule as text.

    Examples
    --------
    >>> rule_text("NP", ("Det", Word("dog")))
    "NP -> Det 'dog'"
    """
    parts = (str(part) if isinstance(part, Word) else symbol_text(part) for part in right)
    return f"{symbol_text(left)} -> {' '.join(parts)}"


def symbol_text(symbol: str) -> str:
    r"""Return a symbol as it stands in the text of a grammar.

    Examples
    --------
    >>> print(symbol_text("NP"), symbol_text("''"))
    NP \'\'
    """
    return _SPECIAL.sub(r"\\\g<0>", symbol)
