"""A model over a table as plain values and arrays, and back: columns, container, summary and parameters.

Also the fingerprint of a table, by which a model file tells whether it was fitted to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halfseen.data import Column, Schema
from halfseen.data.template import described, rebuilt
from halfseen.errors import ModelFileError, ParameterError
from halfseen.estimators.state import (
    ORIGIN,
    Shape,
    Training,
    check_shapes,
    created,
    named_arrays,
    named_stats,
    options_of,
    read_params,
    read_stats,
    training_of,
)
from halfseen.estimators.table.cells import decoded
from halfseen.estimators.table.emission_builder import TIED, Summary, unit_summary
from halfseen.leaves.leaf import Floats
from halfseen.registry import kinds

RECORD = {"options", "columns", "named", "feature_names", "container", "model", "training"} | ORIGIN

# ---- the fingerprint of a table ----------------------------------------------------------------------------------


def fingerprint(schema: Schema, summary: Summary, n_rows: float, lengths: NDArray[np.int64] | None = None) -> str:
    """Return a fingerprint of a table, as 32 hexadecimal digits.

    It covers names, kinds and categories of the columns, the sum of the weights, the weighted count of every category,
    mean and variance of every column of numbers to nine digits, and the lengths of sequences. It tells whether a model
    was fitted to this table or to another; it does not see every cell, nor the order of the rows.
    """
    blocks = sorted(schema.each_block(), key=lambda block: not any(block.sizes))  # categories and words come first
    figures = [part for block in blocks for part in block.kind.fingerprint(summary[block.name])]
    return digested(schema, np.array([n_rows]), *figures, lengths=lengths)


def digested(schema: Schema, *figures: Floats, lengths: NDArray[np.int64] | None = None) -> str:
    """Return a digest of the columns of a table, of figures about it to nine digits, and of lengths of sequences."""
    digest = blake2b(repr(schema.columns).encode("utf-8", "surrogatepass"), digest_size=16)
    for numbers in figures:
        digits, power = np.frexp(numbers)  # nine digits: the last ones differ between machines
        digest.update(np.round(digits, 9).astype("<f8").tobytes() + power.astype("<i4").tobytes())
    if lengths is not None:
        digest.update(np.sort(lengths).astype("<i8").tobytes())
    return digest.hexdigest()


# ---- out ---------------------------------------------------------------------------------------------------------


def common(model: Any, training: Training) -> dict[str, Any]:
    """Return what the record of every model over a table holds."""
    return {
        "options": options_of(model),
        **columns_record(model._schema),
        "feature_names": getattr(model, "feature_names_in_", np.zeros(0)).tolist(),
        "container": described(model._template),
        "training": training_of(model, training),
        **model._origin.record(),
    }


def columns_record(schema: Schema) -> dict[str, Any]:
    """Return the columns of a table as entries of a record."""
    treated = {j: block.treatment or None for block in schema.each_block() for j in block.members}
    columns = [
        {"name": column.name, "kind": column.kind.name, **column.kind.to_record(column), "treatment": treated[j]}
        for j, column in enumerate(schema.columns)
    ]
    return {"columns": columns, "named": schema.named}


def summary_arrays(summary: Summary) -> dict[str, Floats]:
    """Return a summary as named arrays."""
    return {f"summary/{block}/{part}": array for block, parts in summary.items() for part, array in parts.items()}


def written_summary(schema: Schema, summary: Summary) -> dict[str, Floats]:
    """Return a summary as the arrays of a file: what was scanned only where something was found."""
    scanned = {f"summary/{block.name}/{part}" for block in schema.each_block() for part in block.kind.scanned}
    return {name: array for name, array in summary_arrays(summary).items() if name not in scanned or array.any()}


def arrays_of(model: Any, summary: Summary) -> dict[str, Floats]:
    """Return parameters, statistics and summary as named arrays."""
    found = named_arrays("params", model._params) | written_summary(model._schema, summary)
    return found | (named_stats("stats", model._model, model._stats) if hasattr(model, "_stats") else {})


# ---- in ----------------------------------------------------------------------------------------------------------


def opened(cls: type[Any], record: Mapping[str, Any], keys: set[str]) -> Any:
    """Return an estimator with the options, the columns and the origin of a record, all checked."""
    model = created(cls, record, keys)
    model._schema = read_schema(record["columns"], record["named"])
    return model


def read_schema(columns: Any, named: Any) -> Schema:
    """Return the schema; names, kinds, categories and treatments must be such as a fit learns."""
    if not isinstance(columns, list) or not columns:
        raise ParameterError("there are no columns.")
    found = Schema(tuple(map(_read_column, columns)), {}, named is True)
    if len(set(found.names)) < len(found.names):
        raise ParameterError("two columns have one name.")
    treated = {column["name"]: column["treatment"] for column in columns if column["treatment"] is not None}
    wrong = [treated[c.name] for c in found.columns if _word(treated.get(c.name, "fixed")) not in c.kind.treatments]
    if wrong:
        raise ParameterError(f"a column cannot be {wrong[0]!r:.80}.")
    return found.arrange(treated)


def _word(treatment: Any) -> Any:
    """Return a treatment without the groups of classes that are tied."""
    grouped = isinstance(treatment, str) and treatment.startswith(f"{TIED} ")
    return TIED if grouped else treatment


def _read_column(record: Any) -> Column:
    name, kind = record["name"], kinds.find(record["kind"])
    if not isinstance(name, str):
        raise ParameterError(f"column {name!r:.80}: names of columns must be text.")
    if kind is None:  # entry points are not loaded: to read a file is to run no code
        raise ModelFileError(
            f"column {name!r} is of no known kind: {record['kind']!r:.80}. Install and import the package that has it, "
            "register it with halfseen.register_kind, and load the file again; at the command line, name it: "
            f"halfseen --kinds NAME predict ... Known: {', '.join(kinds.names)}."
        )
    if kind.lacks:
        raise ParameterError(f"column {name!r}: {kind.lacks}")
    return kind.from_record(name, record)


def summary_shapes(schema: Schema) -> dict[str, Shape]:
    """Return the name and shape of every array of a summary."""
    return {name: array.shape for name, array in summary_arrays(unit_summary(schema)).items()}


def with_scanned(schema: Schema, tensors: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the arrays, with zeros for what a file does not hold of a summary: nothing was found in a scan."""
    unit = unit_summary(schema)
    missing = {
        f"summary/{block.name}/{part}": unit[block.name][part]
        for block in schema.each_block()
        for part in block.kind.scanned
    }
    return missing | dict(tensors)


def read_summary(schema: Schema, tensors: Mapping[str, Floats]) -> Summary:
    """Return the summary among the arrays, checked."""
    shapes = summary_shapes(schema)
    check_shapes({name: array for name, array in tensors.items() if name.startswith("summary/")}, shapes)
    summary: Summary = {}
    for name, parts in unit_summary(schema).items():
        summary[name] = {part: tensors[f"summary/{name}/{part}"] for part in parts}
        if not schema.block(name).kind.legal_summary(summary[name]):
            raise ParameterError("summary: a count or a variance is negative, or a variance 0.")
    return summary


def put_arrays(model: Any, tensors: Mapping[str, Floats], others: Mapping[str, Shape]) -> None:
    """Give a model its parameters and statistics, once every array is known to be what its leaves expect."""
    shapes = {name: array.shape for name, array in named_arrays("params", model._model.blank()).items()}
    with_stats = any(name.startswith("stats/") for name in tensors)
    if with_stats:
        blank = np.broadcast_to(np.zeros(()), model._model.stats_shape)
        shapes |= {name: array.shape for name, array in named_stats("stats", model._model, blank).items()}
    check_shapes(tensors, shapes | summary_shapes(model._schema) | dict(others))
    model._params = read_params(model._model, tensors)
    if with_stats:
        model._stats = read_stats(model._model, tensors)


def restore_columns(model: Any, record: Mapping[str, Any]) -> None:
    """Give a model the kinds and names of its columns and the container it returns, which must be able to hold them."""
    model.columns_ = model._schema.kind_names
    restore_container(model, record)
    model._template.like(decoded(model._schema, _every_value(model._schema)))


def restore_container(model: Any, record: Mapping[str, Any]) -> None:
    """Give a model the names of its columns and the container it returns."""
    schema = model._schema
    model.n_features_in_ = schema.n_features
    features = record["feature_names"]
    if features:
        if features != list(schema.names):
            raise ParameterError("feature_names are not the names of the columns.")
        model.feature_names_in_ = np.array(features, dtype=object)
    model._template = rebuilt(record["container"])
    if len(model._template.names) != len(schema.columns):
        raise ParameterError(f"container: it has not {len(schema.columns)} columns.")


def _every_value(schema: Schema) -> dict[str, Any]:
    """Return blocks of rows with every category: what can be decoded and put into its container can be drawn."""
    n_rows = max(1, *(column.kind.n_values(column) for column in schema.columns), 1)
    return {block.name: block.kind.every_value(block, n_rows) for block in schema.each_block()}
