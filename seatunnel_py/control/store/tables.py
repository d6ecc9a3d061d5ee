"""The tables of the server's database, for queries. ``migrations.py`` creates them.

Times are seconds since 1970 in UTC. There is no table of runs: the truth about a run is in its directory.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger as Integer  # that of 32 bits is too small for numbers of rows
from sqlalchemy import Column, Float, MetaData, Table
from sqlalchemy.types import TypeEngine

from seatunnel_py.control.store.places.store_place import StoredText as String

METADATA = MetaData()


def _table(name: str, primary: tuple[str, ...], /, **columns: type[TypeEngine[Any]]) -> Table:
    made = (Column(column, kind, primary_key=column in primary) for column, kind in columns.items())
    return Table(name, METADATA, *made)


DEFINITION = _table(
    "definition", ("id",), id=String, revision=Integer, directory=String, created_at=Float, created_by=String,
    deleted_at=Float,
)  # fmt: skip
REVISION = _table(
    "revision", ("definition", "number"), definition=String, number=Integer, text=String, digest=String, author=String,
    comment=String, at=Float,
)  # fmt: skip
WISH = _table(
    "wish", ("definition",), definition=String, policy=String, run=String, failures=Integer, cause=String,
    position=String, same=Integer, held=String, at=Float,
)  # fmt: skip
INTENT = _table(
    "intent", ("id",), id=Integer, run=String, definition=String, revision=Integer, kind=String, state=String,
    options=String, key=String, body_digest=String, asked_by=String, at=Float, previous_driver=String, pid=Integer,
    exit_code=Integer, signal=Integer, ended_at=Float, fence=Integer,
)  # fmt: skip
QUEUE = _table("queue", ("intent",), intent=Integer, priority=Integer, at=Float)
TOKEN = _table(
    "token", ("id",), id=String, name=String, role=String, data=Integer, digest=String, created_at=Float,
    created_by=String, expires_at=Float, used_at=Float, revoked_at=Float,
)  # fmt: skip
AUDIT = _table(
    "audit", ("id",), id=Integer, at=Float, actor=String, address=String, act=String, object=String, revision=Integer,
    digest=String, announced=String, result=String, request=String,
)  # fmt: skip
SESSION = _table(
    "session", ("digest",), digest=String, id=String, token=String, address=String, created_at=Float, expires_at=Float,
    used_at=Float,
)  # fmt: skip
LOGIN_CODE = _table("login_code", ("digest",), digest=String, token=String, created_by=String, expires_at=Float)
SERIES_5S = _table("series_5s", ("run", "at"), run=String, at=Float, rows_read=Integer, rows_written=Integer)
SERIES_1M = _table("series_1m", ("run", "at"), run=String, at=Float, rows_read=Integer, rows_written=Integer)
SCHEDULE = _table(
    "schedule", ("id",), id=String, definition=String, number=Integer, cron=String, zone=String, every=Integer,
    overlap=String, missed=String, begins=Float, ends=Float, options=String, paused=Integer, anchor=Float,
    decided=Float, queued=Float, created_at=Float, created_by=String, changed_at=Float,
)  # fmt: skip
SCHEDULE_FIRE = _table(
    "schedule_fire", ("schedule", "due"), schedule=String, due=Float, at=Float, outcome=String, why=String, run=String,
)  # fmt: skip
KEPT_KEY = _table("kept_key", ("key",), key=String, digest=String, made=String, driver=String, at=Float)
OUTBOX_EVENT = _table(
    "outbox_event", ("id",), id=Integer, event=String, kind=String, run=String, definition=String, job=String, at=Float,
    body=String,
)  # fmt: skip
OUTBOX_DELIVERY = _table(
    "outbox_delivery", ("id",), id=Integer, event=Integer, target=String, state=String, attempts=Integer, at=Float,
    tried_at=Float, ended_at=Float, code=Integer, error=String,
)  # fmt: skip
OUTBOX_TARGET = _table(
    "outbox_target", ("name",), name=String, failures=Integer, failing_since=Float, next_at=Float, tried_at=Float,
    sent_at=Float, code=Integer, error=String, disabled=String,
)  # fmt: skip
NOTICE_CURSOR = _table(
    "notice_cursor", ("run",), run=String, position=String, begun=String, ended=String, stalled=String, at=Float
)
TROUBLE = _table(
    "trouble", ("subject",), subject=String, event=String, run=String, driver=String, position=String, reported=String,
    at=Float,
)  # fmt: skip
FORCED_END = _table(
    "forced_end", ("run",), run=String, driver=String, actor=String, address=String, request=String, at=Float,
    seconds=Float,
)  # fmt: skip
LEASE = _table(
    "lease", ("id",), id=Integer, number=Integer, holder=String, address=String, renewed_at=Float,
    expires_at=Float,
)  # fmt: skip
SETTING = _table("setting", ("name",), name=String, value=String)
SCHEMA_VERSION = _table("schema_version", ("version",), version=Integer, at=Float)
