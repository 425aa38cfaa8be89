"""A Dask cluster of processes on this machine, with one worker and with two."""

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
