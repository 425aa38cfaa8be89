"""Tables of the page as CSV: a link that holds the file itself, so that it needs neither network nor script."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

NUMBER = re.compile(r"[-+−]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?(e[-+]?\d+)?%?", re.IGNORECASE)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # how spreadsheets know a formula
AS_THEY_ARE = " !$&'()*+,-./:;=?@_~"  # in a link; shorter than all in percent


def csv_text(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as CSV; numbers without separators of thousands, no cell that a spreadsheet takes for a formula.

    Examples
    --------
    >>> csv_text(["a", "b"], [["=1+1", "1,234.5"], ["1, 2", "−3"]]).splitlines()
    ['a,b', "'=1+1,1234.5", '"1, 2",-3']
    """
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([[_cell(cell) for cell in row] for row in (head, *rows)])
    return out.getvalue()


def _cell(cell: str) -> str:
    words = str(cell)
    if NUMBER.fullmatch(words):
        return words.replace(",", "").replace("−", "-")
    return f"'{words}" if words.startswith(FORMULA) else words


def link(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return the address of a table as CSV, which holds the whole of it; the mark at its start is for Excel.

    Examples
    --------
    >>> link(["a"], [["1"]])
    'data:text/csv;charset=utf-8,%EF%BB%BFa%0D%0A1%0D%0A'
    """
    return "data:text/csv;charset=utf-8," + quote("\ufeff" + csv_text(head, rows), safe=AS_THEY_ARE)


def file_name(words: str) -> str:
    """Return a name for the file of a table.

    Examples
    --------
    >>> file_name("Do the starts agree?")
    'do-the-starts-agree.csv'
    """
    slug = re.sub(r"[^\w]+", "-", words.lower()).strip("-")[:60].rstrip("-")
    return f"{slug or 'table'}.csv"
