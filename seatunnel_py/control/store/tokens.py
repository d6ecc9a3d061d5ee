"""Tokens: random texts that open the server, kept as SHA-256 only.

A token is ``stp_``, 256 random bits and a checksum, all in hexadecimal, so that scanners find one that has leaked.
"""

from __future__ import annotations

import hashlib
import secrets
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, insert, select, update

from seatunnel_py.control.store.tables import TOKEN
from seatunnel_py.errors import SeaTunnelError

PREFIX = "stp_"
BYTES = 32
LIFETIME_SECONDS = 90 * 86_400.0
USED_EVERY_SECONDS = 60.0


class Role(StrEnum):
    """Roles of a token, each with the rights of those before it. ``EDIT`` changes what runs, which is code as the
    user of the server."""

    READ = "read"
    OPERATE = "operate"
    EDIT = "edit"
    ADMIN = "admin"

    def allows(self, needed: Role) -> bool:
        """Whether this role has the rights of ``needed``."""
        roles = list(Role)
        return roles.index(self) >= roles.index(needed)


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its text. ``data``: it may see values of rows."""

    id: str
    name: str
    role: Role
    data: bool
    created_at: float
    created_by: str
    expires_at: float
    used_at: float | None = None
    revoked_at: float | None = None

    def valid(self, now: float) -> bool:
        """Whether it opens the server now."""
        return self.revoked_at is None and now < self.expires_at


@dataclass(frozen=True, slots=True)
class TokenWish:
    """A token to be made. ``seconds``: how long it is valid."""

    name: str
    role: Role
    data: bool = False
    seconds: float = LIFETIME_SECONDS


def issue(connection: Connection, wish: TokenWish, by: str, at: float) -> tuple[Token, str]:
    """Make a token; return it with its text, which is shown once and not kept. Raises SeaTunnelError for a name that
    a valid token has."""
    if not wish.name.strip() or wish.seconds <= 0:
        raise SeaTunnelError("a token needs a name, and a time until it expires", "give both")
    if any(one.name == wish.name and one.valid(at) for one in listing(connection)):
        raise SeaTunnelError(f"a token {wish.name!r} exists", "revoke it first, or choose another name")
    text = token_text(secrets.token_bytes(BYTES))
    made = Token(secrets.token_hex(6), wish.name, wish.role, wish.data, at, by, at + wish.seconds)
    connection.execute(
        insert(TOKEN).values(
            id=made.id, name=made.name, role=made.role.value, data=int(made.data), digest=_digest(text),
            created_at=at, created_by=by, expires_at=made.expires_at,
        )
    )  # fmt: skip
    return made, text


def token_text(random: bytes) -> str:
    """The text of a token from its random bytes."""
    return f"{PREFIX}{random.hex()}{zlib.crc32(random):08x}"


def is_token_text(text: str) -> bool:
    """Whether the text has the form of a token, with the right checksum."""
    body = text.removeprefix(PREFIX)
    if body == text or len(body) != 2 * BYTES + 8:
        return False
    try:
        return secrets.compare_digest(token_text(bytes.fromhex(body[:-8])).encode(), text.encode())
    except ValueError:
        return False


def verified(connection: Connection, text: str, now: float) -> Token | None:
    """The valid token with this text; None: there is none."""
    if not is_token_text(text):
        return None
    found = connection.execute(select(TOKEN).where(TOKEN.c.digest == _digest(text))).mappings().first()
    token = None if found is None else _token(found)
    return token if token is not None and token.valid(now) else None


def used(connection: Connection, token: Token, now: float) -> None:
    """Note the last use of a token, at most once in ``USED_EVERY_SECONDS``."""
    if token.used_at is None or abs(now - token.used_at) >= USED_EVERY_SECONDS:
        connection.execute(update(TOKEN).where(TOKEN.c.id == token.id).values(used_at=now))


def found(connection: Connection, token_id: str) -> Token | None:
    """The token with this id, valid or not."""
    row = connection.execute(select(TOKEN).where(TOKEN.c.id == token_id)).mappings().first()
    return None if row is None else _token(row)


def listing(connection: Connection) -> Sequence[Token]:
    """All tokens, oldest first; revoked and expired ones included."""
    return [_token(row) for row in connection.execute(select(TOKEN).order_by(TOKEN.c.created_at)).mappings()]


def revoke(connection: Connection, token_id: str, at: float) -> Token:
    """End a token. Raises SeaTunnelError for an unknown one. A revoked token stays revoked."""
    before = found(connection, token_id)
    if before is None:
        raise SeaTunnelError(f"there is no token {token_id!r}", "the list of tokens names them")
    if before.revoked_at is None:
        connection.execute(update(TOKEN).where(TOKEN.c.id == token_id).values(revoked_at=at))
    return found(connection, token_id) or before


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _token(row: Mapping[Any, Any]) -> Token:
    names = ("id", "name", "created_at", "created_by", "expires_at", "used_at", "revoked_at")
    return Token(**{name: row[name] for name in names}, role=Role(row["role"]), data=bool(row["data"]))
