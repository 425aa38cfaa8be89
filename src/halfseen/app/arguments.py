"""Arguments and options that several verbs of the command line share, declared once."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

Data = Annotated[
    str,
    Argument(metavar="DATA", help="CSV, Parquet, JSON lines, DuckDB, SQLite, SPSS, Stata or SAS file; - is CSV."),
]
Model = Annotated[str, Argument(metavar="MODEL", help="A model file, made by halfseen fit.")]
Second = Annotated[
    str | None,
    Argument(metavar="TARGET", help="Of sound the file of its transcript, of sentences that of translations."),
]
Sql = Annotated[
    str | None, Option("--sql", metavar="QUERY", help="A query (or table) of a database, or any SQL over files.")
]
Glob = Annotated[
    str | None,
    Option("--glob", metavar="PATTERN", help="In place of a file: all files that match are one table: 'visits/*.csv'."),
]
Missing = Annotated[
    str | None, Option("--missing", metavar="LIST", help='Cells that mean missing: "?,NA,-99". Empty cells always do.')
]
Ignore = Annotated[str | None, Option("--ignore", metavar="NAMES", help="Columns to leave out: id,name.")]
Columns = Annotated[
    str | None, Option("--columns", metavar="KINDS", help="Kinds of columns: 'age=gaussian,heads=binomial(10)'.")
]
Weight = Annotated[str | None, Option("--weight", metavar="COLUMN", help="Column with the weight of each row.")]
Cost = Annotated[
    str | None, Option("--cost", metavar="FILE", help="CSV file of costs: a row per decision, a column per class.")
]
Assign = Annotated[str, Option("--assign", metavar="HOW", help="How hidden values are assigned: soft, hard or sample.")]
Out = Annotated[
    str, Option("--output", "-o", metavar="FILE", help="File to write, format by extension; - is CSV on stdout.")
]
SafeCsv = Annotated[
    bool,
    Option("--safe-csv", help="Put ' before texts in CSV that spreadsheets would run: those with =, +, -, @ first."),
]
Seed = Annotated[int, Option("--seed", metavar="N", min=0, help="Seed of random numbers: same seed, same result.")]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]
Jobs = Annotated[int, Option("--jobs", metavar="N", help="Threads; -1 is all cores. The result is the same.")]
Memory = Annotated[
    str | None,
    Option(
        "--memory",
        metavar="SIZE",
        help="Memory for the rows that are read at a time, such as 200MB, besides the library itself. The result "
        "is the same.",
    ),
]
