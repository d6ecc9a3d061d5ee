"""Intents: that a driver of a run is to be started. Committed before the spawn, so that a server that dies in between
leaves no start without a trace.

::

    WAITING -> STARTING -> STARTED -> ENDED
       |           |-> NOT_STARTED          no driver has come; may be asked again
       |-> DROPPED                          taken out of the queue by a person
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, desc, func, insert, select, update

from seatunnel_py.control.store.tables import INTENT
from seatunnel_py.errors import SeaTunnelError

KEY_SECONDS = 86_400.0


class IntentState(StrEnum):
    """State of an intent. ``STARTING``: its driver may have been spawned; ``STARTED``: its driver has the run."""

    WAITING = "WAITING"
    STARTING = "STARTING"
    STARTED = "STARTED"
    ENDED = "ENDED"
    NOT_STARTED = "NOT_STARTED"
    DROPPED = "DROPPED"


class StartKind(StrEnum):
    """``NEW``: a run that was not there before; ``RESTORE``: the next driver of a run, from its newest checkpoint."""

    NEW = "new"
    RESTORE = "restore"


OPEN = (IntentState.WAITING, IntentState.STARTING, IntentState.STARTED)
_BEFORE: Mapping[IntentState, tuple[IntentState, ...]] = {
    IntentState.STARTING: (IntentState.WAITING,),
    IntentState.STARTED: (IntentState.STARTING,),
    IntentState.ENDED: (IntentState.STARTING, IntentState.STARTED),
    IntentState.NOT_STARTED: (IntentState.STARTING,),
    IntentState.DROPPED: (IntentState.WAITING,),
}


class IdempotencyKeyError(SeaTunnelError):
    """The key was used for another request."""


class IntentStateError(SeaTunnelError):
    """The intent is in a state from which it cannot go on like this."""


@dataclass(frozen=True, slots=True)
class StartOptions:
    """Options of a start. ``variables``: literal values, never secrets; ``environment``: names of variables of the
    server's environment that the driver gets; ``only``: tables; ``restore``: a savepoint that a new run starts from;
    ``accept_changes``: restore although the job file has changed."""

    variables: Mapping[str, str] = field(default_factory=dict)
    environment: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    restore: str = ""
    accept_changes: bool = False


@dataclass(frozen=True, slots=True)
class StartWish:
    """A start as asked. ``key``: of idempotency, empty: none; ``body_digest``: of the request with that key."""

    run: str
    definition: str
    revision: int
    kind: StartKind
    options: StartOptions
    asked_by: str
    key: str = ""
    body_digest: str = ""


@dataclass(frozen=True, slots=True)
class Intent:
    """A start with what became of it. ``previous_driver``: the one that had the run before, as in job.json, empty:
    none; ``pid``: of the process that was spawned, None: not known; ``exit_code``, ``signal``: how it ended, if that
    was seen. ``fence``: the number of the lease under which it has begun, None: it has not, or there is no lease."""

    id: int
    run: str
    definition: str
    revision: int
    kind: StartKind
    state: IntentState
    options: StartOptions
    key: str
    body_digest: str
    asked_by: str
    at: float
    previous_driver: str = ""
    pid: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    ended_at: float | None = None
    fence: int | None = None


def add(connection: Connection, wish: StartWish, at: float) -> Intent:
    """Keep a wish to start. A repeated key returns the intent that it made. Raises IdempotencyKeyError if the key was
    used for another request."""
    if (before := repeated(connection, wish.key, wish.body_digest, at)) is not None:
        return before
    made = connection.execute(
        insert(INTENT).values(
            run=wish.run, definition=wish.definition, revision=wish.revision, kind=wish.kind.value,
            state=IntentState.WAITING.value, options=options_text(wish.options), key=wish.key or None,
            body_digest=wish.body_digest, asked_by=wish.asked_by, at=at, previous_driver="",
        )
    )  # fmt: skip
    assert made.inserted_primary_key is not None
    return found(connection, made.inserted_primary_key[0])


def repeated(connection: Connection, key: str, body_digest: str, now: float) -> Intent | None:
    """The intent that the same request has made; None: there is none, or the request has no key. Raises
    IdempotencyKeyError if the key was used for another request."""
    before = of_key(connection, key, now) if key else None
    if before is not None and before.body_digest != body_digest:
        raise IdempotencyKeyError("this Idempotency-Key was used for another request", "make a new key")
    return before


def of_key(connection: Connection, key: str, now: float) -> Intent | None:
    """The intent that this key made in the last ``KEY_SECONDS``. Older keys are forgotten."""
    old = INTENT.c.at < now - KEY_SECONDS
    connection.execute(update(INTENT).where((INTENT.c.key == key) & old).values(key=None))
    row = connection.execute(select(INTENT).where(INTENT.c.key == key)).mappings().first()
    return None if row is None else _intent(row)


def found(connection: Connection, id: int) -> Intent:
    """The intent of this id. Raises SeaTunnelError."""
    row = connection.execute(select(INTENT).where(INTENT.c.id == id)).mappings().first()
    if row is None:
        raise SeaTunnelError(f"there is no intent {id}", "the queue names them")
    return _intent(row)


def move(connection: Connection, id: int, to: IntentState, **values: Any) -> Intent:
    """Bring an intent to its next state, with further columns. Raises IntentStateError if it cannot go there."""
    allowed = INTENT.c.state.in_([state.value for state in _BEFORE[to]])
    changed = connection.execute(
        update(INTENT).where((INTENT.c.id == id) & allowed).values(state=to.value, **values)
    ).rowcount
    intent = found(connection, id)
    if not changed:
        raise IntentStateError(f"the start of {intent.run!r} is {intent.state.value}, and cannot become {to.value}")
    return intent


def spawned(connection: Connection, id: int, pid: int) -> None:
    """Note the process of an intent; only a help, for its place decides."""
    connection.execute(update(INTENT).where(INTENT.c.id == id).values(pid=pid))


def in_states(connection: Connection, states: Collection[IntentState]) -> Sequence[Intent]:
    """The intents in these states, oldest first."""
    chosen = INTENT.c.state.in_([state.value for state in states])
    return [_intent(row) for row in connection.execute(select(INTENT).where(chosen).order_by(INTENT.c.id)).mappings()]


def of_run(connection: Connection, run: str) -> Sequence[Intent]:
    """All intents of a run, newest first; empty: it was started by hand."""
    query = select(INTENT).where(INTENT.c.run == run).order_by(desc(INTENT.c.id))
    return [_intent(row) for row in connection.execute(query).mappings()]


def runs(connection: Connection) -> Sequence[str]:
    """The ids of all runs that were started, oldest first."""
    return (
        connection.execute(select(INTENT.c.run).group_by(INTENT.c.run).order_by(func.min(INTENT.c.id))).scalars().all()
    )


def of_runs(connection: Connection, chosen: Collection[str]) -> Mapping[str, Sequence[Intent]]:
    """All intents of these runs, newest first."""
    query = select(INTENT).where(INTENT.c.run.in_(chosen)).order_by(desc(INTENT.c.id))
    made: dict[str, list[Intent]] = {}
    for row in connection.execute(query).mappings():
        made.setdefault(row["run"], []).append(_intent(row))
    return made


def newest_of_runs(connection: Connection) -> Sequence[Intent]:
    """The newest intent of each run."""
    newest = select(func.max(INTENT.c.id)).group_by(INTENT.c.run)
    return [_intent(row) for row in connection.execute(select(INTENT).where(INTENT.c.id.in_(newest))).mappings()]


def of_definition(
    connection: Connection, definition: str, *, before: int | None = None, limit: int = 200
) -> Sequence[Intent]:
    """The intents of a definition, newest first; ``before``: the id where the last page ended."""
    query = select(INTENT).where(INTENT.c.definition == definition).order_by(desc(INTENT.c.id)).limit(limit)
    if before is not None:
        query = query.where(INTENT.c.id < before)
    return [_intent(row) for row in connection.execute(query).mappings()]


def open_runs(connection: Connection, definition: str) -> Sequence[str]:
    """The runs of a definition that wait or are alive, oldest first."""
    alive = (INTENT.c.definition == definition) & INTENT.c.state.in_(OPEN)
    query = select(INTENT.c.run).where(alive).group_by(INTENT.c.run).order_by(func.min(INTENT.c.id))
    return connection.execute(query).scalars().all()


def options_text(options: StartOptions) -> str:
    """The options as they are stored."""
    return json.dumps({name: getattr(options, name) for name in StartOptions.__slots__})


def options_of(text: str) -> StartOptions:
    """Stored options."""
    written = json.loads(text)
    return StartOptions(
        dict(written["variables"]), tuple(written["environment"]), tuple(written["only"]), written["restore"],
        bool(written["accept_changes"]),
    )  # fmt: skip


def _intent(row: Mapping[Any, Any]) -> Intent:
    options = options_of(row["options"])
    values = {name: row[name] for name in Intent.__slots__}
    values |= {"kind": StartKind(row["kind"]), "state": IntentState(row["state"]), "options": options}
    return Intent(**{**values, "key": row["key"] or ""})
