"""A job on two executors, one of which is killed in a pass: fits to three partitions, and writes the model."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.functions import spark_partition_id

import halfseen as hs
from halfseen.runners.spark import SparkCluster

folder = Path(sys.argv[1])
session = (
    SparkSession.builder.master("local-cluster[2,1,700]")
    .config("spark.executor.memory", "600m")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.local.dir", str(folder))
    .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    .getOrCreate()
)
session.range(0, 2, 1, 2).count()
(folder / "up").touch()  # executors work: what fails from here on is a fault, not a cluster that did not come up


def executors():
    """Return the numbers of the processes of the executors, which this one started."""
    listed = subprocess.run(["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [
        (int(pid), int(parent), args) for pid, parent, args in (row.split(None, 2) for row in listed.splitlines()[1:])
    ]
    own = {os.getpid()}
    for _ in range(5):  # generations
        own |= {pid for pid, parent, _ in rows if parent in own}
    return [
        pid for pid, _, args in rows if pid in own and "CoarseGrainedExecutorBackend" in args and "java" in args[:99]
    ]


passes, asked = [], SparkCluster.answers


def answers(self, job, first_chunks):
    """Kill an executor before the fifth pass."""
    passes.append(1)
    if len(passes) == 5:
        os.kill(executors()[0], signal.SIGKILL)
        (folder / "killed").touch()
    return asked(self, job, first_chunks)


SparkCluster.answers = answers
frame = session.read.parquet(str(folder / "rows.parquet")).repartition(3)
model = hs.LatentClass(2, n_init=1, random_state=0, max_iter=2).fit(frame, sample_weight="weight")
pq.write_table(frame.withColumn("part", spark_partition_id()).toArrow(), folder / "predicted.parquet")
hs.save(model, folder / "model.halfseen")
session.stop()
