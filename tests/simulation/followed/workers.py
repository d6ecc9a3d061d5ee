"""Honest workers of a followed job. A row is (vertex of its source, split, number, path, tag, rounds), as in other jobs;
a row of the log has its place as the number, and a row of a copy counts among the rows of its table.

Rules. (1) A reader of the log gives the rows that count of the tables that it was made for, each under the version that
it was made for. It ends at a change of one of them, and reports it. (2) A reader confirms a place to the server when its
unit begins.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

from seatunnel_py.api import Piece, Position, TablePath
from seatunnel_py.plan.pipelines import PlannedVertex
from seatunnel_py.work.schema_alteration import SchemaAlteration
from seatunnel_py.work.unit import FailureKind, SinkPiece, Slice, Unit, UnitFailure, UnitResult
from tests.simulation.followed.history import Database
from tests.simulation.followed.plan import source_table
from tests.simulation.followed.sources import FIRST, PLACE, begin_of, number_of, starts_of, version_of
from tests.simulation.violation import expect

Row = tuple[str, str, int, str, int, int]
ROW_BYTES = 8


class FollowedWorkers:
    """``vertices``: those whose chains the engine has; ``exchange`` holds the rows of segments."""

    def __init__(self, database: Database, exchange: dict[str, list[Row]]) -> None:
        self.vertices: dict[str, PlannedVertex] = {}
        self._database, self._exchange = database, exchange

    def may_lie(self, _: str) -> bool:
        return False

    def run(
        self, unit: Unit, driver: int, salt: Callable[[], int], *, lies: bool = False, version: int = 0
    ) -> UnitResult:
        """What comes of a unit; as ``Workers.run``."""
        vertex = self.vertices[unit.id.vertex]
        if unit.split is None:
            return self._of_slices(vertex, unit, driver)
        if vertex.source is not None and vertex.source.part.is_log:
            return self._of_log(vertex, unit, driver, early=bool(salt() & 1))
        return self._of_copy(vertex, unit, driver)

    # ---------------------------------------------------------------- copies

    def _of_copy(self, vertex: PlannedVertex, unit: Unit, driver: int) -> UnitResult:
        split = unit.split
        assert split is not None and split.rows is not None
        start = 0 if unit.start is None else number_of(unit.start)
        stop = min(start + unit.budget.rows, split.rows)
        if unit.until is not None:
            stop = number_of(unit.until)
        payload: Any = split.payload
        places = self._database.history.places(split.table.table, payload[PLACE])[payload[FIRST] :]
        rows: list[Row] = [(vertex.id, split.id, place, "", 0, 0) for place in places[start:stop]]
        following = Position({"n": stop}) if stop < split.rows else None
        pieces = self._pieces(vertex, unit, driver, rows)
        return UnitResult(unit.id, following is None, following, len(rows), pieces=pieces)

    # ---------------------------------------------------------------- the log

    def _of_log(self, vertex: PlannedVertex, unit: Unit, driver: int, *, early: bool) -> UnitResult:
        split, node = unit.split, vertex.source
        assert split is not None and node is not None
        start = begin_of(split) if unit.start is None else number_of(unit.start)
        stop = max(start, min(start + unit.budget.rows, self._database.end))
        versions = {one.schema.path.table: version_of(one) for one in node.tables}
        altered: tuple[Mapping[str, Any], ...] = ()
        if unit.until is not None:
            stop = number_of(unit.until)
        else:
            stop, altered = self._up_to_change(versions, start, stop, early=early)
        self._database.read = max(self._database.read, stop)
        rows = self._rows(vertex.id, unit, versions, range(start, stop))
        slices, pieces = (), ()
        if vertex.outputs:
            slices = self._slices(vertex, rows)
        else:
            pieces = self._pieces(vertex, unit, driver, [row for own in rows.values() for row in own])
        count = sum(map(len, rows.values()))
        return UnitResult(
            unit.id, done=False, next=Position({"n": stop}), rows=count, pieces=pieces, slices=slices, altered=altered
        )

    def _up_to_change(
        self, versions: Mapping[str, int], start: int, stop: int, *, early: bool
    ) -> tuple[int, tuple[Mapping[str, Any], ...]]:
        """The end of a unit, and the change there. Without ``early`` a unit with rows before it leaves it to the next."""
        history = self._database.history
        ends = {name: history.next_change(name, version) for name, version in versions.items()}
        reached = {end for end in ends.values() if end is not None and end <= stop and end < len(history.owners)}
        if not reached:
            return stop, ()
        end = max(min(reached), start)
        if end > start and not early:
            return end, ()
        names = [name for name, change in ends.items() if change is not None and change <= end]
        made = [SchemaAlteration(source_table(name, versions[name] + 1), statement="altered") for name in names]
        return end, tuple(one.to_plain() for one in made)

    def _rows(self, vertex: str, unit: Unit, versions: Mapping[str, int], places: range) -> dict[str, list[Row]]:
        assert unit.split is not None
        history, starts = self._database.history, starts_of(unit.split)
        found: dict[str, list[Row]] = {name: [] for name in versions}
        for place in places:
            name = history.owners[place]
            if name not in versions:
                continue
            expect(name in starts, "I42Handoff", f"{unit.id} reads {name}, which has no place in {unit.split.payload}")
            if place >= starts[name]:
                version = history.version(name, place)
                about = f"{unit.id} reads row {place} of {name}, version {version}, as of {versions[name]}"
                expect(version == versions[name], "I48SchemaOfRows", about)
                found[name].append((vertex, unit.split.id, place, "", 0, 0))
        return found

    def _slices(self, vertex: PlannedVertex, rows: Mapping[str, list[Row]]) -> tuple[Slice, ...]:
        found = []
        for name, own in rows.items():
            if own:
                segment = f"mem:{len(self._exchange)}"
                self._exchange[segment] = own
                crc, size = zlib.crc32(repr(own).encode()), len(own) * ROW_BYTES
                found.append(Slice(vertex.id, 0, TablePath.parse(name), segment, 0, len(own), size, crc))
        return tuple(found)

    # ---------------------------------------------------------------- sinks

    def _of_slices(self, vertex: PlannedVertex, unit: Unit, driver: int) -> UnitResult:
        for one in unit.slices:
            if one.stopped is not None:
                failure = UnitFailure(FailureKind.FATAL, *one.stopped)
                return UnitResult(unit.id, done=False, failure=failure)
        rows = [row for one in unit.slices for row in self._exchange[one.segment]]
        return UnitResult(unit.id, rows=len(rows), pieces=self._pieces(vertex, unit, driver, rows))

    def _pieces(self, vertex: PlannedVertex, unit: Unit, driver: int, rows: list[Row]) -> tuple[SinkPiece, ...]:
        plain: Any = list(map(list, rows))
        data = {"unit": f"{driver}.{unit.id}", "rows": plain}
        return tuple(
            SinkPiece(node.step.id, node.table.path, Piece(len(rows), len(rows) * ROW_BYTES, data=dict(data)))
            for node in vertex.sinks
        )
