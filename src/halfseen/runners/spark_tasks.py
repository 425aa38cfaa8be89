"""What tasks on Spark frames share: how they are sent, and what they know of where they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from halfseen.disk import size_text
from halfseen.errors import FitError
from halfseen.optional import optional

SHUFFLED = "spark.sql.shuffle.partitions"  # option of the session
LARGEST = 64 << 20  # bytes that are sent to every task


def pickled(job: Any) -> bytes:
    """Return what is sent to the workers."""
    blob: bytes = optional("pyspark.cloudpickle", "Spark frames", "spark").dumps(job)
    if len(blob) > LARGEST:
        raise FitError(
            f"every task of Spark would be sent {size_text(len(blob))} of parameters; at most {size_text(LARGEST)} are "
            "possible. Use fewer components, starts (n_init) or categories."
        )
    return blob


def as_function(task: Callable[[Iterable[Any]], Iterator[Any]]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return a task as a function of one argument: Spark takes no other callables."""

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        return task(batches)

    return run


def partition_number() -> int:
    """Return the number of the partition of the task that this is."""
    number: int = optional("pyspark", "Spark frames", "spark").TaskContext.get().partitionId()
    return number


def arrow_schema(frame: Any) -> Any:
    """Return the columns of a Spark frame, of numbers and text, as its batches have them."""
    return optional("pyspark.sql.pandas.types", "Spark frames", "spark").to_arrow_schema(frame.schema)
