"""What can be asked of a session: (method, path) -> a function of a request that returns plain values.

The server answers by these functions, and so does a notebook without any HTTP. Each screen has its own in `views`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from halfseen.errors import HalfseenError, ParameterError
from halfseen.studio.refusal import NotThere, Refusal

if TYPE_CHECKING:
    from halfseen.studio.session import Session

log = logging.getLogger("halfseen")

SCREENS = ("common", "data", "fit", "classes", "decide", "em", "compare", "export")  # modules of `views`


@dataclass(frozen=True)
class Ask:
    """A request.

    Attributes
    ----------
    session : Session
    params : dict      of the address
    body : dict        of a POST
    """

    session: Session
    params: Mapping[str, str]
    body: Mapping[str, Any]

    def number(self, name: str, default: int | None = None) -> int | None:
        """Return a whole number of the address or the body."""
        given = self.params.get(name, self.body.get(name))
        if given is None or given == "":
            return default
        if isinstance(given, bool) or not isinstance(given, int | str) or not str(given).lstrip("-").isdecimal():
            raise ParameterError(f"{name}={given!r:.40} is not a whole number.")
        return int(str(given)[:18])

    def value(self, name: str) -> Any:
        """Return any value of the body, or of the address, where it is JSON."""
        if name not in self.params:
            return self.body.get(name)
        try:
            return json.loads(self.params[name])
        except (ValueError, RecursionError):
            raise ParameterError(f"{name}={self.params[name]!r:.40} is not JSON.") from None

    def text(self, name: str, default: str | None = None) -> str | None:
        """Return a text of the address or the body."""
        given = self.params.get(name, self.body.get(name, default))
        if given is not None and not isinstance(given, str):
            raise ParameterError(f"{name}={given!r:.40} is not text.")
        return given


@dataclass(frozen=True)
class Download:
    """A file as an answer."""

    name: str
    media: str
    content: bytes


Route = Callable[[Ask], Any]


def answer(method: str, path: str, ask: Ask) -> Any:
    """Answer a request: plain values, or a file."""
    found = table().get((method, path))
    if found is None:
        raise NotThere(f"There is nothing to {method.lower()} at {path[:80]!r}.")
    return found(ask)


def answered(method: str, path: str, ask: Ask) -> tuple[int, Any]:
    """Answer a request as HTTP does: a status, and plain values or a file; what went wrong is {"error": sentence}."""
    try:
        found = answer(method, path, ask)
    except (HalfseenError, OSError) as error:
        return refusal_of(error)
    except Exception:
        if ask.session.events.closed:  # what it reads may be closed too
            return 503, {"error": "The studio has ended."}
        log.exception("studio: %s", path)
        return 500, {
            "error": "The studio met an error of its own; the terminal or the log has the details. Please report it."
        }
    return 202 if isinstance(found, dict) and set(found) == {"job"} else 200, found


def refusal_of(error: HalfseenError | OSError) -> tuple[int, dict[str, str]]:
    """Return status and words for an error in what was asked."""
    if isinstance(error, OSError) and error.filename is not None:
        return 422, {"error": f"{error.filename}: {error.strerror}"}
    return error.status if isinstance(error, Refusal) else 422, {"error": str(error)}


def table() -> dict[tuple[str, str], Route]:
    """Return all routes."""
    found: dict[tuple[str, str], Route] = {}
    for name in SCREENS:
        found |= import_module(f"halfseen.studio.views.{name}").ROUTES
    return found
