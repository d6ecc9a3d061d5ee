"""A million records from Kafka to PostgreSQL, and a million rows the other way, each through ten kills: exact?

    python -m e2e.kafka_million [--rows 1000000] [--ways in,out] [--seed 1]

What is killed, by SIGKILL, twice each and in an order that the seed decides: a Python worker, the JVM, the driver, the
PostgreSQL server, the broker. A kill comes when so much more has arrived, so they are spread over the whole run. Servers
are started again at once, a job whose process has ended goes on with ``--restore latest``. What arrived is compared as
a set, and in order: (topic, partition, number) in, (split, number) out.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, TypeVar

import psycopg
from confluent_kafka import Consumer, KafkaException, TopicPartition

from e2e.kafka_support import SCHEMA, numbered, send
from e2e.support import Process, kill9, python_workers, start, write_job
from tests.connectors.kafka.sink_support import records, splits
from tests.connectors.kafka.topics import make_topic
from tests.servers.kafka import KafkaServer
from tests.servers.postgres import DATABASE, PostgresServer
from tests.servers.private import PrivateServer
from tests.servers.process_tree import jvms_below, kill_tree

VICTIMS = ("worker", "jvm", "driver", "postgres", "broker")
EACH = 2
PARTITIONS = 4
SPLITS = 20
LIVES_MAX = 40
STEP_SECONDS_MAX = 600.0  # until so much more has arrived; the whole way has ten of them
LOOK_SECONDS = 0.3
CALL_SECONDS = 10.0
ENV = "parallelism = 2, checkpoint.interval = 500, unit.rows = 10000, read_limit.rows_per_second = 40000"
"""Slow enough that ten kills find something to kill, whatever the machine."""
T = TypeVar("T")


@dataclass
class Way(ABC):
    """One direction, on servers of its own."""

    kafka: KafkaServer
    postgres: PostgresServer
    rows: int
    name: ClassVar[str]
    topic: ClassVar[str] = "million"

    @abstractmethod
    def prepare(self) -> str:
        """Make what is read; the job file."""

    @abstractmethod
    def arrived(self) -> int:
        """About how many rows can be seen in the target. Fails where its server is away."""

    @abstractmethod
    def wrong(self) -> list[str]:
        """What differs from what should be there."""

    @property
    def jdbc(self) -> str:
        return f'url = "{self.postgres.jdbc_url(DATABASE)}", driver = "org.postgresql.Driver", user = "postgres"'

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.postgres.dsn_of(DATABASE), autocommit=True)


class In(Way):
    """Kafka to PostgreSQL; each unit's transaction holds the source's position."""

    name = "in"

    def prepare(self) -> str:
        make_topic(self.kafka, self.topic, PARTITIONS)
        for partition in range(PARTITIONS):
            send(self.kafka, self.topic, numbered(self.topic, partition, range(self.rows // PARTITIONS)))
        with self.connect() as db:
            db.execute(
                "CREATE TABLE landed (topic text, part int, seq bigint, arrived bigint GENERATED ALWAYS AS IDENTITY)"
            )
        return f"""
            env {{ {ENV} }}
            source {{ Kafka {{ bootstrap.servers = "{self.kafka.dsn}", topic = {self.topic}, start_mode = earliest,
                               {SCHEMA} }} }}
            sink {{ Jdbc {{ {self.jdbc}, generate_sink_sql = true, database = {DATABASE}, table = "public.landed",
                            is_exactly_once = true, exactly_once_recipe = direct }} }}"""

    def arrived(self) -> int:
        with self.connect() as db:
            return int(db.execute("SELECT count(*) FROM landed").fetchall()[0][0])

    def wrong(self) -> list[str]:
        each = self.rows // PARTITIONS
        with self.connect() as db:
            found = db.execute(
                "SELECT topic, part, count(*), count(DISTINCT seq), min(seq), max(seq) FROM landed GROUP BY 1, 2 ORDER BY 2"
            ).fetchall()
            misplaced = db.execute(
                "SELECT part, min(seq) FROM (SELECT part, seq, row_number() OVER (PARTITION BY part ORDER BY arrived) AS n "
                "FROM landed) AS one WHERE seq <> n - 1 GROUP BY part"
            ).fetchall()
        wanted = [(self.topic, partition, each, each, 0, each - 1) for partition in range(PARTITIONS)]
        return [
            *(f"partition as (topic, number, rows, different, first, last): {one}" for one in set(wanted) ^ set(found)),
            *(f"partition {part}: not in order from {seq} on" for part, seq in misplaced),
        ]


class Out(Way):
    """PostgreSQL to Kafka; each commit is a transaction with the ledger in it."""

    name = "out"

    def prepare(self) -> str:
        with self.connect() as db:
            db.execute("CREATE TABLE numbers (seq bigint PRIMARY KEY, split int NOT NULL)")
            db.execute(
                f"INSERT INTO numbers SELECT i, i / {self.rows // SPLITS} FROM generate_series(0, {self.rows - 1}) AS i"
            )
            db.execute("ANALYZE")
        return f"""
            env {{ {ENV}, source.consistency = per-split }}
            source {{ Jdbc {{ {self.jdbc}, table_path = "{DATABASE}.public.numbers", partition_num = {SPLITS} }} }}
            sink {{ Kafka {{ bootstrap.servers = "{self.kafka.dsn}", topic = {self.topic}, semantics = EXACTLY_ONCE,
                             partition_key_fields = [split] }} }}"""

    def arrived(self) -> int:
        """By offsets, which count the marks of transactions too."""
        looking = Consumer({"bootstrap.servers": self.kafka.dsn, "group.id": "look", "log_level": 0})
        try:
            return looking.get_watermark_offsets(TopicPartition(self.topic, 0), CALL_SECONDS)[1]
        finally:
            looking.close()

    def wrong(self) -> list[str]:
        each = self.rows // SPLITS
        found = splits(records(self.kafka.dsn, self.topic))
        wanted = {split: list(range(split * each, (split + 1) * each)) for split in range(SPLITS)}
        return [
            f"split {split}: {len(numbers)} rows, {len(set(numbers))} different, "
            f"{'in order' if numbers == sorted(numbers) else 'not in order'}; wanted {each}"
            for split in sorted(wanted | found)
            if (numbers := found.get(split, [])) != wanted.get(split)
        ]


class Life:
    """The job: its process, and those that came before."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.lives = 0
        self.process: Process | None = None

    def begin(self) -> Process:
        self.lives += 1
        if self.lives > LIVES_MAX:
            raise AssertionError(f"the job did not come through in {LIVES_MAX} lives")
        more = ["--restore", "latest"] if self.lives > 1 else []
        self.process = start(self.home, "run", "job.conf", "--job-id", "million", *more)
        return self.process

    def goes_on(self) -> bool:
        """Whether it is at work, in a new life where the last one failed; False when it is done."""
        process = self.process or self.begin()
        if process.poll() is None:
            return True
        _, err = process.communicate()
        if process.returncode:
            said = [line for line in err.splitlines() if line.startswith(("error:", "Fatal"))]
            print(f"    the driver ended with {process.returncode} {' '.join(said)}", flush=True)
            self.begin()
        return process.returncode != 0

    @property
    def driver(self) -> int:
        assert self.process is not None
        return self.process.pid

    def until(self, what: str, condition: Callable[[], T]) -> T | None:
        """The first true value; None where the job is done before."""
        deadline = time.monotonic() + STEP_SECONDS_MAX
        while self.goes_on():
            if value := condition():
                return value
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {STEP_SECONDS_MAX:.0f} s in vain for {what}")
            time.sleep(LOOK_SECONDS)
        return None

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            kill_tree(self.process)


def strike(victim: str, way: Way, driver: int) -> bool:
    """Kill it; False where it is not there now."""
    match victim:
        case "postgres" | "broker":
            server: PrivateServer = way.postgres if victim == "postgres" else way.kafka
            server.kill9()
            server.start()
            return True
        case "driver":
            found = [driver]
        case "jvm":
            found = jvms_below(driver)
        case _:
            found = python_workers(driver)
    with suppress(ProcessLookupError):  # it ended while we looked
        for pid in found[:1]:
            kill9(pid)
            return True
    return False


def come_through(way: Way, home: Path, victims: Sequence[str]) -> list[str]:
    """Run the job through the kills; what is wrong in the end."""
    write_job(home, way.prepare())
    life, began = Life(home), time.monotonic()
    try:
        for number, victim in enumerate(victims, 1):
            rows = way.rows * number // (len(victims) + 1)
            seen = life.until(f"{rows} rows", partial(reached, way, rows))
            if seen is None or life.until(victim, lambda: strike(victim, way, life.driver)) is None:  # noqa: B023 - at once
                return [f"the job was done before kill {number}: too few rows for {len(victims)}"]
            print(f"  {time.monotonic() - began:6.1f} s, {seen:9,} rows: {victim} killed", flush=True)
        life.until("the end", lambda: False)
    finally:
        life.end()
    print(f"  {time.monotonic() - began:6.1f} s: done, in {life.lives} lives", flush=True)
    return way.wrong()


def reached(way: Way, rows: int) -> int:
    """How many rows there are, once there are so many; else 0."""
    try:
        seen = way.arrived()
    except (psycopg.OperationalError, KafkaException):
        return 0
    return seen if seen >= rows else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.kafka_million", description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--ways", default="in,out")
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args(arguments)
    exact = True
    for kind in (In, Out):
        if kind.name not in wanted.ways.split(","):
            continue
        victims = [*VICTIMS * EACH]
        random.Random(wanted.seed).shuffle(victims)
        print(f"{kind.name}: {kind.__doc__}", flush=True)
        with ExitStack() as stack:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kafka-million-")))
            kafka, postgres = stack.enter_context(KafkaServer.running()), stack.enter_context(PostgresServer.running())
            wrong = come_through(kind(kafka, postgres, wanted.rows), home, victims)
        for line in wrong:
            print(f"  {line}")
        exact &= not wrong
        verdict = "NOT REACHED" if wrong else "MET"
        print(
            f"{verdict:11}  issue 5, bar 8: {kind.name}, {wanted.rows:,} rows, {len(victims)} kills: exact", flush=True
        )
    return 0 if exact else 1


if __name__ == "__main__":
    sys.exit(main())
