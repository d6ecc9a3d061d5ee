"""The example job files of the site run: with real servers where they name one, in this process where that is enough."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pymysql
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from seatunnel_py import app
from seatunnel_py.api.process.resources import close_all
from seatunnel_py.errors import ExitCode
from seatunnel_py.runtime.observe.events import CheckpointDone, JobEvent
from seatunnel_py.runtime.observe.receipt import Receipt
from seatunnel_py.runtime.storage.home import Home
from tests.connectors.kafka.sink_support import records
from tests.connectors.kafka.support import send
from tests.docs.site import examples
from tests.servers.install import ServerMissing
from tests.servers.kafka import KafkaServer
from tests.servers.mariadb import ROW_LOG, MariadbServer
from tests.servers.postgres import PostgresServer

ROOT = Path(__file__).parents[2]
LOGS = ("Postgres-CDC",)
MARIADB, MYSQL_ONLY = "localhost:3306/shop", "MySQL-CDC"  # MySQL itself cannot be started here
POSTGRES, KAFKA, MODELS = "localhost:5432/shop", "localhost:9092", "http://localhost:8000"
SPARK = ("Sql {", "Spark {")


def paths(*marks: str, without: tuple[str, ...] = ()) -> list[Path]:
    """Examples whose text has one of the marks (all, where there is none), and none of the others."""
    texts = {path: path.read_text(encoding="utf-8") for path in examples.paths()}
    wanted = [path for path, text in texts.items() if not marks or any(mark in text for mark in marks)]
    return [path for path in wanted if not any(mark in texts[path] for mark in without)]


HERE = paths(without=(POSTGRES, KAFKA, MODELS, MARIADB, *SPARK))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples read: the shop of the tutorial, and a little CSV and JSON."""
    spec = importlib.util.spec_from_file_location("make_shop", ROOT / "configs" / "demo" / "make_shop.py")
    assert spec and spec.loader
    make_shop = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_shop)
    folder = tmp_path_factory.mktemp("docs") / "demo"
    make_shop.main(folder)
    for kind, text in (("csv", "id,name\n1,Ada\n"), ("json", '{"id": 1, "name": "Ada", "tags": ["a"]}\n')):
        (folder / kind).mkdir()
        (folder / kind / f"people.{kind}").write_text(text)
    return folder


@pytest.fixture(autouse=True)
def _folder(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A working directory of its own, with these files."""
    shutil.copytree(demo, tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    for name, value in examples.SECRETS.items():
        monkeypatch.setenv(name, value)
    yield
    close_all()


def run(path: Path, places: dict[str, str], tmp_path: Path, *, spark: bool = False, stop_after: int = 0) -> Receipt:
    """Run an example, with other addresses in place of its own. A stream ends after so many checkpoints."""
    text = path.read_text(encoding="utf-8")
    for place, other in places.items():
        assert place in text
        text = text.replace(place, other)
    job = tmp_path / path.name
    job.write_text(text)
    drivers = []

    def listen(event: JobEvent) -> None:
        if stop_after and isinstance(event, CheckpointDone) and event.checkpoint >= stop_after:
            drivers[0].stop(ExitCode.TERMINATED)

    options = app.RunOptions({}, local=not spark)
    return app.run(job, options, Home(tmp_path / "home"), listen, drivers.append)


def total(receipt: Receipt, name: str = "rows_written") -> int:
    return int(receipt.to_plain()["totals"][name])


@pytest.mark.parametrize("path", examples.paths(), ids=lambda path: path.stem)
def test_every_example_is_valid(path: Path) -> None:
    """As `seatunnel check` says, without a note."""
    assert app.check(path).notes == ()


@pytest.mark.parametrize("path", HERE, ids=lambda path: path.stem)
def test_examples_that_need_no_server_run(path: Path, tmp_path: Path) -> None:
    """Rows arrive."""
    receipt = run(path, {}, tmp_path)

    assert receipt.exit_code == ExitCode.SUCCESS
    assert total(receipt) > 0


@pytest.mark.spark
@pytest.mark.parametrize("path", paths(*SPARK), ids=lambda path: path.stem)
def test_examples_with_a_query_run_in_spark(path: Path, tmp_path: Path) -> None:
    """Spark runs them as a user would."""
    receipt = run(path, {}, tmp_path, spark=True)

    assert receipt.exit_code == ExitCode.SUCCESS
    assert total(receipt) > 0


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    try:
        with PostgresServer.running(settings={"wal_level": "logical"}) as server:
            with psycopg.connect(server.dsn, autocommit=True) as admin:
                admin.execute("CREATE DATABASE shop")
                for user in ("reader", "writer", "replicator"):
                    admin.execute(f"CREATE ROLE {user} LOGIN SUPERUSER".encode())
            yield server
    except ServerMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.postgres
@pytest.mark.parametrize("path", paths(POSTGRES, without=LOGS), ids=lambda path: path.stem)
def test_examples_with_postgresql_run(path: Path, postgres: PostgresServer, tmp_path: Path) -> None:
    """Twice, for what is there already is part of what they say."""
    with psycopg.connect(postgres.dsn_of("shop"), autocommit=True) as shop:
        shop.execute("CREATE TABLE IF NOT EXISTS shop_orders AS SELECT 1 AS id, 'Ada' AS customer")
    here = {POSTGRES: f"127.0.0.1:{postgres.port}/shop"}

    for _ in range(2 if path.stem.startswith("sink") else 1):
        receipt = run(path, here, tmp_path)
        assert receipt.exit_code == ExitCode.SUCCESS
        assert total(receipt) > 0


@pytest.mark.postgres
@pytest.mark.parametrize("path", paths(*LOGS), ids=lambda path: path.stem)
def test_examples_that_follow_a_log_run(path: Path, postgres: PostgresServer, tmp_path: Path) -> None:
    """They copy the tables, and are stopped once the log has a few checkpoints."""
    with psycopg.connect(postgres.dsn_of("shop"), autocommit=True) as shop:
        for table in ("orders", "customers"):
            shop.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, name text)".encode())
            shop.execute(f"INSERT INTO {table} VALUES (1, 'Ada')".encode())

    receipt = run(path, {POSTGRES: f"127.0.0.1:{postgres.port}/shop", "5000": "200"}, tmp_path, stop_after=8)

    assert [(one.rows_read, one.rows_written) for one in receipt.tables] == [(1, 1), (1, 1)]


@pytest.mark.parametrize("path", paths(MARIADB, without=(MYSQL_ONLY,)), ids=lambda path: path.stem)
def test_examples_that_follow_a_binary_log_run(path: Path, tmp_path: Path) -> None:
    """They copy the tables, and are stopped once the log has a few checkpoints."""
    settings = ROW_LOG
    with MariadbServer.running(settings=settings) as server:
        with pymysql.connect(**server.connection("test"), autocommit=True) as shop, shop.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            for table in ("orders", "customers"):
                cursor.execute(f"CREATE TABLE shop.{table} (id int PRIMARY KEY, name varchar(20))")
                cursor.execute(f"INSERT INTO shop.{table} VALUES (1, 'Ada')")
        here = {
            MARIADB: f"127.0.0.1:{server.port}/shop",
            "replicator": server.connection("test")["user"],
            "5000": "200",
        }

        receipt = run(path, here, tmp_path, stop_after=8)

        assert [(one.rows_read, one.rows_written) for one in receipt.tables] == [(1, 1), (1, 1)]


def test_examples_with_kafka_run(tmp_path: Path) -> None:
    """The sink fills a topic; the source reads another one, and is stopped once it has a checkpoint with its row."""
    with KafkaServer.running() as kafka:
        here = {KAFKA: kafka.dsn}
        receipt = run(examples.FOLDER / "sink-Kafka.conf", here, tmp_path)
        assert (receipt.exit_code, total(receipt)) == (ExitCode.SUCCESS, 10)
        assert len(records(kafka.dsn, "shop.people")) == 10

        order = {"id": 1, "customer": "Ada", "total": "1.50", "ordered_at": "2026-01-31 10:00:00"}
        send(kafka, "shop.orders", [json.dumps(order).encode()])
        receipt = run(examples.FOLDER / "source-Kafka.conf", {**here, "5000": "500"}, tmp_path, stop_after=3)
        assert total(receipt) == 1


@pytest.mark.parametrize("path", paths(MODELS), ids=lambda path: path.stem)
def test_examples_with_a_model_run(path: Path, httpserver: HTTPServer, tmp_path: Path) -> None:
    """Against a server that answers as the provider does."""

    def answer(request: Request) -> Response:
        if request.path.endswith("embeddings"):
            data = [{"index": at, "embedding": [0.5, 0.25]} for at, _ in enumerate(request.get_json()["input"])]
            return Response(json.dumps({"data": data}), content_type="application/json")
        choice = {"message": {"content": json.dumps(["England"])}}
        return Response(json.dumps({"choices": [choice]}), content_type="application/json")

    for name in ("/v1/embeddings", "/v1/chat/completions"):
        httpserver.expect_request(name).respond_with_handler(answer)

    receipt = run(path, {MODELS: httpserver.url_for("").rstrip("/")}, tmp_path)

    assert receipt.exit_code == ExitCode.SUCCESS
    assert total(receipt) == 2
