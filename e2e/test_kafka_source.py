"""Kafka to PostgreSQL through the public command line: every message once, and in order within its partition."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.kafka_support import SCHEMA, numbered, send
from e2e.support import IN_PROCESS, SEATUNNEL, Process, finish, kill_driver, seatunnel, start, wait_alive, write_job
from tests.connectors.kafka.topics import grow, make_topic
from tests.servers.kafka import KafkaServer

PARTITIONS = 3
ROWS = 20_000  # of a partition
_numbers = count(1)


class Landing:
    """The target: a table that numbers its rows as they come."""

    def __init__(self, databases: Databases) -> None:
        self.databases = databases
        with databases.connect(databases.target) as connection:
            connection.execute(
                "CREATE TABLE landed (topic text, part int, seq bigint, arrived bigint GENERATED ALWAYS AS IDENTITY)"
            )

    @property
    def sink(self) -> str:
        return f"""Jdbc {{ {self.databases.jdbc(self.databases.target)}, generate_sink_sql = true,
                           database = {self.databases.target}, table = "public.landed", is_exactly_once = true,
                           xa_data_source_class_name = "org.postgresql.xa.PGXADataSource" }}"""

    def rows(self) -> int:
        with self.databases.connect(self.databases.target) as connection:
            found = connection.execute("SELECT count(*) FROM landed").fetchone()
            return int(found[0]) if found else 0

    def partitions(self) -> dict[tuple[str, int], list[int]]:
        """The numbers of each partition, in the order in which they came."""
        found: dict[tuple[str, int], list[int]] = {}
        with self.databases.connect(self.databases.target) as connection:
            for topic, part, seq in connection.execute("SELECT topic, part, seq FROM landed ORDER BY arrived"):
                found.setdefault((topic, part), []).append(seq)
        return found


@pytest.fixture
def landing(databases: Databases) -> Landing:
    return Landing(databases)


@pytest.fixture
def topic() -> str:
    return f"numbers-{next(_numbers)}"


@pytest.fixture
def broker() -> Iterator[KafkaServer]:
    """A broker of the test's own, to be killed."""
    with KafkaServer.running() as server:
        yield server


def job(server: KafkaServer, landing: Landing, topic: str, env: str, more: str = "") -> str:
    return f"""
        env {{ {env} }}
        source {{ Kafka {{ bootstrap.servers = "{server.dsn}", topic = "{topic}", start_mode = earliest,
                           {SCHEMA}, {more} }} }}
        sink {{ {landing.sink} }}"""


STREAMING = "job.mode = STREAMING, checkpoint.interval = 300, parallelism = 2"


def test_a_batch_reads_what_is_there(tmp_path: Path, kafka: KafkaServer, landing: Landing, topic: str) -> None:
    make_topic(kafka, topic, PARTITIONS)
    for partition in range(PARTITIONS):
        send(kafka, topic, numbered(topic, partition, range(ROWS)))
    write_job(tmp_path, job(kafka, landing, topic, "parallelism = 2, checkpoint.interval = 1000, unit.rows = 5000"))

    run = seatunnel(tmp_path, "run", "job.conf", "--json")

    assert run.code == 0, run.err + run.out
    assert landing.partitions() == {(topic, partition): list(range(ROWS)) for partition in range(PARTITIONS)}
    table = run.receipt["tables"][0]
    assert (table["rows_read"], table["rows_written"]) == (PARTITIONS * ROWS, PARTITIONS * ROWS)


@pytest.mark.parametrize("env", ["", "error.max-rows = 5"])
def test_messages_that_are_skipped_are_in_the_receipt(
    tmp_path: Path, kafka: KafkaServer, landing: Landing, topic: str, env: str
) -> None:
    """Nobody sees otherwise that they were there. With bad rows among them, too: a unit is read again for these."""
    make_topic(kafka, topic, 1)
    messages = numbered(topic, 0, range(3_000))
    bad = [(0, b'{"seq": %d' % number) for number in range(100)]
    send(kafka, topic, [*messages[:1_000], *bad, *messages[1_000:]])
    with landing.databases.connect(landing.databases.target) as connection:
        connection.execute("ALTER TABLE landed ADD CHECK (seq <> 1500)" if env else "SELECT 1")
    more = "format_error_handle_way = skip"
    write_job(tmp_path, job(kafka, landing, topic, f"unit.rows = 700, {env}", more))

    run = finish(start(tmp_path, "run", "job.conf", "--json", program=IN_PROCESS))

    assert run.code == 0, run.err + run.out
    rejected = 1 if env else 0
    assert landing.partitions() == {(topic, 0): [seq for seq in range(3_000) if not (env and seq == 1500)]}
    table = run.receipt["tables"][0]
    counts = [table[name] for name in ("rows_read", "rows_written", "rows_filtered", "rows_rejected")]
    assert counts == [3_100, 3_000 - rejected, 100, rejected]


class Reading:
    """A streaming job that can be killed and gone on with."""

    def __init__(self, home: Path, landing: Landing) -> None:
        self.home, self.landing = home, landing
        self.program = SEATUNNEL
        self.process: Process | None = None

    def begin(self, *more: str) -> None:
        self.process = start(self.home, "run", "job.conf", "--job-id", "stream", *more, program=self.program)

    def wait(self, what: str, rows: int) -> None:
        assert self.process is not None
        wait_alive(self.process, what, lambda: self.landing.rows() >= rows)

    def kill(self) -> None:
        assert self.process is not None
        kill_driver(self.process)

    def stop(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        assert finish(self.process).code == 143


@pytest.fixture
def reading(tmp_path: Path, landing: Landing) -> Iterator[Reading]:
    found = Reading(tmp_path, landing)
    yield found
    if found.process is not None and found.process.poll() is None:
        found.kill()


def test_a_stream_whose_driver_is_killed(reading: Reading, kafka: KafkaServer, topic: str) -> None:
    """Each life reads on where the one before it stood, whatever was under way, and on whichever engine: the first has
    Spark."""
    make_topic(kafka, topic, PARTITIONS)
    write_job(reading.home, job(kafka, reading.landing, topic, STREAMING))
    sent = 0
    for life in range(2):
        reading.program = IN_PROCESS if life else SEATUNNEL
        reading.begin(*(["--restore", "latest"] if life else []))
        for _ in range(2):
            for partition in range(PARTITIONS):
                send(kafka, topic, numbered(topic, partition, range(sent, sent + 1000)))
            sent += 1000
            reading.wait(f"rows of life {life}", PARTITIONS * (sent - 500))
        reading.kill()
    reading.begin("--restore", "latest")
    for partition in range(PARTITIONS):  # the lives before may have brought all there was: these show that it reads
        send(kafka, topic, numbered(topic, partition, range(sent, sent + 1000)))
    sent += 1000
    reading.wait("all rows", PARTITIONS * sent)
    reading.stop()

    assert reading.landing.partitions() == {(topic, part): list(range(sent)) for part in range(PARTITIONS)}


def test_a_stream_whose_broker_is_killed(reading: Reading, broker: KafkaServer, topic: str) -> None:
    """The job goes on by itself when the broker is back."""
    make_topic(broker, topic, PARTITIONS)
    write_job(reading.home, job(broker, reading.landing, topic, STREAMING))
    reading.begin()
    for partition in range(PARTITIONS):
        send(broker, topic, numbered(topic, partition, range(1000)))
    reading.wait("rows before", PARTITIONS * 1000)

    broker.kill9()
    broker.start()
    for partition in range(PARTITIONS):
        send(broker, topic, numbered(topic, partition, range(1000, 2000)))
    reading.wait("rows after", PARTITIONS * 2000)
    reading.stop()

    assert reading.landing.partitions() == {(topic, part): list(range(2000)) for part in range(PARTITIONS)}


def test_a_stream_finds_new_partitions_and_topics(reading: Reading, kafka: KafkaServer, topic: str) -> None:
    """What appears while it runs is read from its beginning, and is still known when the job goes on."""
    reading.program = IN_PROCESS
    make_topic(kafka, f"{topic}.a")
    more = "pattern = true, partition-discovery.interval-millis = 500"
    write_job(reading.home, job(kafka, reading.landing, f"{topic}[.][ab]", STREAMING, more))
    send(kafka, f"{topic}.a", numbered(f"{topic}.a", 0, range(1000)))
    reading.begin()
    reading.wait("rows of the first topic", 1000)

    grow(kafka, f"{topic}.a", 2)
    make_topic(kafka, f"{topic}.b")
    send(kafka, f"{topic}.a", numbered(f"{topic}.a", 1, range(1000)))
    send(kafka, f"{topic}.b", numbered(f"{topic}.b", 0, range(1000)))
    reading.wait("rows of what is new", 3000)
    reading.kill()
    send(kafka, f"{topic}.b", numbered(f"{topic}.b", 0, range(1000, 2000)))
    reading.begin("--restore", "latest")
    reading.wait("all rows", 4000)
    reading.stop()

    assert reading.landing.partitions() == {
        (f"{topic}.a", 0): list(range(1000)),
        (f"{topic}.a", 1): list(range(1000)),
        (f"{topic}.b", 0): list(range(2000)),
    }


def test_a_change_log_becomes_the_table(tmp_path: Path, kafka: KafkaServer, databases: Databases, topic: str) -> None:
    """Inserts, updates of keys' other columns and deletes: the target is what the log says at its end."""
    make_topic(kafka, topic)
    said = [change("c", None, {"id": number, "name": "new"}) for number in range(1000)]
    said += [
        change("u", {"id": number, "name": "new"}, {"id": number, "name": "changed"}) for number in range(0, 1000, 2)
    ]
    said += [change("d", {"id": number, "name": "new"}, None) for number in range(1, 1000, 4)]
    send(kafka, topic, [(0, message) for message in said])
    write_job(
        tmp_path,
        f"""
        env {{ checkpoint.interval = 1000 }}
        source {{ Kafka {{ bootstrap.servers = "{kafka.dsn}", topic = "{topic}", start_mode = earliest,
                           format = debezium_json,
                           schema {{ table = "shop.users", fields {{ id = int, name = string }},
                                     primaryKey {{ name = pk, columnNames = [id] }} }} }} }}
        sink {{ Jdbc {{ {databases.jdbc(databases.target)}, generate_sink_sql = true,
                        database = {databases.target}, table = "public.users", primary_keys = [id] }} }}""",
    )

    run = finish(start(tmp_path, "run", "job.conf", "--json", program=IN_PROCESS))

    assert run.code == 0, run.err + run.out
    deleted = set(range(1, 1000, 4))
    wanted = [(number, "new" if number % 2 else "changed") for number in range(1000) if number not in deleted]
    assert databases.rows(databases.target, "users") == wanted


def test_a_bad_message_fails_its_table_or_is_set_aside(
    tmp_path: Path, kafka: KafkaServer, landing: Landing, topic: str
) -> None:
    make_topic(kafka, topic)
    good = numbered(topic, 0, range(3))
    send(kafka, topic, [good[0], (0, b"not json"), *good[1:]])

    write_job(tmp_path, job(kafka, landing, topic, "parallelism = 1"))
    refused = finish(start(tmp_path, "run", "job.conf", program=IN_PROCESS))
    assert refused.code == 1 and f"topic {topic}, partition 0, offset 1" in refused.out + refused.err
    assert landing.partitions() == {}

    write_job(tmp_path, job(kafka, landing, topic, "error.max-rows = 1"))
    allowed = finish(start(tmp_path, "run", "job.conf", program=IN_PROCESS))
    assert allowed.code == 0, allowed.err + allowed.out
    assert landing.partitions() == {(topic, 0): [0, 1, 2]}


def change(op: str, before: object, after: object) -> bytes:
    """A message of Debezium, with its schema beside the payload."""
    return json.dumps({"schema": {}, "payload": {"before": before, "after": after, "op": op}}).encode()
