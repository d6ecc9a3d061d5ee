"""Reads MySQL over an encrypted connection, which ConnectorX cannot make, in the protocol of PyMySQL: values are texts.

A text holds every value exactly, except FLOAT, which the server prints with six digits, and columns with a number of
shown digits: both are selected as a DOUBLE of no such number, which it prints with all 17.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from seatunnel_connectors.jdbc.mysql.connection import tls
from seatunnel_connectors.jdbc.mysql.connection.session import explained, sessions
from seatunnel_connectors.jdbc.mysql.read.text_rows import cells_of, query_rows
from seatunnel_connectors.jdbc.source.source import Hints
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import FatalError, Kind, TableSchema

BATCH_BYTES = 16 << 20
_FLOATS = (Kind.FLOAT, Kind.DOUBLE)
_encrypted: dict[object, bool] = {}


def is_needed(address: Address) -> bool:
    """Whether sessions of the address are encrypted: the url wishes it, or it wishes nothing and the server can."""
    if tls.wants_tls(address) or tls.refuses_tls(address):
        return tls.wants_tls(address)
    if address.identity not in _encrypted:
        with explained(f"connecting to {address.display}"), sessions(address) as session:
            _encrypted[address.identity] = session.is_encrypted
    return _encrypted[address.identity]


def in_all_digits(hints: Hints, schema: TableSchema) -> Hints:
    """The columns, floating-point numbers with all their digits."""
    columns = tuple(
        (name, f"({expression} * 1e0)" if column.dtype.kind in _FLOATS else expression)
        for (name, expression), column in zip(hints.columns, schema.columns, strict=True)
    )
    return replace(hints, columns=columns)


def batches(address: Address, sql: str, rows: int, schema: pa.Schema, what: str) -> Iterator[pa.RecordBatch]:
    """The batches of a query, in the types that ConnectorX gives."""
    with explained(what), sessions(address) as session:
        for found in query_rows(session.db, sql, rows, BATCH_BYTES):
            cells = cells_of(found, len(schema))
            arrays = [_array(one.binary(), field) for one, field in zip(cells, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=schema.names)


def _array(values: pa.BinaryArray, field: pa.Field) -> pa.Array:
    """The array that ``text_conversion.from_wire`` takes for a type."""
    t, wanted = pa.types, field.type
    if t.is_binary(wanted):
        return values
    try:
        texts = values.cast(pa.string())
    except pa.ArrowInvalid as error:
        raise FatalError(f"column {field.name!r}: {error}", "read it as bytes with `query`") from error
    if t.is_boolean(wanted) or t.is_integer(wanted) or (t.is_timestamp(wanted) and wanted.tz):
        return texts.cast(pa.int64())
    return texts.cast(pa.float64()) if t.is_floating(wanted) else texts
