"""Frames of steps that other processes hold: each partition holds whole sequences, which a column names.

A Dask frame may name them by its index. Rows of Spark and Ray have no order, so that a column of times is needed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from halfseen.errors import ParameterError
from halfseen.runners.frames import Ask, Told, cluster_of, is_dask, is_held, is_ray, is_spark, roles_of, told


def sequences_of(X: Any, groups: Any, time: Any = None, weight: Any = None, target: Any = None) -> Any:
    """Return a source for sequences that other processes hold; None for any other table."""
    if not is_held(X):
        return X if getattr(X, "elsewhere", False) else None
    from halfseen.engine.tables.lane_source import SequenceSource

    cluster = _cluster_of(X, groups)
    roles = roles_of(X, weight=weight, target=target)
    return SequenceSource(cluster, _layout(X, cluster, groups, time, **roles))


def mapped(X: Any, model: Any, method: str, given: dict[str, Any], called: str, names: list[str]) -> Any:
    """Return the answers of a method for all steps, or sequences, of a frame, computed where they are, lazily.

    That no sequence of a Dask frame is in two partitions is checked now; Spark puts the steps of each together.
    """
    groups, time = given["groups"], given.get("time") or model._marks[1]
    if is_spark(X):
        from halfseen.runners import spark_mapped

        _layout(X, cluster_of(X), groups, time)
        ask = Ask.of(model, method, {**given, "time": time}, called, names)
        return spark_mapped.mapped_whole(X, model, ask, groups, time)
    from halfseen.data.sequence_partition import NamesIn
    from halfseen.engine.tables.lane_source import refuse_split
    from halfseen.runners import dask

    _layout(X, _cluster_of(X, groups), groups, given.get("time"))
    cluster = _cluster_of(X if _is_index(X, groups) else X[[groups]], groups)
    found = [hashes for _, hashes in cluster.learned(NamesIn(groups)) if hashes is not None]
    if found:
        refuse_split(cluster, groups, np.concatenate(found))
    index = groups if _is_index(X, groups) else None
    return dask.mapped(X, model, Ask.of(model, method, given, called, names, index))


def summed(X: Any, model: Any, method: str, groups: Any, time: Any) -> Any:
    """Return the sum over the partitions of a frame of what a method says of their sequences."""
    sequences_of(X, groups, time).check_whole()
    cluster = _cluster_of(X, groups)
    return told(cluster, Told(_layout(X, cluster, groups, time), model, method))


def _cluster_of(X: Any, groups: Any) -> Any:
    return cluster_of(X.reset_index() if _is_index(X, groups) else X)


def _is_index(X: Any, groups: Any) -> bool:
    """Whether the names of sequences are the index of a frame."""
    return is_dask(X) and isinstance(groups, str) and X.index.name == groups and groups not in X.columns


def _layout(X: Any, cluster: Any, groups: Any, time: Any, weight: Any = None, target: Any = None) -> Any:
    from halfseen.data.sequence_partition import SequenceLayout

    if (is_spark(X) or is_ray(X)) and time is None:
        raise ParameterError(
            "time: the rows of a Spark frame or a Ray dataset have no order. Give the name of a column that has one."
        )
    return SequenceLayout.of_sequences(cluster.names, groups, time, weight, target)


def check_lengths(lengths: Any) -> None:
    """Refuse lengths of sequences that other processes hold."""
    if lengths is not None:
        raise ParameterError("lengths=: sequences that other processes hold are named by a column: give groups=.")
