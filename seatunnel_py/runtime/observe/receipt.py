"""The receipt: the result of a job, table by table. Text and JSON are made from the same values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from seatunnel_py.api.plain_data import plain_data
from seatunnel_py.api.schema import Detail
from seatunnel_py.api.sink import Present
from seatunnel_py.api.types import Conversion
from seatunnel_py.errors import CannotResumeError, CommitLostError, ExitCode
from seatunnel_py.work.unit import UnitFailure

CANNOT_RESUME = frozenset(
    {"NoWayOn", CannotResumeError.__name__, CommitLostError.__name__}
)  # the first also in earlier releases
FAILED_AGAIN = "ROWS_FAILED_AGAIN"


class TableState(StrEnum):
    """State of a table; tables fail separately."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    RETRYING = "RETRYING"
    COMMITTING = "COMMITTING"
    DONE = "DONE"
    FAILED = "FAILED"
    ISOLATED = "ISOLATED"
    STOPPED = "STOPPED"

    @property
    def ended(self) -> bool:
        return self.failed or self in (TableState.DONE, TableState.STOPPED)

    @property
    def failed(self) -> bool:
        """Whether the table, or one of its sinks, has failed for good."""
        return self in (TableState.FAILED, TableState.ISOLATED)


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """The state of an isolated sink: it has all rows up to this ``checkpoint`` (0: none), with these ``positions`` of
    the splits that were being read."""

    checkpoint: int = 0
    positions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def stand_text(plain: Mapping[str, Any]) -> str:
    """Describe the missing rows of an isolated sink, from a ``ResumePoint`` as plain data."""
    if not plain["checkpoint"]:
        return "it needs everything from the beginning"
    at = "; ".join(f"{split} at {position_text(position)}" for split, position in plain["positions"].items())
    return f"it needs the rows after checkpoint {plain['checkpoint']}{f' ({at})' if at else ''}"


def position_text(position: Mapping[str, Any] | None) -> str:
    """Format a position in a split; empty without one."""
    return ", ".join(f"{key} {value}" for key, value in (position or {}).items())


@dataclass(frozen=True, slots=True)
class TargetReceipt:
    """Result of one target. Counts are None if rows of several tables were joined: the first of these tables has them.
    ``state`` and ``cause`` are None if they equal the table's; an isolated target has its own, and ``stands`` at a
    resume point. ``present``: existing rows and their treatment. ``conversions``: columns that arrived in another form.
    ``not_carried_over``: parts of the source's definition that a created target lacks."""

    target: str
    rows_written: int | None = 0
    bytes_written: int | None = 0
    state: TableState | None = None
    cause: UnitFailure | None = None
    stands: ResumePoint | None = None
    present: Present | None = None
    conversions: tuple[Conversion, ...] = ()
    not_carried_over: tuple[Detail, ...] = ()


@dataclass(frozen=True, slots=True)
class TableReceipt:
    """One source table of one pipeline. ``rows_written`` is the sum over its ``targets``: a row that two sinks write
    counts twice in it, and once in each. With one target, and without a step that changes the number of rows,
    read = written + filtered + rejected. Counts include all drivers of the job;
    ``rows_read_before`` were read by earlier ones. A ``kept`` table was done before this run."""

    table: str
    targets: tuple[TargetReceipt, ...]
    state: TableState
    rows_read: int = 0
    rows_written: int = 0
    rows_filtered: int = 0
    rows_rejected: int = 0
    bytes_written: int = 0
    attempts: int = 0
    seconds: float = 0.0
    cause: UnitFailure | None = None
    rows_read_before: int = 0
    kept: bool = False

    @property
    def rows_read_this_run(self) -> int:
        """Number of rows that this run has read."""
        return max(0, self.rows_read - self.rows_read_before)

    @property
    def states(self) -> frozenset[TableState]:
        """The table's state, and other states of its targets."""
        return frozenset({self.state, *(into.state for into in self.targets if into.state is not None)})


@dataclass(frozen=True, slots=True)
class Seconds:
    """``data``: from the first unit to the last commit; ``first_row``: from the start of the command."""

    total: float = 0.0
    start: float = 0.0
    data: float = 0.0
    first_row: float | None = None


@dataclass(frozen=True, slots=True)
class Repeated:
    """Number of ``attempts`` that this run repeated for one cause, with the affected tables."""

    cause: str
    attempts: int
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Receipt:
    """``driver``: number of drivers so far; ``run``: name of this one, as in job.json, because a receipt is valid for
    its own driver only. ``repeated``: repeated attempts by cause; ``goes_on``: the next run goes on where this one has
    ended."""

    job_id: str
    job_name: str
    tables: tuple[TableReceipt, ...]
    seconds: Seconds
    notes: tuple[str, ...] = ()
    stopped_by: int = 0
    driver: int = 0
    run: str = ""
    failed_again: int = 0
    repeated: tuple[Repeated, ...] = ()
    goes_on: bool = False

    @property
    def exit_code(self) -> int:
        states = {state for table in self.tables for state in table.states}
        if self.failed_again and states <= {TableState.DONE}:
            return ExitCode.FAILED
        if states <= {TableState.DONE} and (states or not self.stopped_by):
            return ExitCode.SUCCESS  # also when a stop came after everything had been committed
        if self.stopped_by:
            return self.stopped_by
        return ExitCode.SOME_TABLES_FAILED if TableState.DONE in states else ExitCode.FAILED

    @property
    def can_go_on(self) -> bool:
        """True if `--restore latest` may complete the job, once the causes are removed."""
        if self.state == FAILED_AGAIN:
            return False  # the replay is over; the rows wait for another one
        causes = [table.cause for table in self.tables if table.state is not TableState.DONE]
        return not causes or any(cause is None or cause.error_type not in CANNOT_RESUME for cause in causes)

    @property
    def state(self) -> str:
        if self.failed_again and all(table.states == {TableState.DONE} for table in self.tables):
            return FAILED_AGAIN
        return {
            ExitCode.SUCCESS: "SUCCESS",
            ExitCode.FAILED: "FAILED",
            ExitCode.SOME_TABLES_FAILED: "SOME_TABLES_FAILED",
        }.get(self.exit_code, "STOPPED")

    @property
    def rate(self) -> float | None:
        """Rows per second that this run has read; None without rows or time."""
        rows = self.total("rows_read_this_run")
        return rows / self.seconds.data if rows and self.seconds.data > 0 else None

    def total(self, name: str) -> int:
        """The sum of one of the counts over all tables."""
        return sum(getattr(table, name) for table in self.tables)

    def to_plain(self) -> dict[str, Any]:
        """The receipt as JSON-ready data, without tracebacks, which are in the log."""
        plain = plain_data(self)
        for table in plain["tables"]:
            for into in table["targets"]:
                into["state"] = into["state"] or table["state"]
                if into["present"]:
                    into["present"]["text"] = Present(**into["present"]).text
            for cause in (table["cause"], *(into["cause"] for into in table["targets"])):
                if cause:
                    cause.pop("trace", None)
        totals = ("rows_read", "rows_written", "rows_filtered", "rows_rejected", "bytes_written")
        return {
            **plain,
            "state": self.state,
            "exit_code": self.exit_code,
            "totals": {name: self.total(name) for name in totals},
            "this_run": {"rows_read": self.total("rows_read_this_run"), "rows_per_second": self.rate},
        }
