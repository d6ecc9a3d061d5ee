"""Changes rows of a MariaDB database at random, from a seed: inserts, updates, deletes, key changes, rollbacks, and now
and then another file of the log."""

from __future__ import annotations

from random import Random
from typing import Any

import pymysql

from e2e.cdc.background import Background

KEYS = 2_000
OTHER_WAS_FIRST = (1205, 1213)
"""Errors of a statement that the server has rolled back in favor of another one."""


class MariadbWorkload(Background):
    """One writer on a thread of its own. ``tables`` have the columns ``id``, ``source``, ``seq`` and ``note``;
    (source, seq) is unique for every row image that was ever written."""

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
                cursor.execute(*self._change(self._random.choice(self._tables)))
        except pymysql.err.OperationalError as error:
            if error.args[0] not in OTHER_WAS_FIRST:
                raise
            db.rollback()
            return
        if self._random.random() < 0.1:
            db.rollback()
        else:
            db.commit()

    def _change(self, table: str) -> tuple[str, tuple[object, ...]]:
        """A statement with its values. IGNORE: a key that is taken stays as it is."""
        key, other, self._sequence = self._random.randrange(KEYS), self._random.randrange(KEYS), self._sequence + 1
        return self._random.choice(
            (
                (
                    f"INSERT IGNORE INTO {table} (id, source, seq, note) VALUES (%s, %s, %s, 'new')",
                    (key, self._name, self._sequence),
                ),
                (f"UPDATE {table} SET source = %s, seq = %s WHERE id = %s", (self._name, self._sequence, key)),
                (f"DELETE FROM {table} WHERE id = %s", (key,)),
                (
                    f"UPDATE IGNORE {table} SET id = %s, source = %s, seq = %s WHERE id = %s",
                    (other, self._name, self._sequence, key),
                ),
            )
        )
