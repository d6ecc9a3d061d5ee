"""Sources whose tables share one log, such as a replication slot or a binlog.

A job copies each table first, each with a pipeline of its own, and then follows the log with one pipeline for all
tables. The copy of a table ends at a place of the log that its splits name; the log is read for that table from there.
So no row is lost or repeated between copy and log, whenever the copy of a table was made.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from seatunnel_py.api.batch import Plain, Position
from seatunnel_py.api.capabilities import SourceCapabilities
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.schema_policy import SchemaPolicy
from seatunnel_py.api.source import Enumerator, Reader, Source, SourceTable, Split
from seatunnel_py.errors import COPY_AGAIN, FatalError


@dataclass(frozen=True, slots=True)
class FollowedTable:
    """A table that the log is read for. ``copied``: the splits that its rows were copied by, all committed; empty: it
    is not copied, and its changes count from the beginning of the log."""

    table: SourceTable
    copied: tuple[Split, ...] = ()


@dataclass(frozen=True, slots=True)
class BegunLog:
    """A log as earlier runs have left it. ``split``: its newest one; ``position``: the place at which it is read next,
    None: at its beginning; ``state``: the newest ``snapshot()`` of its enumerator."""

    split: Split
    position: Position | None = None
    state: Plain = None


@dataclass(frozen=True, slots=True)
class LogLag:
    """How far the end of a log is ahead of a place, in ``bytes`` of the log. ``retained``: bytes of log that the server
    keeps for the job, None: it keeps its log for a time of its own. ``warning``: the log may soon be lost, or is longer
    than the job file allows; ``remedy`` belongs to it."""

    bytes: int
    retained: int | None = None
    warning: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Leftover:
    """An object at the source that a job needs as long as it goes on, such as a replication slot. ``name``: for
    messages; ``kept``: why it is not dropped, empty: the job has made it; ``retained``: bytes of log that the server
    keeps for it."""

    name: str
    kept: str = ""
    retained: int | None = None


class LogSource(Source):
    """Description of a source with one log for all of its tables. The capabilities of its factory describe the log."""

    @abstractmethod
    def copy_source(self) -> Source | None:
        """Return the source of the rows before the log. Its splits must contain the place of the log from which
        they lack changes. None: the tables are not copied."""

    @abstractmethod
    def copy_capabilities(self) -> SourceCapabilities:
        """Return the capabilities of ``copy_source``."""

    @abstractmethod
    def log_enumerator(self, tables: Sequence[FollowedTable], state: Plain) -> Enumerator:
        """Create the enumerator of the log, once all tables are copied. ``state`` is an earlier ``snapshot()``, or
        None. The enumerator should return one split: the order of two splits is not kept."""

    def join(self, begun: BegunLog, table: FollowedTable) -> BegunLog:
        """Return the log with one more table, which was added to the job after the log had begun: its split names the
        table, and so does its state if that names tables. Raise FatalError if the log was read beyond the place at
        which the copy of the table ends: the changes between these places would be missing."""
        raise FatalError(
            f"{type(self).__name__} cannot add {table.table.schema.path} to a log that has begun",
            "start the job again with --fresh, which copies all of its tables",
        )

    def lag(self, begun: BegunLog) -> LogLag | None:
        """Return how far the end of the log is ahead of a place, in one short query; None: it is unknown. Called in the
        driver, every few seconds, while the log is read."""
        return None

    def goes_back(self, begun: BegunLog, table: TablePath, place: Position) -> BegunLog:
        """Return the log that is read again from an earlier place for one table, which has stopped there: rows of
        the other tables count from where each of them is. Raise FatalError if the log is not there any more. Overridden
        by sources with ``can_go_back``."""
        raise FatalError(f"{type(self).__name__} cannot read its log again for {table} from {place.value}", COPY_AGAIN)

    @property
    def can_go_back(self) -> bool:
        """Whether ``goes_back`` works: changes that wait for a decision can be followed exactly then."""
        return False

    def log_bytes(self, split: Split, earlier: Position, later: Position) -> int:
        """Return the bytes of log between two places of a split."""
        return 0

    def leftovers(self, splits: Sequence[Split]) -> Sequence[Leftover]:
        """Return the objects of the job that exist at the source now. ``splits``: all that its checkpoints hold."""
        return ()

    def drop(self, splits: Sequence[Split]) -> None:
        """Drop the leftovers that are not ``kept``. Called once no checkpoint needs them, and again if the driver dies
        meanwhile. Raise SeaTunnelError if one stays."""

    @property
    def drops_when_finished(self) -> bool:
        """Whether a run that ends by itself is the last one: then the leftovers are dropped."""
        return False

    @property
    def log_end(self) -> str:
        """Return, for `plan`, what a run reads of the log before it ends, as a phrase; empty: it does not end. The
        split of a log that ends must be read to its end (``Reader.read``), and the enumerator of the next run must find
        another split, which begins there."""
        return ""

    @property
    def schema_policy(self) -> SchemaPolicy:
        """Return which changes of schemas reach the targets, of those that its readers report."""
        return SchemaPolicy()

    def schema_policy_of(self, table: TablePath) -> SchemaPolicy:
        """Return the policy of one table. Its ``log_bytes_max`` is that of ``schema_policy``: they share the log."""
        return self.schema_policy

    @abstractmethod
    def log_reader(self, tables: Sequence[SourceTable]) -> Reader:
        """Create a reader of the log, in a worker. Its batches are of any of these tables, in log order within each."""

    def current_rows(self) -> Source | None:
        return None

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        return self.log_enumerator([FollowedTable(table) for table in tables], state)

    def reader(self, table: SourceTable) -> Reader:
        return self.log_reader([table])
