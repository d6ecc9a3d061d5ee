"""Reads MySQL over an encrypted connection, which ConnectorX cannot make: PyMySQL gives rows, each value as text.

It is slower, as each value becomes an object of Python. A text holds every value exactly, except FLOAT, which the
server prints with six digits, and columns with a number of shown digits: both are selected as a DOUBLE of no such
number, which it prints with all 17.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pymysql

from seatunnel_connectors.jdbc.mysql.connection import tls
from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, explained, sessions
from seatunnel_connectors.jdbc.source.source import hints_of
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import Kind, SourceTable

_PLAIN_REFUSED = (3159, 1045)
_FLOATS = (Kind.FLOAT, Kind.DOUBLE)


_plain_refused: dict[object, bool] = {}


def is_needed(address: Address) -> bool:
    """Whether rows are read over an encrypted connection: the url wishes it, or the server accepts no other one."""
    if tls.wants_tls(address) or tls.refuses_tls(address):
        return tls.wants_tls(address)
    if address.identity not in _plain_refused:
        _plain_refused[address.identity] = _refuses_plain(address)
    return _plain_refused[address.identity]


def _refuses_plain(address: Address) -> bool:
    """Ask by a plain connection, if the usual one is encrypted: MySQL says 3159, MariaDB that the access is denied."""
    with explained(f"connecting to {address.display}"), sessions(address) as session:
        if not session.is_encrypted:
            return False
    plain = replace(address, parameters={**address.parameters, "sslmode": "DISABLED"})
    try:
        MysqlSession(plain).close()
    except pymysql.err.OperationalError as error:
        return error.args[0] in _PLAIN_REFUSED
    return False


def columns_of(table: SourceTable) -> list[tuple[str, str]]:
    """Names and expressions of the columns."""
    types = [one.dtype.kind for one in table.schema.columns]
    return [
        (name, f"({expression} * 1e0)" if kind in _FLOATS else expression)
        for (name, expression), kind in zip(hints_of(table).columns, types, strict=True)
    ]


def batches(address: Address, sql: str, rows: int, schema: pa.Schema, what: str) -> Iterator[pa.RecordBatch]:
    """The batches of a query, in the types that ConnectorX gives."""
    with explained(what), sessions(address) as session:
        for found in session.texts(sql, rows):
            columns = zip(*found, strict=True)
            arrays = [_array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=schema.names)


def _array(values: Sequence[str | bytes | None], wanted: pa.DataType) -> pa.Array:
    """The array that ``text_conversion.from_wire`` takes for a type."""
    t = pa.types
    if t.is_binary(wanted):
        return pa.array(values, wanted)
    texts = pa.array(values, pa.string())
    if t.is_boolean(wanted) or t.is_integer(wanted) or (t.is_timestamp(wanted) and wanted.tz):
        return texts.cast(pa.int64())
    return texts.cast(pa.float64()) if t.is_floating(wanted) else texts
