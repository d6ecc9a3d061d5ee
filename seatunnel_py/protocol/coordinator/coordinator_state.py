"""State that the modules of one coordinator share: the graph, the epochs, the newest record, and the commands of the
current event.

Rules. (PS1) Epochs and checkpoint ids only grow, over all incarnations (I11). (PS2) ``newest`` changes only when a
record is known to be durable; ``storing`` is being stored. (PS3) A record whose storing has failed is in doubt: it may
be in the store, and a later driver would resume from it. The record is in doubt until it is durably void, or a newer
record is durable.

May not know: why its values change.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from seatunnel_py.protocol.commit.commit_queue import CommitQueue
from seatunnel_py.protocol.coordinator.commands import CommitPieces, CoordinatorCommand, Refused, VoidRecords
from seatunnel_py.protocol.coordinator.events import OfSubtask
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.lifecycle import PIPELINE, PipelineEvent, PipelineState, advance
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import Plain
from seatunnel_py.protocol.model.topology import Topology


@dataclass(slots=True)
class CoordinatorState:
    """``in_doubt``: records whose storing has failed (PS3); ``voiding``: they are being made void. ``stale`` counts
    dropped messages of earlier epochs (I37); ``moved``: units were done since the last completed checkpoint; ``kept``:
    everything is in a durable record, a final one or that of a stop; ``ended``: source subtasks that have read
    everything."""

    topology: Topology
    settings: CheckpointSettings
    commits: CommitQueue = field(default_factory=CommitQueue)
    newest: CheckpointRecord | None = None
    storing: CheckpointRecord | None = None
    in_doubt: tuple[CheckpointRecord, ...] = ()
    voiding: bool = False
    next_checkpoint: int = 1
    incarnation: int = 0
    plan: Plain = None
    epochs: dict[str, int] = field(default_factory=dict)
    state: PipelineState = PipelineState.CREATED
    set_up: set[str] = field(default_factory=set)
    ended: set[Subtask] = field(default_factory=set)
    moved: bool = False
    stop_failed: bool = False
    kept: bool = False
    stale: int = 0
    out: list[CoordinatorCommand] = field(default_factory=list)

    def say(self, *commands: CoordinatorCommand) -> None:
        self.out.extend(commands)

    def stored(self, record: CheckpointRecord) -> None:
        """The record is durable, and the newest one."""
        self.newest, self.storing = record, None
        self.in_doubt = tuple(one for one in self.in_doubt if one.checkpoint > record.checkpoint)

    def not_stored(self, record: CheckpointRecord) -> None:
        """Storing the record has failed (PS3)."""
        self.in_doubt, self.storing = (*self.in_doubt, record), None

    def void_in_doubt(self) -> None:
        """Request, once, that the records in doubt become void."""
        if not self.voiding:
            self.voiding = True
            newest = 0 if self.newest is None else self.newest.checkpoint
            self.say(VoidRecords(tuple(one.checkpoint for one in self.in_doubt), newest))

    def voided(self) -> None:
        """The records in doubt are durably void."""
        self.in_doubt, self.voiding = (), False

    def issue_commits(self) -> None:
        """Send the due commits, in order for each scope (I30)."""
        self.commits, due = self.commits.issue()
        for commit in due:
            previous = self.commits.ledgers.get(commit.scope)
            self.say(CommitPieces(self.incarnation, commit.scope, commit.checkpoint, commit.pieces, previous))

    def refuse(self, what: str, reason: Reason) -> None:
        self.say(Refused(what, reason))

    def advance(self, event: PipelineEvent) -> None:
        """Change the pipeline's state as its table prescribes."""
        self.state = advance(PIPELINE, self.state, event)

    def take_id(self) -> int:
        """Return a checkpoint id that was never used (I11)."""
        taken = self.next_checkpoint
        self.next_checkpoint += 1
        return taken

    def is_stale(self, event: OfSubtask) -> bool:
        """Return True, and count it, if a message comes from an earlier epoch or incarnation (I37)."""
        stale = event.incarnation != self.incarnation or event.epoch != self.epochs.get(event.subtask.vertex)
        self.stale += stale
        return stale

    @property
    def all_ended(self) -> bool:
        return self.ended.issuperset(self.topology.reading)
