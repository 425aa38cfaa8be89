"""The verbs of the command line; `run` runs each of them and handles errors.

A verb with its own code has a file. The others only load a model and call its family: `use`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from halfseen.app import signals

DONE, WRONG_DATA, WRONG_COMMAND = 0, 1, 2
OWN = (
    "compare",
    "doctor",
    "explain",
    "fit",
    "info",
    "query",
    "rename",
    "report",
    "score",
    "studio",
    "test",
)  # those with a file


def run(verb: str, request: Mapping[str, Any]) -> int:
    """Run a verb and return the exit code."""
    from halfseen.app import console
    from halfseen.app.deferred import import_sklearn
    from halfseen.app.flags import translator
    from halfseen.app.requests import completed
    from halfseen.errors import HalfseenError, InterruptedWarning, ParameterError

    translate = translator(verb, request)
    try:
        request = completed(verb, request)
        if verb != "doctor":
            import_sklearn()
        with console.shown_warnings(translate) as seen:
            if verb in OWN:
                import_module(f"halfseen.app.verbs.{verb}").run(request)
            else:
                use(verb, request)
        return signals.exit_code() if InterruptedWarning in seen else DONE
    except ParameterError as error:
        console.fail(translate(str(error)))
        return WRONG_COMMAND
    except (HalfseenError, OSError, ImportError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        console.fail(translate(words(error)))
        return WRONG_DATA
    except KeyboardInterrupt:
        console.fail("interrupted")
        return signals.exit_code()


def use(verb: str, request: Mapping[str, Any], model: Any = None) -> None:
    """Let the family of a model run the verb: of the model file that the request names, or of a given model."""
    from halfseen.app import dispatch

    if model is None:
        model, request = dispatch.opened(verb, request)
    act = dispatch.command(model, "check" if request.get("check") else verb)
    dispatch.check_use(model, verb, request)
    act(model, dispatch.reading_of(model), request)


def words(error: Exception) -> str:
    """Return the message of an error; those of the system with the name of the file."""
    from halfseen.disk import is_of_disk
    from halfseen.errors import DiskError

    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and is_of_disk(error) and not isinstance(error, DiskError):
        return f"standard output: {error.strerror}"  # files have a name
    return str(error)
