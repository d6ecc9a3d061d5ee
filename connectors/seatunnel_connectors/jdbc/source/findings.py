"""Collects faults found while tables are described: wrong options refuse the job, an unreadable table fails alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from seatunnel_py.api import FatalError, SourceTable, TableFailure, TableLeftOut, TablePath

Found: TypeAlias = SourceTable | TableFailure | TableLeftOut

FOLLOWED_IS_GONE = (
    "correct the options named; if the job has followed a table that is gone, take it out of table-names and "
    "schema-changes.tables, and go on with `seatunnel run JOB --job-id ID --restore latest --accept-changes`"
)
LEFT_OUT = "leave the column out, or cast it to another type, with `query`"


class WrongTablesError(FatalError):
    """Options ask for tables that do not exist, or that cannot be read so."""


def described_for_log(describe: Callable[[], Sequence[Found]]) -> Sequence[Found]:
    """The tables of a source that follows a log, with its own option and way on in the error of a missing one."""
    try:
        return describe()
    except WrongTablesError as error:
        text = error.message.replace("the Jdbc source", "the source").replace("table_list[", "table-names[")
        raise FatalError(text, FOLLOWED_IS_GONE) from None


@dataclass(slots=True)
class Findings:
    """Faults over all requests, so that one message lists every problem."""

    problems: list[str] = field(default_factory=list)
    failures: dict[TablePath, list[tuple[str, str]]] = field(default_factory=dict)

    left_out: list[TableLeftOut] = field(default_factory=list)

    def leaves_out(self, path: TablePath, why: str) -> None:
        """Note that the options exclude a table that a pattern matches."""
        self.left_out.append(TableLeftOut(path, why))

    def wrong(self, text: str) -> None:
        """Note an option that asks for something missing."""
        self.problems.append(text)

    def nothing_matches(self, label: str, path: str | None, before: int) -> None:
        """Note a pattern without any table to read; ``before``: number of tables that other patterns had excluded."""
        others = self.left_out[before:]
        why = f", except for excluded tables: {others[0].path} ({others[0].why})" if others else ""
        self.wrong(f"{label}: no table matches {path!r}{why}")

    def fails(self, path: TablePath, message: str, remedy: str = "") -> None:
        """Note a table that cannot be described or read."""
        self.failures.setdefault(path, []).append((message, remedy))

    def unreadable(self, path: TablePath, column: str, native: str) -> None:
        self.fails(path, f"column {column!r} has the type {native}, which cannot be read", LEFT_OUT)

    def not_granted(self, path: TablePath, shown: str, grant: str) -> None:
        self.fails(path, f"No SELECT privilege on {shown}.", grant)

    def result(self, tables: Iterable[SourceTable]) -> list[Found]:
        """The readable tables, and the failures of others. Raises one WrongTablesError for all wrong options."""
        if self.problems:
            others = [f"table {path}: {_failure(path, found).message}" for path, found in self.failures.items()]
            told = [*self.problems, *others]
            raise WrongTablesError(
                f"the Jdbc source cannot read {'one table' if len(told) == 1 else 'all tables'} as asked:\n  "
                + "\n  ".join(told),
                "correct the options named",
            )
        return [
            *(table for table in tables if table.schema.path not in self.failures),
            *(_failure(path, found) for path, found in self.failures.items()),
            *dict.fromkeys(self.left_out),
        ]


def _failure(path: TablePath, found: list[tuple[str, str]]) -> TableFailure:
    messages = dict.fromkeys(message for message, _ in found)
    remedies = dict.fromkeys(remedy for _, remedy in found if remedy)
    return TableFailure(path, "; ".join(messages), "; ".join(remedies))
