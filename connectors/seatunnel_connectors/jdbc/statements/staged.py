"""Adds rows that units have staged in one table beside the target to the target, in a commit.

Rules. (1) Units are added in the order of staging, rows in the order of writing: of two with one key the later one
wins. (2) Everything here belongs in the commit's transaction, so none of it is DDL, which some databases commit by
themselves. (3) A unit with absent cells is added in rounds (``partial_rows``): a later one finds the rows of earlier
ones in the target.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from seatunnel_connectors.jdbc.statements.key_collisions import refuse_equal_keys, refuse_rows_of_other_keys
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad
from seatunnel_connectors.jdbc.statements.target_dialect import Row, StatementSession, TargetDialect
from seatunnel_connectors.jdbc.target import conservation
from seatunnel_connectors.jdbc.target.load_decision import PARTIAL
from seatunnel_py.api import RowKind

UNIT = "st_unit"
KIND = "st_kind"
ROUND = "st_round"
MASK = "st_absent"
DELETE = RowKind.DELETE.value


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that are added together: those of a unit, or of one of its rounds (0: the rows without one). ``rows``: how
    many are written as they are; ``partial``: how many have absent cells."""

    unit: str
    rows: int
    deletes: int
    partial: int = 0
    round: int | None = None


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

    def insert(self, *, rounds: bool = False) -> str:
        """One row: unit, kind, values; before them round and mask, in a unit with absent cells."""
        names = [*((ROUND, MASK) if rounds else ()), UNIT, KIND, *self.columns]
        markers = ", ".join([self.dialect.marker] * len(names))
        return f"INSERT INTO {self.staging} ({', '.join(names)}) VALUES ({markers})"

    def move(self, session: StatementSession, wanted: Mapping[str, int]) -> None:
        """Move units, given with their row counts, into the target, in the order of staging. Rows taken off the staging
        table are counted: another number than was staged is LOST."""
        place = ".".join(filter(None, (self.load.database, self.load.staging)))
        total = sum(wanted.values())
        if not self.dialect.is_there(session, self.load.database, self.load.staging):
            raise conservation.lost_rows(self.load.shown, place, total, 0, self.restart_remedy)
        units = self._in_order(session, wanted)
        for unit, rounds in units.items():
            if rounds:
                self._add_rounds(session, unit)
            else:
                self._add(session, Part(unit, wanted[unit], self._deletes(session, unit) if self.key else 0))
        found = self.forget(session, units)
        if found != total:
            raise conservation.lost_rows(self.load.shown, place, total, found, self.restart_remedy)

    @property
    def restart_remedy(self) -> str:
        return self.load.restart_remedy(self.dialect.empty(self.target))

    def _in_order(self, session: StatementSession, units: Container[str]) -> dict[str, bool]:
        """Of these units those that hold rows; True for those that hold them in rounds."""
        rounds = f"max({ROUND})" if self.load.keeps_masks else "NULL"
        found = session.ask(
            f"SELECT {UNIT}, min({self.dialect.row_order}) AS first, {rounds} FROM {self.staging} GROUP BY {UNIT}"
        )
        return {unit: bool(last) for unit, _, last in sorted(found, key=lambda row: row[1]) if unit in units}

    def _add_rounds(self, session: StatementSession, unit: str) -> None:
        """Move the rows of a unit with absent cells."""
        counts = ", ".join(
            f"sum(CASE WHEN {KIND} {kinds} THEN 1 ELSE 0 END)"
            for kinds in (f"< {DELETE}", f"= {DELETE}", f"= {PARTIAL}")
        )
        sql = f"SELECT {ROUND}, {counts} FROM {self.staging} WHERE {UNIT} = {self.dialect.marker}"
        for number, rows, deletes, partial in session.ask(f"{sql} GROUP BY {ROUND} ORDER BY 1", (unit,)):
            self._add(session, Part(unit, int(rows), int(deletes), int(partial), number or 0))

    def _add(self, session: StatementSession, part: Part) -> None:
        """Move one part's rows into the target. If rows are merged by key, the database does not report how many it
        took."""
        unit, rows, deletes, mine = part.unit, part.rows, part.deletes, self._mine(part)
        if deletes:
            gone = self.dialect.delete_keys(self.target, self.key, self._deleted(mine), self.inexact)
            session.run(gone, (unit, DELETE))
        if part.partial:
            change = self.dialect.change_from(self.target, self.columns, self.key, self.version, self.inexact)
            session.run(change.format(rows=self._partial(mine)), (unit, PARTIAL))
        if not rows:
            return
        key = self.key if self.load.upsert else []
        insert = self.dialect.insert_from(self.target, self.columns, key, self.version, self.fixed)
        written = self._rows_behind_deletes(part) if deletes else self._rows(part)
        values: Row = (unit, DELETE, unit) if deletes else (unit,)
        taken = session.run(insert.format(rows=written), values)
        counts = not key or (self.dialect.counts_updates and not self.version)
        if counts and not deletes and taken < rows and (part.round is not None or self._rows_of(session, unit) == rows):
            raise conservation.not_taken(self.load.shown, rows, taken)
        refuse_rows_of_other_keys(self.dialect, session, self.load, written, self.target, values)
        where = f"{self._mine(part, 's.')} AND s.{KIND} < {DELETE}"
        refuse_equal_keys(self.dialect, session, self.load, self.staging, self.target, where, (unit,))

    def forget(self, session: StatementSession, units: Iterable[str]) -> int:
        """Take units off; how many rows they had."""
        return sum(session.run(self.dialect.delete_where(self.staging, UNIT), (unit,)) for unit in units)

    def _rows_of(self, session: StatementSession, unit: str) -> int:
        where = f"{UNIT} = {self.dialect.marker}"
        return int(session.ask(f"SELECT count(*) FROM {self.staging} WHERE {where}", (unit,))[0][0])

    def _deletes(self, session: StatementSession, unit: str) -> int:
        where = f"{UNIT} = {self.dialect.marker} AND {KIND} = {self.dialect.marker}"
        return int(session.ask(f"SELECT count(*) FROM {self.staging} WHERE {where}", (unit, DELETE))[0][0])

    def _mine(self, part: Part, prefix: str = "") -> str:
        """Condition for the rows of a part, with one marker, for its unit."""
        mine = f"{prefix}{UNIT} = {self.dialect.marker}"
        if part.round is None:
            return mine
        return f"{mine} AND {prefix}{ROUND} " + (f"= {part.round}" if part.round else "IS NULL")

    def _deleted(self, mine: str) -> str:
        return f"SELECT {', '.join(self.key)} FROM {self.staging} WHERE {mine} AND {KIND} = {self.dialect.marker}"

    def _partial(self, mine: str) -> str:
        columns = ", ".join((*self.columns, MASK))
        return f"SELECT {columns} FROM {self.staging} WHERE {mine} AND {KIND} = {self.dialect.marker}"

    def _rows(self, part: Part) -> str:
        where = self._mine(part) + ("" if part.round is None else f" AND {KIND} < {DELETE}")
        return f"SELECT {', '.join(self.columns)} FROM {self.staging} WHERE {where} ORDER BY {self.dialect.row_order}"

    def _rows_behind_deletes(self, part: Part) -> str:
        """Rows that no later delete of their key takes away."""
        marker, order = self.dialect.marker, self.dialect.row_order
        key = ", ".join((*self.key, *(f"HEX({name}) AS st_hex{at}" for at, name in enumerate(self.inexact))))
        groups = ", ".join((*self.key, *(f"st_hex{at}" for at in range(len(self.inexact)))))
        last = (
            f"SELECT {key}, max({order}) AS st_last FROM {self.staging} "
            f"WHERE {self._mine(part)} AND {KIND} = {marker} GROUP BY {groups}"
        )
        same = " AND ".join(
            (
                *(f"d.{name} = s.{name}" for name in self.key),
                *(f"d.st_hex{at} = HEX(s.{name})" for at, name in enumerate(self.inexact)),
            )
        )
        return (
            f"SELECT {', '.join(f's.{name}' for name in self.columns)} FROM {self.staging} s "
            f"LEFT JOIN ({last}) d ON {same} WHERE {self._mine(part, 's.')} AND s.{KIND} < {DELETE} "
            f"AND (d.st_last IS NULL OR s.{order} > d.st_last) ORDER BY s.{order}"
        )
