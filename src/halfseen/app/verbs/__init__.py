"""What each command does, one file for each; `run` is the frame around all of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

DONE, WRONG_DATA, WRONG_COMMAND, INTERRUPTED = 0, 1, 2, 130


def run(verb: str, params: dict[str, Any]) -> int:
    """Run a verb with its options and return the exit code."""
    from halfseen.app import console
    from halfseen.errors import HalfseenError, InterruptedWarning, ParameterError

    try:
        with console.shown_warnings() as seen:
            import_module(f"halfseen.app.verbs.{verb}").run(**params)
        return INTERRUPTED if InterruptedWarning in seen else DONE
    except ParameterError as error:
        console.fail(str(error))
        return WRONG_COMMAND
    except (HalfseenError, OSError, ImportError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        console.fail(_words(error))
        return WRONG_DATA
    except KeyboardInterrupt:
        console.fail("interrupted")
        return INTERRUPTED


def _words(error: Exception) -> str:
    """Return the message of an error; those of the system name the file they are about."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
