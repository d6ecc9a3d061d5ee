"""Sinks: start effects once, writers in the workers, one committer on the driver.

``open(context) -> write(batch)* -> stage() -> Piece`` in a worker; nothing stays open afterwards. A *piece* is a
small, plain description of something durable and complete that the committer can finish from another process.
A sink is bound to one upstream table when it is made (its options have had their placeholders replaced).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from seatunnel_py.api.batch import Batch, Plain, Position, SchemaChange
from seatunnel_py.api.names import ALIKE, NameRules, TargetPlace
from seatunnel_py.api.schema import Detail
from seatunnel_py.api.types import Conversion
from seatunnel_py.nouns import counted


@dataclass(frozen=True, slots=True)
class Effect:
    """One start effect, for people and for the once-only record: what will be done to the target, and whether it
    destroys something that is there now."""

    action: str
    target: str
    statement: str = ""
    destructive: bool = False


class Treatment(StrEnum):
    """What becomes of what the target holds when the job begins."""

    NEW = "new"
    APPENDED = "appended"
    UPDATED = "updated"
    REPLACED = "replaced"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class Present:
    """What the target holds when the job begins, and what becomes of it; `plan` and the receipt say so.

    ``count`` is None where nobody can tell; ``bound`` stands in front of one that is not exact (``about``). ``what`` is
    counted: rows, files, records. ``doubles`` says why a second run would write everything a second time, where the job
    file has not chosen that, and ``ways`` what to write there: such a run is refused."""

    treatment: Treatment
    count: int | None = None
    bound: str = ""
    what: str = "rows"
    by: str = "key"
    doubles: str = ""
    ways: str = ""

    @property
    def held(self) -> str:
        """``about 120,000 rows``."""
        if self.count is None:
            return f"the {self.what}"
        return f"{self.bound} {counted(self.count, self.what.removesuffix('s'))}".strip()

    @property
    def text(self) -> str:
        match self.treatment:
            case Treatment.NEW:
                return "new"
            case Treatment.APPENDED:
                return f"appended to {self.held}"
            case Treatment.UPDATED:
                return f"updated by {self.by} ({self.held} there)"
            case Treatment.REPLACED:
                return f"replaced ({self.held} there)"
        return f"custom_sql runs first ({self.held} there)"


class Visible(StrEnum):
    """From when on people see what a sink wrote: as soon as it is staged, with each commit, with the last commit of a
    bounded job (until then ``abort`` takes all of it back)."""

    STAGED = "staged"
    COMMITTED = "committed"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class Setup:
    """What :meth:`Sink.plan_setup` decided. ``data`` holds the sink's own decisions (how to load, names drawn at
    random), as plain data: it is part of checkpoint 0 and is given to every writer and to the committer. ``counted``:
    the target remembers the last checkpoint (``Committer.recover``), although the sink is not two-phase.
    ``conversions``: the columns whose values are not stored as the rows hold them; `plan` and the receipt name them.
    ``present``: what is there before, and what becomes of it; None: nobody can tell. ``left_behind``: what a table that
    is made does not have of its source's definition."""

    effects: tuple[Effect, ...] = ()
    data: Mapping[str, Plain] = field(default_factory=dict)
    visible: Visible = Visible.COMMITTED
    counted: bool = False
    conversions: tuple[Conversion, ...] = ()
    present: Present | None = None
    left_behind: tuple[Detail, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteContext:
    """Who writes. ``data_id`` names the rows (split and start position): two attempts at the same rows have the same
    one; ``vertex`` is whose rows they are. ``incarnation``, ``epoch`` and ``attempt`` are the fence, and part of every
    staged name. ``staging`` is a location (URL) that workers and driver share, for pieces that the target itself cannot
    hold: it outlives the driver, and a committer empties what its sink put there. ``trial``: the rows are tried, to
    find the bad ones among them, and never staged; a writer that cannot take rows back does all but send them."""

    job_id: str
    lineage: str
    step: str
    data_id: str
    subtask: int = 0
    incarnation: int = 1
    epoch: int = 0
    attempt: int = 0
    setup: Mapping[str, Plain] = field(default_factory=dict)
    staging: str = ""
    vertex: str = ""
    trial: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """``rows`` is what the target confirmed, row for row as handed over; ``merged`` of them were folded into another
    row of the same key; ``data`` is the sink's own, plain and versioned."""

    rows: int
    bytes: int = 0
    merged: int = 0
    data: Mapping[str, Plain] = field(default_factory=dict)
    version: int = 1


@dataclass(frozen=True, slots=True)
class Reached:
    """How far an earlier attempt at a unit's rows has come, as its target says: so many rows of the source, up to
    ``end`` (None: its split was read whole)."""

    rows: int
    end: Position | None = None


@dataclass(frozen=True, slots=True)
class CommitContext:
    """``checkpoint`` grows with each commit of this sink and table; ``final`` is the last of a bounded job;
    ``staging`` is what the writers had."""

    job_id: str
    lineage: str
    step: str
    checkpoint: int
    incarnation: int = 1
    final: bool = True
    setup: Mapping[str, Plain] = field(default_factory=dict)
    staging: str = ""


class Writer(ABC):
    """Writes the batches of one unit. Exactly one of ``stage`` and ``abort`` ends it.

    ``reached`` is set when the target holds these rows already, from an earlier attempt or life: the unit then ends
    where that one ended, and the writer only counts what it is given."""

    reached: Reached | None = None

    @abstractmethod
    def write(self, batch: Batch) -> None:
        """Take a batch. Rows may be buffered, but memory stays bounded."""

    def flush(self) -> None:
        """Let the target see every row that was written, so that it refuses bad ones (BadRowsError) now; nothing
        becomes durable. Called before ``abort``, when the engine looks for bad rows. Needed only where ``write``
        buffers."""
        return

    def ends_at(self, reached: Reached) -> None:
        """Told before ``stage``: what the unit has read of its source. For writers that leave a record of it."""
        return

    @abstractmethod
    def stage(self) -> Piece:
        """Make all that was written durable, with the target's positive confirmation of every row (I32)."""

    @abstractmethod
    def abort(self) -> None:
        """The unit failed: undo what can be undone, give back what was borrowed. Must not raise."""


@dataclass(frozen=True, slots=True)
class SinkCommit:
    """What one committer is to commit; ``pieces`` are combined already."""

    committer: Committer
    pieces: Sequence[Piece]
    context: CommitContext


class Committer(ABC):
    """Finishes pieces, on the driver. The target's own record decides what was done, never memory (I28)."""

    def combine(self, pieces: Sequence[Piece]) -> Sequence[Piece]:
        """Merge the pieces of a checkpoint where that makes the commit smaller."""
        return pieces

    @abstractmethod
    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        """Make the pieces visible, all or nothing; called again with the same checkpoint it has the effect of once."""

    def commits_with(self, context: CommitContext) -> Hashable:
        """What all those have in common whose commits this target takes together: a job may have hundreds of tables in
        it. None: this one is committed alone."""
        return None

    def commit_together(self, commits: Sequence[SinkCommit]) -> None:
        """All or nothing, of committers (this one among them) that agree in ``commits_with``. What is no RetriableError
        may concern any of them: they are then asked to ``commit`` each alone."""
        raise AssertionError(f"{type(self).__name__} has named nobody to commit with")

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        """Drop staged pieces that no checkpoint will ever name (I33). ``context.final``: the run is given up, and so is
        everything that it has staged; else these only, beside others that a checkpoint has named or will name."""
        return

    def begin(self, context: CommitContext, *, fresh: bool) -> str | None:
        """A lineage begins, before anything is set up: another one under which the target knows this job, or None.
        Where people want that forgotten (``fresh``) it is, and writers of it are refused from now on."""
        return None

    def sweep(self, context: CommitContext) -> Sequence[str]:
        """A job begins anew (``--fresh``), before ``begin`` makes the target forget it: removes what earlier lineages
        of this job, step and table have left beside the target (staged rows, open transactions), and nothing of other
        jobs. Returns sentences for people: what it has removed, and which rows stay visible, with the statement that
        deletes them. Safe to call again."""
        return ()

    def recover(self, context: CommitContext) -> int | None:
        """The last checkpoint that the target knows as committed, or None: it has no such record."""
        return None

    def last_committed(self, context: CommitContext) -> int | None:
        """The last checkpoint of this lineage that the target knows as committed, whatever set-up it was of. Asked
        before a table begins from nothing: a store that knows less than its target has lost something. Changes
        nothing."""
        return None

    def ledger(self, context: CommitContext) -> Hashable:
        """The record in the target that :meth:`recover` reads, which many tables and jobs may share. None: it has none,
        or none that anything is ever removed from."""
        return None

    def lineage_ended(self, context: CommitContext, keep_days: int) -> None:
        """All tables of the job have arrived, in whatever targets. Told to one committer of each :meth:`ledger`, which
        removes what it holds of lineages that ended so longer ago, by the target's clock, and of no others."""
        return

    def apply(self, change: SchemaChange) -> None:
        """Change the target's schema between two barriers. Must be idempotent."""
        raise ValueError(f"this sink applies no schema changes (wanted for {change.table})")


class NothingToCommit(Committer):
    """For sinks whose rows are visible once written."""

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        return None


@dataclass(frozen=True, slots=True)
class SinkSetup:
    """What one sink is to set up."""

    sink: Sink
    setup: Setup


class Sink(ABC):
    """The description, bound to the schema of one upstream table. Picklable, opens nothing when it is made."""

    @property
    def target(self) -> str:
        """What rows of this sink end up in, for people: a table, a directory, a topic."""
        return type(self).__name__

    @property
    def target_place(self) -> TargetPlace | None:
        """The same as data, so that two sinks of a job are found that write to one place. None: rows of several tables
        may meet there (a console), or each row says where it goes."""
        return None

    def name_rules(self) -> NameRules:
        """How the target compares the names of its places. Asked, on the driver, only where two sinks of a job have
        places whose names are alike; the target may be looked at."""
        return ALIKE

    def plan_setup(self) -> Setup:
        """Look at the target (read only) and decide the start effects; refuse here what cannot work, naming every
        missing, extra or narrower column. Called once, on the driver, before anything is written."""
        return Setup()

    def setup(self, setup: Setup) -> None:
        """Perform the planned effects, once. Must be safe to call again when a crash left it half done."""
        return

    def sets_up_with(self, setup: Setup) -> Hashable:
        """What all those have in common whose start effects this target performs together: a job may create hundreds of
        tables in it. None: these are performed alone."""
        return None

    def set_up_together(self, setups: Sequence[SinkSetup]) -> None:
        """All or nothing, of sinks (this one among them) that agree in ``sets_up_with``; safe to call again. What is no
        RetriableError may concern any of them: they are then asked to ``setup`` each alone."""
        raise AssertionError(f"{type(self).__name__} has named nobody to set up with")

    def marks_units(self, setup: Mapping[str, Plain]) -> bool:
        """Whether each unit leaves a record of itself beside its rows, in their transaction (``Writer.reached``). Such
        a sink is also told of units that gave it no rows: where one unit ends the next one begins."""
        return False

    @abstractmethod
    def open(self, context: WriteContext) -> Writer:
        """A writer for one unit, in a worker."""

    def committer(self) -> Committer:
        """The committer, on the driver."""
        return NothingToCommit()

    def at_work(self, seconds: float) -> Sequence[str] | None:
        """Sessions for which the server has been at one statement, or which have waited for a lock, for so long: a
        sentence for each. None: nobody can tell. Where nothing moves and the server says that it does nothing, the
        connection is taken for lost. Asked as ``blocked_by`` is."""
        return None

    def blocked_by(self) -> Sequence[str]:
        """What in the target keeps this sink's work there waiting (locks of others), in sentences for people. Asked on
        the driver when something takes long: it has to answer within seconds, and changes nothing."""
        return ()
