"""From the command line to a running studio: the session, the server, the address."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from halfseen import families
from halfseen.app import console, dispatch, status_line
from halfseen.app.model_file import read_model
from halfseen.app.tables import open_rows
from halfseen.errors import ParameterError
from halfseen.optional import optional
from halfseen.studio import archive
from halfseen.studio.guard import Keys
from halfseen.studio.held import is_taken, kinds_of, options_of
from halfseen.studio.lessons import LESSONS
from halfseen.studio.session import Session
from halfseen.studio.spec import Spec, word_of

LOOPBACK = ("127.0.0.1", "localhost", "::1")
OF_SPEC = ("data", "model", "classes", "columns", "ignore", "missing")
READING = ("sql", "codes", "no_quotes", "memory")  # options of reading that a page cannot change
MARKS = ("weight", "group", "time")  # columns that a fit names
FIT = ("weight", "seed")  # options that it can
MODEL = ".halfseen"


def run(request: Mapping[str, Any]) -> None:
    """Open the session that a command asks for, and serve it until Ctrl-C."""
    optional("starlette", "The studio")
    optional("uvicorn", "The studio")
    host = _host(request)
    session = opened(request)
    listening = _socket(host, request["port"])
    status_line.end()
    serve(session, listening, browser=not request["no_browser"])


def opened(request: Mapping[str, Any]) -> Session:
    """Return the session of a command: its data, its model, what the file of the session holds."""
    data, lesson = list(request["data"] or ()), request["lesson"]
    if lesson is not None and lesson not in LESSONS:
        raise ParameterError(f"--lesson {lesson!r:.40} is not one of {', '.join(LESSONS)}.")
    if "-" in data:
        raise ParameterError("the studio reads its data more than once: write standard input to a file, and name that.")
    if not data and lesson is None and not request["upload"]:
        raise ParameterError("name a file: halfseen studio data.csv. example:penguins is a table that comes along.")
    model = read_model(data.pop(0)) if data and data[0].endswith(MODEL) else None
    session = Session(_spec(request, data, model), model, lesson, request["upload"])
    if session.has_rows:
        status_line.say("reading the rows")
        session.rows()
    if request["session"] is not None:
        _keep(session, request["session"])
    return session


def _keep(session: Session, path: str) -> None:
    if os.path.exists(path):
        archive.reopen(session, path)
        console.note(f"session: {path}, with {len(session.versions)} models")
    elif not os.path.isdir(os.path.dirname(path) or "."):
        raise ParameterError(f"--session {path}: there is no directory {os.path.dirname(path)}.")
    archive.keep(session, path)


def _spec(request: Mapping[str, Any], data: list[str], model: Any) -> Spec:
    """Return what a command chooses."""
    from halfseen.app.options import kinds, names

    options: dict[str, str | bool] = {}
    for own in families.FAMILIES:
        for option in own.options.get("studio", ()):
            if request.get(option.name) is not None:
                options[option.name] = str(request[option.name])
    options |= {name: str(request[name]) for name in FIT if name in request["given"]}
    reading = {name: request[name] for name in READING if request.get(name)}
    word = request["model"]
    if model is not None and "model" not in request["given"]:
        if data and not dispatch.family_of(model).models:
            raise ParameterError(
                f"a model of {dispatch.family_of(model).title} with data needs --model too: what a fit would "
                f"begin with, such as --model {dispatch.family_of(model).forms[0]}."
            )
        word = word_of(model)
    spec = Spec(
        tuple(data),
        word,
        request["classes"],
        {str(name): kind for name, kind in kinds(request["columns"]).items()},
        tuple(names(request["ignore"])),
        tuple(names(request["missing"])),
        options,
        reading,
    )
    if spec.data:
        spec.request()
    return spec if model is None or not spec.data else _as_fitted(spec, model)


def _as_fitted(spec: Spec, model: Any) -> Spec:
    """Return the spec with what is not given as it was in the fit of a model that is opened, as far as it can be."""
    if not dispatch.family_named(spec.model).of_rows:
        return spec
    reading = dispatch.reading_of(model)
    there = set(open_rows(spec.data[0], spec.reading.get("sql"), list(spec.missing)).columns)  # type: ignore[arg-type]
    marks = {name: str(reading[name]) for name in MARKS if reading.get(name) in there}
    found = replace(
        spec,
        kinds={**kinds_of(model.get_params().get("columns"), model), **spec.kinds},
        ignore=spec.ignore or tuple(name for name in reading.get("ignore") or () if name in there),
        missing=spec.missing or tuple(map(str, reading.get("missing") or ())),
        options={**options_of(model.get_params(), type(model)().get_params()), **marks, **spec.options},
    )
    return found if is_taken(found) else replace(spec, ignore=found.ignore, missing=found.missing)


# ---- the server ------------------------------------------------------------------------------------------------------


def _host(request: Mapping[str, Any]) -> str:
    host: str = request["host"]
    if host not in LOOPBACK and not request["i_know"]:
        raise ParameterError(
            f"--host {host}: everyone who reaches this machine there could ask for the data, and nothing is encrypted. "
            "Use 127.0.0.1 and a tunnel (ssh -L), or add --i-know; the token is needed all the same."
        )
    return host


def _socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; port 0: any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise ParameterError(f"--host {host} --port {port}: {reason}. Leave out --port for one that is free.") from None
    listening.listen(64)
    return listening


def address_of(listening: socket.socket) -> str:
    """Return host and port as the Host header names them."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def serve(session: Session, listening: socket.socket, browser: bool) -> None:
    """Serve a session until Ctrl-C; print the address with its token."""
    import uvicorn

    from halfseen.studio.server import application

    keys, host = Keys(), address_of(listening)
    app = application(session, host, keys)
    config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=2, server_header=False)
    server = _server(config, session)
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    address = f"http://{host}/#token={keys.token}"
    console.show(address)
    sys.stdout.flush()
    console.note("The studio is at this address, for one browser. Ctrl-C ends it." + _enter())
    if browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    if sys.stdin is not None and sys.stdin.isatty():
        if hasattr(signal, "SIGTTIN"):
            signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # which would stop a studio in the background
        threading.Thread(target=_more_addresses, args=(keys, host), daemon=True).start()
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        session.close()


def _server(config: Any, session: Session) -> Any:
    """Return a server that ends the streams of events first: it waits until all answers are complete.

    An answer that takes longer is cut off. That is no error, so the terminal says nothing of it.
    """
    import uvicorn

    class Ending(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            session.events.close()
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
            await super().shutdown(sockets)

    return Ending(config)


def _enter() -> str:
    return " Enter prints another for a second browser." if sys.stdin is not None and sys.stdin.isatty() else ""


def _more_addresses(keys: Keys, host: str) -> None:
    """Print a new address each time Enter is pressed; in the background of a terminal nothing can be read."""
    with contextlib.suppress(OSError):
        for _ in sys.stdin:
            console.show(f"http://{host}/#token={keys.renew()}")
