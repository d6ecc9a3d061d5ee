"""The sessions of browsers, as the server checks them at each request.

Rules. (1) A cookie counts only without an Authorization header. (2) The name of the cookie carries the port, because
cookies ignore ports; with TLS it is a ``__Host-`` cookie. Two cookies of that name open nothing: one of them was set by
another service. (3) A write needs ``X-CSRF-Token`` and a page of this server; no request of a page of another origin is
answered. (4) A verified cookie is remembered for less than half a second, so that a log-out by another process counts
within one.
"""

from __future__ import annotations

import hmac
import time
from contextlib import suppress

from fastapi import Request
from starlette.responses import Response

from seatunnel_py.control.store import sessions
from seatunnel_py.control.store.database import Database, StoreUnwritableError
from seatunnel_py.control.store.sessions import BrowserSession
from seatunnel_py.web.login.own_origin import RequestOrigin, origin_of
from seatunnel_py.web.login.verified import VerifiedCache
from seatunnel_py.web.problems import ApiError
from seatunnel_py.web.settings import ServerSettings

CSRF_HEADER = "X-CSRF-Token"
COOKIE_LENGTH_MAX = 100


class BrowserSessions:
    """Checks cookies against ``database``."""

    def __init__(self, database: Database, settings: ServerSettings) -> None:
        self._database, self._settings = database, settings
        self._verified = VerifiedCache(database, sessions.verified)

    @property
    def cookie(self) -> str:
        """The name of the cookie."""
        return f"{'__Host-' if self._settings.secure else ''}seatunnel-session-{self._settings.port}"

    def of_request(self, request: Request) -> BrowserSession | None:
        """The valid session of a request; None: it has none. Raises ApiError if the database cannot be read."""
        session = self.of_text(self.text(request))
        if session is not None:
            self._note_use(session)
        return session

    def text(self, request: Request) -> str:
        """The text of the cookie; empty: there is none, or more than one."""
        found = []
        for header in request.headers.getlist("cookie"):
            for part in header.split(";"):
                name, _, value = part.strip().partition("=")
                if name == self.cookie:
                    found.append(value)
        return found[0] if len(found) == 1 and len(found[0]) <= COOKIE_LENGTH_MAX else ""

    def of_text(self, text: str) -> BrowserSession | None:
        """The valid session of a cookie. Raises ApiError if the database cannot be read."""
        return self._verified.find(text)[0] if text else None

    def forget(self) -> None:
        """Read all sessions again at their next request: one has ended, or its token has."""
        self._verified.forget()

    def require_own_page(self, request: Request) -> None:
        """Raise ApiError if a request with a cookie was not made by a page of this server."""
        origin = origin_of(request.headers)
        if request.method == "GET":
            if origin is RequestOrigin.FOREIGN:
                raise _foreign()
            return
        if origin is not RequestOrigin.OWN:
            raise _foreign()
        given, expected = request.headers.get(CSRF_HEADER, ""), sessions.csrf_of(self.text(request))
        if not hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode()):
            remedy = f"send the `csrf` of GET /api/v1/whoami as {CSRF_HEADER}"
            raise ApiError(403, "csrf", "a write of a session needs its CSRF token", remedy)

    def give(self, response: Response, session: BrowserSession, text: str) -> None:
        """Let the browser keep the cookie of a session."""
        seconds = max(0, int(session.expires_at - time.time()))
        self._set(response, text, seconds)

    def take(self, response: Response) -> None:
        """Let the browser forget the cookie."""
        self._set(response, "", 0)

    def _set(self, response: Response, text: str, seconds: int) -> None:
        secure = self._settings.secure
        response.set_cookie(
            self.cookie, text, max_age=seconds, path="/", secure=secure, httponly=True, samesite="strict"
        )

    def _note_use(self, session: BrowserSession) -> None:
        now = time.time()
        if abs(now - session.used_at) < sessions.USED_EVERY_SECONDS:
            return
        with suppress(StoreUnwritableError), self._database.writing() as connection:
            sessions.used(connection, session, now)
        self.forget()


def _foreign() -> ApiError:
    return ApiError(
        403,
        "origin",
        "the request does not come from a page of this server",
        "a program sends Authorization: Bearer TOKEN instead of a cookie",
    )
