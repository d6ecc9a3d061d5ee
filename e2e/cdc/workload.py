"""Changes rows of a source database at random, from a seed: inserts, updates, deletes, key changes, rollbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import psycopg

from e2e.cdc.background import Background

KEYS = 2_000
SIZES = (1, 1, 2, 3, 10, 200)
WHOLE = "lines"
"""A table whose log holds whole rows (REPLICA IDENTITY FULL): there a key may change while a large value stays."""
NOTE_BYTES = 3_000  # a row with it is stored out of line, and an update that leaves it has no value of it (F-C11)


class Workload(Background):
    """One writer on a thread of its own. ``tables`` have the columns ``id``, ``source``, ``seq`` and ``note``;
    (source, seq) is unique for every row image that was ever written. ``sizes``: of transactions, in changes."""

    def __init__(
        self, dsn: str, tables: tuple[str, ...], seed: int, *, only_inserts: bool = False, sizes: Sequence[int] = SIZES
    ) -> None:
        self._only_inserts, self._sizes = only_inserts, sizes
        self._dsn, self._tables = dsn, tables
        self._random, self._name = Random(seed), f"writer{seed}"
        self._sequence = 0
        super().__init__(self._name)

    def work(self) -> None:
        with psycopg.connect(self._dsn) as connection:
            while not self.stopped.wait(0.002):
                self._transaction(connection)

    def _transaction(self, db: psycopg.Connection) -> None:
        size = self._random.choice(self._sizes)
        try:
            for _ in range(size):
                self._change(db, self._random.choice(self._tables))
        except (psycopg.errors.DeadlockDetected, psycopg.errors.UniqueViolation):
            db.rollback()  # another writer was first
            return
        if self._random.random() < 0.1:
            db.rollback()
        else:
            db.commit()

    def _change(self, db: psycopg.Connection, table: str) -> None:
        key, self._sequence = self._random.randrange(KEYS), self._sequence + 1
        if self._only_inserts:
            key = KEYS + self._sequence
        note = self._random.randbytes(NOTE_BYTES).hex() if self._random.random() < 0.1 else "new"
        values = {"id": key, "note": note, "source": self._name, "seq": self._sequence, "whole": [WHOLE]}
        values["other"] = self._random.randrange(KEYS)
        insert = f"INSERT INTO {table} VALUES (%(id)s, %(source)s, %(seq)s, %(note)s) ON CONFLICT DO NOTHING"
        change: Callable[[], str] = self._random.choice(
            (
                lambda: insert,
                lambda: f"UPDATE {table} SET source = %(source)s, seq = %(seq)s WHERE id = %(id)s",
                lambda: f"DELETE FROM {table} WHERE id = %(id)s",
                lambda: (
                    f"UPDATE {table} SET id = %(other)s, source = %(source)s, seq = %(seq)s WHERE id = %(id)s "
                    f"AND NOT EXISTS (SELECT FROM {table} WHERE id = %(other)s) "
                    f"AND ('{table}' = ANY(%(whole)s) OR length(note) < {NOTE_BYTES})"
                ),
            )
        )
        db.execute((insert if self._only_inserts else change()).encode(), values)
