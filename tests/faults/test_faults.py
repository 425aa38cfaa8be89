"""A small run of every campaign; ``make faults`` runs them in full."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import fits, fuzz, kills, model_files, readers, writes
from tests.faults.campaign import (
    FINE,
    REFUSED,
    ROOT,
    Campaign,
    Failed,
    answer,
    folder,
    limit_memory,
    run_campaign,
    run_case,
)

SEEDS = Path(__file__).with_name("seeds")


def check(campaign, subject, numbers=range(3)):
    """Run some cases of a subject in this process."""
    for number in numbers:
        outcome = run_case(campaign, subject, number)
        assert outcome.result in (FINE, REFUSED), outcome.detail


# ---- campaigns -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", fits.TRIALS)
def test_random_fits(subject):
    check(fits.CAMPAIGN, subject)


@pytest.mark.thorough
@pytest.mark.parametrize("subject", model_files.MADE_BY)
def test_damaged_model_files(subject):
    check(model_files.CAMPAIGN, subject)


@pytest.mark.parametrize("subject", readers.READERS)
def test_damaged_files(subject):
    check(readers.CAMPAIGN, subject)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="calls are made to fail through LD_PRELOAD")
def test_failing_writes():
    command = [sys.executable, "-m", "tests.faults", "writes", "save", "checkpoint", "align", "-n", "5"]
    done = subprocess.run([*command, "--workers", "1"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all, in" in done.stdout


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="fits are killed in copies of this process")
def test_killed_fits():
    check(kills.CAMPAIGN, "grammar", [0])


# ---- lists -----------------------------------------------------------------------------------------------------------


def test_every_reader_has_damaged_files():
    """A new reader belongs into `readers.READERS`."""
    covered = {name for reader in readers.READERS.values() for name in reader.covers}
    assert covered | readers.ELSEWHERE == readers.readers_in_the_source()


def test_every_family_is_in_every_campaign():
    from halfseen.families import ESTIMATORS

    assert set(model_files.MADE_BY) == set(ESTIMATORS)
    assert set(model_files.MADE_BY.values()) == set(fits.TRIALS)
    without = {"kmeans", "pronunciation"}  # their fits leave no checkpoint
    assert {name for name in fits.TRIALS if name in kills.FITS} == set(fits.TRIALS) - without


def test_every_target_of_fuzzing_is_a_reader_or_a_part_of_one():
    assert set(fuzz.TARGETS) - set(readers.READERS) == {"csv_head", "model_head", "record"}


SOLVED = sorted(path for path in SEEDS.rglob("*") if path.is_file())


@pytest.mark.parametrize("seed", SOLVED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_fuzzing_found_stays_solved(seed):
    reader = readers.READERS[seed.parent.name]
    path = folder() / reader.name
    path.write_bytes(seed.read_bytes())
    before = limit_memory(1 << 30)
    try:
        answer(lambda: reader.action(path))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


# ---- the campaigns themselves ----------------------------------------------------------------------------------------


def trouble(subject, number):
    """A case that fails in one way or another."""
    import os
    import time

    if subject == "dies" and number == 1:
        os.kill(os.getpid(), 11)
    if subject == "hangs" and number == 1:
        while True:
            time.process_time()
    if subject == "lies" and number == 1:
        raise Failed("a promise is broken: by much")
    if subject == "leaks" and number == 1:
        return str(bytearray(3 << 30))
    return FINE


CAMPAIGN = Campaign("trouble", ("dies", "hangs", "lies", "leaks"), trouble, size=3, seconds=0.2)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_a_case_that_dies_hangs_lies_or_takes_all_memory_is_told():
    tally = run_campaign(CAMPAIGN, CAMPAIGN.subjects, None, n_workers=2)
    assert sorted((failure.subject, failure.number) for failure in tally.failures) == [
        ("dies", 1),
        ("hangs", 1),
        ("leaks", 1),
        ("lies", 1),
    ]
    assert all(counts.total() == 3 and counts[FINE] == 2 for counts in tally.counts.values())
    told = tally.account()
    assert "python -m tests.faults trouble hangs --case 1" in told
    assert "crash: the process ended with -11" in told


def test_an_error_of_another_library_is_no_answer():
    import numpy as np

    assert answer(lambda: fits.hs.LatentClass(0).fit([[1]])) is REFUSED
    with pytest.raises(ValueError, match="zero-size"):
        answer(lambda: np.zeros(0).max())
    assert writes.SCENARIOS  # imported without the library of failing calls
