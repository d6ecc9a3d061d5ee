"""The snapshot that the readers of a PostgreSQL table share: of one moment, as long as it is needed, and never mixed
up with another one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import psycopg
import pytest

from seatunnel_py.api import Batch, Enumerator, GenerationLostError, Source, SourceTable, Split
from seatunnel_py.api.native import NativeSource
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.copying import make_source
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.postgres

ROWS = 10_000
KEEPERS = "FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'"


class Reading:
    """A table of five splits, and somebody who has divided it: for another job, or the one of ``source``."""

    def __init__(self, pg: PostgresPlace, source: Source | None = None) -> None:
        self.source: Source = source or make_source(pg.source(table_path="a.t", **{"split.size": ROWS // 5}))
        [self.table] = self.source.tables()
        self.enumerator: Enumerator = self.source.enumerator([self.table], None)
        self.splits: list[Split] = list(self.enumerator.discover())

    def ids(self, split: Split) -> list[int]:
        return [row["id"] for one in self.source.reader(self.table).read(split, None) for row in rows_of(one)]


def rows_of(element: object) -> list[dict[str, int]]:
    assert isinstance(element, Batch)
    return element.data.to_pylist()  # type: ignore[no-any-return]


def native(source: Source, table: SourceTable, split: Split) -> None:
    assert isinstance(source, NativeSource)
    list(source.native_reader(table).read(split, None))


@pytest.fixture
def reading(pg: PostgresPlace) -> Iterator[Reading]:
    pg.db.execute(f"CREATE TABLE a.t AS SELECT i AS id FROM generate_series(1, {ROWS}) i; ANALYZE a.t".encode())
    found = Reading(pg)
    yield found
    found.enumerator.close()


def test_splits_are_of_one_moment(pg: PostgresPlace, reading: Reading) -> None:
    """F-C7: what is written while a table is read neither appears nor is missing."""
    pg.db.execute("UPDATE a.t SET id = id + 1000000; INSERT INTO a.t VALUES (0); DELETE FROM a.t WHERE id % 3 = 0")

    read = [row for split in reading.splits for row in reading.ids(split)]

    assert len(reading.splits) == 5 and sorted(read) == list(range(1, ROWS + 1))


def test_tables_of_one_job_share_a_moment_and_two_jobs_in_one_process_do_not(
    pg: PostgresPlace, reading: Reading
) -> None:
    """A job that begins later sees what was written before it began."""
    pg.db.execute("INSERT INTO a.t VALUES (0)")
    same, other = Reading(pg, reading.source), Reading(pg)
    try:
        assert same.splits[0].generation == reading.splits[0].generation
        assert other.splits[0].generation != reading.splits[0].generation
        assert 0 in [row for split in other.splits for row in other.ids(split)]
    finally:
        same.enumerator.close()
        other.enumerator.close()


def test_a_snapshot_that_is_gone_is_an_error_not_a_mixture(reading: Reading) -> None:
    """Whichever way the rows take."""
    reading.enumerator.close()

    with pytest.raises(GenerationLostError, match=r"a\.t: the snapshot .* is gone"):
        reading.ids(reading.splits[0])
    with pytest.raises(GenerationLostError, match=r"a\.t: the snapshot .* is gone"):
        native(reading.source, reading.table, reading.splits[0])


def test_a_server_that_forbids_idle_transactions_keeps_this_one(pg: PostgresPlace) -> None:
    """Many do so after a few minutes: a table that takes longer could never be read."""
    pg.db.execute("DO $$BEGIN EXECUTE format('ALTER DATABASE %I SET idle_in_transaction_session_timeout = 50', "
                  "current_database()); END$$")  # fmt: skip
    pg.db.execute(f"CREATE TABLE a.t AS SELECT i AS id FROM generate_series(1, {ROWS}) i; ANALYZE a.t".encode())
    reading = Reading(pg)
    with closing(psycopg.connect(pg.db.info.dsn)) as other:
        other.execute("SELECT 1")
        deadline = time.monotonic() + 60
        while pg.rows(f"SELECT pid {KEEPERS} AND pid = {other.info.backend_pid}"):
            assert time.monotonic() < deadline, "the server ends nobody"

    assert reading.ids(reading.splits[0])
    reading.enumerator.close()


def test_a_snapshot_that_has_died_is_not_shared(pg: PostgresPlace, reading: Reading) -> None:
    """The connection does not know yet that the server has ended it, and somebody still has a share."""
    pg.db.execute(f"SELECT pg_terminate_backend(pid) {KEEPERS}".encode())

    again = Reading(pg, reading.source)

    assert again.splits[0].generation != reading.splits[0].generation
    assert sorted(row for split in again.splits for row in again.ids(split)) == list(range(1, ROWS + 1))
    again.enumerator.close()


def test_a_server_that_was_started_again_does_not_give_another_moment_the_same_name() -> None:
    """It counts snapshots from the beginning: readers of the dead one would join the new one, and see other rows."""
    with PostgresServer.running() as server:
        with psycopg.connect(server.dsn, autocommit=True) as db:
            db.execute(f"CREATE SCHEMA a; CREATE TABLE a.t AS SELECT generate_series(1, {ROWS}) AS id".encode())
            db.execute("ANALYZE a.t")
            before = Reading(PostgresPlace(db, server.jdbc_url()))
        server.stop()
        server.start()
        split = before.splits[0]
        started = split.generation.partition("@")[2]
        with psycopg.connect(server.dsn) as holder:
            holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            row = holder.execute("SELECT pg_export_snapshot()").fetchone()
            assert row is not None and started
            same = f"{row[0]}@{started}"  # as if the two had met
            with pytest.raises(GenerationLostError, match="is gone"):
                before.ids(replace(split, payload={**split.payload, "snapshot": same}, generation=same))
            with pytest.raises(GenerationLostError, match="is gone"):
                before.ids(split)
        before.enumerator.close()
