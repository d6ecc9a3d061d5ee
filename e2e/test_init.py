"""What ``seatunnel init`` writes runs: job files as they are, and the connector with its own tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pymysql
import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, Finished, finish, seatunnel, start
from tests.servers.kafka import KafkaServer
from tests.servers.mariadb import MariadbServer
from tests.servers.ports import LOOPBACK

SECRETS = {"SOURCE_PASSWORD": "not needed", "TARGET_PASSWORD": "not needed"}
CSV = "id,customer,total,ordered_at\n1,Ada,9.50,2026-01-31 12:00:00\n2,Bob,1.25,2026-02-01 08:30:00\n"


def local(home: Path, *arguments: str, **env: str) -> Finished:
    """A command whose units run in its own process, for it is not Spark that is tested."""
    return finish(start(home, *arguments, env={**SECRETS, **env}, program=IN_PROCESS))


def taken(home: Path, template: str, **variables: str) -> list[str]:
    """The template's job file, written there, and what to say behind a command to use it."""
    written = local(home, "init", template, "--to", "job.conf")
    assert written.code == 0, written.err
    return ["job.conf", *(part for name, value in variables.items() for part in ("-i", f"{name}={value}"))]


def server_of(databases: Databases) -> dict[str, str]:
    host = f"{LOOPBACK}:{databases.server.port}"
    return {
        "source_host": host,
        "source_database": databases.source,
        "source_user": "postgres",
        "target_host": host,
        "target_database": databases.target,
        "target_user": "postgres",
    }


@pytest.fixture
def shop(databases: Databases) -> dict[str, str]:
    """Variables that lead to a source with tables, and to a target with none."""
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE customers (id int PRIMARY KEY, name text)")
        connection.execute("CREATE TABLE orders (id int PRIMARY KEY, customer int)")
        connection.execute("INSERT INTO customers SELECT n, 'c' || n FROM generate_series(1, 20) n")
        connection.execute("INSERT INTO orders SELECT n, n % 20 + 1 FROM generate_series(1, 50) n")
    return server_of(databases)


def test_the_first_template_needs_nothing(tmp_path: Path) -> None:
    """On Spark, as everybody has it: three commands from nothing to rows on the terminal."""
    written = seatunnel(tmp_path, "init", "fake-to-console")
    ran = seatunnel(tmp_path, "run", "fake-to-console.conf", "-i", "rows=7")

    assert written.code == 0, written.err
    assert ran.code == 0, ran.err
    assert "shop.people" in ran.out and "born" not in ran.out
    assert (tmp_path / ".gitignore").read_text() == ".seatunnel/\n"


def test_csv_to_parquet(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "orders.csv").write_text(CSV)

    ran = local(tmp_path, "run", *taken(tmp_path, "csv-to-parquet"))

    assert ran.code == 0, ran.err
    rows = [row for path in (tmp_path / "output").glob("*.parquet") for row in pq.ParquetFile(path).read().to_pylist()]
    assert [(row["id"], row["customer"]) for row in rows] == [("1", "Ada"), ("2", "Bob")]


@pytest.mark.postgres
def test_one_table_and_many_tables_from_postgres(tmp_path: Path, databases: Databases, shop: dict[str, str]) -> None:
    one = local(tmp_path, "run", *taken(tmp_path, "postgres-to-postgres", **shop, target_table="public.one"))
    (tmp_path / "job.conf").unlink()
    many = local(tmp_path, "run", *taken(tmp_path, "many-tables", **shop))

    assert (one.code, many.code) == (0, 0), one.err + many.err
    assert [databases.count(table) for table in ("one", "customers", "orders")] == [50, 20, 50]


@pytest.mark.postgres
def test_files_into_postgres_and_out_of_it(tmp_path: Path, databases: Databases, shop: dict[str, str]) -> None:
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "orders.csv").write_text(CSV)
    target = {name: value for name, value in shop.items() if name.startswith("target")}
    source = {name: value for name, value in shop.items() if name.startswith("source")}

    into = local(tmp_path, "run", *taken(tmp_path, "files-to-postgres", **target))
    (tmp_path / "job.conf").unlink()
    out = local(tmp_path, "run", *taken(tmp_path, "postgres-to-files", **source))

    assert (into.code, out.code) == (0, 0), into.err + out.err
    assert [row[:2] for row in databases.rows(databases.target, "orders")] == [(1, "Ada"), (2, "Bob")]
    kept = {
        folder.name: sum(pq.ParquetFile(path).metadata.num_rows for path in folder.glob("*.parquet"))
        for folder in (tmp_path / "output").iterdir()
    }
    assert kept == {"customers": 20, "orders": 50}


@pytest.mark.postgres
def test_a_table_into_a_topic_and_a_topic_into_a_table_are_exactly_once(
    tmp_path: Path, databases: Databases, shop: dict[str, str], kafka: KafkaServer
) -> None:
    """``guarantee = exactly-once`` stands in both, so a plan with a weaker path is refused."""
    source = {name: value for name, value in shop.items() if name.startswith("source")}
    target = {name: value for name, value in shop.items() if name.startswith("target")}

    out = local(tmp_path, "run", *taken(tmp_path, "postgres-to-kafka", brokers=kafka.dsn, **source))
    (tmp_path / "job.conf").unlink()
    into = local(
        tmp_path, "plan", *taken(tmp_path, "kafka-to-postgres", brokers=kafka.dsn, topic="shop.orders", **target)
    )

    assert (out.code, into.code) == (0, 0), out.err + into.err + out.out
    assert "exactly-once" in into.out


@pytest.mark.postgres
@pytest.mark.mariadb
def test_mysql_to_postgres(tmp_path: Path, databases: Databases) -> None:
    """With a user and a password of the source."""
    target = {name: value for name, value in server_of(databases).items() if name.startswith("target")}
    with MariadbServer.running() as maria:
        with pymysql.connect(**maria.connection(), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE orders (id int PRIMARY KEY, customer varchar(20), total decimal(10, 2))")
            cursor.execute("INSERT INTO orders VALUES (1, 'Ada', 9.5), (2, 'Bob', 1.25)")
            cursor.execute(f"GRANT SELECT ON *.* TO reader@'%' IDENTIFIED BY '{SECRETS['SOURCE_PASSWORD']}'")
        host = f"{LOOPBACK}:{maria.port}"
        variables = taken(tmp_path, "mysql-to-postgres", source_host=host, source_database="test", **target)
        ran = local(tmp_path, "run", *variables)

    assert ran.code == 0, ran.err + ran.out
    assert databases.rows(databases.target, "orders") == [(1, "Ada", Decimal("9.50")), (2, "Bob", Decimal("1.25"))]


def test_the_connector_keeps_what_it_promises_and_runs_once_it_is_installed(tmp_path: Path) -> None:
    """Installed: beside the module lies what pip writes down of its entry points."""
    written = local(tmp_path, "init", "connector")
    folder = tmp_path / "my-connector"
    own = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    tested = subprocess.run(own, cwd=folder, capture_output=True, text=True, check=False)

    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    metadata = folder / "my_connector-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in points.items())
        for group, points in project["entry-points"].items()
    ]
    (metadata / "entry_points.txt").write_text("\n".join(groups))
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    ran = local(folder, "run", "job.conf", PYTHONPATH=path)

    assert written.code == 0, written.err
    assert tested.returncode == 0 and "2 passed" in tested.stdout, tested.stdout
    assert ran.code == 0, ran.err
    assert sum(len(file.read_text().splitlines()) for file in (folder / "output").glob("*.jsonl")) == 1000
