"""The lease: one row in PostgreSQL. Its holder leads until it has not renewed it for some time.

Rules. (1) All times are of the clock of the database. (2) The number grows with each new holder, also if that is the
one before: a lease that has expired is never renewed. (3) Each step is one statement, so of two servers one gets it.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, Float, Update, case, cast, extract, func, literal, select, update
from sqlalchemy.sql.elements import ColumnElement

from seatunnel_py.control.store.tables import LEASE

_L = LEASE.c


@dataclass(frozen=True, slots=True)
class Lease:
    """``number``: of the holder, 0: there was none; ``address``: where that answers; ``age``: seconds since it was
    renewed; ``left``: seconds until it expires, 0: it has."""

    number: int
    address: str
    age: float
    left: float


def found(connection: Connection) -> Lease:
    """The lease as it is."""
    age = _clock() - _L.renewed_at
    left = case((_L.expires_at > _clock(), _L.expires_at - _clock()), else_=0.0)
    row = connection.execute(select(_L.number, _L.address, age.label("age"), left.label("left"))).one()
    return Lease(row.number, row.address, float(row.age), float(row.left))


def taken(connection: Connection, holder: str, address: str, seconds: float) -> int | None:
    """Take the lease if it has expired; return its new number."""
    new = _for(seconds).where(_L.expires_at <= _clock())
    named = new.values(number=_L.number + 1, holder=holder, address=address)
    return connection.execute(named.returning(_L.number)).scalar()


def renewed(connection: Connection, number: int, seconds: float) -> bool:
    """Renew a lease. False: it has expired, or another server has it."""
    mine = (_L.number == number) & (_L.expires_at > _clock())
    return connection.execute(_for(seconds).where(mine)).rowcount > 0


def given_back(connection: Connection, number: int) -> None:
    """End a lease before its time."""
    connection.execute(update(LEASE).where(_L.number == number).values(expires_at=0.0))


def is_valid(connection: Connection, number: int) -> bool:
    """Whether this number leads now. In a write, which has locked the row, that holds until its end."""
    lease = found(connection)
    return lease.number == number and lease.left > 0


def _for(seconds: float) -> Update:
    return update(LEASE).values(renewed_at=_clock(), expires_at=_clock() + literal(seconds, Float))


def _clock() -> ColumnElement[float]:
    """Seconds since 1970 now, and not at the begin of the transaction."""
    return cast(extract("epoch", func.clock_timestamp()), Float)
