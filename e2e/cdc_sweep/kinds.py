"""A wide table beside the others: a column of each type that both ends carry, with odd values drawn at random.

The types and their values are those of ``tests.round_trips``. From PostgreSQL to PostgreSQL these are nearly all of its
types, compared as the text that it shows; between others, the types that have a counterpart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import psycopg
import pymysql

from e2e.cdc.background import Background
from tests.round_trips.kinds import Kind
from tests.round_trips.mariadb_kinds import KINDS as MARIADB
from tests.round_trips.postgres_kinds import KINDS as POSTGRES
from tests.round_trips.postgres_kinds import SETUP

TABLE = "kinds"
ROWS, KEYS, POOL = 100, 150, 20
NULLS = 0.1
COUNTERPARTS = {
    "tinyint(1)": "boolean", "smallint": "smallint", "int": "integer", "bigint": "bigint",
    "decimal(10,2)": "numeric(10,2)", "decimal(38,18)": "numeric(38,18)", "double": "double precision", "text": "text",
    "varchar(300)": "character varying(300)", "blob": "bytea", "date": "date", "time(6)": "time",
    "datetime(6)": "timestamp", "uuid": "uuid",
}  # fmt: skip
"""Types of PostgreSQL by those of MariaDB. Values are MariaDB's, whose ranges are the narrower ones."""
ARRIVES_AS_NUMBER = "money"
WITHOUT_COUNTERPART = ("numeric(10,2)", "date", "time", "timestamp", "timestamp with time zone", "integer[]")
"""Types of the kinds without edges, whose every value is refused, such as an infinite date."""
Connect = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Column:
    """``words``: its type at the source, ``there``: its counterpart at the target."""

    words: str
    there: str
    kind: Kind

    def value(self, text: str) -> Any:
        if text.startswith("x:"):
            return bytes.fromhex(text[2:])
        return text.replace("Infinity", "0") if self.words.startswith("double") and self.kind in MARIADB else text


def columns(source: str, target: str) -> tuple[Column, ...]:
    """The columns of the source, both given as ``postgres`` or ``mariadb``."""
    if source == target == "postgres":
        return tuple(
            Column(kind.words, kind.words, kind)
            for kind in POSTGRES
            if kind.words != ARRIVES_AS_NUMBER and (kind.edges or kind.words not in WITHOUT_COUNTERPART)
        )
    first = {kind.words: kind for kind in reversed(MARIADB)}
    ends = (
        COUNTERPARTS.items() if source == "mariadb" else {there: words for words, there in COUNTERPARTS.items()}.items()
    )
    return tuple(Column(words, there, first[words if source == "mariadb" else there]) for words, there in ends)


@dataclass(frozen=True, slots=True)
class WideTable:
    """The table at the source and at the target, by their connections, which commit each statement. ``as_text``: values
    are compared as both databases show them. ``pools``: values of each column, once the table is made."""

    source: Connect
    target: Connect
    columns: tuple[Column, ...]
    as_text: bool
    pools: list[list[Any]] = field(default_factory=list)

    def create(self, seed: int) -> None:
        """Make the table with its first rows."""
        declared = ", ".join(f"c{at} {column.words}" for at, column in enumerate(self.columns))
        with closing(self.source()) as db, db.cursor() as cursor:
            for statement in SETUP if self.as_text else ():
                cursor.execute(statement)
            cursor.execute(f"CREATE TABLE {TABLE} (id int PRIMARY KEY, {declared})")
        self.pools.extend(self._drawn(Random(seed)))
        writer = self.writer(seed)
        with closing(self.source()) as db, db.cursor() as cursor:
            for key in range(ROWS):
                writer.put(cursor, key)

    def writer(self, seed: int) -> KindsWriter:
        return KindsWriter(self.source, self.pools, seed)

    def _drawn(self, random: Random) -> list[list[Any]]:
        """Values of each column that both ends take."""
        values = [list(map(one.value, one.kind.values(random, POOL))) for one in self.columns]
        values = _taken(self.source, [one.words for one in self.columns], values)
        if self.as_text:  # both are alike
            return values
        return _taken(self.target, [one.there for one in self.columns], values)

    def difference(self) -> str:
        """The first cells that differ."""
        wanted, found = self._rows(self.source), self._rows(self.target)
        if wanted.keys() != found.keys():
            return f"rows {sorted(wanted.keys() ^ found.keys())[:5]} are on one side only"
        for key, row in wanted.items():
            for column, value, other in zip(self.columns, row, found[key], strict=True):
                if value != other:
                    return f"row {key}, {column.words}: {value!r} arrived as {other!r}"
        return ""

    def _rows(self, connect: Connect) -> dict[int, tuple[Any, ...]]:
        shown = "CASE WHEN c{0} IS DISTINCT FROM NULL THEN format('%s', c{0}) END" if self.as_text else "c{0}"
        names = ", ".join(map(shown.format, range(len(self.columns))))
        with closing(connect()) as db, db.cursor() as cursor:
            cursor.execute(f"SELECT id, {names} FROM {TABLE}")
            return {row[0]: tuple(map(_plain, row[1:])) for row in cursor.fetchall()}


def _taken(connect: Connect, types: Sequence[str], values: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """The values of each type that the database takes."""
    taken: list[list[Any]] = []
    with closing(connect()) as db, db.cursor() as cursor:
        for at, words in enumerate(types):
            cursor.execute(f"CREATE TEMPORARY TABLE scratch{at} (c {words})")
            taken.append([])
            for value in values[at]:
                with suppress(psycopg.DataError, psycopg.errors.CheckViolation, pymysql.MySQLError):
                    cursor.execute(f"INSERT INTO scratch{at} VALUES (%s)", (value,))
                    taken[at].append(value)
            assert taken[at], f"none of its values is a {words}"
    return taken


def _plain(value: Any) -> Any:
    """The value as both clients give it."""
    match value:
        case timedelta():
            return (datetime.min.replace(tzinfo=UTC) + value).time()
        case datetime(tzinfo=zone) if zone is not None:
            return value.astimezone(UTC).replace(tzinfo=None)
        case UUID():
            return str(value)
    return value


class KindsWriter(Background):
    """Changes rows of the table at random: puts and removes rows, and writes some of their cells. ``pools``: values of
    each column."""

    def __init__(self, connect: Connect, pools: Sequence[Sequence[Any]], seed: int) -> None:
        super().__init__(f"kinds{seed}")
        self._connect, self._pools, self._random = connect, pools, Random(seed)

    def work(self) -> None:
        with closing(self._connect()) as db, db.cursor() as cursor:
            while not self.stopped.wait(0.005):
                cursor.execute("BEGIN")
                for _ in range(self._random.choice((1, 2, 5))):
                    self._change(cursor, self._random.randrange(KEYS))
                cursor.execute("ROLLBACK" if self._random.random() < 0.1 else "COMMIT")

    def _change(self, cursor: Any, key: int) -> None:
        chance = self._random.random()
        if chance < 0.7:
            chosen = self._random.sample(range(len(self._pools)), self._random.randint(1, 4))
            cells = ", ".join(f"c{at} = %s" for at in chosen)
            cursor.execute(f"UPDATE {TABLE} SET {cells} WHERE id = %s", (*map(self._cell, chosen), key))
        elif chance < 0.8:
            cursor.execute(f"DELETE FROM {TABLE} WHERE id = %s", (key,))
        else:
            self.put(cursor, key)

    def put(self, cursor: Any, key: int) -> None:
        """A new row takes the place of the row with this key."""
        cells = [self._cell(at) for at in range(len(self._pools))]
        cursor.execute(f"DELETE FROM {TABLE} WHERE id = %s", (key,))
        cursor.execute(f"INSERT INTO {TABLE} VALUES (%s{', %s' * len(cells)})", (key, *cells))

    def _cell(self, at: int) -> Any:
        return None if self._random.random() < NULLS else self._random.choice(self._pools[at])
