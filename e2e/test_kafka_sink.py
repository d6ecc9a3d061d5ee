"""Exactly once into Kafka, through the command line: drivers are killed at the moments that hurt, and gone on with."""

from __future__ import annotations

import os
import signal
import time
from collections import defaultdict
from itertools import count
from pathlib import Path

import pytest

from e2e.conftest import Databases
from e2e.support import IN_PROCESS, Process, finish, start, wait_alive, wait_for, write_job
from tests.connectors.kafka.sink_support import records, splits
from tests.servers.kafka import KafkaServer

ROWS, PER_SPLIT = 20_000, 200
TABLE_ROWS = 100_000
TIMEOUT_S = 2
_numbers = count(1)


class Job:
    """A job into a topic of its own. ``killed_at`` starts it with a failpoint armed and returns when that has acted."""

    def __init__(self, home: Path, kafka: KafkaServer) -> None:
        self.home, self.kafka = home, kafka
        self.topic = f"numbers-{os.getpid()}-{next(_numbers)}"
        self.incarnations = 0
        self.hits = home / "hits"

    @property
    def sink(self) -> str:
        return f"""Kafka {{ topic = "{self.topic}", bootstrap.servers = "{self.kafka.dsn}", semantics = EXACTLY_ONCE,
                            partition_key_fields = [split], kafka.config {{ transaction.timeout.ms = {TIMEOUT_S * 1000} }} }}"""

    def begin(self, failpoint: str = "", *, program: list[str] | None = None) -> Process:
        self.incarnations += 1
        self.hits = self.home / f"hits{self.incarnations}"
        self.hits.mkdir()
        armed = {"SEATUNNEL_FAILPOINT": failpoint, "SEATUNNEL_FAILPOINT_DIR": str(self.hits)} if failpoint else {}
        more = ["--restore", "latest"] if self.incarnations > 1 else []
        arguments = ["run", "job.conf", "--job-id", self.topic, "--json", *more]
        return start(self.home, *arguments, env=armed, **({"program": program} if program else {}))

    def killed_at(self, failpoint: str, hit: int = 1, *, program: list[str] | None = None) -> None:
        process = self.begin(f"{failpoint}:kill@{hit}", program=program)
        wait_for(
            f"a death at {failpoint}", lambda: process.poll() is not None or (self.hits / f"{failpoint}.acted").exists()
        )
        out, err = process.communicate()
        assert process.returncode == -signal.SIGKILL, f"it was to die at {failpoint}:\n{out}\n{err}"

    def seen(self) -> dict[int, list[int]]:
        return splits(records(self.kafka.dsn, self.topic))


@pytest.fixture
def job(tmp_path: Path, kafka: KafkaServer) -> Job:
    return Job(tmp_path, kafka)


def test_a_table_arrives_once_whenever_its_driver_dies(job: Job, databases: Databases) -> None:
    """F45. Batch, a commit every 200 ms: killed with an open transaction, which the next driver ends, and between the commit and its answer."""
    with databases.connect(databases.source) as connection:
        connection.execute("CREATE TABLE numbers (seq bigint PRIMARY KEY, split int NOT NULL)")
        connection.execute(f"INSERT INTO numbers SELECT i, i / 5000 FROM generate_series(0, {TABLE_ROWS} - 1) i")
        connection.execute("ANALYZE")
    write_job(
        job.home,
        f"""
        env {{ checkpoint.interval = 200, unit.rows = 1000, source.consistency = per-split }}
        source {{ Jdbc {{ {databases.jdbc(databases.source)}, table_path = "{databases.source}.public.numbers",
                          partition_num = 100, plugin_output = read }} }}
        transform {{ FieldMapper {{ plugin_input = read, plugin_output = mapped,
                                    field_mapper = {{ split = split, seq = seq }} }} }}
        sink {{ {job.sink} }}
        """,
    )

    job.killed_at("kafka.commit.inside", 2, program=IN_PROCESS)
    job.killed_at("kafka.commit.committed", program=IN_PROCESS)
    job.killed_at("kafka.commit.written", program=IN_PROCESS)
    run = finish(job.begin())

    assert run.code == 0, run.err + run.out
    wanted = {split: list(range(split * 5_000, (split + 1) * 5_000)) for split in range(TABLE_ROWS // 5_000)}
    assert job.seen() == wanted
    assert not list((job.home / ".seatunnel").rglob("*.arrow")), "staged files are left behind"


def test_a_stream_that_is_down_for_longer_than_a_transaction_lives_loses_nothing(job: Job) -> None:
    """F41, bar 10: the driver dies with an open transaction, and comes back after three times its time-out."""
    write_job(
        job.home,
        f"""
        env {{ job.mode = STREAMING, checkpoint.interval = 300 }}
        source {{ FakeSource {{ row.num = {ROWS}, split.num = {ROWS // PER_SPLIT}, split.read-interval = 20, parallelism = 1,
                    schema {{ table = "shop.events", fields {{ seq = bigint, split = int }},
                              primaryKey {{ name = pk, columnNames = [seq] }} }},
                    auto.increment.enabled = true, int.min = 7, int.max = 7 }} }}
        sink {{ {job.sink} }}
        """,
    )

    job.killed_at("kafka.commit.written", 2, program=IN_PROCESS)
    before = job.seen().get(7, [])
    time.sleep(3 * TIMEOUT_S)  # the cluster's clock, not ours: nothing tells when it has had enough
    assert job.seen().get(7, []) == before
    process = job.begin(program=IN_PROCESS)
    wait_alive(process, "all rows", lambda: len(job.seen().get(7, [])) >= ROWS)
    process.send_signal(signal.SIGTERM)
    stopped = finish(process)

    assert stopped.code == 143, stopped.err + stopped.out
    by_split: dict[int, list[int]] = defaultdict(list)
    for number in job.seen()[7]:
        by_split[(number - 1) // PER_SPLIT].append(number)
    wanted = {
        split: list(range(split * PER_SPLIT + 1, (split + 1) * PER_SPLIT + 1)) for split in range(ROWS // PER_SPLIT)
    }
    assert by_split == wanted
