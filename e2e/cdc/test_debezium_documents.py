"""Changes go to Kafka as documents of Debezium, whatever dies on the way, and Metadata tells where rows come from."""

from __future__ import annotations

import json
import time
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from e2e.cdc.following_job import SECONDS, FollowingJob
from e2e.cdc.mariadb_workload import MariadbWorkload
from e2e.cdc.test_mariadb_cdc import FollowedLog, logged
from e2e.cdc.test_mariadb_cdc import followed as followed_log
from e2e.cdc.test_postgres_cdc import Followed, followed, logical
from e2e.cdc.workload import WHOLE, Workload
from e2e.support import finish, kill_driver, wait_alive, write_job
from tests.connectors.kafka.sink_support import records
from tests.servers.kafka import KafkaServer

__all__ = ["followed", "followed_log", "logged", "logical"]
BARE = "key.converter.schemas.enable = false, value.converter.schemas.enable = false"
Row = dict[str, Any]


def to_kafka(job: FollowingJob, kafka: KafkaServer, server: str, sink: str = "") -> None:
    """Send the job's source, which is written, to topics of this server's name."""
    source, _ = (job.home / "job.conf").read_text().split("sink {")
    write_job(
        job.home,
        f"""{source} sink {{ Kafka {{ bootstrap.servers = "{kafka.dsn}", format = compatible_debezium_json,
            semantics = EXACTLY_ONCE, ledger.topic = "{server}_ledger"{sink} }} }}""",
    )


def documents(kafka: KafkaServer, topic: str) -> list[tuple[Row, Row]]:
    """Keys and values in order."""
    return [(json.loads(one.key), json.loads(one.value)) for one in records(kafka.dsn, topic)]


def replayed(found: list[tuple[Row, Row]], whole: bool) -> dict[int, Row]:
    """The rows that the documents lead to. ``whole``: each row before a change is the one that was there."""
    rows: dict[int, Row] = {}
    for key, value in found:
        before, after, at = value["before"], value["after"], key["id"]
        if whole and value["op"] in "ud":
            assert before == rows.get(at), value
        assert (before is None or before["id"] == at) and (after is None or after["id"] == at), value
        assert value["op"] in ("c", "r") or at in rows, value
        if after is None:
            del rows[at]
            continue
        kept = rows.get(at, {})
        lacks = "__debezium_unavailable_value"
        rows[at] = {name: kept.get(name) if one == lacks else one for name, one in after.items()}
    return rows


def kill_again(job: FollowingJob, times: int) -> None:
    for number in range(times):
        process = job.run(*(["--restore", "latest"] if number else []))
        time.sleep(4.0)
        kill_driver(process)


def test_documents_of_postgresql(followed: Followed, kafka: KafkaServer) -> None:
    """Copied rows are ``r``; the documents of a table with whole rows are its history, in order; nothing is lost or
    repeated where the driver dies."""
    server = f"pg{followed.pair.source}"
    source = f", format = COMPATIBLE_DEBEZIUM_JSON, debezium {{ topic.prefix = {server}, {BARE} }}"
    followed.write(source=source, tables=(WHOLE, "orders"))
    to_kafka(followed, kafka, server)
    with Workload(followed.source_dsn, (WHOLE, "orders"), 7):
        kill_again(followed, 2)
        process = followed.run("--restore", "latest")
        followed.wait_followed()
        time.sleep(1.0)  # the log has changes, however long the copy took

    for table in (WHOLE, "orders"):
        topic = f"{server}.public.{table}"
        with psycopg.connect(followed.source_dsn, row_factory=dict_row) as db:
            rows = {one["id"]: one for one in db.execute(f"SELECT * FROM {table}".encode())}

        def arrived(topic: str = topic, table: str = table, rows: dict[int, Row] = rows) -> bool:
            return replayed(documents(kafka, topic), table == WHOLE) == rows

        wait_alive(process, f"the documents of {table}", arrived, SECONDS)
        found = [value for _, value in documents(kafka, topic)]
        copied = [one for one in found if one["op"] == "r"]
        assert len(copied) > 500 and all(one["source"]["snapshot"] == "true" for one in copied)
        later = [one["source"] for one in found if one["op"] != "r"]
        assert later and all(one["snapshot"] == "false" and one["txId"] and one["schema"] == "public" for one in later)
        assert [one["lsn"] for one in later] == sorted(one["lsn"] for one in later)
        assert all(abs(one["ts_ms"] / 1000 - time.time()) < 600 for one in later)


def test_documents_follow_changes_of_columns(followed: Followed, kafka: KafkaServer) -> None:
    """With ``schema-changes.enabled``; the three columns of the target stay."""
    server = f"pg{followed.pair.source}"
    source = (
        f", schema-changes.enabled = true, format = COMPATIBLE_DEBEZIUM_JSON, debezium {{ topic.prefix = {server} }}"
    )
    followed.write(source=source, tables=("orders",))
    to_kafka(followed, kafka, server)
    process = followed.run()
    followed.wait_followed()
    followed.execute(
        followed.pair.source,
        "INSERT INTO orders VALUES (5001, 's', 1, 'a')",
        "ALTER TABLE orders ADD COLUMN amount numeric(10, 2)",
        "INSERT INTO orders VALUES (5002, 's', 2, 'b', 1.25)",
    )

    def last() -> list[tuple[Row, list[str]]]:
        found = [value for key, value in documents(kafka, f"{server}.public.orders") if key["payload"]["id"] > 5000]
        names = [[one["field"] for one in value["schema"]["fields"][1]["fields"]] for value in found]
        return [(value["payload"]["after"], fields) for value, fields in zip(found, names, strict=True)]

    wait_alive(process, "both documents", lambda: len(last()) == 2, SECONDS)
    (first, before), (second, after) = last()
    assert before == ["id", "source", "seq", "note"] == list(first)
    assert after == [*before, "amount"] and second == {
        "id": 5002,
        "source": "s",
        "seq": 2,
        "note": "b",
        "amount": "fQ==",
    }


def test_documents_of_mariadb_have_their_schema(followed_log: FollowedLog, kafka: KafkaServer) -> None:
    """As SeaTunnel's page about them writes the job: the sink takes the topic from the field ``topic``."""
    server = f"maria{followed_log.source}"
    followed_log.write(f", format = compatible_debezium_json, debezium = {{ database.server.name = {server} }}")
    to_kafka(followed_log, kafka, server, ', topic = "${topic}"')
    with MariadbWorkload(followed_log.connection(), ("items",), 3):
        kill_again(followed_log, 2)
        process = followed_log.run("--restore", "latest")
        followed_log.wait_followed()
        time.sleep(1.0)  # the log has changes, however long the copy took
    topic = f"{server}.{followed_log.source}.items"
    names = ("id", "source", "seq", "note")
    rows = {one[0]: dict(zip(names, one, strict=True)) for one in followed_log.run_there("SELECT * FROM items")}

    def bare() -> list[tuple[Row, Row]]:
        return [(key["payload"], value["payload"]) for key, value in documents(kafka, topic)]

    # Copy and log overlap, so a row may come again, and a row before an update may be older than the last one here.
    def arrived() -> bool:
        found: dict[int, Row] = {}
        for key, value in bare():
            found.pop(key["id"], None)
            if value["after"] is not None:
                found[key["id"]] = value["after"]
        return found == rows

    wait_alive(process, "the documents", arrived, SECONDS)
    key, value = documents(kafka, topic)[-1]
    assert key["schema"]["name"] == f"{topic}.Key" and value["schema"]["name"] == f"{topic}.Envelope"
    places = [one["source"] for _, one in bare() if one["op"] != "r"]
    assert places and all(one["file"] and one["pos"] > 0 and one["server_id"] and one["gtid"] for one in places)
    numbered = [(one["file"], one["pos"], one["row"]) for one in places]
    assert numbered == sorted(numbered)


def test_metadata_of_changes_and_of_copied_rows(followed: Followed) -> None:
    """Columns with the time of the commit, the transaction and its order; copied rows have none, and say so."""
    fields = ("EventTime", "Delay", "TransactionId", "TransactionOrder", "Lsn", "SnapshotRow", "RowKind")
    followed.write(tables=("orders",), source=", plugin_output = rows", sink=", plugin_input = described")
    source, sink = (followed.home / "job.conf").read_text().split("sink {")
    named = ", ".join(f"{name} = {name.lower()}" for name in fields)
    step = f"Metadata {{ plugin_input = rows, plugin_output = described, metadata_fields {{ {named} }} }}"
    write_job(followed.home, f"{source} transform {{ {step} }}\nsink {{{sink}")
    process = followed.run()
    followed.wait_followed()
    before = time.time()
    followed.execute(
        followed.pair.source,
        "INSERT INTO orders VALUES (5001, 's', 1, 'a'), (5002, 's', 2, 'b')",
        "UPDATE orders SET seq = 7 WHERE id = 1",
    )

    def there() -> list[Row]:
        columns = ", ".join(["id", *map(str.lower, fields)])
        with followed.pair.connect(followed.pair.target) as db, db.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(
                f"SELECT {columns} FROM orders WHERE id IN (1, 2, 5001, 5002) ORDER BY id".encode()
            ).fetchall()

    wait_alive(
        process, "the changes", lambda: [one["snapshotrow"] for one in there()] == [False, True, False, False], SECONDS
    )
    changed, copied, *inserted = there()
    assert [copied[name.lower()] for name in fields] == [None, None, None, None, None, True, "+I"]
    assert [one["rowkind"] for one in inserted] == ["+I", "+I"] and changed["rowkind"] == "+U"
    assert [one["transactionorder"] for one in inserted] == [0, 1] and changed["transactionorder"] == 0
    assert inserted[0]["transactionid"] == inserted[1]["transactionid"] != changed["transactionid"]
    assert changed["lsn"] > inserted[0]["lsn"] == inserted[1]["lsn"]
    assert all(before - 1 <= one["eventtime"] / 1000 <= time.time() + 1 for one in (changed, *inserted))
    assert all(0 <= one["delay"] < 60_000 for one in (changed, *inserted))


@pytest.mark.parametrize("of", ["followed", "followed_log"])
def test_copies_alone_are_documents_in_files_too(of: str, request: pytest.FixtureRequest) -> None:
    """Other sinks get the columns topic, key and value."""
    job: Followed | FollowedLog = request.getfixturevalue(of)
    job.write(source=f", startup.mode = snapshot-only, format = COMPATIBLE_DEBEZIUM_JSON, debezium {{ {BARE} }}")
    source, _ = (job.home / "job.conf").read_text().split("sink {")
    path = f"{job.home}/files/${{table_name}}"
    write_job(job.home, f'{source} sink {{ LocalFile {{ path = "{path}", file_format_type = json }} }}')
    ended = finish(job.run())
    assert ended.code == 0, (job.home / "errors").read_text()

    (folder,) = (job.home / "files").glob("orders")
    rows = [json.loads(line) for file in folder.glob("*.json") for line in file.read_text().splitlines()]
    assert {one["topic"].rpartition(".")[2] for one in rows} == {"orders"} and {*rows[0]} == {"topic", "key", "value"}
    values = [json.loads(one["value"]) for one in rows]
    assert {(one["op"], one["source"]["snapshot"], one["ts_ms"]) for one in values} == {("r", "true", None)}
    assert sorted(one["after"]["id"] for one in values) == list(range(1, 1001))
    assert [json.loads(one["key"])["id"] for one in rows] == [one["after"]["id"] for one in values]
