"""Changes rows of a source database at random, from a seed: inserts, updates, deletes, changes and swaps of keys,
rollbacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import psycopg

from e2e.cdc.background import Background

KEYS = 2_000
SIZES = (1, 1, 2, 3, 10, 200)
SHIFTED = 5
"""How many neighbours a shift of keys moves."""
WHOLE = "lines"
"""A table whose log holds whole rows (REPLICA IDENTITY FULL): there a key may change while a large value stays."""
NOTE_BYTES = 3_000  # a row with it is stored out of line, and an update that leaves it has no value of it (F-C11)
FREE = "NOT EXISTS (SELECT FROM {table} other WHERE other.id = {key})"


class Workload(Background):
    """One writer on a thread of its own. ``tables`` have the columns ``id``, ``source``, ``seq`` and ``note``;
    (id, source, seq) is unique for every row image that was ever written. ``sizes``: of transactions, in changes.
    ``whole``: tables with REPLICA IDENTITY FULL."""

    def __init__(
        self,
        dsn: str,
        tables: tuple[str, ...],
        seed: int,
        *,
        only_inserts: bool = False,
        sizes: Sequence[int] = SIZES,
        whole: Sequence[str] = (WHOLE,),
    ) -> None:
        self._only_inserts, self._sizes, self._whole = only_inserts, sizes, whole
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
        key, other = self._random.randrange(KEYS), self._random.randrange(KEYS)
        note = self._random.randbytes(NOTE_BYTES).hex() if self._random.random() < 0.1 else "new"
        chosen = self._random.choice(("insert", "insert", "update", "update", "delete", "delete", "move", "exchange"))
        if chosen == "exchange" and self._random.random() < 0.5:
            chosen = "shift"
        if self._only_inserts:
            key, chosen = KEYS + self._sequence + 1, "insert"
        statements = {
            "insert": [f"INSERT INTO {table} VALUES ({key}, %(source)s, %(seq)s, %(note)s) ON CONFLICT DO NOTHING"],
            "update": [f"UPDATE {table} SET source = %(source)s, seq = %(seq)s WHERE id = {key}"],
            "delete": [f"DELETE FROM {table} WHERE id = {key}"],
            "move": [self._moved(table, f"{other}", f"id = {key}")],
            "exchange": list(self._exchange(table, key, other)),
            "shift": list(self._shift(table, key)),
        }
        for statement in statements[chosen]:
            self._sequence += 1
            db.execute(statement.encode(), {"source": self._name, "seq": self._sequence, "note": note})

    def _moved(self, table: str, key: str, which: str) -> str:
        """Give rows another key, if it is free. In a table whose log lacks a large value that stays, only rows without
        one."""
        small = "" if table in self._whole else f" AND length(note) < {NOTE_BYTES}"
        free = FREE.format(table=table, key=key)
        return f"UPDATE {table} SET id = {key}, source = %(source)s, seq = %(seq)s WHERE {which} AND {free}{small}"

    def _exchange(self, table: str, one: int, other: int) -> Iterator[str]:
        """Two rows exchange their keys through a third one."""
        third = -KEYS - one
        yield self._moved(table, f"{third}", f"id = {one}")
        yield self._moved(table, f"{one}", f"id = {other}")
        yield self._moved(table, f"{other}", f"id = {third}")

    def _shift(self, table: str, first: int) -> Iterator[str]:
        """Each of several rows takes the key of the next one."""
        last = first + SHIFTED - 1
        yield f"DELETE FROM {table} WHERE id = {last + 1}"
        yield self._moved(table, f"-({table}.id + 1)", f"id BETWEEN {first} AND {last}")
        yield self._moved(table, f"-{table}.id", f"id BETWEEN {-last - 1} AND {-first - 1}")
