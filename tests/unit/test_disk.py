"""A full disk: an error in words, never a signal; nothing half-written, nothing left behind, old files intact."""

import errno
import os
import pickle
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import halfseen as hs
from halfseen import disk, locks
from halfseen.data import open_table
from halfseen.data.duckdb_reader import arrow_tables, connected
from halfseen.data.spill import scratch
from halfseen.data.write import TableWriter, write_table
from halfseen.errors import DiskError, DiskFullError
from halfseen.temporary import LOCK, TemporaryFolder, clear_dead
from halfseen.whole_file import whole_file

ROWS = [["a", 1]] * 5 + [["b", 0]] * 4
KB, MB = 1 << 10, 1 << 20


@pytest.fixture
def small_disk(tmp_path):
    """Make a disk of so many bytes, where this user may mount one."""
    mounted = []

    def made(size, name="disk"):
        folder = tmp_path / name
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("a small disk can be mounted by root on Linux only")
        mounted.append(folder)
        return folder

    yield made
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def filled(folder, leave=0):
    """Fill a disk up to `leave` bytes."""
    free = shutil.disk_usage(folder).free
    (folder / "filler").write_bytes(bytes(free - leave))
    return folder


def used_for_temporaries(monkeypatch, folder):
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


def left(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "filler")


def fitted():
    return hs.LatentClass(2, random_state=0, tol=0, max_iter=40).fit(ROWS)


# ---- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_the_error_names_folder_space_and_remedy(tmp_path, number):
    with (
        pytest.raises(DiskFullError, match=r"needs 3\.0 MB; .* is free\. Free some space, or go") as caught,
        disk.enough_space(tmp_path, lambda: "it needs 3.0 MB", "go elsewhere"),
    ):
        raise OSError(number, "no")
    assert str(tmp_path) in str(caught.value)
    assert isinstance(caught.value, OSError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.errno) == (str(caught.value), errno.ENOSPC)


def test_a_faulty_disk_is_named_too(tmp_path):
    with (
        pytest.raises(DiskError, match=r"cannot be written: no\. Check the disk, or go elsewhere") as caught,
        disk.enough_space(tmp_path, str, "go elsewhere"),
    ):
        raise OSError(errno.EIO, "no")
    assert str(tmp_path) in str(caught.value)
    assert not isinstance(caught.value, DiskFullError)


def test_other_errors_of_the_system_stay(tmp_path):
    with pytest.raises(PermissionError), disk.enough_space(tmp_path, str):
        raise PermissionError(errno.EACCES, "no")


@pytest.mark.parametrize("supported", [True, False, None], ids=["reserved", "refused", "unknown"])
def test_reserved_space_is_zeros(tmp_path, monkeypatch, supported):
    """Also where a file system or a platform cannot reserve."""
    if supported is False:

        def refused(*_):
            raise OSError(errno.EOPNOTSUPP, "no")

        monkeypatch.setattr(os, "posix_fallocate", refused, raising=False)
    elif supported is None:
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    monkeypatch.setattr(disk, "ZEROS", 1000)
    with open(tmp_path / "f", "w+b") as file:
        disk.reserve(file.fileno(), 12_345)
    assert (tmp_path / "f").read_bytes() == bytes(12_345)


# ---- every write fails, one at a time --------------------------------------------------------------------------------


def failing(monkeypatch, name, at):
    """Let the call with this number to a function of `os` find the disk full."""
    calls, real = iter(range(10**9)), getattr(os, name)

    def call(*arguments):
        if next(calls) == at:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments)

    monkeypatch.setattr(os, name, call)


@pytest.mark.parametrize("name", ["fsync", "replace"])
@pytest.mark.parametrize("written", ["model", "csv", "parquet", "report"])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, name, written):
    model, target = fitted(), tmp_path / "target"
    target = target.with_suffix({"model": ".halfseen", "report": ".html"}.get(written, f".{written}"))
    write = {"model": lambda: hs.save(model, target), "report": lambda: hs.report(model, ROWS, target)}.get(
        written, lambda: write_table(pd.DataFrame({"a": [1, 2]}), target)
    )
    target.write_bytes(b"old")
    failing(monkeypatch, name, 0)
    with pytest.raises(DiskFullError, match="target"):
        write()
    assert left(tmp_path) == [target.name]
    assert target.read_bytes() == b"old"


@pytest.mark.skipif(os.name == "nt", reason="no limits of files on Windows")
@pytest.mark.thorough
def test_a_limit_on_the_size_of_files_is_no_crash(tmp_path):
    code = (
        "import resource, halfseen as hs\n"
        f"model = hs.LatentClass(2, random_state=0).fit({ROWS})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        f"try: hs.save(model, {str(tmp_path / 'm.halfseen')!r})\n"
        "except hs.errors.DiskFullError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "larger than is allowed" in done.stdout, done.stderr
    assert not list(tmp_path.iterdir())


# ---- a disk that is full ---------------------------------------------------------------------------------------------


def test_a_model_that_does_not_fit(small_disk):
    folder = small_disk(MB)
    model, target = fitted(), folder / "m.halfseen"
    hs.save(model, target)
    before = target.read_bytes()
    filled(folder)
    with pytest.raises(DiskFullError, match=r"m\.halfseen needs more than .* 0 bytes is free"):
        hs.save(model, target)
    assert target.read_bytes() == before
    assert left(folder) == ["m.halfseen"]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_a_table_that_does_not_fit(small_disk, suffix):
    folder = small_disk(64 * KB)
    target = folder / f"t.{suffix}"
    part = {"x": np.random.default_rng(0).random(100_000)}
    with pytest.raises(DiskFullError, match=rf"t\.{suffix} needs more than"), TableWriter(target) as out:
        out.append(part)
    assert left(folder) == []


def test_a_scratch_array_that_does_not_fit(small_disk, monkeypatch):
    used_for_temporaries(monkeypatch, small_disk(MB))
    with pytest.raises(DiskFullError, match=r"disk: the disk is full: .* need 8\.0 MB more; .*set TMPDIR"):
        scratch((1000, 1000), np.float64)
    scratch((1000, 100), np.float64)[:] = 1.0


def test_no_room_for_a_first_line_of_a_checkpoint(small_disk):
    folder = filled(small_disk(MB))
    with pytest.raises(DiskFullError, match=r"run\.checkpoint needs"), hs.checkpoint(folder / "run.checkpoint"):
        fitted()
    assert left(folder) == []


def test_a_full_checkpoint_ends_the_fit_and_can_be_resumed(small_disk, monkeypatch):
    folder = small_disk(MB)
    path = folder / "run.checkpoint"
    whole = fitted()
    monkeypatch.setattr("halfseen.engine.services.checkpoint.FLUSH_AFTER", -1.0)
    monkeypatch.setattr("halfseen.engine.services.checkpoint.BUFFER", 512)
    filled(folder, leave=4 * KB)
    with pytest.raises(DiskFullError, match=r"run\.checkpoint needs .* can be resumed"), hs.checkpoint(path):
        fitted()
    assert left(folder) == ["run.checkpoint"]
    (folder / "filler").unlink()
    with hs.checkpoint(path) as record:
        again = fitted()
    assert record.n_replayed > 0
    assert again.trace_ == whole.trace_
    assert left(folder) == []


def test_no_room_for_what_duckdb_spills(small_disk, monkeypatch):
    folder = small_disk(2 * MB)
    used_for_temporaries(monkeypatch, folder)
    query = "SELECT md5(i::VARCHAR) AS a FROM range(2000000) t(i) ORDER BY a"
    with (
        pytest.raises(DiskFullError, match=r"disk: the disk is full: DuckDB's .* need more than .* set TMPDIR"),
        connected(None, 1, "t") as connection,
    ):
        list(arrow_tables(connection, query, 1000))
    assert left(folder) == []


def test_no_room_for_a_copy_of_standard_input(small_disk, monkeypatch):
    import io

    folder = small_disk(256 * KB)
    used_for_temporaries(monkeypatch, folder)
    with pytest.raises(DiskFullError, match=r"disk: the disk is full: a copy of .* needs more than .*TMPDIR"):
        open_table(io.BytesIO(b"a,b\n" + b"1,2\n" * 200_000))
    assert left(folder) == []


# ---- the command line ------------------------------------------------------------------------------------------------


def command(*arguments, **environment):
    line = [sys.executable, "-m", "halfseen", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, env={**os.environ, **environment})


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    path = tmp_path_factory.mktemp("numbers") / "numbers.parquet"
    pd.DataFrame(np.random.default_rng(0).normal(size=(200_000, 4)), columns=list("abcd")).to_parquet(path)
    return path


@pytest.mark.thorough
def test_a_fit_with_a_full_temporary_folder(small_disk, numbers, tmp_path):
    """A memory map of a sparse file ended here with SIGBUS and without a word."""
    folder, out = small_disk(4 * MB), tmp_path / "m.halfseen"
    done = command("fit", numbers, "-k", 2, "--memory", "2MB", "-o", out, TMPDIR=str(folder))
    assert done.returncode == 1, done
    assert re.search(re.escape(str(folder)) + r": the disk is full: temporary files need \d\.\d MB more", done.stderr)
    assert "set TMPDIR" in done.stderr
    assert left(folder) == []
    assert left(tmp_path) == ["disk"]


@pytest.mark.thorough
def test_a_fit_with_a_full_output_folder(small_disk, tmp_path):
    folder = small_disk(MB)
    out = folder / "m.halfseen"
    out.write_bytes(b"old")
    filled(folder)
    done = command("fit", "example:votes", "-k", 2, "-o", out, "--report", folder / "r.html")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{folder}: the disk is full: m.halfseen" in done.stderr
    assert left(folder) == ["m.halfseen"]
    assert out.read_bytes() == b"old"


@pytest.mark.thorough
def test_no_room_for_what_sqlite_sorts(small_disk, tmp_path):
    path, folder = tmp_path / "t.sqlite", small_disk(64 * KB)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (a, b)")
        rows = ((f"{j * 7919 % 100_003:0400}", j % 3) for j in range(40_000))
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    sql = "SELECT DISTINCT a, b FROM t ORDER BY a"
    done = command("fit", path, "--sql", sql, "-k", 2, SQLITE_TMPDIR=str(folder))
    assert done.returncode == 1, done
    assert f"{folder}: the disk is full: SQLite" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a device that is always full")
@pytest.mark.parametrize("verb", ["info", "sample"])
@pytest.mark.thorough
def test_a_full_standard_output(tmp_path, verb):
    out = tmp_path / "m.halfseen"
    hs.save(fitted(), out)
    with open("/dev/full", "w") as full:
        line = [sys.executable, "-m", "halfseen", verb, str(out)]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert "standard output" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


# ---- temporary folders -----------------------------------------------------------------------------------------------


def of_dead_process(parent):
    """Leave the folder of a process that was killed."""
    code = (
        "import os, signal\nfrom halfseen.temporary import TemporaryFolder\n"
        "folder = TemporaryFolder()\nopen(folder.name + '/data', 'w').close()\nprint(folder.name, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL if hasattr(signal, 'SIGKILL') else signal.SIGTERM)"
    )
    environment = {**os.environ, "TMPDIR": str(parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode < 0, done.stderr
    return Path(done.stdout.strip())


def test_folders_of_dead_processes_are_removed_and_no_others(tmp_path, monkeypatch):
    used_for_temporaries(monkeypatch, tmp_path)
    dead = of_dead_process(tmp_path)
    assert (dead / "data").exists()
    used = TemporaryFolder()
    strangers = tmp_path / "halfseen-notes", tmp_path / "halfseen-linked", tmp_path / "halfseen-file"
    (strangers[0] / "deep").mkdir(parents=True)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / LOCK).touch()  # reached by a link alone
    strangers[1].symlink_to(precious)
    strangers[2].touch()
    linked_lock = tmp_path / "halfseen-with-a-link"
    linked_lock.mkdir()
    (linked_lock / LOCK).symlink_to(precious / LOCK)
    clear_dead(str(tmp_path))
    assert not dead.exists()
    assert os.path.exists(used.name)
    assert all(path.exists() for path in (*strangers, precious / LOCK, linked_lock))
    name = used.name
    used.remove()
    assert not os.path.exists(name)


def test_the_next_run_removes_what_a_killed_one_left(tmp_path):
    dead = of_dead_process(tmp_path)
    done = command("fit", "example:votes", "-k", 1, TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert not dead.exists()
    assert left(tmp_path) == []


def test_unfinished_files_of_dead_processes_are_removed_and_no_others(tmp_path, monkeypatch):
    code = (
        "import os, sys, signal\nfrom halfseen.whole_file import whole_file\n"
        "with whole_file(sys.argv[1]) as file:\n"
        "    file.write(b'part')\n    file.flush()\n    os.kill(os.getpid(), signal.SIGTERM)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], check=False)
    assert len(left(tmp_path)) == 1
    stranger = tmp_path / ".halfseen-notes.txt"
    stranger.touch()
    with whole_file(tmp_path / "one") as file:
        assert len(left(tmp_path)) == 2  # the one of the dead process is gone
        monkeypatch.setattr("halfseen.whole_file._cleared", set())
        with whole_file(tmp_path / "two"):
            pass
        file.write(b"whole")  # and that of a living one is not taken for dead
    assert left(tmp_path) == [".halfseen-notes.txt", "one", "two"]
    assert (tmp_path / "one").read_bytes() == b"whole"


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users")
def test_folders_of_other_users_are_left_alone(tmp_path, monkeypatch):
    dead = of_dead_process(tmp_path)
    monkeypatch.setattr(os, "getuid", lambda: -5)
    clear_dead(str(tmp_path))
    assert dead.exists()


@pytest.mark.parametrize("made", ["folder", "file"])
def test_what_another_process_locks_first_is_made_again(tmp_path, monkeypatch, made):
    """It may find a folder or file before its owner has locked it, and takes it for that of a dead process."""
    used_for_temporaries(monkeypatch, tmp_path)
    answers, real = iter([False]), locks.take
    monkeypatch.setattr(locks, "take", lambda descriptor: next(answers, None) is None and real(descriptor))
    with whole_file(tmp_path / "out") if made == "file" else TemporaryFolder():
        assert len(left(tmp_path)) == 1
    assert left(tmp_path) == (["out"] if made == "file" else [])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_does_not_remove_the_folder(tmp_path, monkeypatch):
    used_for_temporaries(monkeypatch, tmp_path)
    with TemporaryFolder() as name:
        code = 0
        child = os.fork()
        if not child:
            try:
                import gc
                import weakref

                weakref.finalize._exitfunc()
                gc.collect()
            finally:
                os._exit(code)
        os.waitpid(child, 0)
        assert os.path.exists(name)


def test_a_folder_where_there_are_no_locks(tmp_path, monkeypatch):
    """It works, and is never taken for that of a dead process."""
    used_for_temporaries(monkeypatch, tmp_path)

    def refused(descriptor):
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr("halfseen.locks._lock", refused)
    with TemporaryFolder() as name:
        clear_dead(str(tmp_path))
        assert os.path.exists(name)
    assert not os.path.exists(name)
