"""Coverage-guided fuzzing of readers: ``python -m tests.faults.fuzz [TARGET ...] [--seconds 60]``; needs atheris.

    pip install atheris        (Linux, macOS; it is in none of the pinned sets)
    make fuzz ONLY=bif

atheris changes inputs so that they reach new lines of halfseen. An input is a failure if a reader lets out an exception
that is no answer in words, takes too long or too much memory. Failing inputs are kept in ``build/fuzz/TARGET/failed``
(one of each cause) and all that reached something new in ``build/fuzz/TARGET/corpus``, where the next run begins.
A failing input that was fixed goes to ``tests/faults/seeds/READER/``, which the ordinary tests read again.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HOME = ROOT / "build" / "fuzz"
TARGETS = (
    "bif", "xmlbif", "grammar", "trees", "brackets", "corpus", "bitext", "links", "gold", "dictionary", "captions",
    "textgrid", "transcripts", "costs", "wav", "csv_head", "model_head", "record", "checkpoint",
)  # fmt: skip
SECONDS, MEGABYTES, LONGEST = 20, 2048, 4096  # limits of an input: time, memory, bytes


def fuzz(target: str) -> None:
    """Fuzz one target in this process, until the limit of time that libFuzzer was given."""
    import atheris

    # atheris sees no code that comes through the finder of an editable install: import from the folder itself
    sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
    sys.path.insert(0, str(ROOT / "src"))
    with atheris.instrument_imports(include=["halfseen"]):
        action, path, seeds = _target(target)
        from tests.faults.campaign import _cause, in_words, limit_memory, watched_warnings

        for seed in seeds:  # what is imported only when it is used must be imported here
            path.write_bytes(seed)
            with watched_warnings(strict=False):
                action(path)
    failed = HOME / target / "failed"
    corpus = HOME / target / "corpus"
    for each in (failed, corpus):
        each.mkdir(parents=True, exist_ok=True)
    for i, seed in enumerate(seeds):
        (corpus / f"seed{i}").write_bytes(seed)

    limit_memory(MEGABYTES << 20)

    def one_input(data: bytes) -> None:
        path.write_bytes(data)
        try:
            with watched_warnings(strict=True):
                action(path)
        except Exception as error:
            if not in_words(error):
                cause = _cause(error).replace(" ", "_").replace("/", "_")[:120]
                if not (failed / cause).exists():
                    (failed / cause).write_bytes(data)
                    print(f"\nFAILED {target}: {_cause(error)}: {error}", file=sys.stderr, flush=True)

    atheris.Setup([*sys.argv, str(corpus)], one_input)
    atheris.Fuzz()


def _target(target: str) -> tuple[Callable[[Path], Any], Path, list[bytes]]:
    """What is done with an input, the file that it is put into, and inputs to begin with."""
    from tests.faults import model_files, readers
    from tests.faults.campaign import folder

    home = folder()
    if target in readers.READERS:
        reader = readers.READERS[target]
        return reader.action, home / reader.name, [readers._seed(target, i) for i in range(len(reader.seeds))]
    if target == "csv_head":
        return csv_head, home / "a.csv", [readers._seed("csv", i) for i in range(3)]
    files = [model_files.models(name)[0][0] for name in sorted(model_files.MADE_BY)]
    if target == "model_head":
        import halfseen as hs

        return hs.load, home / "a.halfseen", files
    opened = [model_files.opened(content) for content in files]
    seeds = [bytes([i]) + metadata["record"].encode() for i, (metadata, _) in enumerate(opened)]

    def with_record(path: Path) -> None:
        """Load a model file whose record is the input, with a right checksum; the first byte says of which class."""
        import halfseen as hs

        data = path.read_bytes()
        metadata, tensors = opened[data[0] % len(opened)] if data else opened[0]
        record = data[1:].decode("utf-8", "replace")
        path.write_bytes(model_files.written({**metadata, "record": record}, tensors))
        model = hs.load(path)
        model.describe()
        repr(model)

    return with_record, home / "a.halfseen", seeds


def csv_head(path: Path) -> None:
    """Find delimiter, decimal sign and header of a CSV file."""
    from halfseen.data.files import read_dialect

    read_dialect(str(path), str(path), (), None, "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"default: all of {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    given = parser.parse_args()
    unknown = set(given.targets) - set(TARGETS)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}: {', '.join(TARGETS)}")
    limits = [f"-max_total_time={given.seconds}", f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}"]
    n_failed = 0
    print(f"{'fuzz':<16}{'inputs':>12}{'new paths':>12}{'failed':>10}")
    for target in given.targets or TARGETS:
        before = {path.name for path in (HOME / target / "failed").glob("*")}
        artifacts = f"-artifact_prefix={HOME / target / 'failed'}/"
        (HOME / target / "failed").mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "tests.faults.fuzz", "--", f"-max_len={LONGEST}", artifacts, *limits]
        done = subprocess.run([*command, target], cwd=ROOT, capture_output=True, text=True, errors="replace")
        (HOME / target / "log.txt").write_text(done.stdout + done.stderr)
        new = sorted({path.name for path in (HOME / target / "failed").glob("*")} - before)
        n_corpus = len(list((HOME / target / "corpus").glob("*")))
        print(f"  {target:<14}{_inputs(done.stderr):>12}{n_corpus:>12,}{len(new):>10,}", flush=True)
        for name in new:
            print(f"FAILED {target}: build/fuzz/{target}/failed/{name}")
        if done.returncode and not new:
            print(f"FAILED {target}: the process ended with {done.returncode}: build/fuzz/{target}/log.txt")
            n_failed += 1
        n_failed += len(new)
    return 1 if n_failed else 0


def _inputs(log: str) -> str:
    """The number of inputs tried, from the last line of libFuzzer's log that tells it."""
    told = [line.split()[0].lstrip("#") for line in log.splitlines() if line.startswith("#")]
    done = [line.split()[1] for line in log.splitlines() if line.startswith("Done ")]
    return f"{int((done or told or ['0'])[-1]):,}"


if __name__ == "__main__":
    if "--" in sys.argv:  # a process of its own, with the options of libFuzzer
        sys.argv.remove("--")
        fuzz(sys.argv.pop())
    else:
        sys.exit(main())
