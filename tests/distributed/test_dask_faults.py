"""Workers and drivers that are killed while they work: same bits, and nothing is left behind.

A worker is killed at the moment when it begins a task: the first that encodes a partition, or one in the middle of a
pass. The scheduler gives its tasks to another, which encodes the lost lanes again.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import halfseen as hs
from halfseen.leaves.leaf import arrays
from tests.distributed.clusters import fitted, lanes

dd = pytest.importorskip("dask.dataframe", reason="needs dask")
distributed = pytest.importorskip("distributed", reason="needs distributed")

pytestmark = pytest.mark.thorough

CLASSES = hs.LatentClass(3, n_init=2, max_iter=20, tol=1e-4, random_state=0)


def table(n_rows=2000):
    rng = np.random.default_rng(0)
    z = rng.integers(0, 3, n_rows)
    df = pd.DataFrame({"size": rng.normal(2.0 * z, 1.0), "color": np.array(["r", "g", "b"])[z]})
    return df.mask(rng.random(df.shape) < 0.2)


DATA = table()


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster


class Killer(distributed.WorkerPlugin):
    """Kills its worker when it begins the n-th task of a name, once in all."""

    name = "killer"
    idempotent = False

    def __init__(self, task, at, mark):
        self.task, self.at, self.mark = task, at, mark
        self.seen = 0

    def setup(self, worker):
        self.worker = worker

    def transition(self, key, start, finish, **_):
        if finish != "executing" or not str(key).startswith(self.task) or os.path.exists(self.mark):
            return
        self.seen += 1
        if self.seen == self.at:
            with open(self.mark, "x"):
                pass
            os.kill(os.getpid(), signal.SIGKILL)


def same_bits(one, other):
    assert one.trace_ == other.trace_
    if isinstance(one, hs.KMeans):
        assert_array_equal(one.cluster_centers_, other.cluster_centers_)
        return
    for own, its in zip(arrays(one._params), arrays(other._params), strict=True):
        assert_array_equal(own, its)


ENCODING, PASS = ("lane", 1), ("_answers", 2)

CASES = {
    "classes, while encoding": (CLASSES, ["size", "color"], ENCODING),
    "classes, in a pass": (CLASSES, ["size", "color"], PASS),
    "clusters, in a pass": (hs.KMeans(3, init=[[0.0], [1.0], [2.0]], tol=0.0), ["size"], PASS),
    "network, in a pass": (
        hs.BayesNet("C -> color", hidden={"C": 2}, n_init=2, max_iter=9, random_state=0),
        ["color"],
        PASS,
    ),
}


@pytest.mark.parametrize(("model", "columns", "when"), CASES.values(), ids=list(CASES))
def test_a_worker_that_is_killed_changes_no_bit(cluster, tmp_path, model, columns, when):
    frame = dd.from_pandas(DATA[columns], npartitions=4)
    mark = tmp_path / "killed"
    with distributed.Client(cluster) as client:
        client.register_plugin(Killer(*when, str(mark)))
        try:
            found = fitted(model, frame)
        finally:
            client.unregister_worker_plugin("killer")
        assert mark.exists()
        del frame
        assert kept(client) == 0
    same_bits(found, fitted(model, lanes(dd.from_pandas(DATA[columns], npartitions=4))))


def kept(client):
    """Return how many results the scheduler still keeps, once it had time to drop what nobody asks for."""
    for _ in range(100):
        found = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
        if not found:
            break
        time.sleep(0.1)
    return found


DRIVER = """
import os, signal, sys
import dask.dataframe as dd
import distributed
import halfseen as hs
from halfseen.engine.services import checkpoint
from halfseen.engine.services.progress import watching
from tests.distributed.test_dask_faults import CLASSES, DATA

address, path = sys.argv[1:]
passes = []

def kill(*_):
    passes.append(1)
    if len(passes) == 6:
        os.kill(os.getpid(), signal.SIGKILL)

checkpoint.FLUSH_AFTER = 0.0
with distributed.Client(address), hs.checkpoint(path), watching(kill):
    CLASSES.fit(dd.from_pandas(DATA, npartitions=4))
"""


def test_a_driver_that_is_killed_resumes_from_its_checkpoint(cluster, tmp_path):
    path = tmp_path / "fit.ckpt"
    command = [sys.executable, "-c", DRIVER, cluster.scheduler_address, str(path)]
    done = subprocess.run(command, timeout=120, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert path.stat().st_size > 1000  # the passes that it made
    with distributed.Client(cluster) as client:
        assert kept(client) == 0  # of the driver that is no more
        with hs.checkpoint(path):
            found = fitted(CLASSES, dd.from_pandas(DATA, npartitions=4))
        assert kept(client) == 0
    same_bits(found, fitted(CLASSES, lanes(dd.from_pandas(DATA, npartitions=4))))
    assert list(tmp_path.iterdir()) == []
