"""Finds the splits of a log: one for each run of a bounded job, and one for all other runs.

Rules. (1) A split names the slot, the place from which each table counts, and the place where it ends, if it ends.
(2) A reader reports the place at which its split has ended. The next run begins there, with another split. (3) A log
that was opened without an end cannot get one: the position of its reader is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_connectors.jdbc.postgres.connection.session import conninfo, statements
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.postgres_cdc.claim import LogClaims, LogNames
from seatunnel_connectors.postgres_cdc.copy import MADE, SLOT
from seatunnel_connectors.postgres_cdc.log_bound import LogBound, fixed_bound
from seatunnel_connectors.postgres_cdc.log_rows import has_reached, place_of
from seatunnel_connectors.postgres_cdc.options import PostgresCdcOptions, StartupMode, StopMode
from seatunnel_connectors.postgres_cdc.pgoutput.elements import LogPosition
from seatunnel_connectors.postgres_cdc.replication.connection import ReplicationConnection, SystemIdentity
from seatunnel_connectors.postgres_cdc.replication.failures import LogLostError
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_of, lsn_text
from seatunnel_connectors.postgres_cdc.replication.slots import check_start, find_slot
from seatunnel_connectors.postgres_cdc.slot_snapshots import LOG_POSITION
from seatunnel_py.api import (
    COPY_AGAIN,
    BegunLog,
    Enumerator,
    FatalError,
    FollowedTable,
    JobRegistry,
    Plain,
    Position,
    Split,
    TablePath,
)

LOG = "log"
"""The id of the first split; later ones have a number."""
ENDED = "ended"
"""Key of the event of a reader, and of the state: the position at which the split has ended."""
_PLACE, _RUN = "place", "run"
_LOOK_SECONDS = 2.0
"""A restored enumerator with an ``interval`` is asked at once, and again if that fails."""


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Content of the split of a log. ``starts``: by table, the position from which its transactions count; ``system``:
    the server's identity, which a failover keeps; ``begin``: the position at which the earlier run has ended;
    ``bound``: where this run ends; ``timeline``: that of the starts, 0 if it is unknown. ``given``: by table, the place
    up to which its rows were given before the log has gone back for another one; ``made``: what the job has created at
    the server, of slot and publication."""

    slot: str
    publication: str
    starts: tuple[tuple[TablePath, int], ...]
    system: str
    begin: Position | None = None
    bound: LogBound | None = None
    timeline: int = 0
    given: tuple[tuple[TablePath, LogPosition], ...] = ()
    made: tuple[str, ...] = ()

    def split(self, run: int = 1) -> Split:
        name = LOG if run == 1 else f"{LOG}~{run}"
        return Split(name, self.starts[0][0], self.to_plain())

    def to_plain(self) -> dict[str, Plain]:
        starts: list[Plain] = [[path.database, path.schema, path.table, position] for path, position in self.starts]
        plain: dict[str, Plain] = {
            "slot": self.slot, "publication": self.publication, "starts": starts, "system": self.system,
            "timeline": self.timeline,
        }  # fmt: skip
        if self.made:
            plain[MADE] = [*self.made]
        if self.given:
            plain["given"] = [
                [path.database, path.schema, path.table, place.commit, place.end, place.open_commit, place.index]
                for path, place in self.given
            ]
        if self.begin is not None:
            plain["begin"] = dict(self.begin.value)
        if self.bound is not None:
            plain["bound"] = self.bound.to_plain()
        return plain

    @staticmethod
    def of(found: Mapping[str, Plain]) -> LogPlace:
        """The inverse of ``to_plain``."""
        plain: dict[str, Any] = dict(found)
        rows = plain["starts"]
        assert isinstance(rows, list | tuple), "the split of a log names its tables"
        starts = []
        for row in rows:
            assert isinstance(row, list | tuple), "a start is a table and a position"
            database, schema, table, position = row
            assert isinstance(position, int), "a position of the log is a number"
            starts.append((TablePath(str(database), str(schema), str(table)), position))
        begin = None if plain.get("begin") is None else Position(plain["begin"])
        bound = LogBound.of(plain.get("bound"))
        given = tuple((TablePath(*row[:3]), LogPosition(*row[3:])) for row in plain.get("given", ()))
        return LogPlace(
            str(plain["slot"]), str(plain["publication"]), tuple(starts), str(plain["system"]), begin, bound,
            int(plain.get("timeline", 0)), given, tuple(plain.get(MADE, ())),
        )  # fmt: skip


class LogEnumerator(Enumerator):
    """Enumerates the log of a step. ``state``: that of an earlier driver; ``stop``: where this run ends."""

    def __init__(
        self, address: Address, names: LogNames, registry: JobRegistry, tables: Sequence[FollowedTable],
        options: PostgresCdcOptions, stop: StopMode, state: Plain,
    ) -> None:  # fmt: skip
        self._address, self._names, self._registry = address, names, registry
        self._tables = tuple(tables)
        self._options, self._stop = options, stop
        self._copies = options.start is StartupMode.INITIAL
        earlier: Any = state or {}
        self._known = state is not None
        self._run: int = earlier.get(_RUN, 1)
        self._place = LogPlace.of(earlier[_PLACE]) if _PLACE in earlier else None
        self._ended: dict[str, Plain] | None = earlier.get(ENDED)
        if self._ended is not None:
            self.interval = _LOOK_SECONDS
        elif self._known and stop is not StopMode.NEVER and (self._place is None or self._place.bound is None):
            raise FatalError(
                "this job has followed its log without an end, so a run of it cannot end by itself",
                "set job.mode = STREAMING and stop.mode = never, or start it with --fresh, which copies the tables",
            )

    def discover(self) -> Iterable[Split]:
        if not self._known:
            self._place = self._first()
        elif self._ended is not None and self._place is not None and self.interval is not None:
            begin = Position(self._ended)
            self._place = replace(self._place, begin=begin, bound=self._bound(begin.int("end")))
            self._run, self._ended = self._run + 1, None
        else:
            return ()
        self._known, self.interval = True, None
        return (self._place.split(self._run),)

    def on_reader_event(self, split: Split, event: Plain) -> Iterable[Split]:
        plain: Any = event
        self._ended = dict(plain[ENDED])
        return ()

    def snapshot(self) -> Plain:
        plain: dict[str, Plain] = {SLOT: self._names.slot}
        if self._place is not None and (self._place.bound is not None or self._ended is not None):
            plain |= {_PLACE: self._place.to_plain(), _RUN: self._run}
        if self._ended is not None:
            plain[ENDED] = self._ended
        return plain

    def _first(self) -> LogPlace:
        claims = self._registry.get(LogClaims)
        seconds = self._options.slot_wait_seconds
        slot = claims.claim(self._address, self._names, known=self._copies, wait_seconds=seconds)
        starts = tuple((one.table.schema.path, self._start(one, slot.confirmed)) for one in self._tables)
        with statements(self._address) as db:
            check_start(find_slot(db, slot.name), slot.name, min(position for _, position in starts))
        bound = self._bound(min(position for _, position in starts))
        server = self._server()
        made = made_in(split for one in self._tables for split in one.copied) | {*claims.made.get(slot.name, ())}
        return LogPlace(
            slot.name, self._names.publication, starts, server.system, bound=bound, timeline=server.timeline,
            made=tuple(sorted(made)),
        )  # fmt: skip

    def _bound(self, begin: int) -> LogBound | None:
        """The end of the run that begins there."""
        with statements(self._address) as db:
            bound = fixed_bound(db, self._options, self._stop)
        return None if bound is None else bound.at_least(begin)

    def _start(self, one: FollowedTable, confirmed: int) -> int:
        """The position of the copy's snapshot; of a copy under several snapshots, the oldest position."""
        if self._options.start is StartupMode.SPECIFIC:
            assert self._options.start_lsn is not None, "the options require it"
            return _not_passed(lsn_of(self._options.start_lsn), self._names.slot, confirmed)
        if not self._copies:
            return confirmed
        return copied_at(one)

    def _server(self) -> SystemIdentity:
        replication = ReplicationConnection(conninfo(self._address), f"the log of {self._address.display}")
        try:
            return replication.identify()
        finally:
            replication.close()


def made_in(splits: Iterable[Split]) -> set[str]:
    """Of slot and publication, those that the job has created at the server."""
    found: list[Any] = [split.payload.get(MADE, ()) for split in splits]
    return {str(one) for made in found for one in made}


def copied_at(one: FollowedTable) -> int:
    """The position of the copy's snapshot; of a copy under several snapshots, the oldest one."""
    positions = [split.payload.get(LOG_POSITION) for split in one.copied]
    if not positions:
        raise FatalError(
            f"table {one.table.schema.path} was not copied, so its changes cannot be followed",
            COPY_AGAIN,
        )
    return min(position for position in positions if isinstance(position, int))


def joined(begun: BegunLog, path: TablePath, start: int) -> BegunLog:
    """The log with one more table, whose transactions count from ``start`` (F-C45)."""
    place, state = LogPlace.of(begun.split.payload), begun.state
    read = _read_to(begun, place)
    if start < read:
        raise FatalError(
            f"table {path} was copied at {lsn_text(start)}, and the log has been read up to {lsn_text(read)}: its "
            "changes in between are missing",
            COPY_AGAIN,
        )
    # A table that is copied again had a start before: changes that its new copy has must not come again.
    place = replace(place, starts=tuple({**dict(place.starts), path: start}.items()))
    earlier: Any = state
    if isinstance(state, Mapping) and _PLACE in state:
        known = LogPlace.of(earlier[_PLACE])
        state = {**state, _PLACE: replace(known, starts=place.starts).to_plain()}
    return BegunLog(replace(begun.split, payload=place.to_plain()), begun.position, state)


def _read_to(begun: BegunLog, place: LogPlace) -> int:
    """The position up to which the log has been read, or from which it will be."""
    state: Any = begun.state
    if isinstance(state, Mapping) and ENDED in state:
        return Position(state[ENDED]).int("end")
    if begun.position is not None:
        return begun.position.int("end")
    if place.begin is not None:
        return place.begin.int("end")
    return min(position for _, position in place.starts)


def gone_back(begun: BegunLog, path: TablePath, to: Position) -> BegunLog:
    """The log that is read again from ``to`` for one table: of the others only rows count that were not given yet."""
    place, state = LogPlace.of(begun.split.payload), begun.state
    earlier: Any = state
    has_ended = isinstance(state, Mapping) and ENDED in state
    at = Position(earlier[ENDED]) if has_ended else begun.position or place.begin
    assert at is not None, "a log in which a table has stopped was read"
    here, there = place_of(at), place_of(to)
    goes = not has_reached(there, here)
    given = dict(place.given)
    for other in dict(place.starts):
        if goes and not (other in given and has_reached(given[other], here)):
            given[other] = here
    given.pop(path, None)
    if not goes:
        given[path] = there
    position = to if goes else at
    place = replace(place, given=tuple(given.items()))
    if isinstance(state, Mapping) and _PLACE in state:
        state = {**state, _PLACE: replace(LogPlace.of(earlier[_PLACE]), given=place.given).to_plain()}
    if has_ended:
        state = {**earlier, **(state if isinstance(state, Mapping) else {}), ENDED: dict(position.value)}
    return BegunLog(replace(begun.split, payload=place.to_plain()), None if has_ended else position, state)


def _not_passed(start: int, slot: str, confirmed: int) -> int:
    """The position that the job file asks for. A server would go forward to its slot's without a word (F-C6)."""
    if start < confirmed:
        raise LogLostError(
            f"startup.specific-offset.lsn is {lsn_text(start)}, and replication slot {slot!r} has been confirmed up to "
            f"{lsn_text(confirmed)}: the changes in between may be gone",
            "set startup.mode = committed-offset, which begins where the slot is, or initial, which copies the tables",
        )
    return start
