"""`seatunnel copy` keeps schemas where the target has them, and refuses two tables of one name where it has not."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from seatunnel_connectors.jdbc.postgres.ledger import ledger_tables
from seatunnel_py import app
from seatunnel_py.cli.commands.copy import CopyRequest, job_file
from seatunnel_py.errors import PlanError
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.test_rows_there import run


def written(tmp_path: Path, asked: CopyRequest) -> Path:
    (path := tmp_path / "copy.conf").write_text(job_file(asked))
    return path


@pytest.fixture
def address(pg: PostgresPlace) -> str:
    """A database of three schemas, two of which have a table of one name."""
    pg.db.execute(
        "CREATE TABLE public.orders (id int PRIMARY KEY); INSERT INTO public.orders VALUES (1);"
        "CREATE TABLE a.same (id int PRIMARY KEY, v text); INSERT INTO a.same VALUES (1, 'a'), (2, 'a');"
        "CREATE TABLE b.same (id int PRIMARY KEY, v text); INSERT INTO b.same VALUES (2, 'b');"
        'CREATE SCHEMA "Sales Ops"; CREATE TABLE "Sales Ops"."Région 2024" (id int); '
        'INSERT INTO "Sales Ops"."Région 2024" VALUES (7)'
    )
    return pg.url.removeprefix("jdbc:").replace("//", "//postgres@")


def test_each_table_arrives_in_its_schema(pg: PostgresPlace, address: str, tmp_path: Path) -> None:
    """P1-schemas merged, P1-hr.employees: made as needed, with nothing said."""
    target = f"{pg.db.info.dbname}_copy"
    pg.db.execute(f"CREATE DATABASE {target}".encode())

    receipt = run(tmp_path, written(tmp_path, CopyRequest(address, address.replace(pg.db.info.dbname, target))))

    assert receipt.exit_code == 0, [table.cause for table in receipt.tables]

    with psycopg.connect(**pg.db.info.get_parameters() | {"dbname": target}) as there:

        def rows(table: str) -> list[tuple[object, ...]]:
            return there.execute(f"SELECT * FROM {table} ORDER BY 1".encode()).fetchall()

        assert rows("a.same") == [(1, "a"), (2, "a")] and rows("b.same") == [(2, "b")]
        assert rows("public.orders") == [(1,)] and rows('"Sales Ops"."Région 2024"') == [(7,)]


@pytest.mark.parametrize("schema", ["made", '"Made, ""so"""'])
def test_an_address_that_names_a_schema_makes_it(pg: PostgresPlace, address: str, tmp_path: Path, schema: str) -> None:
    """Rows went into public: here over the table that they were read from."""
    pg.db.execute("UPDATE a.same SET v = 'copied'")
    pg.db.execute("CREATE TABLE public.same (id int PRIMARY KEY, v text)")
    named = f"{address}?currentSchema={quote(schema)}"

    receipt = run(tmp_path, written(tmp_path, CopyRequest(address, named, tables=("a.same",))))

    assert receipt.exit_code == 0, [table.cause for table in receipt.tables]
    assert pg.db.execute(f"SELECT v FROM {schema}.same".encode()).fetchall() == [("copied",), ("copied",)]
    assert pg.db.execute("SELECT FROM public.same").fetchall() == []


def test_two_tables_that_make_one_schema_at_a_time_do_not_collide(
    pg: PostgresPlace, address: str, tmp_path: Path
) -> None:
    """One of them failed, for a duplicate key in PostgreSQL's own catalog."""
    target = f"{pg.db.info.dbname}_made"
    pg.db.execute(f"CREATE DATABASE {target}".encode())
    job = written(tmp_path, CopyRequest(address, address.replace(pg.db.info.dbname, target), tables=("a.same",)))
    with psycopg.connect(**pg.db.info.get_parameters() | {"dbname": target}) as other, ThreadPoolExecutor(1) as pool:
        other.execute(ledger_tables.create_schema("a").encode())
        running = pool.submit(run, tmp_path, job)
        while not running.done() and pg.db.execute("SELECT FROM pg_locks WHERE NOT granted").fetchone() is None:
            time.sleep(0.05)
        other.commit()
        receipt = running.result()
        assert receipt.exit_code == 0, [table.cause for table in receipt.tables]
        assert other.execute("SELECT v FROM a.same").fetchall() == [("a",), ("a",)]


def test_a_target_without_schemas_refuses_and_says_how(address: str, tmp_path: Path) -> None:
    for target in (f"sqlite:{tmp_path}/copy.db", str(tmp_path / "out")):
        with pytest.raises(PlanError) as caught:
            app.plan(written(tmp_path, CopyRequest(address, target)))
        assert ".a.same" in str(caught.value) and ".b.same" in str(caught.value) and "--into" in str(caught.value)


@pytest.mark.mariadb
def test_into_names_keep_them_apart(address: str, maria: MariadbPlace, tmp_path: Path) -> None:
    target = f"mysql://root@127.0.0.1:{maria.port}/b"

    receipt = run(tmp_path, written(tmp_path, CopyRequest(address, target, into="${schema_name}_${table_name}")))

    assert receipt.exit_code == 0, [table.cause for table in receipt.tables]
    assert maria.rows("SELECT * FROM b.a_same ORDER BY id") == [(1, "a"), (2, "a")]
    assert maria.rows("SELECT * FROM b.`Sales Ops_Région 2024`") == [(7,)]


@pytest.mark.mariadb
def test_an_address_with_a_database_copies_that_one(maria: MariadbPlace, tmp_path: Path) -> None:
    """A connection to MariaDB reaches all databases of its server: the others were copied too."""
    maria.run(
        "CREATE TABLE a.t (id int PRIMARY KEY)", "CREATE TABLE b.t (id int PRIMARY KEY)", "CREATE TABLE b.u (id int)"
    )
    address = f"mysql://root@127.0.0.1:{maria.port}/a"

    for tables in ((), ("t*",)):
        found = app.plan(written(tmp_path, CopyRequest(address, str(tmp_path / "out"), tables)))
        assert [str(path) for one in found.pipelines for path in one.tables] == ["a.t"]
