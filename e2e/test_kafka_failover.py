"""One Kafka stream into two targets, one of which is away for a while: messages come again in other portions than at first,
and the other target neither begins again nor takes one of them twice."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import psycopg

from e2e.kafka_support import SCHEMA, numbered, producing
from e2e.outage import refusing
from e2e.support import IN_PROCESS, events, finish, start, wait_alive, wait_for, write_job
from tests.connectors.kafka.topics import make_topic
from tests.servers.kafka import KafkaServer
from tests.servers.postgres import PostgresServer

PAUSE_SECONDS = 0.005
OUTAGES = 2
_numbers = count(1)


class Trickle:
    """Sends one message after the other, so that whoever reads gets few at a time."""

    def __init__(self, kafka: KafkaServer, topic: str) -> None:
        self.kafka, self.topic = kafka, topic
        self.sent = 0
        self._ends = threading.Event()

    def _send(self) -> None:
        with producing(self.kafka, linger_ms=0) as producer:
            while not self._ends.is_set():
                ((partition, value),) = numbered(self.topic, 0, [self.sent])
                producer.produce(self.topic, value=value, partition=partition)
                producer.poll(0)
                self.sent += 1
                time.sleep(PAUSE_SECONDS)  # the pace is what is tested

    @contextmanager
    def flowing(self) -> Iterator[None]:
        thread = threading.Thread(target=self._send, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ends.set()
            thread.join()


def test_messages_that_come_again_in_other_portions_are_the_same(
    tmp_path: Path, kafka: KafkaServer, own: PostgresServer
) -> None:
    """I22: where a batch ended was a matter of time. The region of the target that was away restarts, and nobody else."""
    topic = f"trickle-{next(_numbers)}"
    make_topic(kafka, topic)
    out = tmp_path / "out"
    write_job(
        tmp_path,
        f"""
        env {{ job.mode = STREAMING, checkpoint.interval = 1000, job.retry.interval.seconds = 1 }}
        source {{ Kafka {{ plugin_output = rows, bootstrap.servers = "{kafka.dsn}", topic = "{topic}",
                           start_mode = earliest, {SCHEMA} }} }}
        sink {{
          LocalFile {{ id = files, plugin_input = rows, path = "{out}", file_format_type = json }}
          Jdbc {{ id = once, plugin_input = rows, url = "{own.jdbc_url("once")}", driver = "org.postgresql.Driver",
                  user = postgres, database = once, table = "public.once", generate_sink_sql = true,
                  primary_keys = [], is_exactly_once = true, exactly_once_recipe = staged }}
        }}""",
    )
    trickle = Trickle(kafka, topic)
    with trickle.flowing():
        process = start(tmp_path, "run", "job.conf", "--job-id", "job", "--json", program=IN_PROCESS)
        wait_alive(process, "rows in both", lambda: rows_of(own) and files(out))
        for _ in range(OUTAGES):
            before, there = len(events(tmp_path, "region_restarted")), len(rows_of(own))
            with refusing(own):
                wait_for("a restart", partial(restarted, tmp_path, before))
            wait_for("rows again", partial(more_than, own, there))
    wait_alive(process, "all rows", lambda: len(rows_of(own)) == len(files(out)) == trickle.sent)
    process.send_signal(signal.SIGTERM)
    assert finish(process).code == 143

    assert rows_of(own) == sorted(files(out)) == list(range(trickle.sent))
    for event in events(tmp_path, "region_restarted"):
        assert {name.split("[")[0] for name in event["epochs"]} == {"rows", "once"}, event["causes"]


def restarted(home: Path, before: int) -> bool:
    return len(events(home, "region_restarted")) > before


def more_than(server: PostgresServer, rows: int) -> bool:
    return len(rows_of(server)) > rows


def rows_of(server: PostgresServer) -> list[int]:
    """The numbers in the target; none where its database is away, or nothing was made yet."""
    try:
        with psycopg.connect(server.dsn_of("once")) as connection:
            return [number for (number,) in connection.execute("SELECT seq FROM once ORDER BY seq")]
    except (psycopg.OperationalError, psycopg.errors.UndefinedTable):
        return []


def files(out: Path) -> list[int]:
    return [json.loads(line)["seq"] for file in out.glob("*.json") for line in file.read_text().splitlines()]
