"""The sources of a followed job: the copy of a table, and the log of all tables.

Rules. (1) A copy shows its table as of one place, which its splits name; it fails if the schema is another one there
than the plan has. (2) The split of the log names, by table, the place from which its rows count, and the place up to
which they were given before the log has gone back for another table. (3) A table joins at the place of its copy, not
before the place that is read next; a log that is gone is not gone back to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seatunnel_py.api import (
    BegunLog,
    Enumerator,
    FatalError,
    FollowedTable,
    LogSource,
    Plain,
    Position,
    Reader,
    SchemaPolicy,
    Source,
    SourceCapabilities,
    SourceTable,
    Split,
    TablePath,
)
from tests.kit.runtime_toys import Target
from tests.simulation.followed.history import Database
from tests.simulation.jobs.versions import VERSION
from tests.simulation.violation import expect

LOG = "log"
PLACE, FIRST, STARTS, GIVEN = "place", "first", "starts", "given"
SPLITS_MAX = 2


def number_of(position: Position) -> int:
    return int(str(position.value["n"]))


def version_of(table: SourceTable) -> int:
    return int(str(table.log_hints[VERSION]))


def starts_of(split: Split) -> dict[str, int]:
    """By table, the first place whose row counts."""
    payload: Any = split.payload
    given: Mapping[str, int] = payload[GIVEN]
    return {name: max(start, given.get(name, 0)) for name, start in payload[STARTS].items()}


def begin_of(split: Split) -> int:
    """The place from which the split is read."""
    payload: Any = split.payload
    return min(payload[STARTS].values())


class _Opened(Enumerator):
    """One that must be closed once."""

    def __init__(self, source: Copy | FollowedLog) -> None:
        self._source = source
        source.opened.append(self)

    def close(self) -> None:
        expect(self in self._source.opened, "SourcesAreClosed", "an enumerator is closed twice")
        self._source.opened.remove(self)
        self._source.state.tell("close")


@dataclass(frozen=True)
class Copy(Source):
    """The copy of one table."""

    database: Database
    state: Target = field(default_factory=Target)
    opened: list[Enumerator] = field(default_factory=list)

    def tables(self) -> Sequence[SourceTable]:
        return []

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        return _CopyEnumerator(self, tables[0])

    def reader(self, table: SourceTable) -> Reader:
        raise AssertionError("no unit is run")


class _CopyEnumerator(_Opened):
    def __init__(self, source: Copy, table: SourceTable) -> None:
        super().__init__(source)
        self._database, self._table = source.database, table

    def discover(self) -> Iterable[Split]:
        self._source.state.tell("discover")
        place, path, history = self._database.end, self._table.schema.path, self._database.history
        if history.version(path.table, place) != version_of(self._table):
            raise FatalError(f"{path} has another schema now", "start the job again")
        rows = len(history.places(path.table, place))
        half = -(-rows // SPLITS_MAX)
        return [
            Split(f"s{at}", path, {PLACE: place, FIRST: half * at}, rows=min(half, rows - half * at))
            for at in range(SPLITS_MAX)
        ]


@dataclass(frozen=True)
class FollowedLog(LogSource):
    """The log. ``policy``: which changes reach the targets."""

    database: Database
    policy: SchemaPolicy
    state: Target = field(default_factory=Target)
    opened: list[Enumerator] = field(default_factory=list)

    def tables(self) -> Sequence[SourceTable]:
        return []

    def copy_source(self) -> Source | None:
        return Copy(self.database)

    def copy_capabilities(self) -> SourceCapabilities:
        raise AssertionError("it is planned by hand")

    @property
    def schema_policy(self) -> SchemaPolicy:
        return self.policy

    can_go_back = True

    def log_enumerator(self, tables: Sequence[FollowedTable], state: Plain) -> Enumerator:
        return _LogEnumerator(self, tables, known=state is not None)

    def log_reader(self, tables: Sequence[SourceTable]) -> Reader:
        raise AssertionError("no unit is run")

    def log_bytes(self, split: Split, earlier: Position, later: Position) -> int:
        return number_of(later) - number_of(earlier)

    def join(self, begun: BegunLog, table: FollowedTable) -> BegunLog:
        self.state.tell("join")
        payload: Any = begun.split.payload
        path, start = table.table.schema.path, _copied_at(table)
        read = begin_of(begun.split) if begun.position is None else number_of(begun.position)
        if start < read:
            about = f"{path} was copied at {start}, its driver went on from {self.database.began}, and has read on to {read}"
            expect(start < self.database.began, "I42Handoff", about)
            raise FatalError(f"{path} was copied at {start}, and the log was read up to {read}", "copy it again")
        starts = {**payload[STARTS], path.table: start}
        given = {name: place for name, place in payload[GIVEN].items() if name != path.table}
        return replace(begun, split=replace(begun.split, payload={STARTS: starts, GIVEN: given}))

    def goes_back(self, begun: BegunLog, table: TablePath, place: Position) -> BegunLog:
        self.state.tell("go back")
        payload: Any = begun.split.payload
        assert begun.position is not None, "a log in which a table waits was read"
        here, there = number_of(begun.position), number_of(place)
        if there < self.database.forgotten:
            raise FatalError(f"the log is gone before {self.database.forgotten}", "copy the table again")
        given = dict(payload[GIVEN])
        if there < here:
            given |= {name: max(here, given.get(name, 0)) for name in payload[STARTS]}
        given.pop(table.table, None)
        if there >= here:
            given[table.table] = there
        split = replace(begun.split, payload={STARTS: payload[STARTS], GIVEN: given})
        return replace(begun, split=split, position=Position({"n": min(here, there)}))


def _copied_at(table: FollowedTable) -> int:
    payloads: Any = [split.payload for split in table.copied]
    expect(bool(payloads), "I42Handoff", f"{table.table.schema.path} joins, and was not copied")
    return min(payload[PLACE] for payload in payloads)


class _LogEnumerator(_Opened):
    def __init__(self, source: FollowedLog, tables: Sequence[FollowedTable], *, known: bool) -> None:
        super().__init__(source)
        self._tables, self._known = tables, known

    def discover(self) -> Iterable[Split]:
        self._source.state.tell("discover")
        if self._known:
            return []
        self._known = True
        if not any(one.copied for one in self._tables):
            raise FatalError(f"{self._tables[0].table.schema.path} was not copied", "copy it first")
        starts: dict[str, Plain] = {one.table.schema.path.table: _copied_at(one) for one in self._tables}
        return [Split(LOG, self._tables[0].table.schema.path, {STARTS: starts, GIVEN: {}})]

    def snapshot(self) -> Plain:
        return {"known": True}
