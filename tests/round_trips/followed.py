"""A round through the log of a database: tables are copied, then their rows change, and the next run of the job follows.

Rules. (1) Only values that a copy brings back unchanged, or converted under a name, are used: one that is refused isolates
its table, and no other value of it would be seen. (2) Half of the values are there before the copy. The others come
through the log: as inserts, as updates that give a row the value of its neighbour, and under other keys; some rows are
deleted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import ClassVar

from tests.round_trips.databases import Database, Postgres, entries
from tests.round_trips.kinds import Kind
from tests.round_trips.other_databases import Mariadb
from tests.round_trips.places import Place
from tests.round_trips.rounds import PLAIN, Leg, Outcome, judge, run_job, there_and_back

JOB = "followed"
KEYS_BEYOND = 1_000_000


class FollowedDatabase(ABC):
    """A database whose log a job follows."""

    NEIGHBOURS: ClassVar[str]
    """Gives rows the value of their neighbour."""

    def __init__(self, database: Postgres | Mariadb) -> None:
        self.database = database

    @abstractmethod
    def source(self, tables: Sequence[str]) -> str:
        """The source of the job."""

    @abstractmethod
    def run(self, statement: str) -> None:
        """Run a statement in a transaction of its own."""

    def change(self, table: str) -> None:
        """Update and delete rows (rule 2)."""
        self.run(self.NEIGHBOURS.format(table=f"a.{table}"))
        self.run(f"UPDATE a.{table} SET id = id + {KEYS_BEYOND} WHERE id % 11 = 5")
        self.run(f"DELETE FROM a.{table} WHERE id % 7 = 3")


class FollowedPostgres(FollowedDatabase):
    database: Postgres
    NEIGHBOURS = "UPDATE {table} one SET v = other.v FROM {table} other WHERE other.id = one.id + 1 AND one.id % 2 = 0"

    def source(self, tables: Sequence[str]) -> str:
        names = [f"{self.database.name}.a.{table}" for table in tables]
        return f"Postgres-CDC {{ {entries({**self.database.connection(), 'table-names': names})} }}"

    def run(self, statement: str) -> None:
        self.database.db.execute(statement.encode())


class FollowedMariadb(FollowedDatabase):
    database: Mariadb
    NEIGHBOURS = (
        "UPDATE {table} one JOIN {table} other ON other.id = one.id + 1 SET one.v = other.v WHERE one.id % 2 = 0"
    )

    def source(self, tables: Sequence[str]) -> str:
        options = {**self.database.connection("a"), "table-names": [f"a.{table}" for table in tables]}
        return f"MariaDB-CDC {{ {entries(options)} }}"

    def run(self, statement: str) -> None:
        self.database.run(statement)


def followed(database: Database) -> FollowedDatabase:
    """The log of a database."""
    if isinstance(database, Postgres):
        return FollowedPostgres(database)
    assert isinstance(database, Mariadb), "it has a log"
    return FollowedMariadb(database)


def run_followed_round(
    database: Database, place: Place, home: Path, random: Random, count: int, kinds: Sequence[Kind]
) -> Outcome:
    """Every kind with about ``count`` values through the log."""
    drawn = {f"t{at}": (kind, [*kind.values(random, count - 1), None]) for at, kind in enumerate(kinds)}
    usable = _usable(database, place, home, drawn)
    database.reset()
    place.reset()
    log = followed(database)
    for table, (kind, values) in usable.items():
        database.fill(table, kind, values[: len(values) // 2])
        if place.is_home and place.with_targets:
            database.like(table, kind)
    source, sink = log.source(list(usable)), place.sink()
    first = run_job(home, JOB, source, sink, more=("--job-id", JOB))
    for table, (kind, values) in usable.items():
        half = len(values) // 2
        log.database.insert(table, kind, list(enumerate(values[half:], half)))
        log.change(table)
    there = run_job(home, JOB, source, sink, more=("--job-id", JOB, "--restore", "latest"))
    there.conversions = first.conversions | there.conversions
    back = Leg()
    if not place.is_home:
        arrived = {table: there.types[table] for table in usable if table not in there.causes and table in there.types}
        for table in arrived:
            database.like(table, usable[table][0])
        back = run_job(home, "back", place.source(arrived), database.sink())
    outcome = Outcome()
    for table, (kind, _) in usable.items():
        named = [*there.conversions.get(table, ()), *back.conversions.get(table, ())]
        cause = there.causes.get(table) or back.causes.get(table, "")
        before, after = log.database.texts_in("a", table), database.texts(table)
        if table in there.causes:  # it has stopped where a value was refused
            outcome.counts["refused"] += len(before)
            outcome.causes[f"{kind.words}: {cause[:160]}"] += len(before)
            continue
        judge(outcome, f"log of {place.name}", kind, before, after, named, cause, there.set_aside[table])
    return outcome


def _usable(
    database: Database, place: Place, home: Path, drawn: Mapping[str, tuple[Kind, list[str | None]]]
) -> dict[str, tuple[Kind, list[str | None]]]:
    """The values that a copy brings back (rule 1)."""
    filled = {}
    database.reset()
    place.reset()
    for table, (kind, values) in drawn.items():
        filled[table] = (kind, database.fill(table, kind, values))
    there_and_back(database, place, home, filled, PLAIN)
    found = {table: database.texts(table) for table in filled}
    return {
        table: (kind, [value for at, value in enumerate(values) if at in found[table]])
        for table, (kind, values) in drawn.items()
        if found[table]
    }
