"""Sessions of browsers: a token is exchanged for a cookie, and the record here decides what the cookie opens.

Rules. (1) Only the SHA-256 of a cookie or code is kept. (2) A session ends with its token: it has the role that the
token has now. (3) It ends after ``LIFETIME_SECONDS``, or after ``IDLE_SECONDS`` without a request. (4) A code is good
once, for ``CODE_SECONDS``. (5) Rows are bounded: what has expired is deleted, and a token keeps its newest
``SESSIONS_MAX``.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, desc, insert, select, update

from seatunnel_py.control.store import tokens
from seatunnel_py.control.store.tables import LOGIN_CODE, SESSION
from seatunnel_py.control.store.tokens import Token

LIFETIME_SECONDS = 12 * 3_600.0
IDLE_SECONDS = 2 * 3_600.0
CODE_SECONDS = 600.0
USED_EVERY_SECONDS = 60.0
SESSIONS_MAX = 100
CODES_MAX = 100
TEXT_BYTES = 32


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A session with the token that has opened it. ``expires_at``: at the latest; ``used_at``: its newest request."""

    id: str
    token: Token
    created_at: float
    expires_at: float
    used_at: float

    def valid(self, now: float) -> bool:
        """Whether it opens the server now."""
        return now < self.expires_at and now - self.used_at < IDLE_SECONDS and self.token.valid(now)


def begin(connection: Connection, token: Token, address: str, at: float) -> tuple[BrowserSession, str]:
    """Begin a session; return it with the text of its cookie, which is not kept."""
    text = secrets.token_urlsafe(TEXT_BYTES)
    until = min(at + LIFETIME_SECONDS, token.expires_at)
    made = BrowserSession(secrets.token_hex(6), token, at, until, at)
    stale = (SESSION.c.expires_at <= at) | (SESSION.c.used_at <= at - IDLE_SECONDS)
    connection.execute(delete(SESSION).where(stale))
    connection.execute(
        insert(SESSION).values(
            digest=_digest(text), id=made.id, token=token.id, address=address, created_at=at, expires_at=until,
            used_at=at,
        )
    )  # fmt: skip
    newest = select(SESSION.c.digest).where(SESSION.c.token == token.id)
    newest = newest.order_by(desc(SESSION.c.created_at), desc(SESSION.c.digest)).limit(SESSIONS_MAX)
    connection.execute(delete(SESSION).where((SESSION.c.token == token.id) & SESSION.c.digest.not_in(newest)))
    return made, text


def verified(connection: Connection, text: str, now: float) -> BrowserSession | None:
    """The valid session of a cookie; None: there is none."""
    row = connection.execute(select(SESSION).where(SESSION.c.digest == _digest(text))).mappings().first()
    session = None if row is None else _session(connection, row)
    return session if session is not None and session.valid(now) else None


def used(connection: Connection, session: BrowserSession, now: float) -> None:
    """Note the newest request of a session."""
    connection.execute(update(SESSION).where(SESSION.c.id == session.id).values(used_at=now))


def end(connection: Connection, id: str) -> None:
    """End a session; one that has ended stays so."""
    connection.execute(delete(SESSION).where(SESSION.c.id == id))


def csrf_of(text: str) -> str:
    """The CSRF token that a page sends with its writes. It follows from the cookie, which no page can read: so a page
    that only makes a browser send the cookie does not know the token."""
    return hmac.new(text.encode(), b"seatunnel csrf", hashlib.sha256).hexdigest()


def new_code(connection: Connection, token: Token, by: str, at: float) -> str:
    """The text of a code that begins one session of this token."""
    text = secrets.token_urlsafe(TEXT_BYTES)
    connection.execute(delete(LOGIN_CODE).where(LOGIN_CODE.c.expires_at <= at))
    newest = select(LOGIN_CODE.c.digest).order_by(desc(LOGIN_CODE.c.expires_at)).limit(CODES_MAX)
    connection.execute(delete(LOGIN_CODE).where(LOGIN_CODE.c.digest.not_in(newest)))
    values = {"digest": _digest(text), "token": token.id, "created_by": by, "expires_at": at + CODE_SECONDS}
    connection.execute(insert(LOGIN_CODE).values(**values))
    return text


def redeemed(connection: Connection, code: str, now: float) -> Token | None:
    """The valid token of a code, which is good no more; None: there is no such code."""
    chosen = LOGIN_CODE.c.digest == _digest(code)
    row = connection.execute(select(LOGIN_CODE).where(chosen)).mappings().first()
    connection.execute(delete(LOGIN_CODE).where(chosen))
    if row is None or now >= row["expires_at"]:
        return None
    token = tokens.found(connection, row["token"])
    return token if token is not None and token.valid(now) else None


def _session(connection: Connection, row: Mapping[Any, Any]) -> BrowserSession | None:
    token = tokens.found(connection, row["token"])
    if token is None:
        return None
    return BrowserSession(row["id"], token, row["created_at"], row["expires_at"], row["used_at"])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
