"""A Dask cluster of processes on this machine, with one worker and with two; a session of Spark."""

import sys

import pytest

collect_ignore_glob = ["*_job.py"]  # tests run them, in processes of their own


@pytest.fixture(scope="session", params=[1, 2], ids=["1 worker", "2 workers"])
def client(request):
    distributed = pytest.importorskip("distributed", reason="needs distributed")
    with (
        distributed.LocalCluster(
            n_workers=request.param, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="session")
def session(folder):
    sql = pytest.importorskip("pyspark.sql", reason="needs pyspark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.delenv("SPARK_LOCAL_DIRS", raising=False)
        session = (
            sql.SparkSession.builder.master("local[2,4]")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # quick to start
            .config("spark.sql.codegen.wholeStage", "false")
            .config("spark.local.dir", str(folder))
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
            .getOrCreate()
        )
        yield session
        session.stop()
