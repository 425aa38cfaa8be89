"""Where the command ``halfseen`` starts. What needs no model is answered here, before anything heavy is imported."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from halfseen import __version__
from halfseen.app import signals


def main() -> None:
    """Run from the shell."""
    signals.handle()
    try:
        if not answered(sys.argv[1:]):
            from halfseen.app.cli import app

            app(prog_name="halfseen")
    except BrokenPipeError:  # the reader has closed the pipe, as in `halfseen predict ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def answered(words: Sequence[str]) -> bool:
    """Answer ``halfseen info MODEL`` from the file alone; False for other commands, and files of other versions."""
    if len(words) != 2 or words[0] != "info" or words[1].startswith("-"):
        return False
    from halfseen.app.console import show_blocks
    from halfseen.app.model_header import description_in

    found = description_in(words[1], __version__)
    if found is None:
        return False
    try:
        show_blocks(found)
        sys.stdout.flush()  # a reader that has closed the pipe, or a full disk, is noticed here
    except BrokenPipeError:
        raise
    except OSError as error:
        from halfseen.app import console, verbs

        console.fail(verbs.words(error))
        sys.exit(verbs.WRONG_DATA)
    return True
