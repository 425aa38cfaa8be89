"""Formulas as SQL: one SELECT in the dialect of a database.

A formula is a tuple of expressions: one, or one for each component. A step is a common table expression that hands on
what later ones need, so that no expression is written, or evaluated, over and over. Numbers are written so that every
database reads them as float64, and with all their digits; names and texts are quoted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfseen.errors import ParameterError
from halfseen.export.formula import PROBABILITIES, Case, Floats, Formula, Language, Operand

HELPER = "halfseen_"  # how columns and steps of the query itself begin
FUNCTIONS = {"abs": "ABS", "log": "LN", "exp": "EXP", "floor": "FLOOR"}
TRUE, FALSE = ("true", "t", "1", "1.0"), ("false", "f", "0", "0.0")  # True and False in their texts
PART = r'(?:"(?:[^"]|"")+"|[^".]+)'  # of the name of a table


@dataclass(frozen=True)
class Dialect:
    """How a database writes names, texts, numbers and types.

    Attributes
    ----------
    name : str
    double, text : str            types
    quote : str                   around names
    backslash : bool              whether it escapes in texts, and in names if they are in backticks of BigQuery
    suffix : str                  what makes a numeral a float64
    numerals : bool               whether numerals can be written plainly; else they are texts that are cast
    equal_nan : bool              whether NaN = NaN
    fence : str                   at the end of a step: keeps the planner from writing it out wherever it is used
    """

    name: str
    double: str = "DOUBLE"
    text: str = "VARCHAR"
    quote: str = '"'
    backslash: bool = False
    suffix: str = ""
    numerals: bool = True
    equal_nan: bool = True
    fence: str = ""

    def identifier(self, name: str) -> str:
        """Return a quoted name."""
        _check_characters(name, "name")
        if not name:
            raise ParameterError("sql: a column or table without a name cannot be written.")
        if self.quote == "`" and self.name == "bigquery":
            return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote

    def table(self, name: str) -> str:
        """Return the name of a table, part by part; a part in double quotes may hold dots."""
        if not re.fullmatch(rf"{PART}(?:\.{PART})*", name):
            raise ParameterError(f'table={name!r:.80} is not the name of a table, such as people or main."my table".')
        parts = [part[1:-1].replace('""', '"') if part[0] == '"' else part for part in re.findall(PART, name)]
        return ".".join(map(self.identifier, parts))

    def literal(self, text: str) -> str:
        """Return a quoted text."""
        _check_characters(text, "text")
        if self.backslash:
            escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
            return f"'{escaped}'"
        doubled = text.replace("'", "''")
        if self.name == "postgres" and "\\" in text:  # right whatever standard_conforming_strings is
            return "E'" + doubled.replace("\\", "\\\\") + "'"
        return f"'{doubled}'"

    def numeral(self, number: float) -> str:
        """Return a float64 with all its digits."""
        if not np.isfinite(number):
            return f"CAST('{'nan' if number != number else 'inf' if number > 0 else '-inf'}' AS {self.double})"
        digits = repr(float(number))
        digits = digits if "e" in digits else f"{digits}e0"
        written = f"{digits}{self.suffix}" if self.numerals else f"CAST('{digits}' AS {self.double})"
        return f"({written})" if number < 0 and self.numerals else written

    def value(self, label: Any) -> str:
        """Return the label of a class: a truth value, a number or a text."""
        if isinstance(label, bool | np.bool_):
            return "TRUE" if label else "FALSE"
        if isinstance(label, int | np.integer):
            return str(int(label))
        if isinstance(label, float | np.floating):
            return self.numeral(float(label))
        if isinstance(label, str):
            return self.literal(str(label))
        raise ParameterError(f"sql: the class {label!r:.80} is neither a text, a number nor True or False. Use rename.")


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("duckdb"),
        Dialect("postgres", double="float8", text="TEXT", suffix="::float8", fence=" OFFSET 0"),
        Dialect("spark", text="STRING", quote="`", backslash=True),
        Dialect("bigquery", double="FLOAT64", text="STRING", quote="`", backslash=True, equal_nan=False),
        Dialect("snowflake", backslash=True, numerals=False),
    )
}


class SQL(Language):
    """Writes formulas over the columns of a table.

    Parameters
    ----------
    dialect : Dialect
    table : str                 its name, dots between its parts
    keep : sequence of str      columns of the table that come first in the result
    """

    name = "SQL"

    def __init__(self, dialect: Dialect, table: str, keep: Sequence[str] = ()) -> None:
        self.dialect = dialect
        self._source = dialect.table(table)
        self._keep = [dialect.identifier(name) for name in keep]
        self._steps: list[str] = []

    def _formula(self, *texts: str) -> Formula:
        return Formula(self, texts)

    @property
    def undefined(self) -> Formula:
        """NULL."""
        return self._formula(f"CAST(NULL AS {self.dialect.double})")

    def constant(self, numbers: float | Floats) -> Formula:
        return self._formula(*(self.dialect.numeral(number) for number in np.atleast_1d(numbers).tolist()))

    # ---- cells ---------------------------------------------------------------------------------------------------

    def number(self, column: str) -> Formula:
        """Return the cell as float64; NaN is NULL."""
        cell = f"CAST({self.dialect.identifier(column)} AS {self.dialect.double})"
        if self.dialect.equal_nan:
            return self._formula(f"NULLIF({cell}, {self.dialect.numeral(np.nan)})")
        return self._formula(f"CASE WHEN IS_NAN({cell}) THEN NULL ELSE {cell} END")

    def text(self, column: str) -> Formula:
        return self._formula(f"CAST({self.dialect.identifier(column)} AS {self.dialect.text})")

    def truth(self, column: str) -> Formula:
        """Return 1 or 0; NULL for any other text."""
        [cell] = self.text(column).value
        cases = [
            (f"LOWER({cell}) IN ({', '.join(map(self.dialect.literal, words))})", value)
            for words, value in ((TRUE, 1.0), (FALSE, 0.0))
        ]
        return self._formula(_case([(when, self.dialect.numeral(value)) for when, value in cases], "NULL"))

    # ---- operations ----------------------------------------------------------------------------------------------

    def _each(self, write: Any, *formulas: Formula) -> Formula:
        """Return what `write` makes of the expressions of each component."""
        width = max(len(formula.value) for formula in formulas)
        columns = [formula.value if len(formula.value) == width else formula.value * width for formula in formulas]
        return self._formula(*(write(*texts) for texts in zip(*columns, strict=True)))

    def binary(self, operator: str, first: Formula, second: Formula) -> Formula:
        return self._each(lambda a, b: f"({a} {operator.upper()} {b})", first, second)

    def function(self, name: str, argument: Formula) -> Formula:
        return self._each(lambda text: f"{FUNCTIONS[name]}({text})", argument)

    def missing(self, formula: Formula) -> Formula:
        return self._each(lambda text: f"({text} IS NULL)", formula)

    def choose(self, *cases: Case, otherwise: Operand) -> Formula:
        flat = [self.formula(part) for case in cases for part in case]

        def write(other: str, *texts: str) -> str:
            return _case(list(zip(texts[::2], texts[1::2], strict=True)), other)

        return self._each(write, self.formula(otherwise), *flat)

    def all(self, conditions: Sequence[Formula]) -> Formula:
        return self._each(lambda *texts: f"({' AND '.join(texts)})", *conditions)

    def lookup(
        self, cell: Formula, keys: Sequence[float] | Sequence[str], table: Floats, otherwise: Operand
    ) -> Formula:
        written = [self.dialect.literal(key) if isinstance(key, str) else self.dialect.numeral(key) for key in keys]
        columns = [[self.dialect.numeral(number) for number in column] for column in np.asarray(table).T.tolist()]
        [value] = cell.value
        other = self.formula(otherwise).value
        others = other * len(columns) if len(other) == 1 else other
        found = (list(zip(written, column, strict=True)) for column in columns)
        return self._formula(*(_case(cases, rest, value) for cases, rest in zip(found, others, strict=True)))

    def total(self, formulas: Sequence[Formula]) -> Formula:
        return self._each(lambda *texts: _sum(texts), *formulas)

    def over_components(self, operation: str, wide: Formula) -> Formula:
        if operation == "sum" or len(wide.value) == 1:
            return self._formula(_sum(wide.value))
        return self._formula(f"GREATEST({', '.join(wide.value)})")

    def by_class(self, wide: Formula, inside: int) -> Formula:
        return self._formula(*(_sum(wide.value[k : k + inside]) for k in range(0, len(wide.value), inside)))

    def label(self, wide: Formula, largest: Formula, labels: Sequence[Any]) -> Formula:
        [top] = largest.value
        cases = zip((f"{text} = {top}" for text in wide.value), map(self.dialect.value, labels), strict=True)
        return self._formula(_case(list(cases), "NULL"))

    # ---- the query -----------------------------------------------------------------------------------------------

    def step(self, *formulas: Formula) -> list[Formula]:
        """Write a common table expression with a column for each expression."""
        letter, listed, named = chr(ord("a") + len(self._steps)), [], []
        for i, formula in enumerate(formulas):
            names = [self.dialect.identifier(f"{HELPER}{letter}{i}_{k}") for k in range(len(formula.value))]
            listed += [f"{text} AS {name}" for text, name in zip(formula.value, names, strict=True)]
            named.append(self._formula(*names))
        self._steps.append(self._select(listed) + self.dialect.fence)
        return named

    def _select(self, listed: Sequence[str]) -> str:
        columns = ",\n  ".join([*self._keep, *listed])
        source = self._step_name(len(self._steps) - 1) if self._steps else self._source
        return f"SELECT\n  {columns}\nFROM {source}"

    def _step_name(self, place: int) -> str:
        return self.dialect.identifier(f"{HELPER}step_{place}")

    def query(self, outputs: dict[str, Formula]) -> str:
        """Return the SELECT; a wide output `p` becomes the columns p_0, p_1, ..."""
        listed = [
            f"{text} AS {self.dialect.identifier(column)}"
            for name, formula in outputs.items()
            for text, column in zip(formula.value, columns_of(name, len(formula.value)), strict=True)
        ]
        steps = [f"{self._step_name(place)} AS (\n{text}\n)" for place, text in enumerate(self._steps)]
        return (f"WITH {', '.join(steps)}\n" if steps else "") + self._select(listed) + "\n"


def columns_of(name: str, width: int) -> list[str]:
    """Return the columns of an output: probabilities are numbered, also that of a single class."""
    return [f"{name}_{k}" for k in range(width)] if name == PROBABILITIES else [name]


def _case(cases: Sequence[tuple[str, str]], otherwise: str, value: str = "") -> str:
    listed = " ".join(f"WHEN {when} THEN {then}" for when, then in cases)
    return f"CASE{' ' + value if value else ''} {listed} ELSE {otherwise} END"


def _sum(texts: Sequence[str]) -> str:
    """Return the sum as a balanced tree: databases limit how deep an expression may be."""
    if len(texts) == 1:
        return texts[0]
    half = (len(texts) + 1) // 2
    return f"({_sum(texts[:half])} + {_sum(texts[half:])})"


def _check_characters(text: str, what: str) -> None:
    if "\0" in text or not _encodes(text):
        raise ParameterError(f"sql: the {what} {text!r:.80} has characters that no database takes.")


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
