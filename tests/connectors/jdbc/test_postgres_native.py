"""Rows that pass from PostgreSQL to PostgreSQL as COPY's own bytes: what takes this way, and what it must not lose."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from seatunnel_connectors.jdbc.postgres.read.native_copy import PostgresNativeReader
from seatunnel_py.api import FatalError, NativeRefusedError, Position, RetriableError, SourceTable, Split, WriteContext
from seatunnel_py.api.process.resources import close_all
from seatunnel_py.work.chain import Chain, ChainSink, ChainSource
from seatunnel_py.work.rows.native_copy import passage_of
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.unit import Budget, FailureKind, Unit, UnitId, UnitResult
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.copying import copy_tables, make_sink, make_source, same_rows
from tests.servers.encrypted_postgres import encrypted_postgres
from tests.servers.ports import free_port
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.postgres

TABLE = """
    CREATE TABLE a.t (id bigint PRIMARY KEY, s text, n numeric, ts timestamptz, u uuid, j jsonb, grid int[]);
    INSERT INTO a.t SELECT i, 'row ' || i, i / 7.0, 'infinity', gen_random_uuid(), '{"a": [1]}', '{{1,2},{3,4}}'
    FROM generate_series(1, 1000) AS i
"""


class Copy:
    """One table on its way, unit by unit."""

    def __init__(self, pg: PostgresPlace, **options: Any) -> None:
        self.pg = pg
        self.source = make_source(pg.source(table_path="a.t"))
        [self.table] = self.source.tables()
        self.sink = make_sink(pg.sink(**{"table": "b.t", **options}), self.table.schema)[0]
        self.setup = self.sink.plan_setup()
        self.sink.setup(self.setup)

    def chain(self, incarnation: int = 1) -> Chain:
        path = self.table.schema.path
        sinks = (ChainSink("sink", path, self.sink, self.setup.data),)
        return Chain("v", "job", "lineage", incarnation, ChainSource("source", self.source, self.table), sinks=sinks)

    def unit(self, *, epoch: int = 0, attempt: int = 0, rows: int = 1000, budget: int = 1000) -> Unit:
        split = Split("a.t#0", self.table.schema.path, {}, rows=rows)
        return Unit(UnitId("v", 0, epoch, attempt), split, budget=Budget(rows=budget))

    def run(self, **which: Any) -> UnitResult:
        return run_unit(self.unit(**which), self.chain())

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return self.pg.rows("SELECT id, s FROM b.t")


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What went through native writers: "staged" or "refused", one word for each unit."""
    from seatunnel_connectors.jdbc.postgres.read.native_copy import PostgresNativeWriter

    seen: list[str] = []
    stage, write = PostgresNativeWriter.stage, PostgresNativeWriter.write

    def staged(self: PostgresNativeWriter, rows: int) -> Any:
        try:
            piece = stage(self, rows)
        except NativeRefusedError:
            seen.append("refused")
            raise
        seen.append("staged")
        return piece

    def written(self: PostgresNativeWriter, block: Any) -> None:
        try:
            write(self, block)
        except NativeRefusedError:
            seen.append("refused")
            raise

    monkeypatch.setattr(PostgresNativeWriter, "stage", staged)
    monkeypatch.setattr(PostgresNativeWriter, "write", written)
    return seen


def test_rows_arrive_as_they_are_even_those_that_arrow_cannot_hold(pg: PostgresPlace, passed: list[str]) -> None:
    pg.db.execute(TABLE.encode())
    pg.db.execute("CREATE TABLE b.t (LIKE a.t INCLUDING ALL)")
    copy = Copy(pg)

    result = copy.run()

    assert result.failure is None and result.done and passed == ["staged"]
    assert (result.rows, [(count.rows_in, count.rows_out) for count in result.counts]) == (1000, [(1000, 1000)] * 2)
    assert result.bytes > 1000 and result.first_row_at > 0 and result.pieces[0].piece.rows == 1000
    same_rows(pg.rows("SELECT t::text FROM a.t t"), pg.rows("SELECT t::text FROM b.t t"))


def test_only_columns_of_the_same_type_pass(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE TABLE a.t (id bigint PRIMARY KEY, s varchar(9), i int)")
    for columns, passes in [
        ("id bigint PRIMARY KEY, s text, i int", True),
        ("i int, id bigint PRIMARY KEY, s varchar(20)", True),
        ("id numeric PRIMARY KEY, s text, i int", False),
        ("id bigint PRIMARY KEY, s text, i bigint", False),
    ]:
        pg.db.execute(f"DROP TABLE IF EXISTS b.t; CREATE TABLE b.t ({columns})".encode())
        copy = Copy(pg)
        assert (passage_of(copy.unit(), copy.chain()) is not None) is passes, columns


def test_a_split_larger_than_a_unit_and_one_of_unknown_size_do_not_pass(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE TABLE a.t (id bigint PRIMARY KEY)")
    copy = Copy(pg)

    assert passage_of(copy.unit(rows=2000, budget=1000), copy.chain()) is not None
    assert passage_of(copy.unit(rows=2001, budget=1000), copy.chain()) is None
    assert passage_of(Unit(UnitId("v", 0), Split("x", copy.table.schema.path)), copy.chain()) is None


def test_keys_that_are_there_already_are_merged_without_a_look_at_the_rows(
    pg: PostgresPlace, passed: list[str]
) -> None:
    pg.db.execute("CREATE TABLE a.t (id bigint PRIMARY KEY, s text); INSERT INTO a.t VALUES (1, 'new'), (2, 'new')")
    pg.db.execute("CREATE TABLE b.t (id bigint PRIMARY KEY, s text); INSERT INTO b.t VALUES (1, 'old')")
    copy = Copy(pg, primary_keys=["id"])

    assert copy.run().failure is None
    same_rows(copy.rows, [(1, "new"), (2, "new")])
    assert copy.run(epoch=1).failure is None
    same_rows(copy.rows, [(1, "new"), (2, "new")])
    assert passed == ["refused", "staged", "staged"]


def test_a_key_that_turns_up_twice_after_all_is_merged(pg: PostgresPlace, passed: list[str]) -> None:
    pg.db.execute("CREATE TABLE a.t (id bigint, s text); CREATE TABLE b.t (id bigint PRIMARY KEY, s text)")
    pg.db.execute("INSERT INTO a.t VALUES (1, 'first'), (2, 'x'), (1, 'last')")
    copy = Copy(pg, primary_keys=["id"])

    result = copy.run()

    assert result.failure is None and passed == ["refused", "staged"]
    same_rows(copy.rows, [(1, "last"), (2, "x")])
    assert (result.pieces[0].piece.rows, result.pieces[0].piece.merged) == (3, 1)


def test_a_key_that_turns_up_in_a_long_unit_stops_it_early(pg: PostgresPlace, passed: list[str]) -> None:
    pg.db.execute("CREATE TABLE a.t (id bigint, s text); CREATE TABLE b.t (id bigint PRIMARY KEY, s text)")
    pg.db.execute("INSERT INTO a.t SELECT greatest(i, 2), repeat('x', 100) FROM generate_series(1, 100000) AS i")
    copy = Copy(pg, primary_keys=["id"])

    result = copy.run(rows=100_000, budget=100_000)

    assert result.failure is None and passed == ["refused", "staged"]
    assert pg.rows("SELECT count(*), min(id), max(id) FROM b.t") == [(99_999, 2, 100_000)]


def test_a_second_attempt_applies_nothing(pg: PostgresPlace, passed: list[str]) -> None:
    """I29: the target's own record decides, whichever way each attempt takes."""
    pg.db.execute(TABLE.encode())
    pg.db.execute("CREATE TABLE b.t (LIKE a.t)")
    copy = Copy(pg, enable_upsert=False)
    first = copy.run()

    for again in (copy.run(), copy.run(attempt=1), copy.run(epoch=1)):
        assert again.failure is None
        assert (again.pieces[0].piece.rows, again.pieces[0].piece.data["replayed"]) == (1000, True)

    assert first.pieces[0].piece.data["replayed"] is False and len(copy.rows) == 1000
    assert passed == ["staged"] * 4


def test_rows_that_changed_between_two_attempts_are_never_mixed(pg: PostgresPlace) -> None:
    pg.db.execute(TABLE.encode())
    pg.db.execute("CREATE TABLE b.t (LIKE a.t)")
    copy = Copy(pg, enable_upsert=False)
    copy.run()
    pg.db.execute("DELETE FROM a.t WHERE id = 1")

    again = copy.run(attempt=1)

    assert again.failure is not None and again.failure.kind is FailureKind.RETRIABLE
    assert "holds 1000 rows of this unit already, but this attempt read 999" in again.failure.message


def test_an_older_epoch_is_fenced_off(pg: PostgresPlace) -> None:
    pg.db.execute(TABLE.encode())
    pg.db.execute("CREATE TABLE b.t (LIKE a.t)")
    copy = Copy(pg, enable_upsert=False)
    sink: Any = copy.sink
    zombie = sink.open_native(WriteContext("job", "lineage", "sink", "other", setup=copy.setup.data))
    reader = copy.source.native_reader(copy.table)  # type: ignore[attr-defined]
    for block in reader.read(copy.unit().split, None):
        zombie.write(block)
    assert copy.run(epoch=1).failure is None

    with pytest.raises(Exception, match="fenced off"):
        zombie.stage(reader.rows)

    assert len(copy.rows) == 1000


def test_a_target_that_swallows_rows_fails_the_unit(pg: PostgresPlace) -> None:
    """I32: what is not confirmed row for row is not staged."""
    pg.db.execute(TABLE.encode())
    pg.db.execute("""
        CREATE TABLE b.t (LIKE a.t INCLUDING ALL);
        CREATE FUNCTION b.swallow() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN IF new.id = 7 THEN RETURN NULL; END IF; RETURN new; END $$;
        CREATE TRIGGER swallow BEFORE INSERT ON b.t FOR EACH ROW EXECUTE FUNCTION b.swallow()
    """)
    copy = Copy(pg)

    failure = copy.run().failure

    assert failure is not None and "999 of 1000 rows were confirmed by the server" in failure.message
    assert failure.step == "sink" and copy.rows == [] and pg.rows("SELECT * FROM b.seatunnel_piece") == []


def test_errors_name_table_cause_and_remedy(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE TABLE a.t (id bigint, s varchar(9)); INSERT INTO a.t VALUES (1, 'too long'), (2, NULL)")
    pg.db.execute("CREATE TABLE b.t (id bigint, s text NOT NULL)")
    missing = Copy(pg).run().failure
    pg.db.execute("DROP TABLE b.t; CREATE TABLE b.t (id bigint, s text CHECK (s <> 'too long'))")
    refused = Copy(pg).run().failure
    pg.db.execute("DROP TABLE b.t; CREATE TABLE b.t (id bigint, s text)")
    copy = Copy(pg)
    pg.db.execute("DROP TABLE a.t")
    gone = copy.run().failure

    assert missing is not None and 'writing table b.t: null value in column "s"' in missing.message
    assert missing.remedy.startswith("fill the column") and missing.step == "sink"
    assert refused is not None and "violates check constraint" in refused.message
    assert gone is not None and "reading table" in gone.message and 'relation "a.t" does not exist' in gone.message
    assert gone.step == "source" and gone.remedy.startswith("correct the name of the table")


def test_a_backend_that_dies_in_mid_copy_can_be_tried_again(pg: PostgresPlace) -> None:
    pg.db.execute(TABLE.encode())
    pg.db.execute("CREATE TABLE b.t (LIKE a.t INCLUDING ALL)")
    copy = Copy(pg)
    sink: Any = copy.sink
    reader = copy.source.native_reader(copy.table)  # type: ignore[attr-defined]
    writer = sink.open_native(WriteContext("job", "lineage", "sink", "u", setup=copy.setup.data))
    for block in reader.read(copy.unit().split, None):
        writer.write(block)
    pg.db.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname = current_database()"
    )

    with pytest.raises(Exception, match=r"(writing|a unit of) table b\.t") as error:
        writer.stage(reader.rows)
    assert type(error.value).__name__ == "RetriableError"
    assert copy.rows == []
    assert copy.run(attempt=1).failure is None and len(copy.rows) == 1000


def test_a_connection_that_breaks_while_rows_are_sent_can_be_tried_again(pg: PostgresPlace) -> None:
    """The socket's own error is not the user's: it says what was being done, and that trying again may help."""
    pg.db.execute(TABLE.encode())
    pg.db.execute("CREATE TABLE b.t (LIKE a.t INCLUDING ALL)")
    copy = Copy(pg)
    sink: Any = copy.sink
    writer = sink.open_native(WriteContext("job", "lineage", "sink", "u", setup=copy.setup.data))
    writer.session._socket.shutdown(socket.SHUT_WR)

    with pytest.raises(RetriableError, match=r"writing table b\.t: the connection broke"):
        writer.write(b"d\0\0\0\4")

    writer.abort()
    assert copy.run(attempt=1).failure is None and len(copy.rows) == 1000


def test_a_reader_that_is_left_half_way_gives_back_nothing_half_read(pg: PostgresPlace) -> None:
    pg.db.execute("CREATE TABLE a.t (id bigint PRIMARY KEY, s text)")
    pg.db.execute("INSERT INTO a.t SELECT i, repeat('x', 500) FROM generate_series(1, 20000) AS i")
    copy = Copy(pg)
    reader = copy.source.native_reader(copy.table)  # type: ignore[attr-defined]

    blocks = reader.read(copy.unit().split, None)
    next(blocks)
    blocks.close()

    assert copy.run(rows=20_000, budget=20_000).rows == 20_000


def test_positions_are_kept_to(pg: PostgresPlace) -> None:
    pg.db.execute(TABLE.encode())
    copy = Copy(pg)
    hinted = SourceTable(copy.table.schema, 1000, None, {**copy.table.hints, "ordered": True})
    reader = copy.source.native_reader(hinted)  # type: ignore[attr-defined]

    list(reader.read(copy.unit().split, Position({"after": "990"})))

    assert reader.rows == 10


@pytest.fixture
def encrypted() -> Iterator[PostgresServer]:
    with encrypted_postgres() as server:
        yield server


def test_an_encrypted_session_takes_the_usual_way(encrypted: PostgresServer, passed: list[str]) -> None:
    with psycopg.connect(encrypted.dsn, autocommit=True) as db:
        assert db.pgconn.ssl_in_use
        db.execute("CREATE SCHEMA a; CREATE SCHEMA b; CREATE TABLE a.t (id bigint PRIMARY KEY, s text)")
        db.execute("INSERT INTO a.t SELECT i, 'row ' || i FROM generate_series(1, 1000) AS i")
        pg = PostgresPlace(db, encrypted.jdbc_url())

        copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))

        assert passed == []
        same_rows(pg.rows("SELECT * FROM a.t"), pg.rows("SELECT * FROM b.t"))
    close_all()


def test_a_source_that_is_away_is_tried_again(pg: PostgresPlace) -> None:
    """Not only while it sends: whoever connects again after a restart may come too early."""
    pg.db.execute(TABLE.encode())
    copy = Copy(pg)
    source = copy.source
    reader = PostgresNativeReader(replace(source.address, port=free_port()), copy.table)  # type: ignore[attr-defined]

    with pytest.raises(RetriableError, match=r"reading table .*a\.t, split x: .*refused"):
        next(reader.read(Split("x", copy.table.schema.path, {}), None))


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"user": "nobody_of_that_name"}, "correct username and password"),
        ({"database": "no_such_database"}, "correct the database in the url"),
    ],
)
def test_a_connection_that_is_refused_says_what_to_correct(
    pg: PostgresPlace, options: dict[str, str], remedy: str
) -> None:
    """It has no SQLSTATE, and trying it again would only be refused again."""
    pg.db.execute(TABLE.encode())
    copy = Copy(pg)
    reader = PostgresNativeReader(replace(copy.source.address, **options), copy.table)  # type: ignore[attr-defined]

    with pytest.raises(FatalError, match=remedy):
        next(reader.read(Split("x", copy.table.schema.path, {}), None))
