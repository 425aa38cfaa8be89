"""Answers of models row by row, for Spark frames: a lazy frame with the columns that it has, and those of the answer.

Spark frames have no index. So columns that the model was not fitted to, such as numbers of customers, stay in the frame
and tell the rows apart.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from halfseen.errors import DataError
from halfseen.optional import optional
from halfseen.runners.spark_tasks import SHUFFLED, arrow_schema, as_function, partition_number, pickled


def mapped(
    frame: Any, model: Any, ask: Any, features: Sequence[str] | None = None, invented: Collection[str] = ()
) -> Any:
    """Return a lazy frame with the answers for all rows; columns are checked now.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    model : estimator
    ask : Ask
    features : columns that the model reads; by default those that it was fitted to
    invented : those of them that may not be missing: to see what columns the answer has, a cell is invented
    """
    types = optional("pyspark.sql.types", "Spark frames", "spark")
    features = _features(frame, model) if features is None else list(features)
    answer = _shown(frame, model, ask, features, invented)
    new = {name: column.type for name, column in answer.items() if name not in features}
    _refuse_taken([name for name in frame.columns if name in new or (name in answer and not ask.replaces)])
    fields = [*frame.schema.fields, *_fields(new)]
    task = Answer(pickled((model, ask)), features, new)
    return frame.mapInArrow(as_function(task), types.StructType(fields))


def mapped_whole(frame: Any, model: Any, ask: Any, unit: str, order: str) -> Any:
    """Return a lazy frame as `mapped` does, of rows that are answered together with the others of their unit.

    Spark puts the rows of a unit into one partition, which is answered at once. An answer with a row for each unit is a
    frame of its own.

    Parameters
    ----------
    unit, order : str      columns: which rows belong together, and in which order
    """
    types = optional("pyspark.sql.types", "Spark frames", "spark")
    features = [*_features(frame.drop(unit, order), model), unit, order]
    answer = _shown(frame, model, ask, features, (unit, order))
    alone = unit in answer and order not in answer
    new = {name: column.type for name, column in answer.items() if name not in features}
    if not alone:
        _refuse_taken([name for name in frame.columns if name in new or (name in answer and not ask.replaces)])
    kept = [field for field in frame.schema.fields if not alone or field.name == unit]
    task = Answer(pickled((model, ask)), features, new, whole=True, only=(unit, *new) if alone else None)
    drawing = [int(frame.sparkSession.conf.get(SHUFFLED))] if ask.seed is not None else []  # draws go by partitions
    together = frame.repartition(*drawing, unit).sortWithinPartitions(unit, order)
    return together.mapInArrow(as_function(task), types.StructType([*kept, *_fields(new)]))


def _shown(frame: Any, model: Any, ask: Any, features: Sequence[str], invented: Collection[str]) -> dict[str, Any]:
    """Return the columns of the answer for one row without cells."""
    schema = arrow_schema(frame.select(*features))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a row without cells
        return _columns(ask.answer(_blank(schema, invented), model), ask)


def _fields(new: Mapping[str, Any]) -> list[Any]:
    """Return fields of Spark for columns of Arrow."""
    types = optional("pyspark.sql.types", "Spark frames", "spark")
    from_arrow = optional("pyspark.sql.pandas.types", "Spark frames", "spark").from_arrow_type
    return [types.StructField(name, from_arrow(own)) for name, own in new.items()]


def _refuse_taken(taken: Sequence[str]) -> None:
    if taken:
        raise DataError(
            f"the frame has a column {taken[0]!r} already, and the answer would be called so too. Rename it: "
            f"frame.withColumnRenamed({taken[0]!r}, ...)."
        )


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


def _blank(schema: Any, invented: Collection[str]) -> Any:
    """Return a row without any cell but invented ones."""
    pa = optional("pyarrow", "Spark frames", "spark")
    cells = [_cell(field.type) if field.name in invented else pa.nulls(1, field.type) for field in schema]
    return pa.table(cells, names=schema.names)


def _cell(of_type: Any) -> Any:
    """Return an array with one cell that is not missing."""
    pa = optional("pyarrow", "Spark frames", "spark")
    if pa.types.is_list(of_type):
        return pa.array([["0"]], of_type)
    small = pa.types.is_date32(of_type) or pa.types.is_time32(of_type)  # Arrow makes these of 32 bits only
    return pa.array([0], pa.int32() if small else pa.int64()).cast(of_type)


def _columns(answer: Any, ask: Any) -> dict[str, Any]:
    """Return the columns of an answer as Arrow arrays."""
    pa = optional("pyarrow", "Spark frames", "spark")
    if isinstance(answer, pa.Table):
        return dict(zip(answer.column_names, answer.columns, strict=True))
    if hasattr(answer, "to_frame"):  # a series of pandas, with the name of a unit for each
        return {answer.index.name: pa.array(answer.index.tolist()), answer.name: pa.array(answer.to_numpy())}
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
    whole : bool            whether all rows are answered at once
    only : columns of an answer that has other rows
    """

    asked: bytes
    features: list[str]
    new: dict[str, Any]
    whole: bool = False
    only: tuple[str, ...] | None = None

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the batches with the columns of the answer."""
        pa = optional("pyarrow", "Spark frames", "spark")
        model, ask = pickle.loads(self.asked)
        partition = partition_number()
        for number, together in enumerate(self._together(batches)):
            rows = pa.Table.from_batches(together)
            answer = _columns(ask.answer(rows.select(self.features), model, partition, number), ask)
            types = {field.name: field.type for field in rows.schema} | self.new
            found = {name: column.cast(types[name]) for name, column in answer.items()}
            columns = {name: rows.column(name) for name in rows.column_names} | found
            yield from pa.table(found if self.only else columns).to_batches()

    def _together(self, batches: Iterable[Any]) -> Iterator[list[Any]]:
        """Yield the batches that are answered at once."""
        filled = (batch for batch in batches if batch.num_rows)
        if not self.whole:
            yield from ([batch] for batch in filled)
        elif all_rows := list(filled):
            yield all_rows
