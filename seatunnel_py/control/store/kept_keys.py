"""Keys of idempotency of requests to drivers, for a day: the same key again requests nothing new, also after a restart
of the server. Starts keep theirs in their intents."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from seatunnel_py.control.store.intents import KEY_SECONDS, IdempotencyKeyError
from seatunnel_py.control.store.tables import KEPT_KEY


@dataclass(frozen=True, slots=True)
class KeptKey:
    """``digest``: of the body with that key; ``made``: the id of the request; ``driver``: to which it was sent."""

    key: str
    digest: str
    made: str
    driver: str
    at: float


def found(connection: Connection, key: str, digest: str, now: float) -> KeptKey | None:
    """The request that a key has made in the last day. Raises IdempotencyKeyError if the key was used for another
    one."""
    row = connection.execute(select(KEPT_KEY).where(KEPT_KEY.c.key == key)).mappings().first()
    if row is None or now - row["at"] >= KEY_SECONDS:
        return None
    kept = KeptKey(**row)
    if kept.digest != digest:
        raise IdempotencyKeyError("this Idempotency-Key was used for another request", "make a new key")
    return kept


def keep(connection: Connection, kept: KeptKey) -> None:
    """Keep a key, in the transaction of its act; older ones are forgotten."""
    old = KEPT_KEY.c.at <= kept.at - KEY_SECONDS
    connection.execute(delete(KEPT_KEY).where(old | (KEPT_KEY.c.key == kept.key)))
    values = {name: getattr(kept, name) for name in KeptKey.__slots__}
    connection.execute(insert(KEPT_KEY).values(**values))
