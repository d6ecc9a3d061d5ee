"""``seatunnel copy`` with real servers: tables arrive without a job file, and can be gone on with."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, Finished, finish, start
from tests.servers.ports import LOOPBACK

SECRET = "geheim-4711"


def copy(home: Path, *arguments: str) -> Finished:
    return finish(start(home, "copy", *arguments, program=IN_PROCESS))


@pytest.fixture
def shop(databases: Databases) -> str:
    """The address of a database with two tables; its server asks for no password, and is given one."""
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
        connection.execute("CREATE TABLE visits (page text)")
        connection.execute("INSERT INTO orders SELECT n, 'n' || n FROM generate_series(1, 50) n")
        connection.execute("INSERT INTO visits VALUES ('a'), ('b')")
    return f"postgresql://postgres:{SECRET}@{LOOPBACK}:{databases.server.port}/{databases.source}"


def test_tables_go_from_a_server_to_files_and_on_into_a_database(tmp_path: Path, shop: str) -> None:
    ended = copy(tmp_path, shop, "out", "--table", "public.o*")

    assert ended.code == 0, ended.out + ended.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["orders"]
    assert pq.read_table(tmp_path / "out/orders").sort_by("id").to_pylist() == [
        {"id": number, "note": f"n{number}"} for number in range(1, 51)
    ]

    ended = copy(tmp_path, "out/orders", "sqlite:shop.db", "--format", "parquet", "--into", "orders")

    assert ended.code == 0, ended.out + ended.err
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        assert db.execute("SELECT count(*), sum(id), min(note) FROM orders").fetchone() == (50, 1275, "n1")


def test_a_second_copy_doubles_nothing_by_itself(tmp_path: Path, shop: str, databases: Databases) -> None:
    """P1-the same copy again: a table without a key is refused with the ways on, which do what they say."""
    target = f"postgresql://postgres@{LOOPBACK}:{databases.server.port}/{databases.target}"

    for code, expected, more in ((0, 2, ()), (1, 2, ()), (0, 4, ("--append",)), (0, 2, ("--replace",))):
        ended = copy(tmp_path, shop, target, "--table", "public.visits", *more)

        assert ended.code == code, ended.out + ended.err
        assert code == 0 or ("--replace" in ended.out and "--append" in ended.out and "holds 2 rows" in ended.out)
        with databases.connect(databases.target) as connection:
            assert connection.execute("SELECT count(*) FROM visits").fetchone() == (expected,)


def test_its_password_is_nowhere(tmp_path: Path, shop: str) -> None:
    """S14: neither in the job file that is kept, nor in what the job leaves."""
    ended = copy(tmp_path, shop, "out", "--json")

    assert ended.code == 0 and SECRET not in ended.out + ended.err
    left = [path for path in (tmp_path / ".seatunnel").rglob("*") if path.is_file()]
    assert any(path.parent.name == "copies" for path in left)
    assert not [path for path in left if SECRET.encode() in path.read_bytes()]
