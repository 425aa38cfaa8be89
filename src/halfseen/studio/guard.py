"""Who may ask: pages of this server, opened with the token that was printed.

The server listens on this machine only, but every page in the browser can send requests to it. So

- the Host header must be exactly the address that was printed (a name that an attacker points here is another one);
- the token in the printed address is exchanged once for a cookie that scripts cannot read and other sites do not send;
- a request that changes something must name this server as its Origin;
- the page's policy allows its own scripts and styles only, and no connection elsewhere.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
ENTER = "/api/enter"
LASTS = 14 * 24 * 3600  # seconds that a browser keeps the cookie; it is worth nothing once the server has ended
READS = ("GET", "HEAD")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Keys:
    """The one-time token and the cookie of a server.

    Attributes
    ----------
    token : str     in the address that is printed; empty once it was used
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self._cookie = secrets.token_urlsafe(32)

    def renew(self) -> str:
        """Make and return another token, for another browser."""
        self.token = secrets.token_urlsafe(24)
        return self.token

    def exchange(self, token: object) -> str | None:
        """Return the cookie for the token, which is spent by it; None for any other."""
        given = token if isinstance(token, str) else ""
        if not self.token or not hmac.compare_digest(given.encode(), self.token.encode()):
            return None
        self.token = ""
        return self._cookie

    def knows(self, cookie: str | None) -> bool:
        """Whether a cookie is the one of this server."""
        return cookie is not None and hmac.compare_digest(cookie.encode(), self._cookie.encode())


class Guard:
    """The gate in front of an application: refuses what does not come from the page of this server.

    Parameters
    ----------
    app : ASGI application
    host : str     "127.0.0.1:8123": the Host that requests must name
    keys : Keys
    """

    def __init__(self, app: Any, host: str, keys: Keys) -> None:
        self.app, self.host, self.keys = app, host, keys
        self.cookie = f"halfseen_{host.rpartition(':')[2]}"  # cookies of one host are shared by all its ports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"a connection of type {scope['type']} is not served")
        refused = self._refused(Request(scope))
        await (refused or self.app)(scope, receive, self._with_headers(send))

    def _with_headers(self, send: Send) -> Send:
        async def sent(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        return sent

    def _refused(self, request: Request) -> JSONResponse | None:
        """Return the answer to a request that is refused."""
        hosts = request.headers.getlist("host")
        if hosts != [self.host]:
            return refusal(403, f"This server answers requests to http://{self.host}/ only.")
        own = f"http://{self.host}"
        origin = request.headers.get("origin")
        site = request.headers.get("sec-fetch-site", "same-origin")
        api = request.url.path.startswith("/api/")
        if origin not in (None, own) or (api and site not in ("same-origin", "none")):
            return refusal(403, "Requests from other pages are refused.")
        if request.method not in READS and origin is None:
            return refusal(403, "A request that changes something must say which page it comes from (Origin).")
        if api and request.url.path != ENTER and not self.keys.knows(request.cookies.get(self.cookie)):
            return refusal(
                401, "Open the address that halfseen studio printed in the terminal: it has the token that lets you in."
            )
        return None

    def welcome(self, token: object) -> JSONResponse:
        """Return the answer to the token: the cookie, once."""
        cookie = self.keys.exchange(token)
        if cookie is None:
            return refusal(
                401,
                "This token is wrong or was used before. Press Enter in the terminal of halfseen studio for a new one.",
            )
        answer = JSONResponse({"entered": True})
        answer.set_cookie(self.cookie, cookie, max_age=LASTS, httponly=True, samesite="strict", path="/")
        return answer


def refusal(status: int, words: str) -> JSONResponse:
    """Return an error as JSON."""
    return JSONResponse({"error": words}, status_code=status)
