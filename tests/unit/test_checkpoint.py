"""Checkpoints: a fit that was cut off anywhere goes on to the identical result; other files are refused."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import halfseen as hs
from halfseen.engine.services import checkpoint as checkpoints
from halfseen.engine.services.progress import watching
from halfseen.errors import CheckpointError, InterruptedWarning

RNG = np.random.default_rng(0)
ROWS = np.column_stack([RNG.integers(0, 3, size=(150, 3)), RNG.normal(size=150)])
ROWS[RNG.random(ROWS.shape) < 0.1] = np.nan
LABELS = np.where(RNG.random(150) < 0.4, RNG.integers(0, 2, size=150), -1)
QUICK = {"n_init": 5, "max_iter": 30, "random_state": 0}
WALK = np.column_stack([np.repeat(RNG.normal(0, 2, 15), 10) + RNG.normal(size=150), RNG.integers(0, 3, 150)])
WALK[RNG.random(WALK.shape) < 0.1] = np.nan
CUTS = [60, 50, 40]
PARTLY = [int(label) if i % 4 == 0 and label >= 0 else None for i, label in enumerate(LABELS)]


def states(n_components=3, lengths=CUTS, labels=None, **how):
    model = hs.HMM(n_components, "auto", **{"prior": 0.5, **QUICK, **how})
    return model.fit(WALK, lengths=lengths, labels=labels)


FITS = {
    "soft": lambda: hs.LatentClass(3, **QUICK).fit(ROWS),
    "hard": lambda: hs.LatentClass(3, assign="hard", **QUICK).fit(ROWS),
    "sample": lambda: hs.LatentClass(3, assign="sample", draws=2, **QUICK).fit(ROWS),
    "annealed": lambda: hs.LatentClass(3, anneal=(0.5, 0.8), **QUICK).fit(ROWS),
    "lbfgs": lambda: hs.LatentClass(3, method="lbfgs", **QUICK).fit(ROWS),
    "gradient": lambda: hs.LatentClass(3, method="gradient", **QUICK).fit(ROWS),
    "range": lambda: hs.LatentClass(range(1, 4), **QUICK).fit(ROWS),
    "labels": lambda: hs.LatentClass(2, **QUICK).fit(ROWS, labels=LABELS),
    "guarded": lambda: hs.NaiveBayes(components_per_class=2, **QUICK).fit(ROWS, LABELS),
    "states": states,
    "states hard": lambda: states(assign="hard"),
    "states drawn": lambda: states(assign="sample", draws=2),
    "states in order": lambda: states(transitions="left-right", min_dwell=2, n_mix=2),
    "states range": lambda: states(range(1, 4)),
    "states labels": lambda: states(2, labels=PARTLY),
}


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.checkpoint"


def same(one, other):
    """Whether two fitted models are the same to the last bit, and came about in the same way."""
    assert one.trace_ == other.trace_
    assert one.restarts_ == other.restarts_
    assert (one.n_iter_, one.stop_reason_, one.loglik_) == (other.n_iter_, other.stop_reason_, other.loglik_)
    assert_array_equal(one._model.pack(one._params), other._model.pack(other._params))
    assert_array_equal(one._stats, other._stats)
    return True


def kill(path, fit, n_passes):
    """Run a fit in a checkpoint until so many passes were made."""
    left = n_passes

    def count(progress):
        nonlocal left
        left -= 1
        if not left:
            raise Killed

    with pytest.raises(Killed), hs.checkpoint(path), watching(count):
        fit()


def leave(path, run):
    """Run in a checkpoint and end the block badly: return the result, and the record, whose file stays."""
    try:
        with hs.checkpoint(path) as record:
            result = run()
            raise Killed
    except Killed:
        return result, record


@pytest.mark.parametrize("name", FITS)
def test_a_killed_fit_goes_on_to_the_same_bits(name, path):
    whole = FITS[name]()
    kill(path, FITS[name], 2)
    kill(path, FITS[name], 5)
    with hs.checkpoint(path) as record:
        resumed = FITS[name]()
    assert same(whole, resumed)
    assert record.n_replayed >= 5
    assert record.n_recorded > 0
    assert not path.exists()


def test_recording_changes_nothing(path):
    whole = FITS["soft"]()
    with hs.checkpoint(path) as record:
        assert same(whole, FITS["soft"]())
    assert record.n_replayed == 0
    assert record.n_recorded > whole.n_iter_


@pytest.mark.thorough
def test_several_fits_in_a_row(path):
    fits = [FITS["soft"], FITS["guarded"], FITS["hard"]]
    whole = [fit() for fit in fits]
    leave(path, lambda: [fit() for fit in fits])
    with hs.checkpoint(path) as record:
        assert all(same(one, fit()) for one, fit in zip(whole, fits, strict=True))
    assert record.n_recorded == 0


def test_a_complete_record_needs_no_pass(path, monkeypatch):
    whole, _ = leave(path, FITS["soft"])
    monkeypatch.setattr(import_module("halfseen.engine.loop.em"), "_pass", None)
    with hs.checkpoint(path):
        assert same(whole, FITS["soft"]())


@pytest.mark.parametrize("kind", [hs.LatentClass, hs.HMM])
@pytest.mark.parametrize("seed", [None, "generator"])
def test_a_drawn_seed_is_found_again(seed, kind, path):
    def fit():
        return kind(3, n_init=4, max_iter=50, random_state=seed and np.random.default_rng()).fit(ROWS)

    whole, _ = leave(path, fit)
    with hs.checkpoint(path) as record:
        assert same(whole, fit())
    assert record.n_recorded == 0


def test_the_posterior_goes_on_too(path):
    model = hs.LatentClass(2, random_state=0).fit(ROWS)

    def draws():
        return hs.posterior(model, ROWS, n_draws=20, burn_in=5, min_ess=0).draws["weights"]

    whole, _ = leave(path, draws)
    with hs.checkpoint(path) as record:
        assert_array_equal(draws(), whole)
    assert record.n_recorded == 0


# ----------------------------------------------------------------------------------------------- damage and other files


@pytest.fixture
def written(path):
    """A record of 25 passes, as bytes."""
    kill(path, FITS["range"], 25)
    return path.read_bytes()


@pytest.mark.thorough
def test_cut_anywhere_it_still_goes_on(written, path):
    whole = FITS["range"]()
    first = written.index(b"\n") + 1
    places = [0, 1, first - 1, first, *np.random.default_rng(1).integers(first, len(written), size=25).tolist()]
    for place in places:
        path.write_bytes(written[:place])
        with hs.checkpoint(path):
            assert same(whole, FITS["range"]())


def test_a_damaged_end_is_dropped(written, path):
    whole, intact = leave(path, FITS["range"])
    damaged = bytearray(written)
    damaged[-5] ^= 1
    path.write_bytes(damaged)
    with hs.checkpoint(path) as record:
        assert same(whole, FITS["range"]())
    assert record.n_replayed == intact.n_replayed - 1


def test_damage_in_the_middle_is_an_error(written, path):
    first = written.index(b"\n") + 1
    last = written.rindex(checkpoints.MARK)
    for place in np.random.default_rng(2).integers(first, last, size=40).tolist():
        damaged = bytearray(written)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        with (
            pytest.raises(CheckpointError, match=r"run\.checkpoint: .*damaged at byte \d+.*Delete it"),
            hs.checkpoint(path),
        ):
            pass
        assert path.read_bytes() == damaged


ONE = hs.LatentClass.from_params([1], {"x": {"mean": [0], "sd": [1]}})  # its posterior is exact: it has no seed


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: hs.LatentClass(range(1, 4), n_init=5, max_iter=30, random_state=1).fit(ROWS), "seed is 0, not 1"),
        (lambda: hs.LatentClass(range(1, 4), **QUICK).fit(ROWS[:-1]), "data are others"),
        (lambda: hs.LatentClass(range(2, 4), **QUICK).fit(ROWS), "data are others, or another number"),
        (
            lambda: hs.LatentClass(range(1, 4), **{**QUICK, "n_init": 6}).fit(ROWS),
            r"pass \d+ was about other parameters",
        ),
        (lambda: hs.LatentClass(range(1, 4), assign="hard", **QUICK).fit(ROWS), "pass 1 was about other"),
        (lambda: hs.posterior(ONE, [[1.0], [2.0], [4.0], [5.0]]), "another order"),
    ],
    ids=["seed", "data", "sizes", "starts", "mode", "order"],
)
def test_a_record_of_another_run_is_refused(other, message, written, path):
    with pytest.raises(CheckpointError, match=rf"run\.checkpoint: .*{message}.*delete it"), hs.checkpoint(path):
        other()
    assert path.read_bytes() == written


def test_the_same_steps_cut_otherwise_are_other_data(path):
    kill(path, FITS["states"], 5)
    with pytest.raises(CheckpointError, match="its data are others"), hs.checkpoint(path):
        states(lengths=[70, 50, 30])


@pytest.mark.parametrize("content", [b"my thesis\n", b"[1, 2]\n", b"\x80\x04.", b'{"format": "other"}\n', b"\n"])
def test_other_files_are_left_alone(content, path):
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"run\.checkpoint: this is not a checkpoint"), hs.checkpoint(path):
        pass
    assert path.read_bytes() == content


def test_another_version_is_named(written, path):
    header, rest = written.split(b"\n", 1)
    path.write_bytes(json.dumps(json.loads(header) | {"halfseen": "9.9"}).encode() + b"\n" + rest)
    with pytest.raises(CheckpointError, match=r"halfseen '9\.9', here"), hs.checkpoint(path):
        pass


def test_a_path_that_cannot_be_written(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere" / "run"):
        with pytest.raises(CheckpointError, match="cannot be opened for writing"), hs.checkpoint(path):
            pass


# -------------------------------------------------------------------------------------------------------- interruptions


def test_an_interrupted_fit_leaves_the_file(path):
    whole = FITS["soft"]()

    def enough(progress):
        if progress.n_passes == 8:
            raise KeyboardInterrupt

    with hs.checkpoint(path), watching(enough):
        with pytest.warns(InterruptedWarning):
            assert FITS["soft"]().stop_reason_ == "interrupted"
        FITS["labels"]()  # what comes after is no part of the record
    assert path.exists()
    with hs.checkpoint(path) as record:
        assert same(whole, FITS["soft"]())
    assert record.n_replayed >= 8


SLOW = """
import sys, warnings
import numpy as np
import halfseen as hs
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = np.column_stack([rng.integers(0, 4, size=(3000, 5)), rng.normal(size=(3000, 2))])
def fit():
    model = hs.LatentClass(4, n_init=4, stop="iterations", max_iter=600, accelerate=False, random_state=3)
    return model.fit(X)
"""


@pytest.mark.thorough
def test_a_process_killed_outright_goes_on(path):
    """SIGKILL gives no chance to tidy up."""
    at_once = (
        "from halfseen.engine.services import checkpoint\ncheckpoint.FLUSH_AFTER = -1.0"  # however quick the fit is
    )
    code = f"{SLOW}\n{at_once}\nwith hs.checkpoint({str(path)!r}):\n    fit()\n    import time; time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        while not path.exists() or path.stat().st_size < 10_000:  # some passes are in it
            time.sleep(0.05)
            assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    if os.name == "posix":
        assert process.returncode == -signal.SIGKILL
    namespace = {}
    exec(SLOW, namespace)
    whole = namespace["fit"]()
    with hs.checkpoint(path) as record:
        assert same(whole, namespace["fit"]())
    assert record.n_replayed > 0


def test_a_fit_that_never_began_leaves_nothing(path):
    with pytest.raises(ValueError, match="fewer than"), hs.checkpoint(path):
        hs.LatentClass(9, random_state=0).fit([["a"], ["b"]])
    assert not path.exists()


# ---------------------------------------------------------------------------------------------------------------- locks


def test_a_checkpoint_in_use_is_refused_by_name(path):
    with hs.checkpoint(path):
        FITS["soft"]()
        with pytest.raises(CheckpointError, match="another fit that is still running"), hs.checkpoint(path):
            pass
        assert path.exists()  # whose end was not that of the file
        assert checkpoints.in_use(path)
    assert not path.exists()


def test_a_checkpoint_that_ends_while_another_opens_it(path, monkeypatch):
    """It was opened before it was removed: a new one is made."""
    from halfseen import locks

    real, removed = locks.take, []

    def take(descriptor):
        if not removed:
            removed.append(path.unlink())
        return real(descriptor)

    monkeypatch.setattr(locks, "take", take)
    with hs.checkpoint(path):
        assert path.exists()
        FITS["soft"]()
    assert not path.exists()


def test_a_checkpoint_where_there_are_no_locks(path, monkeypatch):
    def refused(descriptor):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr("halfseen.locks._lock", refused)
    with hs.checkpoint(path) as record:
        FITS["soft"]()
    assert record.n_recorded > 0


def test_an_empty_file_is_a_new_checkpoint(path):
    """As a process that was killed at once leaves it; it does not stay."""
    path.touch()
    with pytest.raises(KeyError), hs.checkpoint(path):
        raise KeyError
    assert not path.exists()
