"""Why a request is refused, with the status of HTTP that says so."""

from __future__ import annotations

from halfseen.errors import HalfseenError


class Refusal(HalfseenError):
    """A request that cannot be answered; `status` as in HTTP."""

    status = 422


class NotThere(Refusal):
    """What was asked for does not exist."""

    status = 404


class Busy(Refusal):
    """A fit is running, and there is one at a time."""

    status = 409


class TooLarge(Refusal):
    """More was sent than is taken."""

    status = 413
