"""The server: HTTP around `routes`, on this machine only.

Every answer is computed in a thread: the loop of the server only passes text on.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from halfseen.errors import HalfseenError
from halfseen.studio import routes
from halfseen.studio.guard import Guard, Keys, refusal
from halfseen.studio.refusal import Refusal, TooLarge
from halfseen.studio.routes import Ask, Download
from halfseen.studio.session import Session
from halfseen.studio.upload import Uploads, begin_with

PAGE = Path(__file__).parent / "page"
MOST_BODY = 4 << 20  # bytes of a request; an upload may have more
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}


class Pages(StaticFiles):
    """The files of the page, with their types whatever the machine says of them."""

    def file_response(self, full_path: Any, *args: Any, **how: Any) -> Response:
        """Return a file."""
        found = super().file_response(full_path, *args, **how)
        kind = TYPES.get(Path(full_path).suffix)
        if kind is not None and "content-type" in found.headers:
            found.headers["content-type"] = f"{kind}; charset=utf-8"
        return found


def application(session: Session, host: str, keys: Keys) -> Guard:
    """Return the application that serves a session at `host`, such as "127.0.0.1:8123"."""
    uploads = Uploads()

    async def start_page(request: Request) -> Response:
        return FileResponse(PAGE / "index.html", media_type="text/html")

    async def enter(request: Request) -> Response:
        try:
            return guard.welcome((await _body(request)).get("token"))
        except Refusal as error:
            return refused(error)

    async def upload(request: Request) -> Response:
        try:
            path = await uploads.take(session, request.query_params.get("name", ""), request.stream())
            await run_in_threadpool(begin_with, session, path)
        except HalfseenError as error:
            return refused(error)
        return JSONResponse(await run_in_threadpool(session.state))

    async def events(request: Request) -> Response:
        last = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
        number = int(last) if last.isdecimal() and len(last) < 16 else 0
        return StreamingResponse(session.events.stream(number), media_type="text/event-stream")

    async def answer(request: Request) -> Response:
        return await _answered(session, request)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        session.events.close()

    app = Starlette(
        routes=[
            Route("/", start_page),
            Mount("/page", Pages(directory=PAGE)),
            Route("/api/enter", enter, methods=["POST"]),
            Route("/api/upload", upload, methods=["POST"]),
            Route("/api/events", events),
            Route("/api/{path:path}", answer, methods=["GET", "POST"]),
        ],
        exception_handlers={HTTPException: _plainly},
        lifespan=lifespan,
    )
    guard = Guard(app, host, keys)
    return guard


async def _plainly(request: Request, error: Exception) -> Response:
    """Return an error of HTTP as JSON."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = {404: "There is nothing at this address.", 405: "This cannot be asked in this way."}
    return refusal(status, words.get(status, "The request was refused."))


async def _answered(session: Session, request: Request) -> Response:
    """Answer a request by its route."""
    try:
        body = await _body(request) if request.method == "POST" else {}
    except Refusal as error:
        return refused(error)
    ask = Ask(session, dict(request.query_params), body)
    status, found = await run_in_threadpool(routes.answered, request.method, request.path_params["path"], ask)
    if isinstance(found, Download):
        return _file(found)
    return Response(json.dumps(found, allow_nan=False), status, media_type="application/json")


def refused(error: HalfseenError) -> Response:
    """Return an error in what was asked as JSON."""
    status, words = routes.refusal_of(error)
    return refusal(status, words["error"])


def _file(found: Download) -> Response:
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(found.name)}"}
    return Response(found.content, media_type=found.media, headers=headers)


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON of a request: an object of limited size."""
    content = b""
    async for piece in request.stream():
        content += piece
        if len(content) > MOST_BODY:
            raise TooLarge("The request is too long.")
    try:
        found = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        raise Refusal("The request is not JSON.") from None
    if not isinstance(found, dict):
        raise Refusal("The request is not an object of JSON.")
    return found
