"""A Dask cluster of processes on this machine, with one worker and with two."""

import pytest

collect_ignore = ["connect_job.py"]  # a test runs it, in a process of its own


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
