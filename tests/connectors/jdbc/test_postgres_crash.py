"""PostgreSQL is killed behind a commit: what was told as committed has not to be cleaned up by anybody else."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from seatunnel_py.api.process.resources import close_all
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.exactly_once import BEFORE, Target
from tests.connectors.jdbc.test_postgres_together import LEDGER, PIECES, Tables, alone, together
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.postgres


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """What does not wait for its disk is lost for sure."""
    settings = {"wal_writer_delay": "10s", "max_prepared_transactions": "16", "synchronous_commit": "on", "fsync": "on"}
    with PostgresServer.running(settings=settings, durable=True) as server:
        yield server
        close_all()


def place(server: PostgresServer, db: psycopg.Connection[tuple[object, ...]]) -> PostgresPlace:
    return PostgresPlace(db, server.jdbc_url("postgres"))


def crashed(server: PostgresServer) -> None:
    close_all()
    server.kill9()
    server.start()


@pytest.mark.parametrize("cut_short", [False, True])
def test_what_was_prepared_survives_a_killed_server(server: PostgresServer, cut_short: bool) -> None:
    """F29: between the units' PREPARE and the commit, also where a commit had ended one of them already."""
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute("CREATE TABLE t (id bigint, s text); INSERT INTO t VALUES (0, 'before')")
        first = place(server, db)
        target = Target(first.rows, lambda sql: db.execute(sql.encode()), first.sink(table="public.t"))
        target.plan(recipe="prepared")
        pieces = [target.stage("u1", ("+I", 1, "a")), target.stage("u2", ("+I", 2, "b"))]
        if cut_short:
            target.run(f"COMMIT PREPARED '{pieces[0].data['staged']}'")
    crashed(server)

    with psycopg.connect(server.dsn, autocommit=True) as db:
        target.ask = place(server, db).rows
        assert target.rows == [BEFORE, *([(1, "a")] if cut_short else [])]
        target.commit(1, *pieces)
        assert target.rows == [BEFORE, (1, "a"), (2, "b")]
        assert target.ask("SELECT count(*) FROM pg_prepared_xacts") == [(0,)]


@pytest.mark.parametrize("way", [alone, together])
@pytest.mark.parametrize("final", [False, True])
def test_no_record_of_a_unit_comes_back(server: PostgresServer, way: object, final: bool) -> None:
    """I33: nobody keeps these books again, and no later commit looks for what they had taken off."""
    with psycopg.connect(server.dsn, autocommit=True) as db:
        db.execute("CREATE SCHEMA a; CREATE SCHEMA b")
        tables = Tables(place(server, db), "direct")
        pieces = {name: [tables.write(name, number) for number in (1, 2)] for name in tables.sinks}
        way([tables.commit_of(name, pieces[name], 3, final=final) for name in tables.sinks])  # type: ignore[operator]
    crashed(server)

    with psycopg.connect(server.dsn, autocommit=True) as db:
        seen = place(server, db)
        assert [row[2] for row in seen.rows(LEDGER)] == [3, 3, 3]
        assert seen.rows(PIECES) == []
        assert all(seen.rows(f"SELECT count(*) FROM b.t_{name}") == [(2,)] for name in tables.sinks)
