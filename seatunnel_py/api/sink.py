"""Sinks: start effects once, writers in the workers, one committer on the driver.

A worker calls ``open(context) -> write(batch)* -> stage() -> Piece``; nothing stays open afterwards. A *piece* is a
small, plain description of durable staged rows, which the committer can commit from another process.
A sink is bound to one upstream table; the placeholders in its options are already replaced.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from seatunnel_py.api.batch import Batch, Plain, Position, SchemaChange
from seatunnel_py.api.names import ALIKE, Dataset, NameRules, TargetPlace
from seatunnel_py.api.schema import Detail
from seatunnel_py.api.source import Source, SourceTable
from seatunnel_py.api.types import Conversion
from seatunnel_py.errors import FatalError
from seatunnel_py.nouns import counted


@dataclass(frozen=True, slots=True)
class Effect:
    """One start effect, for `plan` and for checkpoint 0: the change to the target, and whether it destroys existing
    data."""

    action: str
    target: str
    statement: str = ""
    destructive: bool = False


class Treatment(StrEnum):
    """Treatment of the rows that the target holds before the job starts."""

    NEW = "new"
    APPENDED = "appended"
    UPDATED = "updated"
    REPLACED = "replaced"
    CUSTOM = "custom"


@dataclass(frozen=True, slots=True)
class Present:
    """Rows, files or records that the target holds before the job starts; `plan` and the receipt show them.

    ``count`` is None if unknown; ``bound`` precedes an inexact one (``about``). ``what`` is the counted noun.
    ``doubles`` explains why a second run would write everything twice although the job file did not choose it; such a
    run is refused, and ``ways`` lists the options that allow it."""

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
    """When written rows become visible to readers of the target: when staged, with each commit, or with the last
    commit of a batch job (until then ``abort`` removes all of them)."""

    STAGED = "staged"
    COMMITTED = "committed"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class Setup:
    """Result of :meth:`Sink.plan_setup`. ``data`` holds the sink's own decisions (recipe, random names) as plain data;
    checkpoint 0 stores it, and every writer and the committer get it. ``counted``: the target remembers the last
    checkpoint (``Committer.recover``), although the sink is not two-phase. ``conversions``: columns whose values are
    stored in another form; `plan` and the receipt list them. ``present``: existing data and its treatment; None:
    unknown. ``left_behind``: parts of the source's definition that a created table lacks."""

    effects: tuple[Effect, ...] = ()
    data: Mapping[str, Plain] = field(default_factory=dict)
    visible: Visible = Visible.COMMITTED
    counted: bool = False
    conversions: tuple[Conversion, ...] = ()
    present: Present | None = None
    left_behind: tuple[Detail, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteContext:
    """Identity of a unit's rows and of the attempt that writes them. ``data_id`` names the rows (split and start
    position) and is equal for all attempts at them; ``vertex`` is the rows' vertex. ``incarnation``, ``epoch`` and
    ``attempt`` are the fence, and part of every staged name. ``staging`` is a URL that workers and driver share, for
    pieces that the target cannot hold: it outlives the driver, and the committer deletes them. ``trial``: the rows are
    only tested to find bad ones, and never staged; a writer without rollback does everything but send them."""

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
    """Staged rows of one unit. ``rows`` counts the rows that the target confirmed; ``merged`` of them were merged into
    another row of the same key; ``data`` is the sink's own plain, versioned data."""

    rows: int
    bytes: int = 0
    merged: int = 0
    data: Mapping[str, Plain] = field(default_factory=dict)
    version: int = 1


@dataclass(frozen=True, slots=True)
class Reached:
    """Rows of the source that an earlier attempt of the unit wrote, by the target's record: their number, and the
    position ``end`` after them (None: the whole split was read)."""

    rows: int
    end: Position | None = None


@dataclass(frozen=True, slots=True)
class CommitContext:
    """Identity of a commit. ``checkpoint`` grows with each commit of this sink and table; ``final``: the last one of a
    batch job; ``staging``: as in WriteContext."""

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

    ``reached`` is set if the target already holds these rows from an earlier attempt or driver: the unit then ends
    where that one ended, and the writer only counts the rows that it gets."""

    reached: Reached | None = None

    @abstractmethod
    def write(self, batch: Batch) -> None:
        """Write or buffer a batch, with bounded memory."""

    def flush(self) -> None:
        """Send all buffered rows to the target, so that it refuses bad ones now (BadRowsError); nothing becomes
        durable. Called before ``abort`` when the engine searches for bad rows. Needed only if ``write`` buffers."""
        return

    def ends_at(self, reached: Reached) -> None:
        """Receive, before ``stage``, how far the unit has read its source. For writers that store it in the target."""
        return

    @abstractmethod
    def stage(self) -> Piece:
        """Make all written rows durable; the target must confirm every row (I32)."""

    @abstractmethod
    def abort(self) -> None:
        """Roll back after a failure, and return borrowed connections. Must not raise."""


@dataclass(frozen=True, slots=True)
class SinkCommit:
    """Arguments of one ``commit`` inside ``commit_together``; ``pieces`` are already combined."""

    committer: Committer
    pieces: Sequence[Piece]
    context: CommitContext


class Committer(ABC):
    """Commits pieces, on the driver. The target's ledger decides whether a commit has happened, never memory (I28)."""

    def combine(self, pieces: Sequence[Piece]) -> Sequence[Piece]:
        """Merge pieces of one checkpoint to make the commit smaller; by default unchanged."""
        return pieces

    @abstractmethod
    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        """Make the pieces visible, all or nothing. A repeated call with the same checkpoint has no further effect."""

    def commits_with(self, context: CommitContext) -> Hashable:
        """Return a grouping key: committers with equal keys go to one ``commit_together`` call, which helps with
        hundreds of tables. None: commit alone."""
        return None

    def commit_together(self, commits: Sequence[SinkCommit]) -> None:
        """Commit all or nothing, for committers with equal ``commits_with`` (this one included). After any error but
        a RetriableError the engine calls ``commit`` for each one alone."""
        raise AssertionError(f"{type(self).__name__} defines commits_with, but not commit_together")

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        """Delete staged pieces that no checkpoint will ever contain (I33). ``context.final``: the run is given up, so
        delete everything that it staged; else delete these pieces only."""
        return

    def begin(self, context: CommitContext, *, fresh: bool) -> str | None:
        """Register a new lineage, before any set-up. Return another lineage that the target has for this job, or None.
        ``fresh``: make the target forget that other lineage and refuse its writers from now on."""
        return None

    def sweep(self, context: CommitContext) -> Sequence[str]:
        """Delete what earlier lineages of this job, step and table left beside the target (staged rows, open
        transactions), and nothing of other jobs. Called for ``--fresh``, before ``begin``. Return sentences to show:
        what was deleted, and which rows stay visible, with the statement that deletes them. Safe to call again."""
        return ()

    def recover(self, context: CommitContext) -> int | None:
        """Return the last checkpoint that is committed in the target; None: the target has no record of one."""
        return None

    def last_committed(self, context: CommitContext) -> int | None:
        """Return the last checkpoint of this lineage that is committed in the target, of any set-up. Called before a
        table starts from nothing: if the target has a checkpoint, the store has lost records. Must be read-only."""
        return None

    def ledger(self, context: CommitContext) -> Hashable:
        """Identify the ledger that :meth:`recover` reads, which tables and jobs may share. None: the target has none,
        or its entries are never deleted."""
        return None

    def lineage_ended(self, context: CommitContext, keep_days: int) -> None:
        """Record that all tables of the job are done, and delete entries of lineages that ended more than
        ``keep_days`` ago, by the target's clock. Called for one committer of each :meth:`ledger`."""
        return


class NothingToCommit(Committer):
    """Committer of sinks whose rows are visible as soon as they are written."""

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        return None


@dataclass(frozen=True, slots=True)
class SinkSetup:
    """One sink and its set-up inside ``set_up_together``."""

    sink: Sink
    setup: Setup


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows that a target holds, as ``source`` reads them. ``columns`` maps the columns of the sink's table to those
    of ``table``, which may have others, too."""

    source: Source
    table: SourceTable
    columns: Mapping[str, str]


class Sink(ABC):
    """Description of a sink for one upstream table. Picklable; its constructor must not connect."""

    @property
    def target(self) -> str:
        """Name the target (a table, directory or topic), for messages."""
        return type(self).__name__

    @property
    def target_place(self) -> TargetPlace | None:
        """Return the target as data, to detect two sinks with the same target. None: tables may share it (a console),
        or each row names its own target."""
        return None

    def dataset(self) -> Dataset | None:
        """Return the data that this sink writes, for lineage events. None: it has no name outside of the job, or each
        row names its own. Must not connect."""
        return None

    def name_rules(self) -> NameRules:
        """Return how the target compares names. Called on the driver, only if two sinks have similar target names; may
        connect."""
        return ALIKE

    def plan_setup(self) -> Setup:
        """Inspect the target (read only) and decide the start effects. Raise here for a target that cannot take the
        rows, naming every missing, extra or narrower column. Called once, on the driver, before any write."""
        return Setup()

    def setup(self, setup: Setup) -> None:
        """Perform the start effects. Must be safe to repeat after a crash in the middle."""
        return

    def stored_rows(self) -> StoredRows | None:
        """Return a source of the target's rows, for comparisons; None: they cannot be read. May connect; must be
        read-only. Raise SeaTunnelError if the target does not exist."""
        return None

    def alter(self, change: SchemaChange, setup: Setup) -> Setup:
        """Alter the target, so that it takes rows of the table's new schema, for which this sink was made. Return the
        set-up of all later units. ``change`` is that of the table that this sink gets, after all transforms. Called on
        the driver when all rows of the earlier schema are committed; must be idempotent, because a killed driver's
        successor calls it again. Raise FatalError to refuse: the table stops, and the target stays as it is."""
        raise FatalError(
            f"{self.target} does not follow changes of the schema",
            "write the table to another sink, or copy it again with another job",
        )

    @property
    def can_be_emptied(self) -> bool:
        """Whether ``truncate`` removes the rows of the target, instead of refusing."""
        return False

    def truncate(self, setup: Setup, context: CommitContext) -> None:
        """Remove all rows of the target, because the table was truncated at the source, or is copied again. Called and
        repeated like ``alter``. Raise FatalError to refuse: the table stops, and the target keeps its rows. Refuse
        also a driver (``context``) that a newer one has overtaken, in the transaction that removes the rows (I34)."""
        raise FatalError(
            f"{self.target} cannot be emptied while the job runs",
            "set schema-changes.exclude = [truncate.table], which keeps earlier rows; or copy the table again with "
            "another job",
        )

    def repair_writer(self, context: WriteContext) -> Writer | None:
        """Create a writer of rows that a followed table is refreshed with. The writer changes the target by key, in one
        transaction, whatever the recipe of the job's units is, and leaves no record of a unit. The writer must not
        commit once a newer run of the job has announced itself. Called on the driver while no unit runs. None: the sink
        cannot repair rows."""
        return None

    def sets_up_with(self, setup: Setup) -> Hashable:
        """Return a grouping key: sinks with equal keys go to one ``set_up_together`` call, which helps with hundreds
        of tables. None: set up alone."""
        return None

    def set_up_together(self, setups: Sequence[SinkSetup]) -> None:
        """Perform the start effects of sinks with equal ``sets_up_with`` (this one included), all or nothing; safe to
        repeat. After any error but a RetriableError the engine calls ``setup`` for each one alone."""
        raise AssertionError(f"{type(self).__name__} defines sets_up_with, but not set_up_together")

    def marks_units(self, setup: Mapping[str, Plain]) -> bool:
        """Return True if the transaction of each unit also stores a record of the unit (``Writer.reached``). A sink
        with such records is also called for units without rows, because a unit starts where the recorded one before it
        ended."""
        return False

    @abstractmethod
    def open(self, context: WriteContext) -> Writer:
        """Create a writer for one unit, in a worker."""

    def committer(self) -> Committer:
        """Create the committer, on the driver."""
        return NothingToCommit()

    def at_work(self, seconds: float) -> Sequence[str] | None:
        """Return a sentence for each session of this sink that has executed one statement, or waited for a lock, for
        so many seconds. None: unknown. If the job makes no progress and the list is empty, the connection counts as
        lost. Called like ``blocked_by``."""
        return None

    def blocked_by(self) -> Sequence[str]:
        """Return a sentence for each session of others whose lock this sink waits for. Called on the driver when
        something takes long; must return within seconds, and must be read-only."""
        return ()
