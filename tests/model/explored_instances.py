"""What is explored with the shipping code: small graphs, their work, and a budget of faults."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

from seatunnel_py.protocol.failover.restore import subtask_of
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.stream_elements import StagedPiece
from seatunnel_py.protocol.model.topology import Edge, SinkKind, Spread, Topology, Vertex
from seatunnel_py.protocol.participant.messages import RunUnit, UnitDone
from tests.protocol.graphs import descendants

FAULTS = ("fail", "crash", "stop", "lose", "twice", "expire", "store", "commit")
"""A subtask fails; the coordinator's process crashes; a person stops the pipeline with a savepoint; an answer or a
trigger is lost; an acknowledgement comes twice; a checkpoint expires; the store refuses a record; a commit fails, or
its confirmation is lost."""
KEY_GROUP = {"a": 0, "b": 64}
"""The splits of S, and the key groups of their rows: two subtasks of G share them."""


@dataclass(frozen=True)
class Instance:
    """``edges`` are pairs of letters: A, B sources, K, L two-phase sinks, J a vertex that numbers what it takes, D one
    that passes rows on, T a loop's head that sends a row round once, S a source with two splits, G a vertex whose
    state is kept by key. ``batches``: how many each source (or split) reads, a row each. ``parallel``: vertices with more
    than one subtask, as in "S2 G1"; ``rescaled``: the same for the graph of every driver but the first. ``triggers``: how many periodic checkpoints are asked for; the final one comes by itself. ``faults`` that may
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
    parallel: str = ""
    rescaled: str = ""
    graphs: tuple[Topology, ...] = field(init=False)
    subtasks: tuple[Subtask, ...] = field(init=False)
    """Of all graphs; so are the channels."""
    channels: tuple[Channel, ...] = field(init=False)

    def __post_init__(self) -> None:
        shapes = [self.parallel, self.rescaled] if self.rescaled else [self.parallel]
        graphs = tuple(self._graph(shape) for shape in shapes)
        object.__setattr__(self, "graphs", graphs)
        subtasks = tuple(dict.fromkeys(one for graph in graphs for one in graph.subtasks()))
        object.__setattr__(self, "subtasks", subtasks)
        object.__setattr__(self, "channels", tuple(dict.fromkeys(one for graph in graphs for one in graph.channels)))

    def _graph(self, shape: str) -> Topology:
        names = sorted({name for edge in self.edges for name in edge}, key=lambda name: (name in "KL", name))
        parallelism = {one[0]: int(one[1:]) for one in shape.split()}
        vertices = tuple(
            Vertex(name, parallelism.get(name, 1), sink=SinkKind.TWO_PHASE if name in "KL" else SinkKind.NONE)
            for name in names
        )
        spread = Spread.KEYED if self.rescaled else Spread.FORWARD
        return Topology(vertices, tuple(Edge(*edge, spread, retained=edge in self.retained) for edge in self.edges))

    @property
    def topology(self) -> Topology:
        """The first graph."""
        return self.graphs[0]

    def expected(self, sink: str) -> list[str]:
        """The rows that the sink has to show in the end."""
        above = self.topology.ancestors(sink)
        readers = [KEY_GROUP if name == "S" else name for name in self.topology.sources if name in above]
        return sorted(f"{name}{at}" for reader in readers for name in reader for at in range(self.batches))

    def work(self, command: RunUnit, piece: str, graph: Topology) -> UnitDone:
        """What a unit makes of its batch: a row is a pair of its name and how it was counted on its way."""
        name = command.subtask.vertex
        if name == "S":
            return self._read_split(command, graph)
        if command.channel is None:
            at = command.range[0] if command.range else (command.state or (0,))[0]
            ended = at + 1 >= self.batches
            return _done(command, graph, (at + 1,), ((f"{name}{at}", 0),), range=(at, at + 1), ended=ended)
        rows = command.batch.payload
        if name in "KL":
            names = tuple(row for row, _ in rows)
            state = tuple(sorted((command.state or ()) + names))
            return UnitDone(0.0, command.epoch, command.number, state, (), (StagedPiece(piece, names),))
        if name == "G":
            counts = dict(command.state or {})
            for row, _ in rows:
                group = str(KEY_GROUP[row[0]])
                counts[group] = counts.get(group, 0) + 1
            return _done(command, graph, counts, tuple((row, counts[str(KEY_GROUP[row[0]])]) for row, _ in rows))
        count = (command.state or (0,))[0] + len(rows)
        if name == "T":
            return self._go_round(command, graph, count)
        return _done(command, graph, (count,), tuple((row, count) for row, _ in rows) if name == "J" else rows)

    def _read_split(self, command: RunUnit, graph: Topology) -> UnitDone:
        """One row of the first split that is left; a reader without any has ended."""
        own = sorted(KEY_GROUP)[command.subtask.index :: graph.vertex("S").parallelism]
        state = command.state or {"assigned": dict.fromkeys(own, 0), "unassigned": (), "finished": ()}
        assigned = dict(state["assigned"])
        if not assigned:
            return UnitDone(0.0, command.epoch, command.number, state, (), range=(), ended=True)
        split, at = command.range or min(assigned.items())
        finished = tuple(state["finished"])
        if at + 1 < self.batches:
            assigned[split] = at + 1
        else:
            del assigned[split]
            finished = (*finished, split)
        state = {"assigned": assigned, "unassigned": (), "finished": finished}
        return _done(command, graph, state, ((f"{split}{at}", 0),), range=(split, at), ended=not assigned)

    def _go_round(self, command: RunUnit, graph: Topology, count: int) -> UnitDone:
        """A row goes round the loop once, and then on."""
        rows = command.batch.payload
        again = tuple((row, tries + 1) for row, tries in rows if tries == 0)
        on = tuple(pair for pair in rows if pair[1] > 0)
        outputs = [
            _output(channel, again if channel.edge in self.loop else on) for channel in graph.outputs(command.subtask)
        ]
        return UnitDone(0.0, command.epoch, command.number, (count,), tuple(one for one in outputs if one[1]))

    @property
    def loop(self) -> frozenset[int]:
        """Edges out of the loop's head that lead back to it."""
        return frozenset(
            number
            for number, edge in enumerate(self.topology.edges)
            if edge.sender == "T" and (edge.receiver == "T" or "T" in descendants(self.topology, edge.receiver))
        )


def _done(command: RunUnit, graph: Topology, state: Any, rows: Any, **more: Any) -> UnitDone:
    outputs = [_output(channel, _routed(channel, rows, graph)) for channel in graph.outputs(command.subtask)]
    return UnitDone(0.0, command.epoch, command.number, state, tuple(one for one in outputs if one[1]), **more)


def _routed(channel: Channel, rows: Any, graph: Topology) -> Any:
    """The rows for this receiver: all where it is the only one, otherwise those of its key groups."""
    shares = graph.vertex(channel.receiver.vertex).parallelism
    if shares == 1:
        return rows
    return tuple(row for row in rows if subtask_of(KEY_GROUP[row[0][0]], shares) == channel.receiver.index)


def _output(channel: Channel, rows: Any) -> tuple[Channel, Any, int, int]:
    return channel, rows, len(rows), zlib.crc32(repr(rows).encode())


FAIL, CRASH = ("fail",), ("crash",)
INSTANCES = (
    Instance("aligned-pair", "two batches, a failure or a message gone astray", ("AK",),
             batches=2, faults=("fail", "lose", "twice", "expire"), budget=1),
    Instance("aligned-chain", "a failure at any step", ("AD", "DK"), faults=FAIL, budget=1, checkpoints=3),
    Instance("aligned-fan-out", "one sink fails and its sibling goes on: the channels are kept", ("AK", "AL"),
             faults=FAIL, budget=1, retained=("AK", "AL"), triggers=0, checkpoints=3),
    Instance("join", "two sources, an order that is not fixed, two periodic checkpoints", ("AJ", "BJ", "JK"),
             batches=2, triggers=2),
    Instance("join-failure", "the same, and a failure at any step", ("AJ", "BJ", "JK"), faults=FAIL, budget=1, triggers=0,
             checkpoints=3),
    Instance("unaligned-pair", "barriers overtake batches, a failure at any step", ("AK",),
             batches=2, faults=("fail", "expire"), budget=1, alignment=0.0),
    Instance("unaligned-join", "barriers overtake batches at a join", ("AJ", "BJ", "JK"), triggers=2, alignment=0.0),
    Instance("alignment-timeout", "alignments that time out at any step", ("AJ", "BJ", "JK"), alignment=1.0),
    Instance("cyclic", "a back-edge, and three rows that go round", ("AT", "TT", "TK"), batches=3, triggers=2),
    Instance("cyclic-failure", "a back-edge, and a failure at any step", ("AT", "TT", "TK"), faults=FAIL, budget=1,
             triggers=0, checkpoints=3),
    Instance("two-faults", "two faults of messages, store or target", ("AK",),
             faults=("lose", "expire", "store", "commit"), budget=2),
    Instance("two-failures", "two failures, also one in the restart after the other", ("AK",), faults=FAIL, budget=2,
             triggers=0, checkpoints=3),
    Instance("crash", "the coordinator's process crashes twice, at any step", ("AK",), batches=2, faults=CRASH, budget=2),
    Instance("crash-failure", "it crashes at any step, a failure follows or comes before", ("AK",),
             faults=("crash", "fail"), budget=2, triggers=0, checkpoints=3),
    Instance("crash-unaligned", "it crashes at any step, with channel state", ("AK",),
             batches=3, faults=CRASH, budget=1, alignment=0.0),
    Instance("rescale", "it crashes at any step, and the next one runs S and G with another parallelism", ("SG", "GK"),
             faults=CRASH, budget=1, parallel="G2", rescaled="S2", checkpoints=3),
    Instance("rescale-stop", "the same the other way round, behind a savepoint that was asked for at any step",
             ("SG", "GK"), faults=("stop",), budget=1, rescaled="G2", checkpoints=3),
)  # fmt: skip
BY_NAME = {one.name: one for one in INSTANCES}
