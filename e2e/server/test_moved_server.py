"""A server that moves from SQLite to PostgreSQL and back by the public command line, and a move under kill -9."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from e2e.server.running import client, server
from e2e.server.stores import new_database, write_store
from e2e.support import Finished, failing, seatunnel
from seatunnel_py.control.store.places.sqlite_file import database_file
from seatunnel_py.control.store.tables import METADATA
from tests.servers.postgres import PostgresServer

TEXT = "source { FakeSource { row.num = 1, schema { fields { id = bigint } } } }\nsink { Console {} }"
TABLES = len(METADATA.sorted_tables)


@pytest.fixture
def dsn(postgres: PostgresServer) -> str:
    """A database of this test."""
    return new_database(postgres)


def restore(home: Path, file: Path, *more: str, env: dict[str, str] | None = None) -> Finished:
    return seatunnel(home, "server", "restore", str(file), *more, env=env)


def stored(dsn: str) -> dict[str, list[Any]]:
    """All rows of a store, and the numbers that its tables give next; empty: there is no schema."""
    with psycopg.connect(dsn, options="-c search_path=seatunnel") as beside:
        found = beside.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'seatunnel'").fetchall()
        made = {name: beside.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall() for (name,) in found}  # type: ignore[call-overload]
        last = "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'seatunnel' ORDER BY 1"
        return {**made, "sequences": beside.execute(last).fetchall()} if made else {}


def test_a_server_moves_with_its_tokens_definitions_and_audit(tmp_path: Path, dsn: str) -> None:
    """No restore while it runs, or over rows of a server. The way back is the same."""
    home, file = tmp_path / ".seatunnel", tmp_path / "sqlite.backup"
    with server(tmp_path) as (process, url), client(url, tmp_path) as http:
        for id in ("shop", "bank"):
            assert http.post("/api/v1/definitions", json={"id": id, "text": TEXT}).status_code == 201
        made = seatunnel(tmp_path, "server", "token", "create", "ci", "--role", "edit", "--to", str(tmp_path / "ci"))
        assert made.code == 0, made.err
        before = http.get("/api/v1/definitions/shop").json()
        assert seatunnel(tmp_path, "server", "backup", str(file)).code == 0
        write_store(home, dsn)
        refused = restore(tmp_path, file)
        assert refused.code == 1 and f"a server has this home already: {url}" in refused.err and stored(dsn) == {}
        process.send_signal(signal.SIGTERM)
        process.wait()

    moved = restore(tmp_path, file)
    assert moved.code == 0 and "(schema seatunnel) has the database" in moved.out, moved.err
    again = restore(tmp_path, file)
    assert again.code == 1 and "has rows of a server" in again.err and "--replace" in again.err

    later = tmp_path / "postgres.backup"
    with server(tmp_path) as (process, url), client(url, tmp_path) as http:
        assert http.get("/api/v1/about").json()["store"] == "postgresql"
        assert http.get("/api/v1/definitions/shop").json() == before
        acts = [row["act"] for row in http.get("/api/v1/audit").json()["audit"]]
        assert acts.count("definition.create") == 2 and acts.count("server.restore") == 1
        http.headers["Authorization"] = f"Bearer {(tmp_path / 'ci').read_text().strip()}"
        assert http.post("/api/v1/definitions", json={"id": "later", "text": TEXT}).status_code == 201
        copied = seatunnel(tmp_path, "server", "backup", str(later))
        assert copied.code == 0 and "keep it as private" in copied.out, copied.err
        process.send_signal(signal.SIGTERM)
        process.wait()

    (home / "server.conf").unlink()
    assert "--replace" in restore(tmp_path, later).err
    assert restore(tmp_path, later, "--replace").code == 0
    with closing(sqlite3.connect(database_file(home))) as connection:
        ids = [id for (id,) in connection.execute("SELECT id FROM definition ORDER BY id")]
    assert ids == ["bank", "later", "shop"]


@pytest.mark.parametrize("replaces", [False, True], ids=["a new store", "a store with rows"])
def test_o33_a_move_that_is_killed_leaves_the_store_before(tmp_path: Path, dsn: str, replaces: bool) -> None:
    """After any table, and before the commit. The file of SQLite is never changed, and the next move goes through."""
    home, file = tmp_path / ".seatunnel", tmp_path / "b"
    for name in ("one", "two"):
        assert seatunnel(tmp_path, "server", "token", "create", name, "--to", str(tmp_path / name)).code == 0
    assert seatunnel(tmp_path, "server", "backup", str(file)).code == 0
    database = database_file(home).read_bytes()
    write_store(home, dsn)
    more = ("--replace",) if replaces else ()
    if replaces:
        for name in ("three", "four", "five"):
            assert seatunnel(tmp_path, "server", "token", "create", name, "--to", str(tmp_path / name)).code == 0
    before = stored(dsn)
    assert bool(before) is replaces
    for number, armed in enumerate(("table:kill@1", f"table:kill@{TABLES}", "")):
        env = failing(f"store.copy.{armed}" if armed else "store.restore.copied:kill", tmp_path / f"points-{number}")
        assert restore(tmp_path, file, *more, env=env).code == -signal.SIGKILL, armed
        assert stored(dsn) == before and database_file(home).read_bytes() == database
    assert restore(tmp_path, file, *more).code == 0
    assert (
        sorted(row[1] for row in stored(dsn)["token"]) == ["one", "two"]
        and database_file(home).read_bytes() == database
    )
    assert not list(database_file(home).parent.glob("*.restoring*"))
