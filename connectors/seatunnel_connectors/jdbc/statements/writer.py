"""Writes with statements: one transaction per unit, rows in blocks, the unit's own record last."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_connectors.jdbc import failpoints
from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.statements.key_collisions import refuse_equal_rows
from seatunnel_connectors.jdbc.statements.ledger_tables import StatementLedger
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad
from seatunnel_connectors.jdbc.statements.staged import Staged
from seatunnel_connectors.jdbc.statements.target_dialect import Row, RowsRefusedError, StatementSession, TargetDialect
from seatunnel_connectors.jdbc.target import version_column
from seatunnel_connectors.jdbc.target.column_fit import fit_of, judged
from seatunnel_connectors.jdbc.target.held_connection import HeldConnection
from seatunnel_connectors.jdbc.target.load_decision import SHADOW
from seatunnel_connectors.jdbc.target.partial_rows import absent_cells, cleared, whole_rows_needed
from seatunnel_connectors.jdbc.target.target_plan import places_of
from seatunnel_connectors.jdbc.target.unit_record import RecordedUnit
from seatunnel_py.api import (
    BadRowsError,
    Batch,
    FatalError,
    Piece,
    Position,
    Reached,
    RowKind,
    ValueMisfitError,
    WriteContext,
    Writer,
)

BLOCK_ROWS = 20_000  # only this many rows are held as Python values at a time


class StatementWriter(Writer):
    """Writes one unit into one table."""

    def __init__(
        self, dialect: TargetDialect, request: SinkRequest, load: StatementLoad, context: WriteContext
    ) -> None:
        self.dialect = dialect
        self.table = request.table
        self.load = load
        self.fit = fit_of(request.table, load.rewritten, load.table, load.whole)
        places = places_of(f"table {load.table}", load.sources, request.table) if load.sources else None
        in_place = places is None or places == [*range(len(request.table.columns))]
        self.places = None if in_place else places
        columns = self.fit.table.columns
        self.columns = columns if places is None else [columns[at] for at in places]
        self.context = context
        self.relation = dialect.quote(*filter(None, (load.database, load.into)))
        self.what = f"writing table {load.table}"
        self.books = (
            StatementLedger(dialect, load.database, load.token, str(request.table.path)) if load.books else None
        )
        self.rows = self.bytes = self.merged = self.read = 0
        self.round = 0  # of the rows that are staged now; 0 before the first ones with absent cells
        self.before = 0  # rows of this unit before the current statement
        self.end: Position | None = None
        self.recorded: RecordedUnit | None = None
        self.unit = load.unit(context)
        self.replaced: str | None = None
        self.staged = Staged(dialect, load)
        self.begun = False
        with dialect.explained(f"connecting to write table {load.table}"):
            self.held = HeldConnection(dialect.sessions(request.address))
        self.session: StatementSession = self.held.connection
        if self.books and (context.attempt or context.epoch or context.incarnation > 1):
            self._look_back(self.books)

    def _look_back(self, books: StatementLedger) -> None:
        """Fence off older attempts, and check whether one of them has written these rows already."""
        context = self.context
        try:
            with self.dialect.explained(self.what):
                self.session.begin()
                books.raise_fence(
                    self.session, context.job_id, context.lineage, context.step, context.incarnation, context.epoch
                )
                if self.unit:
                    self.replaced = books.find_staged(self.session, context.data_id)
                else:
                    held = books.find(self.session, context.data_id)
                    self.reached = None if held is None else held.reached
                    self.recorded = None if self.by_key else held
                self.session.commit()
        except BaseException:
            self.abort()
            raise

    @property
    def by_key(self) -> bool:
        """True if rows are written by key: they may be repeated, even if a query returns others this time. False for a
        shadow, which must hold only rows in checkpoints."""
        return bool(self.load.key) and self.load.upsert and not self.unit and self.load.how != SHADOW

    # -------------------------------------------------- rows

    def write(self, batch: Batch) -> None:
        absent = None if batch.absent is None else absent_cells(batch, self._needed(), self.load.shown)
        before = self.rows
        self.rows += batch.rows
        self.bytes += batch.data.nbytes
        if self.recorded is not None:
            return
        given = batch.data if absent is None else cleared(batch.data, absent)
        data, refused = judged(given, before, self._converted)
        with self.dialect.explained(self.what):
            for start in range(0, data.num_rows, BLOCK_ROWS):
                block = data.slice(start, BLOCK_ROWS)
                part = None if batch.kinds is None else batch.kinds.slice(start, block.num_rows)
                marks = None if absent is None else absent.slice(start, block.num_rows)
                self.before = before + start
                try:
                    self._block(block, part, marks)
                except RowsRefusedError as error:
                    raise error.bad_rows(self.what, self.before) from error.__cause__
        if refused is not None:
            self.flush()
            raise refused

    def _needed(self) -> list[int]:
        """Places of the upstream's columns that every row must have: those of the key, and the version."""
        found = [self.load.names.index(name) for name in (*self.load.key, self.load.versioned_by) if name]
        return found if self.places is None else [self.places[at] for at in found]

    def _converted(self, data: pa.RecordBatch, before: int) -> pa.RecordBatch:
        data = self.fit.apply(data, before)
        return self._as_stored(data if self.places is None else data.select(self.places), before)

    def _as_stored(self, data: pa.RecordBatch, before: int) -> pa.RecordBatch:
        """The rows as the target's own types take them: databases check less than they should."""
        for at, (column, shown) in enumerate(zip(self.columns, self.load.types, strict=False)):
            given = data.column(at)
            try:
                array = self.dialect.stored(given, column, shown)
            except ValueMisfitError as error:
                raise BadRowsError(
                    f"{self.what}: column {column.name!r}: {error}",
                    "widen the target's column, or convert the column in a transform",
                    before + error.row,
                ) from None
            if array is not given:
                data = data.set_column(at, data.schema.field(at).with_type(array.type), array)
        return data

    def ends_at(self, reached: Reached) -> None:
        self.end, self.read = reached.end, reached.rows

    def _block(self, data: pa.RecordBatch, kinds: pa.UInt8Array | None, absent: pa.RecordBatch | None) -> None:
        if not self.begun:
            self.session.begin()
            self.begun = True
        if absent is None:
            self.run_block(data, kinds)
        else:
            self.run_partial(data, kinds, absent)

    def run_partial(self, data: pa.RecordBatch, kinds: pa.UInt8Array | None, absent: pa.RecordBatch) -> None:
        """Write rows in order, some with absent cells, which the columns of ``absent`` mark for the upstream's."""
        raise whole_rows_needed(self.what)

    def run_block(self, data: pa.RecordBatch, kinds: pa.UInt8Array | None) -> None:
        """Write rows in order, of any kinds."""
        if kinds is None or pc.all(pc.equal(kinds, RowKind.INSERT.value)).as_py():
            self._of_one_kind(RowKind.INSERT, data)
            return
        for kind, start, length in runs(kinds):
            self._of_one_kind(RowKind(kind), data.slice(start, length))
            self.before += length

    def _of_one_kind(self, kind: RowKind, data: pa.RecordBatch) -> None:
        if kind is RowKind.DELETE and self.load.versioned_by:
            raise version_column.refused(self.load.table, self.load.versioned_by)
        if not self.unit:
            self._run_of(kind, data)
            return
        if kind is not RowKind.INSERT and self.load.key and not self.load.upsert:
            raise FatalError(
                f"table {self.load.table}: rows of kind {kind.name} cannot be staged with enable_upsert = false",
                "set enable_upsert = true, or exactly_once_recipe = direct",
            )
        if kind in (RowKind.DELETE, RowKind.UPDATE_BEFORE) and not self.load.key:
            raise self._needs_key(kind)
        if kind is RowKind.UPDATE_BEFORE:
            self.merged += data.num_rows
            return
        if kind is not RowKind.DELETE:
            self._check_required(data)
        self.keep(data, kind)

    def _check_required(self, data: pa.RecordBatch) -> None:
        """Check required columns now, where a row can be quarantined, and not in the common commit."""
        for name in self.load.required:
            column = data.column(self.load.names.index(name))
            if column.null_count:
                raise BadRowsError(
                    f"{self.what}: column {name!r} takes no null, and {column.null_count} rows have one",
                    "fill the column in a transform, or allow nulls in the target",
                )

    def keep(self, data: pa.RecordBatch, kind: int, masks: pa.Array | None = None) -> None:
        """Write to the staging table, with kinds: the commit applies them to the target. ``masks``: of rows with absent
        cells."""
        rows: list[Row] = [(self.unit, int(kind), *row) for row in self._rows(data)]
        if self.round:
            texts = [None] * len(rows) if masks is None else masks.to_pylist()
            rows = [(self.round, text, *row) for text, row in zip(texts, rows, strict=True)]
        count = self.session.run_many(self.staged.insert(rounds=bool(self.round)), rows)
        self._confirmed(count, data.num_rows)

    def _run_of(self, kind: RowKind, data: pa.RecordBatch) -> None:
        """Write consecutive rows of one kind as SeaTunnel does: -U is ignored, and kinds other than inserts need a
        key."""
        if kind is RowKind.INSERT or (kind is RowKind.UPDATE_AFTER and (self.load.upsert or not self.load.key)):
            self.insert(data)
        elif not self.load.key:
            raise self._needs_key(kind)
        elif kind is RowKind.UPDATE_BEFORE:
            self.merged += data.num_rows
        elif kind is RowKind.UPDATE_AFTER:
            self._update(data)
        else:
            where, keys = self._key_condition()
            rows = [tuple(row[at] for at in keys) for row in self._rows(data)]
            self.session.run_many(f"DELETE FROM {self.relation} WHERE {where}", rows)

    def _key_condition(self) -> tuple[str, list[int]]:
        """Condition that finds a row by its key, and the places of the values for its markers."""
        texts, places = [], []
        for name in self.load.key:
            inexact = name in self.load.inexact
            texts.append(self.dialect.is_key(self.dialect.quote(name), inexact=inexact))
            markers = self.dialect.is_key("", inexact=inexact).count(self.dialect.marker)
            places += [self.load.names.index(name)] * markers
        return " AND ".join(texts), places

    def _needs_key(self, kind: RowKind) -> FatalError:
        return FatalError(
            f"table {self.load.table}: rows of kind {kind.name} need a key to find their row by",
            "set primary_keys (and not create_index = false), or drop these rows with the FilterRowKind transform",
        )

    def insert(self, data: pa.RecordBatch) -> None:
        """Insert rows, or update rows whose key exists."""
        columns = self.staged.columns
        if self.load.key and self.load.upsert:
            fixed, rows = self.staged.fixed, self._rows(data)
            taken = self.session.run_many(
                self.dialect.upsert(self.relation, columns, self.staged.key, self.staged.version, fixed), rows
            )
            if self.dialect.counts_updates and not self.staged.version:
                self._confirmed(taken, data.num_rows)
            if self.load.inexact:
                refuse_equal_rows(self.dialect, self.session, self.load, self.relation, rows)
            return
        markers = ", ".join([self.dialect.marker] * len(columns))
        count = self.session.run_many(
            f"INSERT INTO {self.relation} ({', '.join(columns)}) VALUES ({markers})", self._rows(data)
        )
        self._confirmed(count, data.num_rows)

    def _confirmed(self, count: int, rows: int) -> None:
        if count not in (-1, rows):
            raise FatalError(
                f"table {self.load.table}: {count} of {rows} rows were confirmed: a trigger or a conflict clause of "
                "the target leaves rows out",
                "remove it from the target, or leave such rows out with a transform",
            )

    def _update(self, data: pa.RecordBatch) -> None:
        self.update(data, [name for name in self.load.names if name not in self.load.key] or self.load.key)

    def update(self, data: pa.RecordBatch, changed: Sequence[str]) -> None:
        """Update these columns of rows whose key exists, unless their version is higher."""
        sets = ", ".join(f"{self.dialect.quote(name)} = {self.dialect.marker}" for name in changed)
        where, keys = self._key_condition()
        if version := self.staged.version:
            where += f" AND ({version} IS NULL OR {version} <= {self.dialect.marker})"
            keys.append(self.load.names.index(self.load.versioned_by))
        order = [*(self.load.names.index(name) for name in changed), *keys]
        rows = [tuple(row[at] for at in order) for row in self._rows(data)]
        self.session.run_many(f"UPDATE {self.relation} SET {sets} WHERE {where}", rows)

    def _rows(self, data: pa.RecordBatch) -> Sequence[Row]:
        columns = []
        types = self.load.types or ("",) * len(self.columns)
        for column, array, shown in zip(self.columns, data.columns, types, strict=True):
            try:
                columns.append(self.dialect.values(array, column, shown))
            except ValueError as error:
                raise BadRowsError(
                    f"{self.what}: column {column.name!r}: {error}", "convert the column in a transform"
                ) from None
        return list(zip(*columns, strict=True))

    # -------------------------------------------------- the end

    def stage(self) -> Piece:
        try:
            with self.dialect.explained(self.what):
                if self.recorded is not None:
                    return self._already(self.recorded)
                return self._commit()
        except BaseException:
            self.abort()
            raise

    def _commit(self) -> Piece:
        if not self.begun:
            self.session.begin()
        end = None if self.end is None else self.end.to_plain()
        mine = RecordedUnit(self.rows, self.bytes, self.merged, end, self.read)
        if self.books:
            self.books.check_fence(self.session, self.context, self.load.table)
        if self.books and self.load.recorded:
            if self.unit:
                self._replace(self.books)
            else:
                other = self.books.find(self.session, self.context.data_id)
                if other is not None and not self.by_key:
                    return self._already(other)
                if other is not None:
                    self.books.forget_piece(self.session, self.context.data_id)
            place = self.unit or (self.dialect.table_id(self.session, self.load) if self.load.told_by else None)
            self.books.insert_piece(self.session, self.context, mine, place or "")
        failpoints.STATEMENTS_WRITTEN.hit()
        self.session.commit()
        failpoints.STATEMENTS_UNIT.hit()
        self.held.release()
        return mine.piece(self.context, replayed=False, staged=self.unit)

    def _replace(self, books: StatementLedger) -> None:
        """Delete what an earlier attempt at these rows has staged, if it is in no checkpoint."""
        if self.replaced is not None:
            books.forget_piece(self.session, self.context.data_id)
            self.staged.forget(self.session, [self.replaced])

    def _already(self, recorded: RecordedUnit) -> Piece:
        """Result of an earlier attempt that has committed the same rows: nothing is applied, its counts are used."""
        recorded.check_same(self.rows, self.load.table)
        if self.begun:
            self.session.rollback()
        self.held.release()
        return recorded.piece(self.context, replayed=True)

    def abort(self) -> None:
        self.held.discard()


def runs(kinds: pa.UInt8Array) -> list[tuple[int, int, int]]:
    """Stretches of equal kinds: (kind, start, length)."""
    encoded = pc.run_end_encode(kinds)
    found, start = [], 0
    for kind, end in zip(encoded.values.to_pylist(), encoded.run_ends.to_pylist(), strict=True):
        found.append((kind, start, end - start))
        start = end
    return found
