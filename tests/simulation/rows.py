"""What units do with rows, and what the sinks must show in the end.

A row is a tuple of numbers: (source, split, number in the split, path, tries, tag). ``path`` names the edges that it
went along; ``tag`` is set by counting vertices and depends on the order of their inputs. Whether a row is filtered or
goes round a loop is read off the row alone, so that the result can be computed without any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from seatunnel_py.protocol.failover.restore import KEY_GROUPS, subtask_of
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.topology import Spread, VertexDeterminism
from tests.simulation.pipelines import Pipeline, Role

Row = tuple[int, int, int, int, int, int]
Rows = tuple[Row, ...]
MASK = (1 << 61) - 1
DIGITS = 64
Identity = tuple[int, int, int, int]
Counts = Mapping[str, tuple[int, int]]
"""State of a vertex with inputs: key group -> rows that it took, and the sum over them."""
Lost = dict[tuple[str, int], set[int]]
"""Rows of splits of sources that can be read only once: (source, split) -> their numbers."""
GROUPS = tuple(str(group) for group in range(KEY_GROUPS))


def digest(rows: Rows) -> int:
    """Over the rows without their order. Numbers hash alike in every process."""
    return sum(map(hash, rows)) & MASK


def identity(row: Row) -> Identity:
    """What makes a row one and the same, however it was counted."""
    return row[:4]


def key_group(row: Row) -> int:
    """Rows of one key belong together."""
    return (row[0] + row[1] + row[2] % 3) * 53 % KEY_GROUPS


def taken(state: Counts | None, rows: Rows) -> Counts:
    """The state after these rows were taken."""
    after = dict(state or {})
    for row in rows:
        name = GROUPS[key_group(row)]
        count, total = after.get(name, (0, 0))
        after[name] = count + 1, (total + hash(row)) & MASK
    return after


def total(states: Iterable[Counts | None]) -> tuple[int, int]:
    """Rows that were taken, and the sum over them."""
    every = [one for state in states if state for one in state.values()]
    return sum(count for count, _ in every), sum(mark for _, mark in every) & MASK


def wanted_tries(row: Row) -> int:
    return (row[0] + row[1] + row[2] * 5) % 3


class Machinery:
    """The work of every vertex of a pipeline."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        topology = pipeline.topology
        self.back_edges = topology.back_edges
        self.outgoing = {
            vertex.id: [(number, edge) for number, edge in enumerate(topology.edges) if edge.sender == vertex.id]
            for vertex in topology.vertices
        }
        self.numbers = {vertex.id: at for at, vertex in enumerate(topology.vertices)}
        self.levels = {vertex.id: vertex.determinism for vertex in topology.vertices}
        self.width = {vertex.id: vertex.parallelism for vertex in topology.vertices}
        self.channels = {
            (channel.edge, channel.sender.index, channel.receiver.index): channel for channel in topology.channels
        }

        self.closing = {
            number: self._closes_loop(edge.sender, number)
            for number, edge in enumerate(topology.edges)
            if pipeline.roles[edge.sender] is Role.RETRY
        }

    def source(self, vertex: str, split: int, start: int, end: int) -> Rows:
        number = self.numbers[vertex]
        return tuple((number, split, at, 0, 0, 0) for at in range(start, end))

    def splits(self, subtask: Subtask) -> dict[str, Any]:
        """What a reader begins with."""
        mine = range(self.pipeline.splits[subtask.vertex])[subtask.index :: self.width[subtask.vertex]]
        return {"assigned": {}, "unassigned": [str(split) for split in mine], "finished": []}

    def keep(self, vertex: str, row: Row) -> bool:
        return self.pipeline.roles[vertex] is not Role.FILTER or (row[0] + row[2]) % 3 != 0

    def transform(self, vertex: str, state: Counts | None, rows: Rows, salt: int) -> Rows:
        """Rows that the vertex emits for rows that it took; ``state``: what it took before."""
        role = self.pipeline.roles[vertex]
        if role is Role.COUNT:
            rows = self._counted(state or {}, rows)
        elif role is Role.FILTER:
            rows = tuple(row for row in rows if self.keep(vertex, row))
        elif role is Role.RETRY:
            rows = tuple((*row[:4], row[4] + 1, row[5]) for row in rows)
        if self.levels[vertex] is VertexDeterminism.INDETERMINATE:
            rows = tuple((*row[:5], (row[5] * 31 + salt) & MASK) for row in rows)
        elif self.levels[vertex] is VertexDeterminism.UNORDERED and salt & 1:
            rows = rows[::-1]
        return rows

    def _counted(self, state: Counts, rows: Rows) -> Rows:
        """Every row gets its ordinal in its key group."""
        before: dict[int, int] = {}
        found = []
        for row in sorted(rows):  # a batch with its rows in another order is the same batch
            group = key_group(row)
            at = before[group] = before.get(group, state.get(GROUPS[group], (0, 0))[0]) + 1
            found.append((*row[:5], (row[5] * 31 + at) & MASK))
        return tuple(found)

    def route(self, subtask: Subtask, rows: Rows) -> list[tuple[Channel, Rows]]:
        """Which rows go into which channel; no batch is empty."""
        found = []
        for number, edge in self.outgoing[subtask.vertex]:
            wanted = [row for row in rows if self._takes(subtask.vertex, number, row)]
            if not wanted:
                continue
            step = number + 1
            width = self.width[edge.receiver]
            if edge.spread is Spread.FORWARD:
                parts = {subtask.index: wanted}
            elif edge.spread is Spread.BROADCAST:
                parts = dict.fromkeys(range(width), wanted)
            else:
                parts = {}
                for row in wanted:
                    parts.setdefault(subtask_of(key_group(row), width), []).append(row)
            for index in sorted(parts):
                place = step + 16 * index if edge.spread is Spread.BROADCAST else step
                marked = tuple(self._marked(row, number, place) for row in parts[index])
                found.append((self.channels[number, subtask.index, index], marked))
        return found

    def _takes(self, vertex: str, edge: int, row: Row) -> bool:
        """Behind a retry vertex a row goes either round or on."""
        if self.pipeline.roles[vertex] is not Role.RETRY:
            return True
        return (row[4] <= wanted_tries(row)) == self.closing[edge]

    def _closes_loop(self, vertex: str, edge: int) -> bool:
        receiver = self.pipeline.topology.edges[edge].receiver
        return receiver == vertex or receiver in self.pipeline.topology.ancestors(vertex)

    def _marked(self, row: Row, edge: int, place: int) -> Row:
        edges = self.pipeline.topology.edges
        if edge in self.back_edges or self.pipeline.roles[edges[edge].sender] is Role.RETRY:
            return row  # inside a loop and out of it the path stays, or it would grow with every round
        return (row[0], row[1], row[2], row[3] * DIGITS + place, row[4], row[5])

    def expected(self, lost: Lost) -> dict[str, Counter[Identity]]:
        """What each sink must show in the end, but for rows that nobody could read again."""
        shown: dict[str, Counter[Identity]] = {
            name: Counter() for name, role in self.pipeline.roles.items() if role is Role.SINK
        }
        waiting: list[tuple[Subtask, Rows]] = []
        for name, count in self.pipeline.rows.items():
            for split in range(self.pipeline.splits[name]):
                gone = lost.get((name, split), ())
                rows = tuple(row for row in self.source(name, split, 0, count) if row[2] not in gone)
                waiting.append((Subtask(name, 0), rows))
        while waiting:
            subtask, rows = waiting.pop()
            if subtask.vertex in shown:
                shown[subtask.vertex].update(map(identity, rows))
                continue
            for channel, part in self.route(subtask, self.transform(subtask.vertex, None, rows, 0)):
                waiting.append((channel.receiver, part))
        return shown
