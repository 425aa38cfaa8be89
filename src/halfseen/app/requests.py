"""Requests: what a verb is asked to do, read from the words of a command line.

A request has the value of every argument and option of the verb, and more entries: `given`, the names of those that
were typed; `flags`, how each option is typed; `command`, the command as text, which a model file keeps; and
`translate`, which puts messages of estimators in terms of options.
"""

from __future__ import annotations

import shlex
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from typer.main import get_command

from halfseen.app.bundled_texts import with_texts
from halfseen.app.flags import translator
from halfseen.app.glob import with_pattern
from halfseen.errors import ParameterError

__all__ = ["completed", "declared", "parsed", "request_of"]

_one_at_a_time = threading.Lock()  # Typer changes the environment of the process while it reads the first values


def request_of(verb: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the request of a verb with these words, read by the declaration of the command line.

    Parameters
    ----------
    verb : str
    words : sequence of str      what follows the verb

    Raises
    ------
    ParameterError
        The command is wrong: an unknown verb or option, a value that is none. Nothing is printed.

    Examples
    --------
    >>> request = request_of("fit", ["votes.csv", "-k", "3"])
    >>> request["data"], request["classes"], request["seed"], sorted(request["given"])
    (['votes.csv'], '3', 0, ['classes', 'data'])
    >>> request["command"]
    'halfseen fit votes.csv -k 3'
    >>> request_of("fit", ["votes.csv", "--class", "3"])
    Traceback (most recent call last):
        ...
    halfseen.errors.ParameterError: No such option: --class. (Possible options: --classes)
    """
    try:
        with _one_at_a_time:
            context = _command(verb).make_context(verb, list(words), help_option_names=[])
    except Exception as error:
        if not hasattr(error, "format_message"):  # typer does not export the class of its errors
            raise
        raise ParameterError(error.format_message()) from None
    return completed(verb, parsed(context, ["halfseen", verb, *words]))


def declared(verb: str) -> dict[str, Any]:
    """Return the options of a verb by name, each with `help` and `default`.

    Examples
    --------
    >>> declared("fit")["seed"].default
    0
    """
    return {param.name: param for param in _command(verb).params if param.param_type_name == "option"}


def _command(verb: str) -> Any:
    """Return a verb as Typer has it."""
    from halfseen.app.cli import app

    commands: Mapping[str, Any] = get_command(app).commands  # type: ignore[attr-defined]
    if verb not in commands:
        raise ParameterError(f"there is no command {verb!r:.80}. Commands: {', '.join(commands)}.")
    return commands[verb]


def parsed(context: Any, words: Sequence[str]) -> dict[str, Any]:
    """Return the request that Typer has read; `words` are the whole command."""
    typed = {name for name in context.params if str(context.get_parameter_source(name)).endswith("COMMANDLINE")}
    options = [param for param in context.command.params if param.param_type_name == "option"]
    flags = {param.name: max(param.opts, key=len) for param in options}
    return context.params | {"given": typed, "flags": flags, "command": shlex.join(words)}


def completed(verb: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with the paths of bundled texts, patterns of files, and the translator of messages."""
    return {**with_pattern(with_texts(request)), "translate": translator(verb, request)}
