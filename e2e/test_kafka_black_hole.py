"""Brokers behind a connection that swallows everything for a while: source and sink, batch and stream (P4-F5).

Each row says its topic, partition and number, so that rows are compared as (source, split, seq).
"""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from e2e.black_holes import (
    BEHIND_SECONDS_MAX,
    RETRIES,
    SHORT,
    START_SECONDS_MAX,
    begin,
    ended,
    failed_with_its_connection_named,
    only_long,
    say,
    through,
    time_limit,
)
from e2e.kafka_support import SCHEMA, numbered, send
from e2e.support import Process, finish, wait_alive, wait_for, write_job
from tests.connectors.kafka.sink_support import records
from tests.connectors.kafka.topics import make_topic
from tests.servers.black_hole import BlackHole
from tests.servers.kafka_proxied_listener import ProxiedListenerKafka

PARTITIONS = 2
PORTION = 400 if SHORT else 1500
"""Messages of a partition that are sent at once."""
SHORT_CONFIG = """, kafka.config { socket.timeout.ms = 2000, socket.connection.setup.timeout.ms = 1000,
                                   reconnect.backoff.max.ms = 500 }"""
SOURCE, ONCE, AT_LEAST_ONCE, BOTH = "source", "EXACTLY_ONCE", "AT_LEAST_ONCE", "both"
"""Which end is behind the hole: the source, or the sink with that guarantee."""
pytestmark = time_limit
_numbers = count(1)


@pytest.fixture(scope="module")
def broker() -> Iterator[ProxiedListenerKafka]:
    with ProxiedListenerKafka.running() as server:
        yield server


class Job:
    """From a topic into files, where only the source is behind the hole, or else into another topic."""

    def __init__(self, home: Path, broker: ProxiedListenerKafka, end: str, mode: str, retries: str = RETRIES) -> None:
        number = next(_numbers)
        self.home, self.broker, self.end = home, broker, end
        self.topic, self.target = f"from-{number}", f"to-{number}"
        self.sent = 0
        for topic in (self.topic, self.target):
            make_topic(broker, topic, PARTITIONS)
        self.send()
        config = SHORT_CONFIG if SHORT else ""
        behind, direct = f'bootstrap.servers = "{broker.proxied}"{config}', f'bootstrap.servers = "{broker.dsn}"'
        pace = "read_limit.rows_per_second = 200," if mode == "BATCH" else ""
        semantics = ONCE if end == BOTH else end
        files = f'LocalFile {{ path = "{home / "out"}", file_format_type = json }}'
        topic = f'Kafka {{ {behind}, topic = "{self.target}", semantics = {semantics} }}'
        write_job(
            home,
            f"""
            env {{ job.mode = {mode}, checkpoint.interval = 300, unit.rows = 100, {pace} {retries} }}
            source {{ Kafka {{ {behind if end in (SOURCE, BOTH) else direct}, topic = "{self.topic}",
                               start_mode = earliest, {SCHEMA} }} }}
            sink {{ {files if end == SOURCE else topic} }}""",
        )

    @property
    def names(self) -> list[str]:
        """Of the connection, as the job may say them."""
        topic = self.topic if self.end == SOURCE else self.target
        return [f"topic {topic}", self.broker.proxied, "its connection to Kafka-source-1"]

    def send(self) -> None:
        for partition in range(PARTITIONS):
            send(self.broker, self.topic, numbered(self.topic, partition, range(self.sent, self.sent + PORTION)))
        self.sent += PORTION

    def arrived(self) -> list[tuple[str, int, int]]:
        if self.end == SOURCE:
            files = (self.home / "out").glob("*.json")
            documents = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        else:
            documents = [record.document for record in records(self.broker.dsn, self.target)]
        return [(one["topic"], one["part"], one["seq"]) for one in documents]

    def wanted(self) -> list[tuple[str, int, int]]:
        return [(self.topic, part, seq) for part in range(PARTITIONS) for seq in range(self.sent)]

    def is_complete(self) -> bool:
        return set(self.arrived()) >= set(self.wanted())

    def expect_exact(self) -> None:
        if self.end == AT_LEAST_ONCE:
            assert set(self.arrived()) == set(self.wanted())
        else:
            assert Counter(self.arrived()) == Counter(self.wanted())

    def expect_stopped(self, process: Process) -> None:
        """A stream shows all rows, and stops when it is asked to."""
        wait_alive(process, "all rows", self.is_complete, BEHIND_SECONDS_MAX)
        process.send_signal(signal.SIGTERM)
        run = finish(process)
        assert run.code == 143, run.out + run.err
        self.expect_exact()


def through_batch(job: Job, hole: BlackHole) -> int:
    """Its exit code behind the hole; what it has not done is gone on with."""
    process = begin(job.home, here=SHORT)
    healed = through(process, hole, lambda: len(job.arrived()), job.sent * PARTITIONS)
    run = ended(job.home, process, healed, job.names, here=SHORT)
    job.expect_exact()
    return run.code


@only_long
@pytest.mark.parametrize("end", [SOURCE, ONCE, AT_LEAST_ONCE], ids=str.lower)
def test_a_batch_job_goes_on_behind_a_hole(tmp_path: Path, broker: ProxiedListenerKafka, end: str) -> None:
    with BlackHole(broker.target_port, broker.proxy_port) as hole:
        through_batch(Job(tmp_path, broker, end, "BATCH"), hole)


@only_long
@pytest.mark.parametrize("end", [SOURCE, ONCE], ids=str.lower)
def test_a_job_without_retries_ends_with_its_connection_named(
    tmp_path: Path, broker: ProxiedListenerKafka, end: str
) -> None:
    """And restores exactly."""
    with BlackHole(broker.target_port, broker.proxy_port) as hole:
        job = Job(tmp_path, broker, end, "BATCH", "job.retry.times = 0")
        assert through_batch(job, hole) == 1


@pytest.mark.parametrize(
    "end",
    [BOTH, *(pytest.param(end, marks=only_long) for end in (SOURCE, ONCE, AT_LEAST_ONCE))],
    ids=str.lower,
)
def test_a_stream_goes_on_behind_a_hole(tmp_path: Path, broker: ProxiedListenerKafka, end: str) -> None:
    """By itself, with what was sent meanwhile, or after it has ended with the connection named; exact when restored."""
    with BlackHole(broker.target_port, broker.proxy_port) as hole:
        job = Job(tmp_path, broker, end, "STREAMING")
        process = begin(tmp_path, here=SHORT)
        wait_alive(process, "the first rows", lambda: len(job.arrived()) > 0, START_SECONDS_MAX)
        hole.swallow()
        job.send()
        healed = through(process, hole, lambda: len(job.arrived()), job.sent * PARTITIONS)
        wait_for("all rows, or its end", lambda: process.poll() is not None or job.is_complete(), BEHIND_SECONDS_MAX)
        if process.poll() is None:
            say("all rows were there", healed)
        else:
            assert not SHORT, finish(process)
            failed_with_its_connection_named(finish(process), healed, job.names)
            process = begin(tmp_path, "--restore", "latest")
        job.expect_stopped(process)

        job.send()
        job.expect_stopped(begin(tmp_path, "--restore", "latest", here=SHORT))
