"""Knows the types in binary COPY: those with the same bytes on every server, and the columns that take them.

A type that depends on a catalog or a setting (an enum, a composite, oid) is cast in the SELECT, as for other sinks.
"""

from __future__ import annotations

import psycopg

from seatunnel_connectors.jdbc.postgres.connection.session import quote
from seatunnel_connectors.jdbc.postgres.connection.types import created_type, native_of, read_as
from seatunnel_py.api import Column

_SCALARS = frozenset(
    {"bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar", "bpchar", "bytea", "date"}
    | {"time", "timetz", "timestamp", "timestamptz", "uuid", "json", "jsonb", "inet", "cidr", "macaddr", "macaddr8"}
    | {"interval", "bit", "varbit", "point", "line", "lseg", "box", "path", "polygon", "circle"}
    | {"int4range", "int8range", "numrange", "daterange", "tsrange", "tstzrange", "tsvector", "tsquery"}
)
_NUMBERS = {info.name: info.oid for info in psycopg.adapters.types} | {
    f"_{info.name}": info.array_oid for info in psycopg.adapters.types
}
COPIED = {name for scalar in _SCALARS for name in (scalar, f"_{scalar}")} & set(_NUMBERS)
"""Types whose binary form depends on PostgreSQL only: not on user types, settings or a catalog."""


def sent_as(full: str) -> str:
    """The type that COPY sends for a column of this type."""
    if native_of(full).name in COPIED:
        return full
    mapped = read_as(native_of(full))
    return created_type(Column("", mapped[0])) if mapped else full


def type_number(full: str) -> int:
    """The number (oid) of the type that COPY sends for a column of this type."""
    return _NUMBERS[native_of(sent_as(full)).name]


def selected(full: str, name: str, expression: str) -> str:
    """The column in the SELECT of a COPY; ``expression`` reads it for Arrow."""
    return quote(name) if native_of(full).name in COPIED else expression


def same_bytes(sent: str, full: str) -> bool:
    """True if a column of type ``full`` takes the bytes of type ``sent`` as the same values. A server silently rounds
    numbers and seconds to a column's modifier, and refuses texts that are too long."""
    if sent == full:
        return True
    source, target = native_of(sent), native_of(full)
    if source.name == target.name:
        return target.modifier < 0 or source.name == "varchar"
    return {source.name, target.name} == {"varchar", "text"}
