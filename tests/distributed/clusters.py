"""What tests of distributed fits share: the same partitions in this process, and how they are fitted to."""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from halfseen.engine.tables.lane_source import LaneSource
from halfseen.runners.local import LocalCluster


class Shuffled(LocalCluster):
    """Answers arrive in a random order."""

    def answers(self, job, first_chunks):
        found = list(super().answers(job, first_chunks))
        return iter([found[i] for i in np.random.default_rng().permutation(len(found))])


def fitted(model, frame, **given):
    """Fit to a frame in any form, with its columns of weights and labels."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return clone(model).fit(frame, **given)


def partitions(frame):
    """Return the partitions of a Dask frame as data frames of this process."""
    return [part.compute(scheduler="sync") for part in frame.partitions]


def lanes(frame, weight=None, target=None, cluster=LocalCluster, n_jobs=None):
    """Return the same partitions as a source in this process."""
    return LaneSource(cluster(partitions(frame), n_jobs), weight, target)


def spark_partitions(frame):
    """Return the partitions of a Spark frame as pandas frames."""
    from pyspark.sql.functions import spark_partition_id

    rows = frame.withColumn("part", spark_partition_id()).toPandas()
    return [part.drop(columns="part") for _, part in rows.groupby("part")]
