"""Files that a page sends, where the command line allows it: kept in a temporary folder until the studio ends."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from pathlib import Path, PurePath

from halfseen.data.files import SUFFIXES
from halfseen.disk import enough_space
from halfseen.studio.refusal import Refusal, TooLarge
from halfseen.studio.session import Session
from halfseen.studio.spec import Spec
from halfseen.temporary import ADVICE, TemporaryFolder

MOST = 200 * 1000**2  # bytes of a file


class Uploads:
    """The folder of the files that were sent."""

    def __init__(self) -> None:
        self._folder: TemporaryFolder | None = None
        self._number = 0

    async def take(self, session: Session, name: str, pieces: AsyncIterator[bytes]) -> Path:
        """Write a file that comes in pieces; return where it is."""
        if not session.upload:
            raise Refusal("This studio takes no files: it was started without --upload.")
        path = self._place(name)
        size = 0
        with enough_space(str(path.parent), lambda: f"a copy of {path.name}", ADVICE), path.open("wb") as file:
            async for piece in pieces:
                size += len(piece)
                if size > MOST:
                    break
                file.write(piece)
        if size > MOST or not size:
            path.unlink()
            raise (
                TooLarge(f"{path.name} is larger than 200 MB: name it on the command line.")
                if size
                else Refusal(f"{path.name} is empty.")
            )
        return path

    def _place(self, name: str) -> Path:
        """Return where a file goes: under its own name without folders, in a folder of its own."""
        plain = re.sub(r"[^\w .()+=-]", "_", PurePath(name.replace("\\", "/")).name)[-120:].strip(". ")
        if not plain.lower().endswith(SUFFIXES):
            raise Refusal(f"{plain or 'the file'} has none of the known endings: {', '.join(SUFFIXES)}.")
        if self._folder is None:
            self._folder = TemporaryFolder()
        self._number += 1
        folder = Path(self._folder.name, str(self._number))
        os.mkdir(folder)
        return folder / plain


def begin_with(session: Session, path: Path) -> None:
    """Open a file that was sent in place of the data of a session."""
    spec = Spec((str(path),))
    session.begin(spec, session.read(spec))
    session.changed()
