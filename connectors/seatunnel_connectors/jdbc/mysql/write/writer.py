"""Writes to MySQL with LOAD DATA LOCAL from memory, or through a temporary table if keys may exist already."""

from __future__ import annotations

import pyarrow as pa
import pymysql

from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.mysql.connection import text_conversion
from seatunnel_connectors.jdbc.mysql.connection.session import DUPLICATE, LOCAL_INFILE_OFF, MysqlSession, quote
from seatunnel_connectors.jdbc.mysql.target_dialect import MASK_COLUMN, no_rows
from seatunnel_connectors.jdbc.statements.key_collisions import refuse_equal_keys, refuse_rows_of_other_keys
from seatunnel_connectors.jdbc.statements.keyed_writer import KeyedWriter
from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad
from seatunnel_connectors.jdbc.statements.staged import KIND, MASK, ROUND, UNIT
from seatunnel_connectors.jdbc.statements.target_dialect import TargetDialect
from seatunnel_connectors.jdbc.target.load_decision import SHADOW
from seatunnel_connectors.jdbc.target.partial_rows import RowBlock
from seatunnel_py.api import BadRowsError, Kind, Piece, RetriableError, WriteContext

_BYTES = (Kind.BYTES, Kind.BINARY_VECTOR, Kind.BFLOAT16_VECTOR)


class MysqlWriter(KeyedWriter):
    """Writes one unit. LOAD DATA LOCAL turns errors into warnings and skips rows whose key exists, so its result is
    kept only if every row was written without any warning."""

    session: MysqlSession

    def __init__(
        self, dialect: TargetDialect, request: SinkRequest, load: StatementLoad, context: WriteContext
    ) -> None:
        super().__init__(dialect, request, load, context)
        self.may_load = True
        self.straight = True
        self.merging = self.changing = False
        self.temporary = quote(load.database, f"st_{load.token}")
        self.partial = quote(load.database, f"st_{load.token}_partial")

    def insert(self, data: pa.RecordBatch) -> None:
        if not data.num_rows:
            return
        try:
            if self.may_load and self.straight and self._load_straight(self.relation, data):
                return
        except pymysql.Error as error:
            self._without_load(error)
        by_key = bool(self.load.key and self.load.upsert)
        if not by_key or not (self.may_load or self.load.inexact or self.load.other_keys):
            super().insert(data)  # strict statements: their error names the first bad row
            return
        self.straight = False
        self._insert_by_key(data)

    def _without_load(self, error: pymysql.Error) -> None:
        """Continue without LOAD DATA LOCAL if it is disabled; raise any other error."""
        if not error.args or error.args[0] not in LOCAL_INFILE_OFF:
            raise error
        self.may_load = False

    def keep(self, data: pa.RecordBatch, kind: int, masks: pa.Array | None = None) -> None:
        marks = (f"{UNIT} = '{self.unit}'", f"{KIND} = {int(kind)}", *([f"{ROUND} = {self.round}"] * bool(self.round)))
        try:
            if self.may_load and self._load_straight(self.staged.staging, data, marks, masks):
                return
        except pymysql.Error as error:
            self._without_load(error)
        super().keep(data, kind, masks)  # strict statements: their error names the first bad row

    def _load_straight(
        self, relation: str, data: pa.RecordBatch, marks: tuple[str, ...] = (), masks: pa.Array | None = None
    ) -> bool:
        """Load into the table itself; False if that was rolled back."""
        self.session.run("SAVEPOINT block")
        written, warnings = self._load(relation, data, marks, masks)
        if written == data.num_rows and not (warnings and self._complaints()):
            return True
        self.session.run("ROLLBACK TO SAVEPOINT block")
        return False

    def _insert_by_key(self, data: pa.RecordBatch) -> None:
        """Insert rows, or update rows whose key exists, through a temporary table."""
        if self.merging:
            self.session.run(f"DELETE FROM {self.temporary}")
        else:
            names = ", ".join(quote(name) for name in self.load.names)
            self.session.run(
                f"CREATE TEMPORARY TABLE {self.temporary} (st_order BIGINT AUTO_INCREMENT PRIMARY KEY) "
                f"SELECT {names} FROM {self.relation} WHERE 1 = 0"
            )
            self.merging = True
        self._fill_temporary(self.temporary, data)
        columns, fixed = self.staged.columns, self.staged.fixed
        insert = self.dialect.insert_from(self.relation, columns, self.staged.key, self.staged.version, fixed)
        rows = f"SELECT {', '.join(columns)} FROM {self.temporary} ORDER BY st_order"
        self.session.run(insert.format(rows=rows))
        refuse_equal_keys(self.dialect, self.session, self.load, self.temporary, self.relation)
        refuse_rows_of_other_keys(self.dialect, self.session, self.load, rows, self.relation)

    def change(self, rows: RowBlock) -> None:
        """Update the present columns of rows whose key exists, through a temporary table."""
        columns = self.staged.columns
        if self.changing:
            self.session.run(f"DELETE FROM {self.partial}")
        else:
            empty = no_rows(self.relation, columns)
            self.session.run(f"CREATE TEMPORARY TABLE {self.partial} ({MASK_COLUMN}) {empty}")
            self.changing = True
        self._fill_temporary(self.partial, rows.data, rows.masks())
        change = self.dialect.change_from(
            self.relation, columns, self.staged.key, self.staged.version, self.staged.inexact
        )
        self.session.run(change.format(rows=f"SELECT {', '.join((*columns, MASK))} FROM {self.partial}"))

    def _fill_temporary(self, relation: str, data: pa.RecordBatch, masks: pa.Array | None = None) -> None:
        try:
            if self.may_load:
                self._load_temporary(relation, data, masks)
                return
        except pymysql.Error as error:
            self._without_load(error)
        names, rows = self.staged.columns, self._rows(data)
        if masks is not None:
            names = [*names, MASK]
            rows = [(*row, mask) for row, mask in zip(rows, masks.to_pylist(), strict=True)]
        markers = ", ".join(["%s"] * len(names))
        self.session.run_many(f"INSERT INTO {relation} ({', '.join(names)}) VALUES ({markers})", rows)

    def _load_temporary(self, relation: str, data: pa.RecordBatch, masks: pa.Array | None) -> None:
        written, warnings = self._load(relation, data, (), masks)
        complaints = self._complaints() if warnings else []
        if written != data.num_rows or complaints:
            shown = "; ".join(complaints[:3]) or f"{written} of {data.num_rows} rows were taken"
            raise BadRowsError(f"{self.what}: {shown}", "widen the target column, or convert it in a transform")

    def _load(
        self, relation: str, data: pa.RecordBatch, marks: tuple[str, ...] = (), masks: pa.Array | None = None
    ) -> tuple[int, int]:
        columns, assignments, texts = [], list(marks), []
        for at, (column, name) in enumerate(zip(self.columns, self.load.names, strict=True)):
            try:
                texts.append(text_conversion.field_texts(data.column(at), column))
            except (ValueError, pa.ArrowInvalid) as error:
                raise BadRowsError(
                    f"{self.what}: column {column.name!r}: {error}", "convert it in a transform"
                ) from None
            shown = self.load.types[at] if self.load.types else ""
            if column.dtype.kind in _BYTES or shown.startswith("bit"):
                columns.append(f"@b{at}")
                value = f"UNHEX(@b{at})" if column.dtype.kind in _BYTES else f"CAST(@b{at} AS UNSIGNED)"
                assignments.append(f"{quote(name)} = {value}")
            else:
                columns.append(quote(name))
        if masks is not None:
            columns.append(MASK)
            texts.append(masks)
        return self.session.load(relation, columns, assignments, text_conversion.lines(texts))

    def _complaints(self) -> list[str]:
        """Warnings that mean a changed value; notes about digits beyond a decimal's scale do not."""
        return [text for level, _, text in self.session.ask("SHOW WARNINGS LIMIT 20") if level != "Note"]

    def _commit(self) -> Piece:
        # The temporary tables must go before the connection is returned.
        for made, table in ((self.merging, self.temporary), (self.changing, self.partial)):
            if made:
                self.session.run(f"DROP TEMPORARY TABLE {table}")
        try:
            return super()._commit()
        except pymysql.IntegrityError as error:
            self._look_whether_overtaken(error)
            raise

    def _block(self, data: pa.RecordBatch, kinds: pa.UInt8Array | None, absent: pa.RecordBatch | None) -> None:
        try:
            super()._block(data, kinds, absent)
        except pymysql.IntegrityError as error:
            self._look_whether_overtaken(error)
            raise

    def _look_whether_overtaken(self, error: Exception) -> None:
        """In a shadow each row is new: if a key or the unit's record exists, another attempt may have been faster. A
        retry finds its record and takes its counts."""
        if self.load.how != SHADOW or not self.books or error.args[0] != DUPLICATE:
            return
        self.session.rollback()
        self.begun = False
        if self.books.find(self.session, self.context.data_id) is not None:
            raise RetriableError(f"table {self.load.table}: another attempt at unit {self.context.data_id} was faster")
