"""What the verbs of the command line do; `run` is the frame around all of them.

A verb with work of its own has a file. The others only load a model and let its family do the work: `use`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

DONE, WRONG_DATA, WRONG_COMMAND, INTERRUPTED = 0, 1, 2, 130
OWN = ("compare", "doctor", "explain", "fit", "info", "query", "report", "score")  # those with a file


def run(verb: str, request: Mapping[str, Any]) -> int:
    """Carry out a verb and return the exit code."""
    from halfseen.app import console
    from halfseen.app.flags import speaker
    from halfseen.errors import HalfseenError, InterruptedWarning, ParameterError

    said = speaker(verb, request)
    try:
        with console.shown_warnings(said) as seen:
            if verb in OWN:
                import_module(f"halfseen.app.verbs.{verb}").run({**request, "said": said})
            else:
                use(verb, request)
        return INTERRUPTED if InterruptedWarning in seen else DONE
    except ParameterError as error:
        console.fail(said(str(error)))
        return WRONG_COMMAND
    except (HalfseenError, OSError, ImportError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        console.fail(said(_words(error)))
        return WRONG_DATA
    except KeyboardInterrupt:
        console.fail("interrupted")
        return INTERRUPTED


def use(verb: str, request: Mapping[str, Any]) -> None:
    """Load a model and let its family carry out the verb."""
    from halfseen.app import dispatch
    from halfseen.app.model_file import load

    model = load(request["model"])
    act = dispatch.command(model, "check" if request.get("check") else verb)
    dispatch.check_use(model, verb, request)
    act(model, dispatch.reading_of(model), request)


def _words(error: Exception) -> str:
    """Return the message of an error; those of the system name the file they are about."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)
