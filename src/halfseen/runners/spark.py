"""Spark: the partitions of a Spark data frame become lanes in files of the executors.

Only `mapInArrow` is used, neither RDDs nor a SparkContext: classic Spark and Spark Connect are alike. Python workers of
Spark keep nothing between two tasks that one may rely on. So an encoded lane is a file on the local disk of its
executor, in a folder that Spark removes with the executor, and every task maps it.

*Places* are a small cached frame with one row for each lane, in as many partitions: Spark runs a task where its
partition is cached, which is where the file was written. If an executor is lost, Spark computes its places again, and
with them the lanes. A lane whose file is not found where the task runs is encoded again from its partition.
"""

from __future__ import annotations

import json
import os
import pickle
import platform
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from halfseen.data import Source, Table, read
from halfseen.engine.tables.lanes import Answer, Job, Lane
from halfseen.errors import DataError, DataTypeError, FitError, HalfseenError
from halfseen.optional import optional
from halfseen.runners import lane_files
from halfseen.runners.environment import check_alike, environment
from halfseen.runners.spark_mapped import mapped as mapped
from halfseen.runners.spark_tasks import as_function, partition_number, pickled
from halfseen.runners.threads import one_blas_thread

TRIES = 5  # times that lanes are encoded again within one pass
FOLDER = "spark.halfseen.folder"  # option of the session: where executors keep lanes

ANSWER = "number long, n_rows long, worker string, value binary, error binary"
PLACE = "number long, error binary"


class SparkCluster:
    """The partitions of a Spark data frame on the executors of a cluster.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    """

    title = "the Spark frame"

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._n_rows: dict[int, int] = {}  # of each partition
        self._lanes: Lanes | None = None
        self._places: Any = None
        self._cached: list[Any] = []
        self._complete = False

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self._frame.columns)

    def as_local(self, head: Source) -> Source:
        """Return a row as this process shows tables: with pandas, as Spark does."""
        return head if head.frame is None else read(head.frame.to_pandas())

    def learned(self, task: Callable[[Any], Any]) -> Iterator[tuple[int, Any]]:
        """Yield the result of a task on every partition."""
        found = self._asked(self._frame, Learn(pickled(task), self.names), ANSWER)
        n_rows = {row.number: row.n_rows for row in found}
        if self._n_rows and n_rows != self._n_rows:
            raise unstable(next(number for number in n_rows if n_rows[number] != self._n_rows.get(number)))
        self._n_rows = n_rows
        for row in found:
            yield row.number, pickle.loads(row.value)

    def encode(self, task: Callable[[Any], Table | None], numbers: Sequence[int]) -> None:
        """Let the numbered partitions become lanes: they are encoded by the first task that asks for them."""
        self.close()
        folder = self._frame.sparkSession.conf.get(FOLDER, None)
        partitions = {partition: (number, self._n_rows[partition]) for number, partition in enumerate(numbers)}
        self._lanes = Lanes(uuid.uuid4().hex, folder, pickled(task), partitions)
        self._places = self._placed(self._frame)

    def _placed(self, frame: Any) -> Any:
        """Return places for the lanes of some partitions."""
        assert self._lanes is not None
        places = frame.mapInArrow(as_function(Encode(self._lanes)), PLACE)
        try:
            places = places.persist()
        except _spark_error():  # servers without a cache, such as serverless ones
            places.collect()
            return self._anywhere(len(self._lanes.partitions))
        self._cached.append(places)
        return places

    def _anywhere(self, n_lanes: int) -> Any:
        """Return rows with the numbers of lanes, in as many partitions."""
        return self._frame.sparkSession.range(0, n_lanes, 1, n_lanes).selectExpr("id AS number", "NULL AS error")

    def answers(self, job: Job, first_chunks: Sequence[int] | None) -> Iterator[Answer]:
        """Yield the answers of all lanes."""
        assert self._lanes is not None
        places = self._places
        ask = Ask(self._lanes, pickled(job), None if first_chunks is None else list(first_chunks))
        for _ in range(TRIES):
            found = self._asked(places, ask, ANSWER)
            lost = [row.number for row in found if row.value is None]
            for row in found:
                if row.value is not None:
                    yield Answer(row.number, *pickle.loads(row.value))
            if not lost:
                self._complete = True
                return
            places = self._encoded_again(lost)
        raise FitError(
            f"{self.title}: {len(lost)} lanes were not found {TRIES} times in one pass, though they had just been "
            f"written. Set {FOLDER} to a folder that the executors keep, or one that they share."
        )

    def _encoded_again(self, numbers: Sequence[int]) -> Any:
        """Let some partitions be encoded again where Spark computes them; return the places of these lanes."""
        assert self._lanes is not None
        functions = optional("pyspark.sql.functions", "Spark frames", "spark")
        partitions = [partition for partition, (number, _) in self._lanes.partitions.items() if number in numbers]
        of_these = functions.col("number").isin(list(numbers))
        places = self._placed(self._frame.where(functions.spark_partition_id().isin(partitions))).where(of_these)
        self._places = self._places.where(~of_these).unionAll(places)
        return places

    def _asked(self, frame: Any, task: Any, schema: str) -> list[Any]:
        """Return the rows that a task gives for all partitions; raise the first error that it returns."""
        try:
            found = frame.mapInArrow(as_function(task), schema).collect()
        except _spark_error() as error:
            if "No module named 'halfseen" in str(error):
                raise FitError(
                    "the Python workers of Spark cannot import halfseen. Install the same version on every machine, "
                    "for the Python that PYSPARK_PYTHON names."
                ) from None
            raise
        for row in found:
            if row.error is not None:
                raise pickle.loads(row.error)
            worker, theirs = json.loads(row.worker)
            check_alike({worker: theirs})
        return sorted(found, key=lambda row: row.number)

    def close(self) -> None:
        """Remove the lanes. What cannot be reached now goes with its executor, or by a later fit."""
        if self._lanes is None:
            return
        anywhere = self._anywhere(len(self._lanes.partitions))
        for places in (self._places, anywhere) if self._complete else (anywhere,):  # lanes are not encoded for this
            with suppress(Exception):  # the frame may be what failed, or the session have ended
                places.mapInArrow(as_function(Forget(self._lanes)), PLACE).collect()
                break
        with suppress(Exception):
            for frame in self._cached:
                frame.unpersist()
        self._lanes = self._places = None
        self._cached, self._complete = [], False


def unstable(partition: int) -> DataError:
    """Return the error about a partition that changes."""
    return DataError(
        f"{SparkCluster.title}: partition {partition} holds other rows than when it was read before. Results would "
        "depend on chance. Write the frame to files, or cache() it, and fit to that."
    )


def cluster_of(frame: Any) -> SparkCluster:
    """Return the cluster of a Spark frame."""
    if frame.isStreaming:
        raise DataError("a streaming Spark frame has no end: fit to a frame that is not streaming.")
    for field in frame.schema.fields:
        if "vector" in field.dataType.typeName():
            raise DataTypeError(
                f"column {field.name!r} holds vectors of Spark ML. Pass the columns that they were assembled from."
            )
    return SparkCluster(frame)


def _spark_error() -> type[Exception]:
    found: type[Exception] = optional("pyspark.errors", "Spark frames", "spark").PySparkException
    return found


# ---- what workers do -------------------------------------------------------------------------------------------------


class Made(NamedTuple):
    """A row that a worker sends back; the fields are those of ANSWER."""

    number: int
    n_rows: int = 0
    value: bytes | None = None
    error: bytes | None = None


@dataclass(frozen=True)
class Lanes:
    """How the lanes of a fit are made and found by the workers.

    Parameters
    ----------
    fit : str               its name
    folder : str or None    where lanes are kept; None: on the local disks of Spark
    task : bytes            makes a table of a partition
    partitions : dict       the number of the lane of each partition, and how many rows it has
    """

    fit: str
    folder: str | None
    task: bytes
    partitions: dict[int, tuple[int, int]]

    def make(self, number: int, table: Any) -> None:
        """Encode a partition."""
        with one_blas_thread():
            lane = Lane.of(pickle.loads(self.task)(table))
        path = self._path(number)
        lane_files.make_folder(path.parent)
        lane_files.write(path, lane)

    def find(self, number: int) -> Lane | None:
        """Return a lane; None if it is not on this machine."""
        path = self._path(number)
        try:
            lane: Lane = lane_files.read(path)
        except FileNotFoundError:
            return None
        lane_files.in_use(path.parent)
        for packed in path.parent.glob(f"{number}-*.packed"):
            with suppress(FileNotFoundError):
                lane.packed = lane_files.read(packed)
        return lane

    def keep_packed(self, number: int, lane: Lane) -> None:
        """Keep the chunks of the last model, for the next pass."""
        if lane.packed is None:
            return
        path = self._path(number)
        packed = path.with_name(f"{number}-{lane.packed[0]}.packed")
        if not packed.exists():
            for old in path.parent.glob(f"{number}-*.packed"):
                old.unlink(missing_ok=True)
            lane_files.write(packed, lane.packed)

    def _path(self, number: int) -> Path:
        parents = _parents(self.folder)
        return lane_files.folder_of(parents[number % len(parents)], self.fit) / f"{number}.lane"

    def forget(self) -> None:
        """Remove all lanes of the fit on this machine."""
        for parent in _parents(self.folder):
            shutil.rmtree(lane_files.folder_of(parent, self.fit), ignore_errors=True)


def _parents(folder: str | None) -> list[str]:
    """Return the folders that lanes are kept in: several disks share them."""
    local = os.environ.get("SPARK_LOCAL_DIRS", "")  # Spark sets it for Python workers, and removes these folders
    found = [folder] if folder else [name for name in local.split(",") if name and os.access(name, os.W_OK)]
    return found or [tempfile.gettempdir()]


@dataclass(frozen=True)
class Learn:
    """The result of a task on a partition."""

    task: bytes
    names: list[str]

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield one row."""
        pa = optional("pyarrow", "Spark frames", "spark")
        rows = list(batches)
        table = pa.Table.from_batches(rows) if rows else pa.table({name: pa.nulls(0) for name in self.names})

        def made(number: int) -> Made:
            with one_blas_thread():
                return Made(number, table.num_rows, pickle.dumps(pickle.loads(self.task)(table)))

        yield _answered(partition_number(), made)


@dataclass(frozen=True)
class Encode:
    """Encode a partition; the row says which lane it became."""

    lanes: Lanes

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield one row, or none of a partition without rows that count."""
        pa = optional("pyarrow", "Spark frames", "spark")
        rows = list(batches)
        partition = partition_number()
        if partition not in self.lanes.partitions:
            return
        number, n_rows = self.lanes.partitions[partition]

        def made(number: int) -> Made:
            if sum(batch.num_rows for batch in rows) != n_rows:
                raise unstable(partition)
            self.lanes.make(number, pa.Table.from_batches(rows))
            return Made(number)

        yield _answered(number, made).select(["number", "error"])


@dataclass(frozen=True)
class Ask:
    """The answers of lanes to a job; a lane that is not found has no value."""

    lanes: Lanes
    job: bytes
    first_chunks: list[int] | None

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield a row for each lane."""
        for batch in batches:
            for number, error in zip(*(batch.column(i).to_pylist() for i in (0, 1)), strict=True):
                yield _row(Made(number, error=error)) if error is not None else _answered(number, self._answer)

    def _answer(self, number: int) -> Made:
        lane = self.lanes.find(number)
        if lane is None:
            return Made(number)
        lane.first_chunk = 0 if self.first_chunks is None else self.first_chunks[number]
        with one_blas_thread():
            value = pickle.loads(self.job)(lane)
        self.lanes.keep_packed(number, lane)
        return Made(number, 0, pickle.dumps((lane.digest, value)))


@dataclass(frozen=True)
class Forget:
    """Remove the lanes of a fit."""

    lanes: Lanes

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield nothing."""
        for _ in batches:
            self.lanes.forget()
        yield from ()


def _answered(number: int, make: Callable[[int], Made]) -> Any:
    """Return what is made as a row; an error of halfseen is raised on the driver, without trying again."""
    try:
        return _row(make(number))
    except HalfseenError as error:
        return _row(Made(number, error=pickle.dumps(error)))


def _row(made: Made) -> Any:
    pa = optional("pyarrow", "Spark frames", "spark")
    kinds = (pa.int64(), pa.int64(), pa.string(), pa.binary(), pa.binary())
    values = (made.number, made.n_rows, _worker(), made.value, made.error)
    columns = [pa.array([value], kind) for value, kind in zip(values, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(columns, ["number", "n_rows", "worker", "value", "error"])


@cache
def _worker() -> str:
    return json.dumps([platform.node(), environment()])
