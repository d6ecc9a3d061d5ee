"""Defines how a table was declared: the part of a definition that decoding its rows and comparing versions need."""

from __future__ import annotations

from dataclasses import dataclass, replace

from seatunnel_connectors.jdbc.mysql.connection import types
from seatunnel_connectors.mysql_cdc.failures import UnsupportedColumnError
from seatunnel_py.api import Column, DataType, Kind, PrimaryKey, TablePath, TableSchema


@dataclass(frozen=True, slots=True)
class DecodeOptions:
    """The choices of a job about values; the names and defaults are those of the Jdbc source."""

    int_type_narrowing: bool = True
    handle_blob_as_string: bool = False
    zero_dates_are_null: bool = False


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column. ``data_type`` and ``column_type`` are those of information_schema (``int``, ``int(10) unsigned``);
    ``charset`` is empty for columns without text; ``words`` are those of ENUM and SET."""

    name: str
    data_type: str
    column_type: str
    nullable: bool = True
    charset: str = ""
    words: tuple[str, ...] = ()
    invisible: bool = False
    default: str | None = None
    comment: str = ""

    @property
    def unsigned(self) -> bool:
        return "unsigned" in self.column_type.lower() or "zerofill" in self.column_type.lower()

    @property
    def numbers(self) -> tuple[int, int]:
        return types.numbers(self.column_type)

    def as_column(self, options: DecodeOptions) -> Column:
        """The column of batches: its type is the one that the Jdbc source gives the same column."""
        dtype, said = self._read(options)
        nullable = self.nullable or (options.zero_dates_are_null and "zero dates" in said)
        length = types.length_of(self.data_type, self.column_type)
        digits = types.digits_of(dtype, self.column_type)
        return Column(self.name, dtype, nullable, length, digits, comment=self.comment, converted_from=said)

    def _read(self, options: DecodeOptions) -> tuple[DataType, str]:
        if self.data_type.lower() == "vector":
            return DataType(Kind.FLOAT_VECTOR), ""
        zero_dates = options.zero_dates_are_null
        read = types.read_as(self.data_type, self.column_type, options, zero_dates_are_null=zero_dates)
        if read is None:
            raise UnsupportedColumnError(
                f"column {self.name!r} has the type {self.column_type}, which cannot be read from the log",
                "leave the table out",
            )
        return read.dtype, read.said


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table. ``key`` names the columns of its primary key; ``charset`` is the one that new text columns get."""

    database: str
    table: str
    columns: tuple[ColumnDefinition, ...]
    key: tuple[str, ...] = ()
    charset: str = ""
    comment: str = ""

    @property
    def name(self) -> tuple[str, str]:
        return self.database, self.table

    def column(self, name: str) -> int:
        """The number of a column, whose name has no letter case; -1 without one."""
        wanted = name.lower()
        return next((i for i, one in enumerate(self.columns) if one.name.lower() == wanted), -1)

    def as_schema(self, options: DecodeOptions) -> TableSchema:
        """The schema of the table's batches."""
        path = TablePath(self.database, "", self.table)
        key = PrimaryKey(self.key, "", True) if self.key else None
        return TableSchema(path, tuple(one.as_column(options) for one in self.columns), key, comment=self.comment)

    def renamed(self, database: str, table: str) -> TableDefinition:
        return replace(self, database=database, table=table)
