"""Rows of the simulation, and what honest workers make of them.

A row is (source, split, number, path, tag, rounds). Source, split and number make it one and the same; the path names
the vertices that it came through, and tells two copies of it apart. Vertices that count change the tag by the number of
the unit that took it, so that one that takes its inputs in another order makes other rows. Rounds are those of a loop.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from seatunnel_py.api import Piece, Position
from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex
from seatunnel_py.protocol.model.topology import VertexDeterminism
from seatunnel_py.work.unit import SinkPiece, Slice, Unit, UnitResult
from tests.simulation.jobs.logs import cut
from tests.simulation.jobs.shapes import Job, Role
from tests.simulation.jobs.sources import Finds, source_of

Row: TypeAlias = tuple[str, str, int, str, int, int]
Identity: TypeAlias = tuple[str, str, int, str]
Lost: TypeAlias = Mapping[tuple[str, str], set[int]]
"""Rows of splits that can be read only once: (source, split) -> their numbers."""
MASK = (1 << 31) - 1
LIE = 7
ROW_BYTES = 8


def identity(row: Row) -> Identity:
    """What makes a row one and the same, however it was counted."""
    return row[:4]


def rounds_wanted(row: Row) -> int:
    """How often a row goes round a loop."""
    return row[2] * 5 % 3


def letter(vertex: str) -> str:
    """A vertex in a path."""
    return vertex[-1]


def sender_of(channel: str) -> str:
    """The vertex that sends on a channel, which a unit or a plan has named."""
    return channel.rpartition(":")[2].partition(">")[0].partition("[")[0]


class Workers:
    """``vertices`` and ``roles`` of all pipelines of a job. ``exchange`` holds the rows of segments; ``gone``: what a
    split that can be read only once has given already."""

    def __init__(
        self, jobs: Iterable[Job], exchange: dict[str, list[Row]], gone: Mapping[tuple[str, str], int]
    ) -> None:
        self.vertices = {vertex.id: vertex for job in jobs for vertex in job.pipeline.vertices}
        self._roles = {name: role for job in jobs for name, role in job.roles.items()}
        self._levels = {name: level for job in jobs for name, level in job.levels.items()}
        self._exchange, self._gone = exchange, gone

    def may_lie(self, vertex: str) -> bool:
        """Whether a second run of it may give other rows than were promised."""
        return self._roles[vertex] in (Role.PASS, Role.COUNT)

    def run(
        self, unit: Unit, driver: int, salt: Callable[[], int], *, lies: bool = False, version: int = 0
    ) -> UnitResult:
        """What comes of a unit. ``driver`` names whose unit it is, where several have units of one id; ``version``: of
        the schema that its reader was made for."""
        vertex = self.vertices[unit.id.vertex]
        following, bounded = None, True
        if unit.split is not None:
            rows, stop = self._read(vertex, unit, version)
            assert unit.split.rows is not None and vertex.source is not None
            bounded = vertex.source.capabilities.bounded or source_of(vertex.source).finds is Finds.IN_RUNS
            following = Position({"n": stop}) if stop < unit.split.rows or not bounded else None
        else:
            rows = [_moved(row, one.channel, vertex) for one in unit.slices for row in self._exchange[one.segment]]
        read = len(rows)
        rows = self._made(vertex, unit, rows, salt, lies=lies)
        plain: Any = list(map(list, rows))
        name = f"{driver}.{unit.id}"
        pieces = tuple(
            SinkPiece(node.step.id, node.table.path, Piece(read, read * ROW_BYTES, data={"unit": name, "rows": plain}))
            for node in vertex.sinks
        )
        slices = self._slices(vertex, rows)
        result = UnitResult(unit.id, following is None, following, read, pieces=pieces, slices=slices)
        if vertex.source is None or unit.until is not None or not source_of(vertex.source).changes.places:
            return result
        return cut(result, vertex.source, version, _start(unit), early=bool(salt() & 1))

    def _read(self, vertex: PlannedVertex, unit: Unit, version: int) -> tuple[list[Row], int]:
        split = unit.split
        assert split is not None and split.rows is not None and vertex.source is not None
        start = _start(unit)
        if not vertex.source.capabilities.replayable:
            start = max(start, self._gone.get((vertex.id, split.id), 0))
        end = source_of(vertex.source).changes.end_of(version)
        stop = min(start + unit.budget.rows, split.rows, split.rows if end is None else max(end, start))
        if unit.until is not None:
            stop = int(str(unit.until.value["n"]))
        return [(vertex.id, split.id, number, "", 0, 0) for number in range(start, stop)], stop

    def _made(
        self, vertex: PlannedVertex, unit: Unit, rows: list[Row], salt: Callable[[], int], *, lies: bool
    ) -> list[Row]:
        role, level = self._roles[vertex.id], self._levels[vertex.id]
        if role is Role.QUERY:
            rows.sort()
        elif role is Role.COUNT:
            rows = [(*row[:4], (row[4] * 31 + unit.id.sequence) & MASK, row[5]) for row in rows]
        elif role is Role.RETRY:
            rows = [(*row[:5], row[5] + 1) for row in rows]
        if level is VertexDeterminism.INDETERMINATE:
            change = salt()
            rows = [(*row[:4], (row[4] * 31 + change) & MASK, row[5]) for row in rows]
        elif level is VertexDeterminism.UNORDERED and salt() & 1:
            rows.reverse()
        if lies:
            rows = [(*row[:4], row[4] + LIE, row[5]) for row in rows]
        return rows

    def _slices(self, vertex: PlannedVertex, rows: list[Row]) -> tuple[Slice, ...]:
        if not (vertex.outputs and rows):
            return ()
        if vertex.retry is None:
            return (self._slice(vertex, vertex.id, rows),)
        again = [row for row in rows if row[5] <= rounds_wanted(row)]
        onwards = [row for row in rows if row[5] > rounds_wanted(row)]
        ways = ((vertex.retry.channel.id, again), (vertex.id, onwards))
        return tuple(self._slice(vertex, channel, part) for channel, part in ways if part)

    def _slice(self, vertex: PlannedVertex, channel: str, rows: list[Row]) -> Slice:
        segment = f"mem:{len(self._exchange)}"
        self._exchange[segment] = rows
        crc = zlib.crc32(repr(rows).encode())
        return Slice(channel, 0, vertex.outputs[0].table, segment, 0, len(rows), len(rows) * ROW_BYTES, crc)


def _start(unit: Unit) -> int:
    return int(str(unit.start.value["n"])) if unit.start else 0


def _moved(row: Row, channel: str, vertex: PlannedVertex) -> Row:
    """A row that came along a channel; on the way round its path stays."""
    sender = sender_of(channel)
    return row if sender == vertex.id else (*row[:3], row[3] + letter(sender), *row[4:])


def no_salt() -> int:
    """For vertices that promise the same rows again."""
    return 0


def paths_of(pipeline: Pipeline) -> dict[str, list[tuple[str, str]]]:
    """Of each vertex, the sources that feed it, each with the path from there."""
    found: dict[str, list[tuple[str, str]]] = {}
    for vertex in _in_order(pipeline.vertices):
        if vertex.source is not None:
            found[vertex.id] = [(vertex.id, "")]
        else:
            senders = [channel.sender for channel in vertex.inputs]
            found[vertex.id] = [(source, path + letter(one)) for one in senders for source, path in found[one]]
    return found


def _in_order(vertices: Sequence[PlannedVertex]) -> Iterable[PlannedVertex]:
    """Senders before receivers."""
    left, done = list(vertices), set[str]()
    while left:
        ready = next(one for one in left if done.issuperset(channel.sender for channel in one.inputs))
        left.remove(ready)
        done.add(ready.id)
        yield ready


def expected(pipeline: Pipeline, lost: Lost) -> dict[str, Counter[Identity]]:
    """What each sink must show in the end, but for rows that could not be read again."""
    paths = paths_of(pipeline)
    shown: dict[str, Counter[Identity]] = {node.id: Counter() for node in pipeline.sinks}
    splits = rows_of_splits(pipeline)
    for vertex in pipeline.vertices:
        for node in vertex.sinks:
            for source, path in paths[vertex.id]:
                for (own, split), rows in splits.items():
                    if own == source:
                        gone = lost.get((own, split), ())
                        shown[node.id].update((own, split, one, path) for one in range(rows) if one not in gone)
    return shown


def rows_of_splits(pipeline: Pipeline) -> dict[tuple[str, str], int]:
    """How many rows each split of each source holds."""
    sources = [(vertex.id, source_of(vertex.source)) for vertex in pipeline.vertices if vertex.source is not None]
    return {(name, f"s{at}"): rows for name, source in sources for at, rows in enumerate(source.rows)}
