"""SQLite's declared types, with values of every storage class: the declaration is a hint only.

A value is an SQL literal.
"""

from __future__ import annotations

from random import Random

from tests.round_trips import kinds
from tests.round_trips.kinds import SPECIAL, Draw, Kind


def _quoted(draw: Draw) -> Draw:
    return lambda random: _literal(draw(random))


def _literal(text: str) -> str:
    """A text with a NUL has none as a literal."""
    if "\0" in text:
        return f"CAST(x'{text.encode().hex()}' AS TEXT)"
    return "'" + text.replace("'", "''") + "'"


def _real(random: Random) -> str:
    return repr(random.uniform(-1e6, 1e6))


def _blob(random: Random) -> str:
    return f"x'{kinds.hexadecimal(random)}'"


def _mixed_number(random: Random) -> str:
    """An integer or a real."""
    return random.choice([kinds.integer(63)(random), _real(random), repr(random.uniform(-1, 1))])


_TEXTS = tuple(_literal(text) for text in SPECIAL)

KINDS = (
    Kind("INTEGER", ("0", "-9223372036854775808", "9223372036854775807"), kinds.integer(63)),
    Kind("INTEGER", ("1.5", "'abc'", "x'00'"), _real),
    Kind("INT", ("2147483647", "3000000000"), kinds.integer(40)),
    Kind("FLOATING POINT", ("1.5", "2"), _real),
    Kind("BOOLEAN", ("0", "1"), kinds.one_of("0", "1")),
    Kind("BOOLEAN", ("2", "'yes'"), kinds.one_of("2", "-1")),
    Kind("REAL", ("0.1", "1e400", "-1e400", "5e-324", "1.7976931348623157e308"), _real),
    Kind("TEXT", _TEXTS, _quoted(kinds.text)),
    Kind("TEXT", ("x'61'",), _blob),
    Kind("VARCHAR(3)", ("'abcdef'", "''"), _quoted(kinds.text)),
    Kind("NUMERIC", ("1e-20", "0.1", "12345678901234567890"), _real),
    Kind("DECIMAL(10,2)", ("1.25", "'99999999.99'", "0"), kinds.digits(8, 2)),
    Kind("DECIMAL(10,2)", ("1.005", "2.675"), _real),
    Kind("DATE", ("'2024-01-31'",), _quoted(kinds.date)),
    Kind("DATE", ("1706700000", "'2024-01-31 23:59:59'"), kinds.integer(31)),
    Kind("TIMESTAMP", ("'2024-01-31 12:34:56.123456'",), _quoted(kinds.timestamp())),
    Kind(
        "TIMESTAMP", ("1706700000123", "'2024-01-31 12:34+05:30'", "'2024-01-31 12:34:56.1234567'"), kinds.integer(40)
    ),
    Kind("TIME", ("'12:34:56.789'",), _quoted(kinds.time())),
    Kind("BLOB", ("x''", "x'00ff'"), _blob),
    Kind("BLOB", ("'text'", "1"), _quoted(kinds.text)),
    Kind("UNSIGNED BIG INT", ("18446744073709551615", "1"), kinds.integer(62)),
    Kind("STRING", ("'a'", "'1.10'"), _quoted(kinds.text)),
    Kind("JSON", ("'[1,2]'", "'12345678901234567890.12'"), _quoted(kinds.json)),
    Kind("UUID", ("'00000000-0000-0000-0000-000000000000'",), _quoted(kinds.uuid)),
    Kind("NUMERIC", ("'1e400'", "-0.0", "9223372036854775808", "1e15", "0.30000000000000004"), _mixed_number),
    Kind("DOUBLE PRECISION", ("-0.0", "2", "5e-324", "9007199254740993", "'-0'"), _real),
    Kind("INTEGER", ("NULL", "-1", "1.0", "'7'", "' 8'", "9e15"), kinds.integer(20)),
    Kind("TEXT", ("1", "1.50", "9223372036854775808", "-0.0"), _mixed_number),
    Kind("BOOLEAN", ("'0'", "1.0"), kinds.one_of("0", "1", "'1'")),
    Kind("DATE", ("'0001-01-01'", "'9999-12-31'", "'1582-10-10'"), _quoted(kinds.date)),
    Kind("TIMESTAMP", ("'9999-12-31 23:59:59.999999'", "'0001-01-01 00:00:00'"), _quoted(kinds.timestamp())),
    Kind("TIME", ("'00:00:00'", "'23:59:59.999999'"), _quoted(kinds.time())),
    Kind("DECIMAL(30,10)", ("'12345678901234567890.1234567891'", "1", "-0.5"), kinds.digits(5, 4)),
    Kind("", ("1", "1.5", "'a'", "x'00'"), kinds.one_of("1", "2.5", "'b'")),
)
