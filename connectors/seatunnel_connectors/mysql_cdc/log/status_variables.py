"""Reads the status variables of a query event: the session's settings that the statement's text depends on.

Variables come in ascending order of no length of their own: an unknown code ends the reading.
"""

from __future__ import annotations

from dataclasses import dataclass

from seatunnel_connectors.mysql_cdc.log.byte_reader import ByteReader

ANSI_QUOTES = 0x4
NO_BACKSLASH_ESCAPES = 0x100000

_FLAGS, _SQL_MODE, _CATALOG_NZ, _AUTO_INCREMENT, _CHARSET, _TIME_ZONE, _OLD_CATALOG = 0, 1, 6, 3, 4, 5, 2
_LC_TIME_NAMES, _DATABASE_CHARSET, _TABLE_MAP, _MASTER_DATA, _INVOKER = 7, 8, 9, 10, 11
_UPDATED_DATABASES, _MICROSECONDS, _COMMIT_TS, _COMMIT_TS2, _EXPLICIT_DEFAULTS, _DDL_XID = 12, 13, 14, 15, 16, 17
_DEFAULT_COLLATION, _REQUIRE_KEY, _TABLE_ENCRYPTION = 18, 19, 20
_MARIADB_MICROSECONDS = 128
_FIXED = {
    _FLAGS: 4, _AUTO_INCREMENT: 4, _LC_TIME_NAMES: 2, _TABLE_MAP: 8, _MASTER_DATA: 4, _MICROSECONDS: 3,
    _EXPLICIT_DEFAULTS: 1, _DDL_XID: 8, _DEFAULT_COLLATION: 2, _REQUIRE_KEY: 1, _TABLE_ENCRYPTION: 1,
    _MARIADB_MICROSECONDS: 3,
}  # fmt: skip
_MANY_DATABASES = 254


@dataclass(frozen=True, slots=True)
class StatusVariables:
    """``client_collation`` numbers the collation of the statement's text; 0 where it is not logged."""

    sql_mode: int = 0
    client_collation: int = 0
    database_collation: int = 0
    """Of the database, or of the server where that is not logged: new tables have it."""

    @property
    def ansi_quotes(self) -> bool:
        return bool(self.sql_mode & ANSI_QUOTES)

    @property
    def backslash_escapes(self) -> bool:
        return not self.sql_mode & NO_BACKSLASH_ESCAPES


def read_status_variables(data: bytes) -> StatusVariables:
    reader = ByteReader(data, "the status of a query event")
    sql_mode = collation = server = database = 0
    while reader.left:
        code = reader.u8()
        if code == _SQL_MODE:
            sql_mode = reader.u64()
        elif code == _CHARSET:
            collation = reader.u16()
            reader.skip(2)
            server = reader.u16()
        elif code == _DATABASE_CHARSET:
            database = reader.u16()
        elif not _skipped(code, reader):
            break
    return StatusVariables(sql_mode, collation, database or server)


def _skipped(code: int, reader: ByteReader) -> bool:
    """Skip a variable that has no effect on the statement's text. False for one that is not known."""
    if code in _FIXED:
        reader.skip(_FIXED[code])
    elif code in (_CATALOG_NZ, _TIME_ZONE):
        reader.skip(reader.u8())
    elif code == _OLD_CATALOG:
        reader.skip(reader.u8() + 1)
    elif code == _INVOKER:
        reader.skip(reader.u8())
        reader.skip(reader.u8())
    elif code == _UPDATED_DATABASES:
        count = reader.u8()
        for _ in range(0 if count == _MANY_DATABASES else count):
            while reader.u8():
                pass
    else:
        return False
    return True
