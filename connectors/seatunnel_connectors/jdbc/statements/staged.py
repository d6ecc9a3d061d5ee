"""Adds rows that units have staged in one table beside the target to the target, in a commit.

Rules. (1) Units are added in the order of staging, rows in the order of writing: of two with one key the later one
wins. (2) Everything here belongs in the commit's transaction, so none of it is DDL, which some databases commit by
themselves.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from seatunnel_connectors.jdbc.statements.key_collisions import refuse_equal_keys, refuse_rows_of_other_keys
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad
from seatunnel_connectors.jdbc.statements.target_dialect import Row, StatementSession, TargetDialect
from seatunnel_connectors.jdbc.target import conservation
from seatunnel_py.api import RowKind

UNIT = "st_unit"
KIND = "st_kind"


@dataclass(frozen=True, slots=True)
class Staged:
    """The staged rows of one load."""

    dialect: TargetDialect
    load: StatementLoad

    @property
    def target(self) -> str:
        return self._quoted(self.load.table)

    @property
    def staging(self) -> str:
        return self._quoted(self.load.staging)

    def _quoted(self, table: str) -> str:
        return self.dialect.quote(*filter(None, (self.load.database, table)))

    @property
    def columns(self) -> list[str]:
        return [self.dialect.quote(name) for name in self.load.names]

    @property
    def key(self) -> list[str]:
        return [self.dialect.quote(name) for name in self.load.key]

    @property
    def inexact(self) -> list[str]:
        return [self.dialect.quote(name) for name in self.load.inexact]

    @property
    def fixed(self) -> list[str]:
        """Columns of the key that an upsert leaves unchanged in an existing row."""
        return self.key if self.load.other_keys else self.inexact

    @property
    def version(self) -> str:
        return self.load.versioned_by and self.dialect.quote(self.load.versioned_by)

    def create(self) -> list[str]:
        """Statements that create the table, after the target; none where the database is not up to it."""
        return self.dialect.create_staging(self.staging, self.target, self.columns)

    def drop(self) -> str:
        return f"DROP TABLE IF EXISTS {self.staging}"

    def insert(self) -> str:
        """One row: unit, kind, values."""
        markers = ", ".join([self.dialect.marker] * (len(self.load.names) + 2))
        return f"INSERT INTO {self.staging} ({UNIT}, {KIND}, {', '.join(self.columns)}) VALUES ({markers})"

    def move(self, session: StatementSession, wanted: Mapping[str, int]) -> None:
        """Move units, given with their row counts, into the target, in the order of staging. Rows taken off the staging
        table are counted: another number than was staged is LOST."""
        place = ".".join(filter(None, (self.load.database, self.load.staging)))
        total = sum(wanted.values())
        if not self.dialect.is_there(session, self.load.database, self.load.staging):
            raise conservation.lost_rows(self.load.shown, place, total, 0, self.restart_remedy)
        for unit in (units := self._in_order(session, wanted)):
            self._add(session, unit, wanted[unit])
        found = self.forget(session, units)
        if found != total:
            raise conservation.lost_rows(self.load.shown, place, total, found, self.restart_remedy)

    @property
    def restart_remedy(self) -> str:
        return self.load.restart_remedy(self.dialect.empty(self.target))

    def _in_order(self, session: StatementSession, units: Container[str]) -> list[str]:
        """Of these units those that hold rows."""
        found = session.ask(
            f"SELECT {UNIT}, min({self.dialect.row_order}) AS first FROM {self.staging} GROUP BY {UNIT}"
        )
        return [unit for unit, first in sorted(found, key=lambda row: row[1]) if unit in units]

    def _add(self, session: StatementSession, unit: str, rows: int) -> None:
        """Move one unit's rows into the target. If rows are merged by key, the database does not report how many it
        took."""
        deletes = self._count(session, unit, RowKind.DELETE) if self.key else 0
        if deletes:
            gone = self.dialect.delete_keys(self.target, self.key, self._deleted(), self.inexact)
            session.run(gone, (unit, RowKind.DELETE.value))
        key = self.key if self.load.upsert else []
        insert = self.dialect.insert_from(self.target, self.columns, key, self.version, self.fixed)
        written = self._rows_behind_deletes() if deletes else self._rows()
        values: Row = (unit, RowKind.DELETE.value, unit) if deletes else (unit,)
        taken = session.run(insert.format(rows=written), values)
        counts = not key or (self.dialect.counts_updates and not self.version)
        if counts and not deletes and taken < rows and self._rows_of(session, unit) == rows:
            raise conservation.not_taken(self.load.shown, rows, taken)
        refuse_rows_of_other_keys(self.dialect, session, self.load, written, self.target, values)
        where = f"s.{UNIT} = {self.dialect.marker} AND s.{KIND} <> {RowKind.DELETE.value}"
        refuse_equal_keys(self.dialect, session, self.load, self.staging, self.target, where, (unit,))

    def forget(self, session: StatementSession, units: Iterable[str]) -> int:
        """Take units off; how many rows they had."""
        return sum(session.run(self.dialect.delete_where(self.staging, UNIT), (unit,)) for unit in units)

    def _rows_of(self, session: StatementSession, unit: str) -> int:
        where = f"{UNIT} = {self.dialect.marker}"
        return int(session.ask(f"SELECT count(*) FROM {self.staging} WHERE {where}", (unit,))[0][0])

    def _count(self, session: StatementSession, unit: str, kind: RowKind) -> int:
        where = f"{UNIT} = {self.dialect.marker} AND {KIND} = {self.dialect.marker}"
        return int(session.ask(f"SELECT count(*) FROM {self.staging} WHERE {where}", (unit, kind.value))[0][0])

    def _deleted(self) -> str:
        marker = self.dialect.marker
        return f"SELECT {', '.join(self.key)} FROM {self.staging} WHERE {UNIT} = {marker} AND {KIND} = {marker}"

    def _rows(self) -> str:
        columns, marker = ", ".join(self.columns), self.dialect.marker
        return f"SELECT {columns} FROM {self.staging} WHERE {UNIT} = {marker} ORDER BY {self.dialect.row_order}"

    def _rows_behind_deletes(self) -> str:
        """Rows that no later delete of their key takes away."""
        marker, order = self.dialect.marker, self.dialect.row_order
        key = ", ".join((*self.key, *(f"HEX({name}) AS st_hex{at}" for at, name in enumerate(self.inexact))))
        groups = ", ".join((*self.key, *(f"st_hex{at}" for at in range(len(self.inexact)))))
        last = (
            f"SELECT {key}, max({order}) AS st_last FROM {self.staging} "
            f"WHERE {UNIT} = {marker} AND {KIND} = {marker} GROUP BY {groups}"
        )
        same = " AND ".join(
            (
                *(f"d.{name} = s.{name}" for name in self.key),
                *(f"d.st_hex{at} = HEX(s.{name})" for at, name in enumerate(self.inexact)),
            )
        )
        return (
            f"SELECT {', '.join(f's.{name}' for name in self.columns)} FROM {self.staging} s "
            f"LEFT JOIN ({last}) d ON {same} WHERE s.{UNIT} = {marker} AND s.{KIND} <> {RowKind.DELETE.value} "
            f"AND (d.st_last IS NULL OR s.{order} > d.st_last) ORDER BY s.{order}"
        )
