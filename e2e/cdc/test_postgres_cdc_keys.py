"""A followed table ends in the rows of its source, whatever names its rows; else it is refused before a row is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import psycopg
import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, SEATUNNEL, Process, finish, seatunnel, start, wait_alive, write_job
from tests.servers.postgres import PostgresServer

SECONDS = 90.0
FULL = "ALTER TABLE t REPLICA IDENTITY FULL"
BY_CODE = "ALTER TABLE t REPLICA IDENTITY USING INDEX t_code_key"
NO_KEY = "ALTER TABLE t DROP CONSTRAINT t_pkey"
DECLARED = 'table-names-config = [{ table = "public.t", primaryKeys = ["code"] }]'


@pytest.fixture(scope="module")
def logical() -> Iterator[PostgresServer]:
    with PostgresServer.running(settings={"wal_level": "logical"}) as server:
        yield server


@pytest.fixture
def pair(logical: PostgresServer) -> Iterator[Databases]:
    """A table ``t`` of which ``code`` is unique beside the key, and an empty target."""
    found = Databases(logical, "keys", "copies")
    with psycopg.connect(logical.dsn, autocommit=True) as db:
        for name in ("keys", "copies"):
            db.execute(f"CREATE DATABASE {name}".encode())
    with found.connect("keys") as db:
        db.execute("CREATE TABLE t (id int PRIMARY KEY, code text NOT NULL UNIQUE, v int)")
        db.execute("INSERT INTO t SELECT i, 'c' || i, i FROM generate_series(1, 6) i")
    yield found
    with psycopg.connect(logical.dsn, autocommit=True) as db:
        for (slot,) in db.execute("SELECT slot_name FROM pg_replication_slots").fetchall():
            db.execute("SELECT pg_drop_replication_slot(%s)", [slot])
        for name in ("keys", "copies"):
            db.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def begun(
    home: Path, pair: Databases, source: str, sink: str, *, transform: str = "", program: Sequence[str] = IN_PROCESS
) -> Process:
    write_job(
        home,
        f"""
        env {{ job.mode = STREAMING, checkpoint.interval = 300 }}
        source {{ Postgres-CDC {{ url = "{pair.server.jdbc_url("keys")}", username = postgres,
                                  table-names = ["keys.public.t"], {source} }} }}
        transform {{ {transform} }}
        sink {{ Jdbc {{ {pair.jdbc("copies")}, generate_sink_sql = true, database = copies, {sink} }} }}""",
    )
    return start(
        home, "run", "job.conf", "--job-id", "job", program=program, errors=home / "errors", output=home / "out"
    )


def followed(home: Path, pair: Databases, process: Process) -> None:
    """After its copy, and after changes of every column, the target has the rows; the job is ended."""

    def equal() -> bool:
        return pair.count("t") > 0 and pair.rows("copies", "t") == pair.rows("keys", "t")

    wait_alive(process, "the copy", equal, SECONDS)
    with pair.connect("keys") as db:
        db.execute("DELETE FROM t WHERE id = 1")
        db.execute("UPDATE t SET code = 'moved' WHERE id = 2")
        db.execute("UPDATE t SET id = 30, v = 0 WHERE id = 3")
        db.execute("UPDATE t SET v = NULL WHERE id = 4")
        db.execute("INSERT INTO t VALUES (1, 'c1', 7)")
    wait_alive(process, "the changes", equal, SECONDS)
    assert seatunnel(home, "jobs", "cancel", "job").code == 0
    finish(process)


@pytest.mark.parametrize(
    ("before", "source", "sink"),
    [
        ([], "", 'table = "public.t"'),
        ([FULL], "", 'table = "t", schema = public, primary_keys = [id]'),
        ([FULL], DECLARED, 'table = "public.t", primary_keys = [code]'),
        ([FULL, NO_KEY], DECLARED, 'table = "public.t"'),
        ([FULL, NO_KEY], "", 'table = "public.t", primary_keys = [code]'),
        ([BY_CODE, NO_KEY], "", 'table = "public.t"'),
        ([BY_CODE], DECLARED, 'table = "public.t"'),
    ],
    ids=["key", "full", "declared", "declared, no key", "whole rows", "index, no key", "index"],
)
def test_rows_that_are_named_are_followed(
    tmp_path: Path, pair: Databases, before: list[str], source: str, sink: str
) -> None:
    with pair.connect("keys") as db:
        for statement in before:
            db.execute(statement.encode())
    followed(tmp_path, pair, begun(tmp_path, pair, source, sink))


@pytest.mark.parametrize(
    ("before", "source", "sink", "said"),
    [
        ([BY_CODE], "", "", "the log names rows by code, and lacks id of its key"),
        ([], DECLARED, "", "the log names rows by id, and lacks code of its key"),
        ([NO_KEY], "", "", "has no primary key, so the log does not hold which row"),
        ([], "", ", primary_keys = [code]", "the sink knows its rows by code"),
        ([FULL], "", ", primary_keys = [code]", "the sink knows its rows by code"),
    ],
    ids=["index", "declared", "no key", "sink", "sink, full"],
)
def test_rows_that_are_not_named_are_refused(
    tmp_path: Path, pair: Databases, before: list[str], source: str, sink: str, said: str
) -> None:
    """An update or delete would leave a row at the target that the source no longer has."""
    with pair.connect("keys") as db:
        for statement in before:
            db.execute(statement.encode())
    ended = finish(begun(tmp_path, pair, source, f'table = "public.t"{sink}'))
    assert ended.code != 0
    assert said in (tmp_path / "errors").read_text() + (tmp_path / "out").read_text()
    assert pair.count("t") == 0


def test_a_slot_and_publication_with_given_names_are_made(tmp_path: Path, pair: Databases) -> None:
    settings = 'debezium { slot { name = given, drop.on.stop = false }, publication.name = "Given names" }'
    followed(tmp_path, pair, begun(tmp_path, pair, settings, 'table = "public.t"'))
    with pair.connect("keys") as db:
        assert db.execute("SELECT slot_name FROM pg_replication_slots").fetchall() == [("given",)]
        assert db.execute("SELECT pubname FROM pg_publication").fetchall() == [("Given names",)]


def test_a_slot_that_exists_is_not_taken(tmp_path: Path, pair: Databases) -> None:
    """Its position would move, and another reader would miss changes."""
    with pair.connect("keys") as db:
        made = db.execute("SELECT lsn FROM pg_create_logical_replication_slot('given', 'pgoutput')").fetchall()
    ended = finish(begun(tmp_path, pair, "slot.name = given", 'table = "public.t"'))
    assert ended.code != 0 and "'given' exists already" in (tmp_path / "out").read_text()
    with pair.connect("keys") as db:
        assert db.execute("SELECT confirmed_flush_lsn FROM pg_replication_slots").fetchall() == made


def test_a_query_runs_over_the_log(tmp_path: Path, pair: Databases) -> None:
    """A query runs in Spark, so no resident worker reads the log; its slot moves on all the same."""

    def place() -> object:
        with pair.connect("keys") as db:
            return db.execute("SELECT confirmed_flush_lsn FROM pg_replication_slots").fetchone()

    query = 'Sql { query = "SELECT id, code, v FROM t" }'
    process = begun(tmp_path, pair, "", 'table = "public.t", primary_keys = [id]', transform=query, program=SEATUNNEL)
    wait_alive(process, "the slot", place, SECONDS)
    made = place()
    with pair.connect("keys") as db:
        db.execute("UPDATE t SET v = 8 WHERE id = 6")
    wait_alive(process, "a checkpoint to be confirmed", lambda: place() != made, SECONDS)
    followed(tmp_path, pair, process)


def test_values_of_a_further_unique_key_move_between_rows(tmp_path: Path, pair: Databases) -> None:
    """F-C33: a target gets a transaction whole, so a key that is checked when it commits is never broken."""
    deferred = "ADD UNIQUE (code) DEFERRABLE INITIALLY DEFERRED"
    with pair.connect("keys") as db:
        db.execute(f"ALTER TABLE t DROP CONSTRAINT t_code_key, {deferred}".encode())
        db.execute("INSERT INTO t SELECT i, 'c' || i, i FROM generate_series(7, 4000) i")
    with pair.connect("copies") as db:
        db.execute("CREATE TABLE t (id int PRIMARY KEY, code text NOT NULL, v int)")
        db.execute(f"ALTER TABLE t {deferred}".encode())
    process = begun(tmp_path, pair, "", 'table = "public.t"')

    def equal() -> bool:
        return pair.count("t") > 0 and pair.rows("copies", "t") == pair.rows("keys", "t")

    wait_alive(process, "the copy", equal, SECONDS)
    for _ in range(3):
        with pair.connect("keys") as db:
            db.execute("UPDATE t SET code = 'c' || (id % 4000 + 1)")
            db.execute("UPDATE t SET code = 'c' || ((id + 17) % 4000 + 1), v = v + 1")
    wait_alive(process, "the changes", equal, SECONDS)
    assert seatunnel(tmp_path, "jobs", "cancel", "job").code == 0
    finish(process)
    assert "given up" not in (tmp_path / "errors").read_text()
