"""Chooses the type of a column in a created table of MySQL or MariaDB."""

from __future__ import annotations

import re

from seatunnel_connectors.jdbc.mysql.connection.types import SHAPES
from seatunnel_connectors.jdbc.target.target_plan import words_given
from seatunnel_py.api import Column, Kind

DECIMAL_DIGITS, DECIMAL_SCALE = 65, 30
KEY_LENGTH = 255  # characters of a text in a key without declared length
VARCHAR_MAX = 4000  # longer texts take too much of a row's 65,535 bytes

EXACT_COLLATIONS = ("utf8mb4_nopad_bin", "utf8mb4_0900_bin")
"""Collations under which different texts are never equal, MariaDB's and MySQL's. utf8mb4_bin treats 'a' and 'a ' as
equal."""
NATIVE_TYPES = ("uuid", "json", "inet4", "inet6")
"""Types of a source's column that are kept under the same name, if the server has them."""

_CREATED = {
    Kind.BOOLEAN: "TINYINT(1)",
    Kind.TINYINT: "TINYINT",
    Kind.SMALLINT: "SMALLINT",
    Kind.INT: "INT",
    Kind.BIGINT: "BIGINT",
    Kind.FLOAT: "FLOAT",
    Kind.DOUBLE: "DOUBLE",
    Kind.DATE: "DATE",
    Kind.NULL: "LONGTEXT",
}
_TEXT = "CHARACTER SET utf8mb4"
_TEXT_WORDS = re.compile(r"(national )?(var)?char|(tiny|medium|long)?text", re.I)


def created_type(column: Column, *, in_key: bool, features: frozenset[str]) -> str:
    """The type. ``features`` are the server's entries of EXACT_COLLATIONS and NATIVE_TYPES. Texts of a key get a
    collation that distinguishes all of them: otherwise rows would replace others."""
    dtype, length = column.dtype, column.length
    if given := words_given(column):
        plain_text = in_key and _TEXT_WORDS.match(given) and "collate" not in given.lower()
        return f"{given} {_collated(features)}" if plain_text else given
    if own := _own_type(column, features):
        return own
    match dtype.kind:
        case Kind.DECIMAL if dtype.scale <= DECIMAL_SCALE and dtype.precision <= DECIMAL_DIGITS:
            return f"DECIMAL({dtype.precision},{dtype.scale})"
        case Kind.STRING | Kind.DECIMAL:
            text = _text_type(length or KEY_LENGTH if in_key else length)
            return f"{text} {_collated(features) if in_key else _TEXT}"
        case Kind.BYTES | Kind.BINARY_VECTOR | Kind.BFLOAT16_VECTOR:
            length = length or KEY_LENGTH if in_key else length
            return f"VARBINARY({length})" if 0 < length <= VARCHAR_MAX else "LONGBLOB"
        case Kind.TIME | Kind.TIMESTAMP | Kind.TIMESTAMP_TZ:
            digits = 6 if column.scale is None else max(0, min(column.scale, 6))
            return f"{'TIME' if dtype.kind is Kind.TIME else 'DATETIME'}({digits})"
        case _:
            return _CREATED.get(dtype.kind, "JSON")


def _own_type(column: Column, features: frozenset[str]) -> str:
    """The source's own type if the server has it; else empty."""
    said, kind = column.converted_from.lower().removesuffix(", zero dates as null"), column.dtype.kind
    name = "json" if said == "jsonb" else said
    if kind is Kind.STRING and name in NATIVE_TYPES and name in features:
        return name
    if kind is Kind.BYTES and said in SHAPES:
        return said
    if kind is Kind.TIMESTAMP_TZ and re.fullmatch(r"timestamp(\(\d\))?", said):
        # By default the server updates it to the current time.
        return said + (" NULL" if column.nullable else " DEFAULT '1970-01-01 00:00:01'")
    return ""


def _collated(features: frozenset[str]) -> str:
    found = next((name for name in EXACT_COLLATIONS if name in features), "utf8mb4_bin")
    return f"{_TEXT} COLLATE {found}"


def _text_type(length: int) -> str:
    if 0 < length <= VARCHAR_MAX:
        return f"VARCHAR({length})"
    if 0 < length * 4 <= 0xFFFF:
        return "TEXT"
    return "MEDIUMTEXT" if 0 < length * 4 <= 0xFFFFFF else "LONGTEXT"


def features_of(version: str, collations: list[str]) -> frozenset[str]:
    """Features of the server, by its version. MySQL's own JSON would change numbers and the order of keys."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version.removeprefix("5.5.5-"))[:2])
    if "mariadb" not in version.lower():
        return frozenset(collations)
    since = {"json": (10, 3), "inet6": (10, 5), "uuid": (10, 7), "inet4": (10, 10)}
    return frozenset(collations) | {name for name, first in since.items() if numbers >= first}
