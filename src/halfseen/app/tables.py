"""Files of rows on the command line: columns of the model, columns left out, and written results."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from halfseen.analysis.decisions import decide
from halfseen.analysis.imputation_check import hidden_cells
from halfseen.app import console, options, status_line
from halfseen.app.dispatch import Fitted
from halfseen.app.glob import Pattern
from halfseen.data import CHUNK
from halfseen.data.duckdb_reader import BATCH
from halfseen.data.encodings import read_text
from halfseen.data.files import OF_TEXT, FileTable, open_table
from halfseen.data.identifiers import identifiers
from halfseen.data.write import TableWriter
from halfseen.errors import DataError, ParameterError
from halfseen.inference.diagnostics import Diagnostics, diagnostics
from halfseen.inference.standard_errors import StandardErrors, standard_errors

DRAWN = "drawn_"  # begins the names of columns of `sample` that no fit is to learn from
DECIMALS = 9  # of probabilities in text
COPIES = 8  # of a batch and its results, while they are computed and written


def reading_of_rows(request: Mapping[str, Any], *options_of: str) -> dict[str, Any]:
    """Return how the one file of a fit is read, with further options for it: kept in the model file."""
    paths = request["data"] or [None]
    if len(paths) > 1:
        raise ParameterError(f"give one file of rows, not {len(paths)}: {', '.join(paths)}.")
    pattern = paths[0] if isinstance(paths[0], Pattern) else None
    return {
        "data": None if pattern else paths[0],
        **({"glob": pattern.alone()} if pattern else {}),
        "sql": request["sql"],
        "missing": options.names(request["missing"]),
        "ignore": options.names(request["ignore"]),
        **({"codes": options.names(request["codes"])} if request.get("codes") else {}),
        **({"quotes": "none"} if request.get("no_quotes") else {}),
        **{name: request[name] for name in options_of},
    }


def open_rows(
    data: str | None,
    sql: str | None,
    missing: Sequence[str],
    glob: str | None = None,
    quotes: str | None = None,
    **columns: Any,
) -> FileTable:
    """Open a file, a pattern of files or a query; `quotes`: "none" where they enclose no cells."""
    if isinstance(data, Pattern):
        glob, data = data.alone(), None
    if data is None and sql is None and glob is None:
        raise ParameterError("name a file to read, or - for standard input.")
    enclose = None if quotes is None else False
    return open_table(data, glob=glob, sql=sql, missing=missing, quotes=enclose, **columns)


def open_to_fit(**reading: Any) -> FileTable:
    """Open the data of a fit, and say what was done with them."""
    table = open_rows(**reading)
    for note in table.notes:
        console.note(f"note: {note}")
    return table


@contextmanager
def rows_to_fit(
    table: FileTable, request: Mapping[str, Any], groups: str | None = None, time: str | None = None
) -> Iterator[Any]:
    """Yield what a model is fitted to: the table, or with --on the table as the workers of a cluster read it.

    `groups` and `time` are columns of sequences.
    """
    if request["on"] is None:
        yield table
        return
    from halfseen.runners.placed import placed

    check_on(request)
    with placed(table, request["on"], request["jobs"], groups, time) as rows:
        yield rows


def check_on(request: Mapping[str, Any]) -> None:
    """Refuse what cannot be used with --on."""
    if request["data"] == ["-"]:
        raise ParameterError("--on: standard input is read on this machine. Write it to a file that workers can read.")
    if "memory" in request["given"]:
        raise ParameterError("--memory is for one machine: with --on, workers keep their rows in their own memory.")


def without_identifiers(table: FileTable, kinds: Mapping[str | int, str]) -> tuple[FileTable, list[str]]:
    """Leave out identifiers and unreadable columns, with a note; columns with a kind given by the user stay."""
    drawn = {name: "what halfseen sample drew the rows from" for name in table.names if name.startswith(DRAWN)}
    found = [*drawn.items(), *((name, reason) for name, reason in identifiers(table) if name not in drawn)]
    apart = [(name, reason) for name, reason in found if name not in kinds]
    unreadable = {name for name, _ in table.unreadable()}
    for name, reason in apart:
        keep = (
            "convert it to a number with --sql to use it" if name in unreadable else f"--columns {name}=KIND keeps it"
        )
        keep += f", --text {name} counts its words" if "text" in reason else ""
        console.note(f"left out: {name} ({reason}); {keep}")
    names = [name for name, _ in apart]
    return (table.without(names) if names else table), names


def note_drawn(names: str, word: str) -> None:
    """Say what the columns are that `sample` adds."""
    console.note(f"note: {names}: the {word} that each row was drawn from; halfseen fit leaves it out")


def data(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Fitted:
    """Return the rows of a file as the model reads them, for the report."""
    table = opened(reading, request)
    known = set(table.names)
    if model._schema.named and known.isdisjoint(model._schema.names):
        raise _lacking(request["data"], model._schema.names, table.names)
    apart = {option: reading.get(option) for option in ("weight", "target") if reading.get(option) in known}
    left_out = known - set(model._schema.names) - set(apart.values()) - set(covariate_columns(model))
    table = table.using(**apart).without(left_out)
    return Fitted(model, table, dict(reading))


def batches(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield batches of rows: with all columns, and with those of the model.

    They have as many rows whatever --memory is, which says how many are read at a time: so results are the same.
    """
    table, n_rows = opened(reading, request, memory=request.get("memory")), 0
    about = reading_words(request)
    status_line.say(about)
    limited = request.get("memory") is not None
    size = rows_within(table.memory, len(table.columns) + _n_answers(model)) if limited else BATCH
    for batch in regrouped(table.batches(size, everything=True, within_memory=limited), CHUNK):
        yield batch, features(model, batch, request["data"])
        n_rows += batch.num_rows
        status_line.say(about, f"{n_rows:,} rows")
    if not n_rows:
        raise DataError(f"{request['data'] or 'the query'} has no rows.")


def rows_within(memory: int, width: int) -> int:
    """Return how many rows of so many cells are read at a time: they and their results take this much memory.

    Examples
    --------
    >>> rows_within(10**9, 20), rows_within(20_000_000, 20), rows_within(1, 20)
    (65536, 12288, 4096)
    """
    most = memory // (COPIES * 8 * max(width, 1))
    return int(np.clip(most // CHUNK * CHUNK, CHUNK, BATCH))


def _n_answers(model: Any) -> int:
    """Return how many numbers are computed for each row."""
    return (
        len(getattr(model, "weights_", ())) or len(getattr(model, "cluster_centers_", ())) or len(model._schema.names)
    )


def regrouped(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Yield the rows of tables in tables of one size; the last may be smaller."""
    left: list[pa.Table] = []
    for table in tables:
        left.append(table)
        while sum(map(len, left)) >= rows:
            whole = pa.concat_tables(left) if len(left) > 1 else left[0]
            yield whole.slice(0, rows)
            left = [whole.slice(rows)] if len(whole) > rows else []
    if left and any(map(len, left)):
        yield pa.concat_tables(left) if len(left) > 1 else left[0]


def reading_words(request: Mapping[str, Any]) -> str:
    """Return what the status line says while the rows of a command are read."""
    return f"reading {PurePath(request['data']).name if request['data'] else 'the query'}"


def opened(reading: Mapping[str, Any], request: Mapping[str, Any], **columns: Any) -> FileTable:
    """Open the file of a request; missing values are marked as given now, else as in the fit."""
    missing = reading.get("missing", []) if request["missing"] is None else options.names(request["missing"])
    codes = reading.get("codes", ())
    return open_rows(request["data"], request["sql"], missing, codes=codes, quotes=reading.get("quotes"), **columns)


def errors(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> StandardErrors:
    """Return the standard errors of a model, given the rows of its fit."""
    named = {option: request[option] for option in ("strata", "cluster") if request[option] is not None}
    marks: dict[str, Any] = _columns(opened(reading, request), named) if named else {}
    if reading.get("missing_covariates"):
        marks["missing"] = "drop"
    how = marks | options.of_errors(request)
    return standard_errors(model, data(model, reading, request).X, request["error_kind"], **how)


def _columns(table: FileTable, named: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the columns that options name."""
    for option, name in named.items():
        if name not in table.names:
            raise ParameterError(f"--{option} {name}: no such column. Columns: {', '.join(table.names)}.")
    rows = pa.concat_tables(list(table.batches(everything=True)))
    return {option: np.array(rows[name].to_pylist(), dtype=object) for option, name in named.items()}


def details(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> Diagnostics:
    """Return the fit of a model to the rows of a file in detail."""
    if request.get("memory") is not None:
        raise ParameterError("--memory cannot be used with --details, which reads all rows at once.")
    rows = pa.concat_tables([batch for batch, _ in batches(model, reading, request)])
    weight = weights(rows, request["weight"] or reading.get("weight"), request["data"])
    how = {"bootstrap": request["bootstrap"], "n_jobs": -1, "random_state": 0}
    return diagnostics(model, features(model, rows, request["data"]), weight, **how)


def show_columns(model: Any) -> None:
    """Print the kinds of the columns to standard error."""
    rows = [(column.name, column.kind, _values(column.categories)) for column in model._schema.columns]
    console.show_table(("column", "kind", "values"), rows, left=3, to_errors=True)
    console.note("")


def _values(categories: Sequence[Any] | None) -> str:
    shown = ", ".join(map(str, (categories or ())[:6]))
    return shown if categories is None or len(categories) <= 6 else f"{shown}, ... {len(categories)} in total"


def _lacking(where: str, absent: Sequence[str], names: Sequence[str]) -> DataError:
    """Return the error about a file without columns that a model needs."""
    more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
    return DataError(
        f"{where} lacks columns that the model was fitted to: {', '.join(absent[:5])}{more}. "
        f"It has: {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}."
    )


def features(model: Any, batch: pa.Table, where: str) -> pa.Table:
    """Return the columns of a model, in its order."""
    names = model._schema.names
    if not model._schema.named and not set(names) <= set(batch.column_names):
        if batch.num_columns != len(names):
            raise DataError(
                f"{where} has {batch.num_columns} columns; the model needs {len(names)} columns without names."
            )
        return batch
    absent = [name for name in names if name not in batch.column_names]
    if absent:
        raise _lacking(where, absent, batch.column_names)
    also = [name for name in covariate_columns(model) if name in batch.column_names]
    return batch.select([*names, *also])


def covariate_columns(model: Any) -> tuple[str, ...]:
    """Return the columns that class membership of a model depends on; none for most."""
    member = getattr(model, "_membership", None)
    return () if member is None else tuple(member.design.variables)


def column(batch: pa.Table, name: str, option: str, where: str) -> list[Any]:
    """Return the values of a column that an option names."""
    if name not in batch.column_names:
        raise DataError(f"{option} {name}: {where} has no such column. It has: {', '.join(batch.column_names[:12])}.")
    values: list[Any] = batch.column(name).to_pylist()
    return values


def weights(batch: pa.Table, name: str | None, where: str) -> NDArray[np.float64]:
    """Return the weight of each row."""
    if name is None:
        return np.ones(batch.num_rows)
    values = column(batch, name, "--weight", where)
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.full(1, np.nan)
    if not (found >= 0).all():
        raise DataError(f"--weight {name}: {where} has cells in it that are not numbers of at least 0.")
    return found


def writer(request: Mapping[str, Any]) -> TableWriter:
    """Return the file that a command writes its rows to; on a terminal the rows are to be seen, and no status line."""
    console.clear_for(request["output"])
    return TableWriter(request["output"], request["safe_csv"])


def probabilities(request: Mapping[str, Any], found: NDArray[np.float64], names: Sequence[str]) -> dict[str, Any]:
    """Return columns of probabilities (N, K) and of the largest; in text with nine decimals: 1.28e-239 is noise."""
    name = PurePath(request["output"]).name.lower()
    shown = np.round(found, DECIMALS) if name == "-" or name.endswith(OF_TEXT) else found
    return {f"p_{name}": shown[:, k] for k, name in enumerate(names)} | {"certainty": shown.max(axis=1)}


def extended(batch: pa.Table, answers: Mapping[str, Any]) -> pa.Table:
    """Return a batch with more columns; a name that exists gets an underscore."""
    for name, values in answers.items():
        while name in batch.column_names:
            name += "_"
        batch = batch.append_column(name, pa.array(values))
    return batch


def filled(batch: pa.Table, parts: pa.Table) -> pa.Table:
    """Return a batch with some columns replaced."""
    for name in parts.column_names:
        batch = batch.set_column(batch.column_names.index(name), name, parts.column(name))
    return batch


def unnamed(model: Any, X: Any) -> Iterator[tuple[str, list[Any]]]:
    """Yield the columns of an array under the names that the model gave them."""
    for j, name in enumerate(model._schema.names):
        yield name, [row[j] for row in X.tolist()]


def impute(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write the rows with their missing cells filled; with draws, the completed tables one below the other."""
    n_draws, n_filled, schema = request["draws"], 0, getattr(model, "_schema", None)
    if n_draws and request["memory"] is not None:
        raise ParameterError(
            "--memory cannot be used with --draws: the draws depend on the rows that are read at a time."
        )
    texts = [] if schema is None else schema.texts
    if schema is not None and len(texts) == len(schema.columns):
        console.note("text columns are not imputed: a model of words gives the likely words, not the text")
    with writer(request) as out:
        if not n_draws:
            for batch, X in batches(model, reading, request):
                n_filled += sum(X[name].null_count for name in X.column_names if name not in texts)
                out.append(filled(batch, model.impute(X)))
        for i in range(n_draws):
            rng = np.random.default_rng([request["seed"], i])
            for batch, X in batches(model, reading, request):
                drawn = filled(batch, model.impute(X, draw=True, random_state=rng))
                out.append(drawn.add_column(0, "draw", pa.array(np.full(len(drawn), i + 1))))
    note_filled(request, n_filled)
    if getattr(model, "n_components_", None) == 1 and getattr(model, "_covariance", None) not in ("full", "tied"):
        console.note(
            "note: the model has one class, so that every cell was filled with the mean or the most frequent value of "
            "its column; fit with -k 2 or more, or numbers with --model gaussian"
        )


def note_filled(request: Mapping[str, Any], n_filled: int) -> None:
    """Print how many cells were filled, or tables completed."""
    if request["output"] != "-":
        done = f"{request['draws']} completed tables" if request["draws"] else f"{n_filled:,} missing cells filled"
        console.wrote(done, request["output"])


def check(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Hide known cells, impute them, and print the errors of the imputed values and of column means."""
    if request["memory"] is not None:
        raise ParameterError("--memory cannot be used with --check, which reads all rows at once.")
    if request["output"] != "-":
        raise ParameterError("--check prints the errors and fills no table: leave out -o, or --check.")
    console.show(str(hidden_cells(model, data(model, reading, request).X, random_state=request["seed"])))


def decided(proba: Any, names: Sequence[str], cost: Any, reject: float | None) -> dict[str, Any]:
    """Return the decision for each row and its risk, if costs were given."""
    if cost is None and reject is None:
        return {}
    decisions, matrix = (names, None) if cost is None else cost
    decision, risk = decide(proba, matrix, reject, return_risk=True)
    return {"decision": ["reject" if i < 0 else decisions[i] for i in decision.tolist()], "risk": risk}


def read_costs(path: str, classes: Sequence[str]) -> tuple[list[str], NDArray[np.float64]]:
    """Read a table of costs: a row for each decision, named in its first cell; a column for each class.

    Returns
    -------
    decisions : list of str
    cost : (I, J) array       cost[i, j] of decision i when the truth is class j, in the order of `classes`
    """
    try:
        rows = [row for row in csv.reader(read_text(path).splitlines()) if row]
    except csv.Error as error:
        raise DataError(f"{path}: it is not a table separated by commas: {error}.") from None
    if len(rows) < 2:
        raise DataError(f"{path}: a table of costs has a line of classes, then a line for each decision.")
    truths = [name.strip() for name in rows[0][1:]]
    if sorted(truths) != sorted(classes):
        raise DataError(f"{path}: its columns are {', '.join(truths)}, but the classes are {', '.join(classes)}.")
    cost = np.empty((len(rows) - 1, len(classes)))
    for i, row in enumerate(rows[1:]):
        if len(row) != len(rows[0]):
            raise DataError(f"{path}, line {i + 2}: {len(row)} cells instead of {len(rows[0])}.")
        for name, cell in zip(truths, row[1:], strict=True):
            cost[i, list(classes).index(name)] = _number(cell, f"{path}, line {i + 2}")
    return [row[0].strip() for row in rows[1:]], cost


def _number(cell: str, where: str) -> float:
    try:
        found = float(cell)
    except ValueError:
        found = np.nan
    if not np.isfinite(found):
        raise DataError(f"{where}: {cell!r:.80} is not a number.")
    return found


def class_names(model: Any) -> list[str]:
    """Return the names of the classes of a model."""
    return [str(name) for name in getattr(model, "classes_", model.class_names_)]
