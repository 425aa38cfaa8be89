"""What holds for every test and every docstring example: seeds, Ctrl-C, and figures, which are closed.

A shell starts what it runs in the background with SIGINT ignored, and every process inherits that. Tests send SIGINT to
themselves and to processes they start, so Python's own handler is put back before each test: Spark, too, takes the
signal over as soon as a session of it begins, and does not give it back.

Code that is given no seed takes one from the system, another one in every run. Here it takes the next of a fixed
sequence instead, which begins anew with each test: a test gives the same result in every run and in any order.
``HALFSEEN_ENTROPY=7`` begins another such sequence: for finding tests that should name a seed.
"""

import os
import signal
import sys

import numpy as np
import pytest

ENTROPY = int(os.environ.get("HALFSEEN_ENTROPY", "0"))
SYSTEM, default_rng = np.random.SeedSequence, np.random.default_rng

collect_ignore_glob = ["src/halfseen/spark/*"]  # no examples; importing it needs pyspark


class Seeds(SYSTEM):
    """A seed; without a number, the next of a fixed sequence."""

    source = default_rng(ENTROPY)

    def __init__(self, entropy=None, **options):
        super().__init__(int.from_bytes(self.source.bytes(16), "little") if entropy is None else entropy, **options)


def pytest_configure():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    np.random.SeedSequence = Seeds
    np.random.default_rng = lambda seed=None: default_rng(Seeds() if seed is None else seed)


def pytest_unconfigure():
    np.random.SeedSequence, np.random.default_rng = SYSTEM, default_rng


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Seeds.source = default_rng(ENTROPY)
    np.random.seed(ENTROPY)  # noqa: NPY002 - scikit-learn draws from it where it is given no seed


def pytest_runtest_teardown():
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
