"""The publication and the slot of a source step: found or created, once for each driver.

Rules. (1) The publication exists before the slot, and names every table before the table is copied: a slot cannot
decode what was written before. (2) The slot exists before any table is copied, so the log holds all changes after each
copy. (3) A slot with the name that the job gives is the job's own, and is used as it is if it exists: its position is
older than any copy. (4) Nothing is dropped here. (5) Splits name what the job has made, before its
log is read: only that is dropped later (``replication/leftovers.py``).
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, conninfo, explained, quote, statements
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.postgres_cdc.replication import failpoints
from seatunnel_connectors.postgres_cdc.replication.connection import ReplicationConnection
from seatunnel_connectors.postgres_cdc.replication.leftovers import PUBLICATION, SLOT
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_text
from seatunnel_connectors.postgres_cdc.replication.slots import FoundSlot, find_slot, running_transactions, take_over
from seatunnel_py.api import FatalError, TablePath, TimeLimitError

NAME_BYTES_MAX = 63
_DIGEST_CHARACTERS = 8
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9_]+")
_PUBLISHED = "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s"
_PUBLICATION = "SELECT pubinsert AND pubupdate AND pubdelete, puballtables FROM pg_publication WHERE pubname = %s"


def own_name(job_id: str, step: str, store: str) -> str:
    """The name of the job's own slot and publication; the digest makes it unique among jobs with the same id."""
    digest = hashlib.sha256(repr((job_id, step, store)).encode()).hexdigest()[:_DIGEST_CHARACTERS]
    readable = _NOT_IN_A_NAME.sub("_", job_id.lower())[: NAME_BYTES_MAX - _DIGEST_CHARACTERS - len("st__")]
    return f"st_{readable}_{digest}"


@dataclass(frozen=True, slots=True)
class LogNames:
    """Names of a step's slot and publication. ``own_slot``: the job chose the name, and creates the slot;
    ``own_publication`` likewise; ``reuse``: a slot with a given name may exist."""

    slot: str
    publication: str
    own_slot: bool = True
    own_publication: bool = True
    reuse: bool = False


@dataclass(slots=True)
class LogClaims:
    """The claims of one driver, by slot. ``tables``: all tables of a step, which its publication names; ``made``: SLOT
    and PUBLICATION, where this driver has created them. A worker gets none."""

    tables: dict[str, Sequence[TablePath]] = field(default_factory=dict)
    made: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _claimed: dict[str, FoundSlot] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __reduce__(self) -> tuple[type[LogClaims], tuple[()]]:
        return LogClaims, ()

    def claim(self, address: Address, names: LogNames, *, known: bool, wait_seconds: float) -> FoundSlot:
        """The slot, which is created if it may be. ``known``: an earlier driver of the job has used it, so it may not
        be missing. Raises FatalError, LogLostError, TimeLimitError."""
        with self._lock:
            if names.slot not in self._claimed:
                with statements(address) as db:
                    published = _publish(db, names, self.tables.get(names.slot, ()))
                    found, created = _slot(db, address, names, known=known, wait_seconds=wait_seconds)
                    self.made[names.slot] = (SLOT,) * created + (PUBLICATION,) * published
                    self._claimed[names.slot] = found
            return self._claimed[names.slot]


# ---------------------------------------------------------------- the publication


def _publish(db: Statements, names: LogNames, tables: Sequence[TablePath]) -> bool:
    """Let the publication name the tables; return whether it was created."""
    what = f"the publication {names.publication!r}"
    with explained(f"preparing {what}"):
        found = db.execute(_PUBLICATION, [names.publication]).fetchone()
        wanted = [quote(one.schema, one.table) for one in tables]
        if found is None and names.own_publication:
            root = " WITH (publish_via_partition_root = true)" if db.info.server_version >= 130000 else ""
            db.execute(f"CREATE PUBLICATION {quote(names.publication)} FOR TABLE {', '.join(wanted)}{root}".encode())
            failpoints.PUBLICATION_MADE.hit()
            return True
        if found is None:
            raise FatalError(
                f"{what} does not exist",
                f"CREATE PUBLICATION {quote(names.publication)} FOR TABLE {', '.join(wanted)}, or set "
                "publication.autocreate.mode = filtered",
            )
        complete, everything = found
        if not complete:
            raise FatalError(
                f"{what} does not publish inserts, updates and deletes",
                f"ALTER PUBLICATION {quote(names.publication)} SET (publish = 'insert, update, delete, truncate')",
            )
        missing = _missing(db, names, tables)
        if missing and not everything:
            _add(db, names, missing, what)
        return False


def _missing(db: Statements, names: LogNames, tables: Iterable[TablePath]) -> list[str]:
    published = set(db.execute(_PUBLISHED, [names.publication]).fetchall())
    return [quote(one.schema, one.table) for one in tables if (one.schema, one.table) not in published]


def _add(db: Statements, names: LogNames, missing: Sequence[str], what: str) -> None:
    statement = f"ALTER PUBLICATION {quote(names.publication)} ADD TABLE {', '.join(missing)}"
    if not names.own_publication:
        raise FatalError(f"{what} lacks {', '.join(missing)}", f"{statement}, or take the tables out of the job")
    db.execute(statement.encode())


# ---------------------------------------------------------------- the slot


def _slot(
    db: Statements, address: Address, names: LogNames, *, known: bool, wait_seconds: float
) -> tuple[FoundSlot, bool]:
    """The slot, and whether it was created."""
    found = _whole_slot(db, names.slot, wait_seconds)
    created = found is None and not known
    if created:
        _create(db, address, names.slot, wait_seconds)
        failpoints.SLOT_MADE.hit()
        found = find_slot(db, names.slot)
    if found is None:
        raise FatalError(
            f"the replication slot {names.slot!r} of this job is gone, so changes since its last checkpoint are lost",
            "start the job again with --fresh, which copies the tables again",
        )
    _require_usable(found, address)
    if not (known or created or names.own_slot or names.reuse):
        raise FatalError(
            f"the replication slot {names.slot!r} exists already, at {lsn_text(found.confirmed)}",
            "set slot.reuse = true if no other program reads it, or choose another slot.name",
        )
    return found, created


def _whole_slot(db: Statements, name: str, wait_seconds: float) -> FoundSlot | None:
    """Return the slot, if there is one. A slot without a position is still being created by a driver that is gone: wait
    until it ends with its session, or is whole."""
    until = time.monotonic() + wait_seconds
    while (found := find_slot(db, name)) is not None and not found.confirmed:
        take_over(db, name, max(0.0, until - time.monotonic()))
    return found


def _require_usable(slot: FoundSlot, address: Address) -> None:
    if slot.plugin != "pgoutput" or slot.database != address.database:
        raise FatalError(
            f"the replication slot {slot.name!r} is of the output plugin {slot.plugin!r} and the database "
            f"{slot.database!r}",
            f"choose another slot.name: a slot of pgoutput in {address.database!r} is needed",
        )


def _create(db: Statements, address: Address, name: str, wait_seconds: float) -> None:
    replication = ReplicationConnection(conninfo(address), f"creating replication slot {name!r}")
    try:
        replication.create_slot(name, seconds=wait_seconds)
    except TimeLimitError as error:
        waited_for = "; ".join(running_transactions(db))
        raise TimeLimitError(f"{error.message}: {waited_for}" if waited_for else error.message, error.remedy) from error
    finally:
        replication.close()
