"""Models written for other programs: `to_sql`, and ``halfseen export``, which writes ONNX too."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from halfseen import families
from halfseen.app import console, dispatch
from halfseen.app.onnx import to_onnx
from halfseen.app.options import names
from halfseen.errors import ParameterError
from halfseen.export.sql import DIALECTS, HELPER, SQL, columns_of
from halfseen.whole_file import whole_file

__all__ = ["export", "to_sql"]


def to_sql(model: Any, table: str, dialect: str = "duckdb", keep: Sequence[str] = ()) -> str:
    """Return a model as one SELECT, which a database evaluates without Python.

    The columns of the table are found by their names; those of an array are x0, x1, ... NULL and NaN are missing
    values, and so is a category that the model does not know. Where Python raises an error, as for an infinite number,
    all columns of the result are NULL. So they are with full or tied covariances if some, but not all, cells of a row
    are missing.

    Parameters
    ----------
    model : LatentClass, NaiveBayes, GaussianMixture, GaussianClassifier or KMeans
        Fitted, without columns of text.
    table : str
        The name of the table or view, with its schema if it needs one: "survey", "main.survey", '"people.parquet"'.
    dialect : {"duckdb", "postgres", "spark", "bigquery", "snowflake"}
    keep : sequence of str
        Columns of the table, such as its key, that come before those of the model.

    Returns
    -------
    str
        Its result has the columns class (what `predict` returns), p_0, p_1, ... (`predict_proba`) and loglik
        (`score_samples`); for k-means, which has no probabilities, class and squared_distance.

    Examples
    --------
    >>> import duckdb
    >>> import halfseen as hs
    >>> model = hs.LatentClass.from_params([0.5, 0.5], {"x": {"a": [0.9, 0.3], "b": [0.1, 0.7]}})
    >>> database = duckdb.connect()
    >>> _ = database.execute("CREATE TABLE letters AS SELECT * FROM (VALUES (1, 'a'), (2, NULL), (3, 'z')) t(id, x)")
    >>> for row in database.sql(hs.to_sql(model, "letters", keep=["id"])).fetchall():
    ...     print(*row[:2], *(round(value, 3) for value in row[2:]))
    1 0 0.75 0.25 -0.511
    2 0 0.5 0.5 0.0
    3 0 0.5 0.5 0.0
    """
    if dialect not in DIALECTS:
        raise ParameterError(f"dialect={dialect!r:.80} is not one of {', '.join(map(repr, DIALECTS))}.")
    language = SQL(DIALECTS[dialect], table, keep)
    outputs = _outputs(model, language)
    _check_kept(keep, [column for name, formula in outputs.items() for column in columns_of(name, len(formula.value))])
    return language.query(outputs)


def _outputs(model: Any, language: Any) -> Any:
    """Return the outputs of a model by name, as its family writes them in some language."""
    if families.of_class(type(model)) is None:
        raise ParameterError(f"a {type(model).__name__} is no model of halfseen.")
    return dispatch.family_with(model, "export").module("export").outputs(model, language)


def _check_kept(keep: Sequence[str], outputs: Sequence[str]) -> None:
    for name in keep:
        if name.lower() in outputs or name.lower().startswith(HELPER):
            raise ParameterError(f"keep: the column {name!r} would have the name of one of the result. Rename it.")
    if len({name.lower() for name in keep}) < len(keep):
        raise ParameterError(f"keep={list(keep)!r:.80} names a column twice.")


def export(model: Any, reading: Mapping[str, Any], request: Mapping[str, Any]) -> None:
    """Write a model as SQL or ONNX to a file, SQL also to standard output."""
    if request["onnx"]:
        _write_onnx(model, request)
        return
    written = to_sql(model, request["table"], request["sql"], names(request["keep"]))
    if request["output"] == "-":
        console.clear_for("-")
        sys.stdout.write(written)
        return
    with whole_file(request["output"]) as file:
        file.write(written.encode())


def _write_onnx(model: Any, request: Mapping[str, Any]) -> None:
    for name in ("sql", "table", "keep"):
        if name in request["given"]:
            raise ParameterError(f"{request['flags'][name]} cannot be used with --onnx: it is for SQL.")
    if request["output"] == "-":
        raise ParameterError("--onnx needs a file to write: -o model.onnx.")
    written = to_onnx(model).SerializeToString()
    with whole_file(request["output"]) as file:
        file.write(written)
