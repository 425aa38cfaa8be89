"""A job on Spark Connect: fits to three partitions of a table in a folder, and writes the model and its predictions there.

Run in a process of its own: one process has either classic Spark or Spark Connect.
"""

import sys
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.functions import spark_partition_id

import halfseen as hs

folder = Path(sys.argv[1])
session = (
    SparkSession.builder.remote("local[1,4]")
    .config("spark.local.dir", str(folder))
    .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    .getOrCreate()
)
frame = session.read.parquet(str(folder / "rows.parquet")).repartition(3)
model = hs.LatentClass(2, n_init=1, random_state=0, max_iter=2).fit(frame, sample_weight="weight")
answers = model.score_samples(model.predict(frame)).withColumn("part", spark_partition_id())
pq.write_table(answers.toArrow(), folder / "predicted.parquet")
hs.save(model, folder / "connect.halfseen")
session.stop()
