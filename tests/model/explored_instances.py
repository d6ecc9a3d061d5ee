"""What is explored with the shipping code: small graphs, their work, and a budget of faults."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

from seatunnel_py.protocol.ids import Channel, Subtask
from seatunnel_py.protocol.items import StagedPiece
from seatunnel_py.protocol.participant_messages import RunUnit, UnitDone
from seatunnel_py.protocol.topology import Edge, SinkKind, Topology, Vertex

FAULTS = ("fail", "crash", "lose", "twice", "expire", "store", "commit")
"""A subtask fails; the coordinator's process crashes; an answer or a trigger is lost; an acknowledgement comes twice; a
checkpoint expires; the store refuses a record; a commit fails, or its confirmation is lost."""


@dataclass(frozen=True)
class Instance:
    """``edges`` are pairs of letters: A, B sources, K, L two-phase sinks, J a vertex that numbers what it takes, D one
    that passes rows on, T a loop's head that sends a row round once. ``batches``: how many each source reads, a row
    each. ``triggers``: how many periodic checkpoints are asked for; the final one comes by itself. ``faults`` that may
    happen, ``budget`` of them in all. ``alignment``: None aligned, 0 unaligned, else an alignment may time out at any
    moment. ``checkpoints``: how many may begin; what would begin more is not looked at (for a final one may be declined
    again and again while the start of its source is under way)."""

    name: str
    about: str
    edges: tuple[str, ...]
    batches: int = 1
    triggers: int = 1
    faults: tuple[str, ...] = ()
    budget: int = 0
    alignment: float | None = None
    retained: tuple[str, ...] = ()
    checkpoints: int = 4
    topology: Topology = field(init=False)
    subtasks: tuple[Subtask, ...] = field(init=False)
    channels: tuple[Channel, ...] = field(init=False)

    def __post_init__(self) -> None:
        names = sorted({name for edge in self.edges for name in edge}, key=lambda name: (name in "KL", name))
        vertices = tuple(Vertex(name, 1, sink=SinkKind.TWO_PHASE if name in "KL" else SinkKind.NONE) for name in names)
        edges = tuple(Edge(edge[0], edge[1], retained=edge in self.retained) for edge in self.edges)
        object.__setattr__(self, "topology", Topology(vertices, edges))
        object.__setattr__(self, "subtasks", self.topology.subtasks())
        object.__setattr__(self, "channels", self.topology.channels)

    def expected(self, sink: str) -> list[str]:
        """The rows that the sink has to show in the end."""
        above = self.topology.ancestors(sink)
        return sorted(f"{name}{at}" for name in self.topology.sources if name in above for at in range(self.batches))

    def work(self, command: RunUnit, piece: str) -> UnitDone:
        """What a unit makes of its batch: a row is a pair of its name and how it was counted on its way."""
        name, subtask = command.subtask.vertex, command.subtask
        if command.channel is None:
            at = command.range[0] if command.range else (command.state or (0,))[0]
            rows: Any = ((f"{name}{at}", 0),)
            return self._done(command, (at + 1,), rows, range=(at, at + 1), ended=at + 1 >= self.batches)
        rows = command.batch.payload
        if name in "KL":
            pieces = (StagedPiece(piece, tuple(row for row, _ in rows)),)
            state = tuple(sorted((command.state or ()) + tuple(row for row, _ in rows)))
            return UnitDone(0.0, command.epoch, command.number, state, (), pieces)
        count = (command.state or (0,))[0] + len(rows)
        if name == "J":
            rows = tuple((row, count) for row, _ in rows)
        elif name == "T":
            back = [channel for channel in self.topology.outputs(subtask) if channel.edge in self.loop]
            again = tuple((row, tries + 1) for row, tries in rows if tries == 0)
            on = tuple(pair for pair in rows if pair[1] > 0)
            outputs = [
                self._output(channel, again if channel in back else on) for channel in self.topology.outputs(subtask)
            ]
            return UnitDone(0.0, command.epoch, command.number, (count,), tuple(one for one in outputs if one[1]))
        return self._done(command, (count,), rows)

    @property
    def loop(self) -> frozenset[int]:
        """Edges out of the loop's head that lead back to it."""
        return frozenset(
            number
            for number, edge in enumerate(self.topology.edges)
            if edge.sender == "T" and (edge.receiver == "T" or "T" in self.topology.descendants(edge.receiver))
        )

    def _done(self, command: RunUnit, state: Any, rows: Any, **more: Any) -> UnitDone:
        outputs = tuple(self._output(channel, rows) for channel in self.topology.outputs(command.subtask))
        return UnitDone(0.0, command.epoch, command.number, state, outputs, **more)

    def _output(self, channel: Channel, rows: Any) -> tuple[Channel, Any, int, int]:
        return channel, rows, len(rows), zlib.crc32(repr(rows).encode())


FAIL = ("fail",)
INSTANCES = (
    Instance("aligned-pair", "two batches, a failure or a message gone astray", ("AK",),
             batches=2, faults=("fail", "lose", "twice", "expire"), budget=1),
    Instance("aligned-chain", "a failure at any step", ("AD", "DK"), faults=FAIL, budget=1),
    Instance("aligned-fan-out", "one sink fails and its sibling goes on: the channels are kept", ("AK", "AL"),
             faults=FAIL, budget=1, retained=("AK", "AL")),
    Instance("join", "two sources, an order that is not fixed, two periodic checkpoints", ("AJ", "BJ", "JK"), triggers=2),
    Instance("join-failure", "the same, and a failure at any step", ("AJ", "BJ", "JK"), faults=FAIL, budget=1),
    Instance("unaligned-pair", "barriers overtake batches, a failure at any step", ("AK",),
             batches=2, faults=("fail", "expire"), budget=1, alignment=0.0),
    Instance("unaligned-join", "barriers overtake batches at a join", ("AJ", "BJ", "JK"), alignment=0.0),
    Instance("alignment-timeout", "alignments that time out at any step", ("AJ", "BJ", "JK"), alignment=1.0),
    Instance("cyclic", "a back-edge, and two rows that go round", ("AT", "TT", "TK"), batches=2),
    Instance("cyclic-failure", "a back-edge, and a failure at any step", ("AT", "TT", "TK"), faults=FAIL, budget=1),
    Instance("two-faults", "two faults of any kind, but of the process", ("AK",),
             faults=("fail", "lose", "expire", "store", "commit"), budget=2),
    Instance("crash", "the coordinator's process crashes at any step, another fault follows or comes before", ("AK",),
             faults=("crash", "commit", "fail"), budget=2),
    Instance("crash-unaligned", "the process crashes at any step, with channel state", ("AK",),
             batches=2, faults=("crash",), budget=1, alignment=0.0),
)  # fmt: skip
BY_NAME = {one.name: one for one in INSTANCES}
