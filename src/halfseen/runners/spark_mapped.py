"""Answers of models row by row, for Spark frames: a lazy frame with the columns that it has, and those of the answer.

Spark frames have no index. So columns that the model was not fitted to, such as numbers of customers, stay in the frame
and tell the rows apart.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from halfseen.errors import DataError
from halfseen.optional import optional
from halfseen.runners.spark_tasks import arrow_schema, as_function, partition_number, pickled


def mapped(frame: Any, model: Any, ask: Any) -> Any:
    """Return a lazy frame with the answers for all rows; columns are checked now."""
    types = optional("pyspark.sql.types", "Spark frames", "spark")
    from_arrow = optional("pyspark.sql.pandas.types", "Spark frames", "spark").from_arrow_type
    features = _features(frame, model)
    schema = arrow_schema(frame.select(*features))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a row without cells
        answer = _columns(ask.answer(_blank(schema), model), ask)
    new = {name: column.type for name, column in answer.items() if name not in features}
    taken = [name for name in frame.columns if name in new or (name in answer and not ask.replaces)]
    if taken:
        raise DataError(
            f"the frame has a column {taken[0]!r} already, and the answer would be called so too. Rename it: "
            f"frame.withColumnRenamed({taken[0]!r}, ...)."
        )
    fields = [*frame.schema.fields, *(types.StructField(name, from_arrow(new[name])) for name in new)]
    task = Answer(pickled((model, ask)), features, new)
    return frame.mapInArrow(as_function(task), types.StructType(fields))


def needed(frame: Any, model: Any, also: Iterable[Any]) -> Any:
    """Return a frame with the columns that a model was fitted to, and the named ones."""
    features = _features(frame, model)
    return frame.select(*features, *(name for name in also if name in frame.columns and name not in features))


def _features(frame: Any, model: Any) -> list[str]:
    """Return the columns that a model was fitted to; all, if it was fitted to columns without names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return list(frame.columns)
    lost = [name for name in names if name not in frame.columns]
    if lost:
        raise DataError(
            f"the Spark frame has no column {lost[0]!r}, which the model was fitted to. Columns: "
            f"{', '.join(frame.columns)}."
        )
    return list(names)


def _blank(schema: Any) -> Any:
    """Return a row without any cell."""
    pa = optional("pyarrow", "Spark frames", "spark")
    return pa.table([pa.nulls(1, field.type) for field in schema], names=schema.names)


def _columns(answer: Any, ask: Any) -> dict[str, Any]:
    """Return the columns of an answer as Arrow arrays."""
    pa = optional("pyarrow", "Spark frames", "spark")
    if isinstance(answer, pa.Table):
        return dict(zip(answer.column_names, answer.columns, strict=True))
    found = ask.columns(answer).items()
    return {name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in found}


@dataclass(frozen=True)
class Answer:
    """The answers for the rows of a partition, batch by batch.

    Parameters
    ----------
    asked : bytes           the model, and what it is asked
    features : list of str
    new : dict              the Arrow types of the columns that are added
    """

    asked: bytes
    features: list[str]
    new: dict[str, Any]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the batches with the columns of the answer."""
        pa = optional("pyarrow", "Spark frames", "spark")
        model, ask = pickle.loads(self.asked)
        partition = partition_number()
        for number, batch in enumerate(batches):
            if not batch.num_rows:
                continue
            rows = pa.Table.from_batches([batch])
            answer = _columns(ask.answer(rows.select(self.features), model, partition, number), ask)
            columns = {name: rows.column(name) for name in rows.column_names}
            columns |= {name: column.cast(self.new.get(name, column.type)) for name, column in answer.items()}
            yield from pa.table(columns).to_batches()
