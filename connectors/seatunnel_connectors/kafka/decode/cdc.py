"""Decodes change logs in JSON: each message has a row before and after a change, and becomes rows with kinds.

An insert is ``+I``, an update ``-U`` and ``+U``, a delete ``-D``. Envelopes with both whole rows (Debezium, Ogg) are
read as columns; those that name only the changed fields (Canal, Maxwell) need each message's own fields.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from seatunnel_connectors.kafka.decode.debezium_values import DecimalForm, Declared, fields_of, in_words
from seatunnel_py.api import Column, DataType, Kind, RowKind, TableSchema
from seatunnel_py.formats.json.columns import json_column
from seatunnel_py.formats.messages.decoder import BadMessageError, Decoded, Decoder, row_type
from seatunnel_py.formats.messages.json_format import RULES, Documents
from seatunnel_py.formats.value_text import MisfitError, text_column

if TYPE_CHECKING:
    import pyarrow as pa

INSERT, UPDATE, DELETE = "I", "U", "D"
NO_BEFORE = "it lacks the row before the change; PostgreSQL sends it whole only for tables with REPLICA IDENTITY FULL"
_NUMBERS = {Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL}


@dataclass(slots=True)
class Changes:
    """Changes in order: operation, message, and the row before and after, as columns."""

    operations: list[str] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    before: list[Any] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)


class ChangeDecoder(Decoder):
    """Decodes changes; a subclass finds them in the messages of its format."""

    def __init__(self, table: TableSchema) -> None:
        super().__init__(table)
        self.row = row_type(table.columns)

    @abstractmethod
    def changes(self, values: Sequence[bytes]) -> Changes: ...

    def decode(self, values: Sequence[bytes]) -> Decoded:
        import numpy as np
        import pyarrow as pa

        found = self.changes(values)
        done = np.array(found.operations, dtype="U1")
        count = len(done)
        twice = np.where(done == UPDATE, 2, 1)
        change = np.repeat(np.arange(count), twice)
        second = np.zeros(len(change), dtype=bool)
        second[np.cumsum(twice)[done == UPDATE] - 1] = True
        operation = done[change]
        kinds = np.select(
            [operation == INSERT, operation == DELETE, second],
            [RowKind.INSERT, RowKind.DELETE, RowKind.UPDATE_AFTER],
            RowKind.UPDATE_BEFORE,
        )
        is_after = (kinds == RowKind.INSERT) | (kinds == RowKind.UPDATE_AFTER)
        taken = pa.array(change + np.where(is_after, count, 0))
        arrays = [pa.concat_arrays([old, new]).take(taken) for old, new in zip(found.before, found.after, strict=True)]
        parents = np.array(found.parents, dtype=np.int64)[change]
        return Decoded(self.batch(arrays), pa.array(kinds.astype(np.uint8)), pa.array(parents))


# ---------------------------------------------------------------- both rows whole


class _WholeRows(ChangeDecoder):
    """Messages with ``before``, ``after`` and an operation."""

    names: ClassVar[Mapping[str, str]]
    operation: ClassVar[str]

    def __init__(self, table: TableSchema) -> None:
        super().__init__(table)
        self.documents = self.make_documents()

    def make_documents(self) -> Documents:
        return Documents([Column(name, dtype) for name, dtype in self.envelope()])

    def envelope(self) -> tuple[tuple[str, DataType], ...]:
        return ("before", self.row), ("after", self.row), (self.operation, DataType(Kind.STRING))

    def opened(self, arrays: list[Any]) -> list[Any]:
        """The envelope's three columns."""
        return arrays

    def changes(self, values: Sequence[bytes]) -> Changes:
        arrays, parents = self.documents.read(values)
        before, after, said = self.opened(arrays)
        places = parents if parents is not None else list(range(len(values)))
        found = Changes(parents=places)
        has_before, has_after = before.is_valid().to_pylist(), after.is_valid().to_pylist()
        for at, word in enumerate(said.to_pylist()):
            operation = self.names.get(word)
            if operation is None:
                raise BadMessageError(places[at], f"{self.operation} {word!r} is none of {', '.join(self.names)}")
            if operation != INSERT and not has_before[at]:
                raise BadMessageError(places[at], NO_BEFORE)
            if operation != DELETE and not has_after[at]:
                raise BadMessageError(places[at], "it lacks the row after the change")
            found.operations.append(operation)
        found.before, found.after = before.flatten(), after.flatten()
        return found


class DebeziumDecoder(_WholeRows):
    """Debezium's envelope, inside ``payload`` if the schema is included. ``only``: required database, schema and table
    of ``source``; a message of another table yields no row."""

    names: ClassVar[Mapping[str, str]] = {"c": INSERT, "r": INSERT, "u": UPDATE, "d": DELETE}
    operation = "op"

    def __init__(
        self,
        table: TableSchema,
        *,
        with_schema: bool,
        only: Mapping[str, str] | None = None,
        declared: Declared | None = None,
    ) -> None:
        self.with_schema = with_schema
        self.only = only or {}
        self.declared = declared or Declared()
        super().__init__(table)

    def make_documents(self) -> Documents:
        return _DebeziumDocuments([Column(name, dtype) for name, dtype in self.envelope()], self)

    def envelope(self) -> tuple[tuple[str, DataType], ...]:
        fields = super().envelope()
        return (("payload", DataType(Kind.ROW, fields=fields)),) if self.with_schema else fields

    def opened(self, arrays: list[Any]) -> list[Any]:
        return arrays[0].flatten() if self.with_schema else arrays


class _DebeziumDocuments(Documents):
    """Reads JSON documents of Debezium. It writes dates, times and decimals as numbers and bytes, which are converted
    one by one."""

    def __init__(self, columns: Sequence[Column], owner: DebeziumDecoder) -> None:
        super().__init__(columns)
        self.owner = owner
        # A message's source and schema are not columns, so they need each document.
        self.is_direct = self.is_direct and not owner.only and not _has_decimals(owner.columns, owner.declared)

    def rows(self, index: int, value: bytes) -> list[Any]:
        found = []
        for document in super().rows(index, value):
            inner = document.get("payload") if self.owner.with_schema and isinstance(document, dict) else document
            if not isinstance(inner, dict):
                raise BadMessageError(index, "it has no payload: set debezium_record_include_schema to false")
            if not self._is_wanted(index, inner):
                continue
            sides = fields_of(document.get("schema")) if self.owner.with_schema else {}
            for side in ("before", "after"):
                if isinstance(inner.get(side), dict):
                    inner[side] = self._in_words(index, inner[side], fields_of(sides.get(side)))
            found.append(document)
        return found

    def _in_words(self, index: int, row: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return in_words(row, self.owner.columns, schema, self.owner.declared)
        except ValueError as error:
            raise BadMessageError(index, str(error)) from None

    def _is_wanted(self, index: int, inner: Mapping[str, Any]) -> bool:
        if not self.owner.only:
            return True
        source = inner.get("source")
        if not isinstance(source, dict):
            raise BadMessageError(index, "it has no source, which debezium_record_table_filter needs")
        return all(source.get(name) == value for name, value in self.owner.only.items())


def _has_decimals(columns: Sequence[Column], declared: Declared) -> bool:
    """True if the text of a decimal column may be other than its digits."""
    return declared.decimals is not DecimalForm.DIGITS and any(one.dtype.kind is Kind.DECIMAL for one in columns)


class OggDecoder(_WholeRows):
    """Oracle GoldenGate's envelope."""

    names: ClassVar[Mapping[str, str]] = {"I": INSERT, "U": UPDATE, "D": DELETE}
    operation = "op_type"


# ---------------------------------------------------------------- only what has changed


class _ChangedFields(ChangeDecoder):
    """Messages with whole rows, and with the former values of the changed fields of updates."""

    names: ClassVar[Mapping[str, str]]

    def __init__(self, table: TableSchema) -> None:
        super().__init__(table)
        self.documents = Documents(table.columns)

    def pairs(self, index: int, message: Mapping[str, Any]) -> list[tuple[Any, Any]]:
        """Pairs of a row and its former fields, for each row of the message."""
        return [(message.get("data"), message.get("old"))]

    def is_silent(self, message: Mapping[str, Any]) -> bool:
        """True if the message is not about rows."""
        return False

    def changes(self, values: Sequence[bytes]) -> Changes:
        found = Changes()
        before: list[Any] = []
        after: list[Any] = []
        for index, value in enumerate(values):
            for message in self.documents.rows(index, value):
                if not isinstance(message, dict):
                    raise BadMessageError(index, "it is not an object")
                if self.is_silent(message):
                    continue
                operation = self.names.get(str(message.get("type")).casefold())
                if operation is None:
                    raise BadMessageError(index, f"type {message.get('type')!r} is none of {', '.join(self.names)}")
                for row, old in self.pairs(index, message):
                    if not isinstance(row, dict):
                        raise BadMessageError(index, "it has no data")
                    if operation == UPDATE and not isinstance(old, dict):
                        raise BadMessageError(index, "it is an update without old")
                    found.operations.append(operation)
                    found.parents.append(index)
                    before.append({**row, **old} if operation == UPDATE else row)
                    after.append(row)
        found.before, found.after = self._columns(before, found), self._columns(after, found)
        return found

    def _columns(self, rows: list[Any], found: Changes) -> list[Any]:
        arrays = []
        for column in self.columns:
            try:
                arrays.append(_column([row.get(column.name) for row in rows], column.dtype))
            except MisfitError as error:
                raise BadMessageError(found.parents[error.index], f"column {column.name!r}: {error}") from None
        return arrays


class CanalDecoder(_ChangedFields):
    """Canal's envelope: several rows per message. Canal also sends DDL statements."""

    names: ClassVar[Mapping[str, str]] = {"insert": INSERT, "update": UPDATE, "delete": DELETE}

    def is_silent(self, message: Mapping[str, Any]) -> bool:
        return bool(message.get("isDdl")) or (message.get("data") is None and "type" in message)

    def pairs(self, index: int, message: Mapping[str, Any]) -> list[tuple[Any, Any]]:
        rows, old = message["data"], message.get("old")
        rows = rows if isinstance(rows, list) else [rows]  # SeaTunnel's own sink writes a single row without a list
        former = old if isinstance(old, list) else [old] * len(rows)
        if len(former) != len(rows):
            raise BadMessageError(index, f"it has {len(rows)} rows and {len(former)} former ones")
        return list(zip(rows, former, strict=True))


class MaxwellDecoder(_ChangedFields):
    """Maxwell's envelope; its messages about tables and about its own work are not rows."""

    names: ClassVar[Mapping[str, str]] = {
        "insert": INSERT,
        "bootstrap-insert": INSERT,
        "update": UPDATE,
        "delete": DELETE,
    }

    def is_silent(self, message: Mapping[str, Any]) -> bool:
        kind = str(message.get("type"))
        return kind.startswith(("table-", "database-")) or kind in ("bootstrap-start", "bootstrap-complete")


def _column(cells: list[Any], dtype: DataType) -> pa.Array:
    """A column of values. Canal writes every value as text, so whole columns of numbers are cast at once."""
    import pyarrow as pa

    if dtype.kind in _NUMBERS and all(cell is None or (type(cell) is str and cell) for cell in cells):
        return text_column(pa.array(cells, pa.string()), dtype, RULES)
    return json_column(cells, dtype, RULES)
