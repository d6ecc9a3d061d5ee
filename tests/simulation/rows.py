"""What units do with rows, and what the sinks must show in the end.

A row is a tuple of numbers: (source, split, number in the split, path, tries, tag). ``path`` names the edges that it
went along; ``tag`` is set by counting vertices and depends on the order of their inputs. Whether a row is filtered or
goes round a loop is read off the row alone, so that the result can be computed without any order.
"""

from __future__ import annotations

from collections import Counter

from seatunnel_py.protocol.ids import Channel, Subtask
from seatunnel_py.protocol.topology import Determinism, Spread
from tests.simulation.pipelines import Pipeline, Role

Row = tuple[int, int, int, int, int, int]
Rows = tuple[Row, ...]
MASK = (1 << 61) - 1
DIGITS = 64
Identity = tuple[int, int, int, int]


def digest(rows: Rows) -> int:
    """Over the rows without their order. Numbers hash alike in every process."""
    return sum(map(hash, rows)) & MASK


def identity(row: Row) -> Identity:
    """What makes a row one and the same, however it was counted."""
    return row[:4]


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

    def source(self, subtask: Subtask, start: int, end: int) -> Rows:
        number = self.numbers[subtask.vertex]
        return tuple((number, subtask.index, at, 0, 0, 0) for at in range(start, end))

    def keep(self, vertex: str, row: Row) -> bool:
        return self.pipeline.roles[vertex] is not Role.FILTER or (row[0] + row[2]) % 3 != 0

    def transform(self, vertex: str, count: int, rows: Rows, salt: int) -> Rows:
        """Rows that the vertex emits for rows that it took; ``count``: how many it took before."""
        role = self.pipeline.roles[vertex]
        if role is Role.COUNT:
            # sorted: a batch with its rows in another order is the same batch
            rows = tuple((*row[:5], (row[5] * 31 + at) & MASK) for at, row in enumerate(sorted(rows), count + 1))
        elif role is Role.FILTER:
            rows = tuple(row for row in rows if self.keep(vertex, row))
        elif role is Role.RETRY:
            rows = tuple((*row[:4], row[4] + 1, row[5]) for row in rows)
        if self.levels[vertex] is Determinism.INDETERMINATE:
            rows = tuple((*row[:5], (row[5] * 31 + salt) & MASK) for row in rows)
        elif self.levels[vertex] is Determinism.UNORDERED and salt & 1:
            rows = rows[::-1]
        return rows

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
                    parts.setdefault((row[0] + row[1] + row[2] % 3) % width, []).append(row)
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

    def expected(self) -> dict[str, Counter[Identity]]:
        """What each sink must show in the end."""
        shown: dict[str, Counter[Identity]] = {
            name: Counter() for name, role in self.pipeline.roles.items() if role is Role.SINK
        }
        waiting: list[tuple[Subtask, Rows]] = []
        for name, count in self.pipeline.rows.items():
            for index in range(self.width[name]):
                waiting.append((Subtask(name, index), self.source(Subtask(name, index), 0, count)))
        while waiting:
            subtask, rows = waiting.pop()
            if subtask.vertex in shown:
                shown[subtask.vertex].update(map(identity, rows))
                continue
            for channel, part in self.route(subtask, self.transform(subtask.vertex, 0, rows, 0)):
                waiting.append((channel.receiver, part))
        return shown
