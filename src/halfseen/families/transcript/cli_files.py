"""Where `halfseen align` writes: one file, or a folder with files of several formats for each recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from halfseen.app import options
from halfseen.errors import ParameterError
from halfseen.families.transcript.alignment import Alignment
from halfseen.families.transcript.recordings import AudioFolder, Recording
from halfseen.families.transcript.written.cues import Rules
from halfseen.families.transcript.written.files import FORMATS, ending_of, write
from halfseen.families.transcript.written.rough import retimed

RULES = ("line_length", "lines")  # options of captions
NAMES = ", ".join(ending[1:] for ending in FORMATS)
Pairs = Sequence[tuple[Recording, Alignment | None]]


@dataclass(frozen=True)
class Files:
    """What is written.

    Attributes
    ----------
    output : Path             one file, or a folder
    endings : list of str     formats
    one : bool                whether it is one file
    rules : Rules             of captions
    """

    output: Path
    endings: list[str]
    one: bool
    rules: Rules

    @classmethod
    def asked(cls, request: Mapping[str, Any]) -> Files:
        """Return what a request asks for; refuse what cannot be before anything is read."""
        output, asked = Path(request["output"]), request["format"]
        rules = Rules(**{name: request[name] for name in RULES if request.get(name) is not None})
        endings = ["TextGrid"] if asked is None else options.names(asked)
        known = _endings(endings, asked)
        ending = ending_of(output)
        if output.is_dir() or not output.suffix or request["output"].endswith("/"):
            return cls(output, known, False, rules)
        if Path(request["data"]).is_dir():
            if ending is None:
                return cls(output, known, False, rules)
            raise ParameterError(
                f"-o {output} is the name of a file. For a folder of recordings, name a folder and add --format "
                f"{ending[1:]}."
            )
        if ending is None:
            raise ParameterError(f"-o {output}: the extension is none of {NAMES}. A folder to make has none.")
        if asked is not None and known != [ending]:
            raise ParameterError(f"-o {output} and --format {asked} differ: leave out --format, or name a folder.")
        return cls(output, [ending], True, rules)

    def check(self, corpus: AudioFolder) -> None:
        """Refuse to overwrite what is read; in a folder next to it every file, which may have been made by hand."""
        folder = (corpus.folder if corpus.folder.is_dir() else corpus.folder.parent).resolve()
        for recording in corpus.recordings:
            sources = [path.resolve() for path in (recording.path, recording.transcript) if path is not None]
            for path in self.targets(recording):
                if path.resolve() in sources:
                    raise ParameterError(f"-o: {path} is read, and would be lost. Name another file.")
                if not self.one and path.exists() and folder in path.resolve().parents:
                    raise ParameterError(
                        f"-o: {path} is next to the recordings and would be lost. Name another folder."
                    )

    def targets(self, recording: Recording) -> list[Path]:
        """Return the files for a recording."""
        name = recording.name if recording.end is None else recording.name.rpartition("#")[0]
        return [self.output] if self.one else [self.output / (name + ending) for ending in self.endings]

    def write(self, pairs: Pairs) -> int:
        """Write the alignments of all recordings; return how many recordings have one."""
        count = 0
        for _, group in groupby(pairs, key=lambda pair: pair[0].path):
            listed = list(group)
            found = [one for _, one in listed if one is not None]
            if not found:
                continue
            count += 1
            for path in self.targets(listed[0][0]):
                path.parent.mkdir(parents=True, exist_ok=True)
                write(path, found, retimed(listed, self.rules), rules=self.rules, media=listed[0][0].path)
        return count


def _endings(names: Sequence[str], asked: str | None) -> list[str]:
    known = {ending[1:].lower(): ending for ending in FORMATS}
    found = [name.lower().lstrip(".") for name in names]
    if not found or any(name not in known for name in found):
        raise ParameterError(f"--format {asked!r} is not one or more of {NAMES}.")
    return [known[name] for name in found]
