"""A store, a target and a driver of one small pipeline, as small as they can be: the driver is a generator that stops at
each of the twelve crash points, so that a test may end it there, or leave it there and let another one take over.

One source of rows 0, 1, 2, ...; a sink of two subtasks, each of which stages one row of an interval. The decisions are
those of the shipping code; only the walk from one to the next is written here.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from seatunnel_py.protocol.commit.claims import Claim, RestoreRefusal, claim_from, newest, next_incarnation
from seatunnel_py.protocol.commit.commit_queue import CommitQueue
from seatunnel_py.protocol.encoding.record_format import decode, encode
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import SinkKind, Topology, Vertex
from tests.protocol.reference.commit_life import Recorded
from tests.protocol.reference.ledger import REASON_OF, LedgerRow, Verdict, claim_ledger, ledger_decision, may_write
from tests.protocol.reference.orphans import FoundPiece, orphans

SINK, LINEAGE, WIDTH = "K", "lineage", 2

GRAPH = Topology((Vertex("S"), Vertex("K", parallelism=2, sink=SinkKind.TWO_PHASE)))


class Fenced(Exception):
    """This driver has to stop."""


@dataclass
class World:
    """What is durable. ``refused_writes``: so many writes of records fail first (F22)."""

    owner: int = 0
    claims: list[Claim] = field(default_factory=list)
    temporary: bytes = b""
    records: dict[tuple[int, int], bytes] = field(default_factory=dict)
    staged: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Name of a piece -> the row in it, the incarnation that staged it."""
    ledger: LedgerRow | None = None
    visible: list[int] = field(default_factory=list)
    refused_writes: int = 0

    def read(self) -> list[CheckpointRecord]:
        return [decode(data) for data in self.records.values()]

    def facts(self, checkpoint: int) -> tuple[Recorded, bool, bool]:
        """The durable facts about a checkpoint: the key of ``RECOVERY``."""
        records = self.read()
        last = max(records, key=lambda record: record.checkpoint)
        if any(commit.checkpoint == checkpoint for commit in last.uncommitted):
            recorded = Recorded.CARRIED
        elif any(record.checkpoint == checkpoint for record in records):
            recorded = Recorded.CONFIRMED
        else:
            recorded = Recorded.NOWHERE
        assert self.ledger is not None
        mine = [name for name in self.staged if name.startswith(f"{checkpoint}-")]
        return recorded, self.ledger.checkpoint >= checkpoint, bool(mine)


@dataclass
class Driver:
    """``checkpoint`` is the one that is under way; ``staged``: what the sinks carry, ``done``: what was confirmed."""

    world: World
    rows: int
    incarnation: int = 0
    checkpoint: int = 0
    position: int = 0
    queue: CommitQueue = field(default_factory=CommitQueue)
    staged: dict[Subtask, tuple[StagedPiece, ...]] = field(default_factory=dict)
    done: list[CommitRecord] = field(default_factory=list)

    def life(self) -> Iterator[str]:
        """From taking over to the end of the rows; what is yielded are the names of crash points."""
        try:
            yield from self._take_over()
            yield from self._commit()
            self._sweep()
            while self.position < self.rows:
                yield from self._interval()
            # The last record is one that brought nothing new: what earlier ones staged is cleaned behind it.
            quiet = False
            while not quiet:
                stored = yield from self._interval()
                quiet = stored and all(commit.checkpoint < self.checkpoint for commit in self.done)
            self._sweep()
        except Fenced:
            return

    def _take_over(self) -> Iterator[str]:
        """Fence, read, decide (I38)."""
        world = self.world
        self.incarnation = world.owner = next_incarnation(world.owner, world.claims)
        yield "taken"
        records = world.read()
        claim = claim_from(self.incarnation, world.claims, records)
        record = newest(world.claims, records)
        assert isinstance(claim, Claim)
        assert not isinstance(record, RestoreRefusal)
        yield "read"
        self._may_write()
        world.claims.append(claim)
        row = claim_ledger(world.ledger, LINEAGE, self.incarnation, record.checkpoint if record else 0)
        if row is Verdict.FENCED:
            raise Fenced
        assert isinstance(row, LedgerRow), row
        world.ledger = row
        self.checkpoint = claim.first - 1
        if record is not None:
            self.queue = CommitQueue.restored(record)
            state = record.snapshots[Subtask("S")].state
            assert isinstance(state, int)
            self.position = state

    def _may_write(self) -> None:
        if not may_write(self.world.owner, self.incarnation):
            raise Fenced

    def _sweep(self) -> None:
        world = self.world
        found = [FoundPiece(StagedPiece(name), SINK, by, 0, 0.0) for name, (_, by) in world.staged.items()]
        records, lives = world.read(), {SINK: 0}
        dropped = orphans(
            found, claims=world.claims, records=records, storing=[], incarnation=self.incarnation, epochs=lives, age=0.0
        )
        for one in dropped:
            del world.staged[one.piece.name]

    def _interval(self) -> Generator[str, None, bool]:
        """Read so many rows, stage them, complete a checkpoint, commit it. What was staged for one whose record could
        not be stored is carried by the next (I14)."""
        self.checkpoint += 1
        for index in range(min(WIDTH, self.rows - self.position)):
            self._stage(Subtask(SINK, index), self.position + index)
            if index == 0:
                yield "p1"
        self.position = min(self.position + WIDTH, self.rows)
        yield from ("p2", "p3", "p4", "p5")
        if not (yield from self._persist()):
            return False
        yield from self._commit()
        yield from self._clean()
        return True

    def _stage(self, subtask: Subtask, row: int) -> None:
        name = f"{self.checkpoint}-{self.incarnation}-{subtask}"
        self.world.staged[name] = (row, self.incarnation)
        self.staged[subtask] = (*self.staged.get(subtask, ()), StagedPiece(name, row))

    def _persist(self) -> Generator[str, None, bool]:
        world = self.world
        snapshots = {Subtask("S"): SubtaskSnapshot(self.position)}
        snapshots |= {subtask: SubtaskSnapshot(pieces=pieces) for subtask, pieces in self.staged.items()}
        record = CheckpointRecord(
            self.checkpoint, self.incarnation, RecordKind.PERIODIC, 0, GRAPH, {}, snapshots,
            uncommitted=self.queue.uncommitted(self.checkpoint, snapshots, GRAPH),
        )  # fmt: skip
        world.temporary = encode(record)
        yield "p6"
        self._may_write()
        if world.refused_writes:
            world.refused_writes -= 1
            return False
        world.records[self.incarnation, self.checkpoint] = encode(record)
        # The news of a completion comes late to the sinks: they forget what the record before this one contains.
        told = self.queue.contained
        self.staged = {
            subtask: tuple(piece for piece in pieces if piece.name not in told)
            for subtask, pieces in self.staged.items()
        }
        self.queue = self.queue.completed(record)
        yield "p7"
        return True

    def _commit(self) -> Iterator[str]:
        """Everything that is due, until nothing waits."""
        self.queue, due = self.queue.issue()
        while due:
            for commit in due:
                yield "p8"
                yield from self._apply(commit)
                self.queue = self.queue.confirmed(commit.scope, commit.checkpoint)
                self.done.append(commit)
            self.queue, due = self.queue.issue()

    def _apply(self, commit: CommitRecord) -> Iterator[str]:
        """One transaction of the target."""
        world, before = self.world, self.world.ledger
        verdict = ledger_decision(
            before, commit, lineage=LINEAGE, incarnation=self.incarnation,
            newest=max(record.checkpoint for record in world.read()),
            previous=self.queue.ledgers.get(commit.scope),
            pieces_there=all(piece.name in world.staged for piece in commit.pieces),
        )  # fmt: skip
        if REASON_OF[verdict] is Reason.FENCED:
            raise Fenced
        assert verdict in (Verdict.APPLY, Verdict.ALREADY), verdict
        yield "p9"
        if world.ledger != before:
            raise Fenced  # a lock would have made the other wait; here the transaction is rolled back
        if verdict is Verdict.APPLY:
            world.visible += [world.staged[piece.name][0] for piece in commit.pieces]
            world.ledger = LedgerRow(LINEAGE, self.incarnation, commit.checkpoint)
        yield "p10"

    def _clean(self) -> Iterator[str]:
        """What an earlier record carried, and this one carries no longer, has had its day; so has that record."""
        yield "p11"
        self._may_write()
        names = [piece.name for commit in self.done if commit.checkpoint < self.checkpoint for piece in commit.pieces]
        for name in names:
            if self.world.staged.pop(name, None) is not None:
                yield "p12"
        self._may_write()
        for key in [key for key in self.world.records if key[1] < self.checkpoint]:
            del self.world.records[key]
