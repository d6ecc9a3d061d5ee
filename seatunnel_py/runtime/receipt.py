"""The receipt: what arrived, table by table. Text and JSON are made from the same values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from seatunnel_py.errors import NoWayOn
from seatunnel_py.work.unit import UnitFailure


class TableState(StrEnum):
    """The table is what fails: each has a state of its own."""

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
        return self in (TableState.DONE, TableState.FAILED, TableState.ISOLATED, TableState.STOPPED)


class ExitCode:
    """What the shell sees (design, section 8)."""

    SUCCESS = 0
    FAILED = 1
    JOB_FILE_WRONG = 2
    SOME_TABLES_FAILED = 3
    INTERRUPTED = 130
    TERMINATED = 143


@dataclass(frozen=True, slots=True)
class TargetReceipt:
    """What went into one target. Counts are None where rows of several tables were joined: they stand with the first
    of these tables."""

    target: str
    rows_written: int | None = 0
    bytes_written: int | None = 0


@dataclass(frozen=True, slots=True)
class TableReceipt:
    """One source table of one pipeline. ``rows_written`` is the sum over its ``targets``: a row that two sinks take
    counts twice in it, and once in each. With one target, and unless a step makes other rows out of the ones that
    it gets, read = written + filtered + rejected."""

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


@dataclass(frozen=True, slots=True)
class Seconds:
    """``data`` runs from the first unit handed out to the last commit; ``first_row`` from the start of the command."""

    total: float = 0.0
    start: float = 0.0
    data: float = 0.0
    first_row: float | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    job_id: str
    job_name: str
    tables: tuple[TableReceipt, ...]
    seconds: Seconds
    notes: tuple[str, ...] = ()
    stopped_by: int = 0

    @property
    def exit_code(self) -> int:
        states = {table.state for table in self.tables}
        if states <= {TableState.DONE} and (states or not self.stopped_by):
            return ExitCode.SUCCESS  # also when a stop came after everything had been committed
        if self.stopped_by:
            return self.stopped_by
        return ExitCode.SOME_TABLES_FAILED if TableState.DONE in states else ExitCode.FAILED

    @property
    def can_go_on(self) -> bool:
        """Whether `--restore latest` may bring more, once the causes are mended."""
        causes = [table.cause for table in self.tables if table.state is not TableState.DONE]
        return not causes or any(cause is None or cause.error_type != NoWayOn.__name__ for cause in causes)

    @property
    def state(self) -> str:
        return {
            ExitCode.SUCCESS: "SUCCESS",
            ExitCode.FAILED: "FAILED",
            ExitCode.SOME_TABLES_FAILED: "SOME_TABLES_FAILED",
        }.get(self.exit_code, "STOPPED")

    def total(self, name: str) -> int:
        """The sum of one of the counts over all tables."""
        return sum(getattr(table, name) for table in self.tables)

    def to_plain(self) -> dict[str, Any]:
        """The receipt as JSON-ready data. Traces stay in the log: they are no use to a machine."""
        plain = asdict(self)
        for table in plain["tables"]:
            if table["cause"]:
                table["cause"].pop("trace")
        totals = ("rows_read", "rows_written", "rows_filtered", "rows_rejected", "bytes_written")
        return {
            **plain,
            "state": self.state,
            "exit_code": self.exit_code,
            "totals": {name: self.total(name) for name in totals},
        }
