"""Changes rows of a MariaDB database at random, from a seed: inserts, updates, deletes, changes and swaps of keys,
rollbacks, and now and then another file of the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pymysql

from e2e.cdc.background import Background

KEYS = 2_000
SHIFTED = 5
"""How many neighbours a shift of keys moves."""
OTHER_WAS_FIRST = (1205, 1213)
"""Errors of a statement that the server has rolled back in favor of another one."""


class MariadbWorkload(Background):
    """One writer on a thread of its own. ``tables`` have the columns ``id``, ``source``, ``seq`` and ``note``;
    (id, source, seq) is unique for every row image that was ever written."""

    def __init__(self, connection: dict[str, Any], tables: tuple[str, ...], seed: int) -> None:
        self._connection, self._tables = connection, tables
        self._random, self._name = Random(seed), f"writer{seed}"
        self._sequence = 0
        super().__init__(self._name)

    def work(self) -> None:
        with pymysql.connect(**self._connection) as db, db.cursor() as cursor:
            while not self.stopped.wait(0.002):
                self._transaction(db, cursor)
                if self._random.random() < 0.005:
                    cursor.execute("FLUSH LOGS")

    def _transaction(self, db: Any, cursor: Any) -> None:
        size = self._random.choice((1, 1, 2, 3, 10, 200))
        try:
            for _ in range(size):
                for statement in self._change(self._random.choice(self._tables)):
                    self._sequence += 1
                    with suppress(pymysql.err.IntegrityError):  # the key is taken, and the row stays as it is
                        cursor.execute(statement, {"source": self._name, "seq": self._sequence})
        except pymysql.err.OperationalError as error:
            if error.args[0] not in OTHER_WAS_FIRST:
                raise
            db.rollback()
            return
        if self._random.random() < 0.1:
            db.rollback()
        else:
            db.commit()

    def _change(self, table: str) -> list[str]:
        """Statements of one change. None says IGNORE, under which triggers run for rows that do not change."""
        key, other = self._random.randrange(KEYS), self._random.randrange(KEYS)
        chosen = self._random.choice(("insert", "insert", "update", "update", "delete", "delete", "move", "exchange"))
        if chosen == "exchange" and self._random.random() < 0.5:
            chosen = "shift"
        statements = {
            "insert": [f"INSERT INTO {table} (id, source, seq, note) VALUES ({key}, %(source)s, %(seq)s, 'new')"],
            "update": [f"UPDATE {table} SET source = %(source)s, seq = %(seq)s WHERE id = {key}"],
            "delete": [f"DELETE FROM {table} WHERE id = {key}"],
            "move": [_moved(table, f"{other}", f"id = {key}")],
            "exchange": list(_exchange(table, key, other)),
            "shift": list(_shift(table, key)),
        }
        return statements[chosen]


def _moved(table: str, key: str, which: str) -> str:
    return f"UPDATE {table} SET id = {key}, source = %(source)s, seq = %(seq)s WHERE {which}"


def _exchange(table: str, one: int, other: int) -> Iterator[str]:
    """Two rows exchange their keys through a third one."""
    third = -KEYS - one
    yield _moved(table, f"{third}", f"id = {one}")
    yield _moved(table, f"{one}", f"id = {other}")
    yield _moved(table, f"{other}", f"id = {third}")


def _shift(table: str, first: int) -> Iterator[str]:
    """Each of several rows takes the key of the next one, in one statement."""
    last = first + SHIFTED - 1
    yield f"DELETE FROM {table} WHERE id = {last + 1}"
    yield _moved(table, "id + 1", f"id BETWEEN {first} AND {last} ORDER BY id DESC")
