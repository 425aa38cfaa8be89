"""A job on Spark Connect: fits to partitions of a table and of sequences; writes models and predictions to a folder.

Run in a process of its own: one process has either classic Spark or Spark Connect.
"""

import sys
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.ml import Pipeline, PipelineModel
from pyspark.sql import SparkSession
from pyspark.sql.functions import spark_partition_id

import halfseen as hs
from halfseen.spark import LatentClass

folder = Path(sys.argv[1])
session = (
    SparkSession.builder.remote("local[1,4]")
    .config("spark.local.dir", str(folder))
    .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
    .getOrCreate()
)
session.range(0, 2, 1, 2).count()
(folder / "up").touch()  # the server works: what fails from here on is a fault, not a server that did not come up
frame = session.read.parquet(str(folder / "rows.parquet")).repartition(3)
model = hs.LatentClass(2, n_init=1, random_state=0, max_iter=2).fit(frame, sample_weight="weight")
answers = model.score_samples(model.predict(frame)).withColumn("part", spark_partition_id())
pq.write_table(answers.toArrow(), folder / "predicted.parquet")
hs.save(model, folder / "model.halfseen")

stage = LatentClass(n_components=2, n_init=1, random_state=0, max_iter=2, weightCol="weight", probabilityCol="")
Pipeline(stages=[stage]).fit(frame).save(str(folder / "pipeline"))
answers = PipelineModel.load(str(folder / "pipeline")).transform(frame)
pq.write_table(answers.toArrow(), folder / "pipeline.parquet")

steps = session.read.parquet(str(folder / "steps.parquet")).repartition(2, "person")
model = hs.HMM(2, n_init=1, random_state=0, max_iter=2).fit(steps, groups="person", time="day")
answers = model.predict(steps).withColumn("part", spark_partition_id())
pq.write_table(answers.toArrow(), folder / "states.parquet")
hs.save(model, folder / "chain.halfseen")
session.stop()
