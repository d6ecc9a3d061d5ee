"""Decodes messages for tests, and shows what came as plain values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from seatunnel_connectors.jdbc.postgres.connection.types import NativeType
from seatunnel_connectors.postgres_cdc.pgoutput.changes import Before
from seatunnel_connectors.postgres_cdc.pgoutput.decoder import PgoutputDecoder
from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block, LogElement, LogPosition, TableRows
from seatunnel_connectors.postgres_cdc.pgoutput.messages import Messages
from seatunnel_connectors.postgres_cdc.pgoutput.relations import RelationCache
from seatunnel_connectors.postgres_cdc.pgoutput.transactions import TransactionTracker
from seatunnel_py.api import RowKind

BOOL, BYTEA, INT8, INT4, TEXT, FLOAT8, NUMERIC, DATE, TIMESTAMPTZ, INT4_ARRAY = (
    16, 17, 20, 23, 25, 701, 1700, 1082, 1184, 1007,
)  # fmt: skip
TYPES: Mapping[int, NativeType] = {
    BOOL: NativeType("bool"),
    BYTEA: NativeType("bytea"),
    INT8: NativeType("int8"),
    INT4: NativeType("int4"),
    TEXT: NativeType("text"),
    FLOAT8: NativeType("float8"),
    NUMERIC: NativeType("numeric"),
    DATE: NativeType("date"),
    TIMESTAMPTZ: NativeType("timestamptz"),
    INT4_ARRAY: NativeType("_int4", element="int4"),
}
ABSENT = "absent"
Shown = tuple[str, str, tuple[Any, ...]]


def types(oids: Collection[int]) -> Mapping[int, NativeType]:
    return {oid: TYPES[oid] for oid in oids if oid in TYPES}


def decoder(start: LogPosition | None = None, *, before: Before = Before.PAIRS, **relations: Any) -> PgoutputDecoder:
    tracker = TransactionTracker(start or LogPosition())
    return PgoutputDecoder(RelationCache(types, **relations), tracker, before)


def elements(messages: Sequence[bytes], reader: PgoutputDecoder | None = None) -> list[LogElement]:
    """Elements of the messages, which come in one piece."""
    found = [*(reader or decoder()).decode(Messages.of(messages))]
    for one in found:
        if isinstance(one, Block):
            for part in one.rows:
                part.data.validate(full=True)
    return found


def shown(part: TableRows) -> list[Shown]:
    """Rows as (table, kind, values)."""
    columns = [column.to_pylist() for column in part.data.columns]
    masks = [column.to_pylist() for column in part.absent.columns] if part.absent is not None else []
    return [
        (
            part.table.path.table,
            RowKind(kind).short,
            tuple(ABSENT if masks and masks[at][number] else column[number] for at, column in enumerate(columns)),
        )
        for number, kind in enumerate(part.kinds.to_pylist())
    ]


def rows(messages: Sequence[bytes], reader: PgoutputDecoder | None = None) -> list[Shown]:
    return all_rows(elements(messages, reader))


def all_rows(found: Sequence[LogElement]) -> list[Shown]:
    return [row for one in found if isinstance(one, Block) for part in one.rows for row in shown(part)]
