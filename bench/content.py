"""Whether two tables hold the same rows, in whatever order: their number, and the sum of one digest per row.

A row is written as text in a form that both servers know, so the digests of MariaDB and PostgreSQL compare. It is meant
for columns without nulls: a null is left out of the text, so the digest does not say which column was null.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench import pg
from tests.servers.postgres import PostgresServer

_MOMENT = "to_char(happened_at, 'YYYY-MM-DD HH24:MI:SS.US')"
OF_POSTGRES = ("id", "name", "quantity", "price", _MOMENT, "digest")
"""The columns of the benchmarks' tables; a double is the shortest text that means it, in either server."""
OF_MARIADB = ("id", "name", "quantity", "price", "happened_at", "digest")
DIGITS = 15
"""Of a row's MD5 in hexadecimal: as much as a bigint holds."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a table holds."""

    rows: int
    digest: int


def of_postgres(server: PostgresServer, relation: str, columns: Sequence[str] = OF_POSTGRES) -> Content:
    row = f"left(md5(concat_ws('|', {', '.join(columns)})), {DIGITS})"
    with pg.connect(server) as db:
        found = db.execute(
            f"SELECT count(*), coalesce(sum(('x' || {row})::bit({DIGITS * 4})::bigint), 0) FROM {relation}".encode()
        ).fetchone()
    return _content(found)


def of_mariadb(db: Any, relation: str, columns: Sequence[str] = OF_MARIADB) -> Content:
    """`db` is a connection of PyMySQL."""
    text = f"CONVERT(concat_ws('|', {', '.join(columns)}) USING utf8mb4)"  # md5 is that of the bytes
    number = f"CAST(conv(left(md5({text}), {DIGITS}), 16, 10) AS UNSIGNED)"
    with db.cursor() as cursor:
        cursor.execute(f"SELECT count(*), coalesce(sum({number}), 0) FROM {relation}")
        return _content(cursor.fetchone())


def _content(found: Sequence[Any] | None) -> Content:
    assert found is not None
    return Content(int(found[0]), int(found[1]))


def expect(found: Content, wanted: Content, what: str) -> None:
    """A measurement of a copy that changed or lost rows is worth nothing."""
    if found != wanted:
        raise AssertionError(f"{what} holds {found}, the source {wanted}")
