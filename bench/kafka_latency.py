"""Kafka to PostgreSQL, streaming, by recipe A: how long a record takes until its row can be seen.

    python -m bench.kafka_latency [--seconds 60] [--warm-up 10] [--rate 5000]

Records of 200 bytes are produced at a steady rate to two partitions, each with the time at which it was sent. When its
row became visible is the server's own word: it keeps the time of every commit. Nobody looks at the table meanwhile.
Every record has to be there once, and in the order of its partition.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

from bench import ours, pairs, pg
from bench.kafka_to_pg import PARTITIONS, RECORD_BYTES, TOPIC, make_topic
from tests.servers.kafka import KafkaServer
from tests.servers.postgres import DATABASE, PostgresServer

TABLE = f"{pg.TARGET}.landed"
STEP_SECONDS = 0.01  # records are sent so often, some at a time
FLUSH_SECONDS = 60.0
ARRIVE_SECONDS_MAX = 120.0
BAR_SECONDS = 1.0
CREATE = f"""
    CREATE TABLE {TABLE} (part int, seq bigint, sent bigint, pad text, arrived bigint GENERATED ALWAYS AS IDENTITY)
"""
VISIBLE = f"""
    SELECT percentile_disc(ARRAY[0.5, 0.99, 1]) WITHIN GROUP (
        ORDER BY extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8 - sent / 1e6
    ) FROM {TABLE} WHERE sent >= %s
"""
MISPLACED = f"""
    SELECT count(*) FROM (
        SELECT seq, row_number() OVER (PARTITION BY part ORDER BY arrived) AS place FROM {TABLE}
    ) AS landed WHERE seq <> place
"""


def job(broker: KafkaServer, server: PostgresServer, env: str) -> str:
    return f"""env {{ job.mode = STREAMING, parallelism = {PARTITIONS}, guarantee = exactly-once {env} }}
source {{
  Kafka {{
    bootstrap.servers = "{broker.dsn}", topic = "{TOPIC}", start_mode = earliest
    schema {{ fields {{ part = int, seq = bigint, sent = bigint, pad = string }} }}
  }}
}}
sink {{
  Jdbc {{
{ours.connection(server)}
    generate_sink_sql = true, database = "{DATABASE}", table = "{TABLE}"
    is_exactly_once = true, exactly_once_recipe = direct
  }}
}}
"""


def produce(broker: KafkaServer, rate: int, seconds: float, first: int = 0) -> int:
    """Send at a steady rate, from the number ``first`` on: what is late is sent at once. Returns how many were sent."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.dsn, "enable.idempotence": True, "linger.ms": 1})
    began, sent, total = time.monotonic(), 0, int(rate * seconds)
    while sent < total:
        for number in range(first + sent, first + min(total, int((time.monotonic() - began) * rate))):
            part, seq = number % PARTITIONS, number // PARTITIONS + 1
            head = b'{"part":%d,"seq":%d,"sent":%d,"pad":"' % (part, seq, time.time_ns() // 1000)
            producer.produce(TOPIC, head + b"x" * (RECORD_BYTES - len(head) - 2) + b'"}', partition=part)
            sent = number - first + 1
        producer.poll(0)
        time.sleep(STEP_SECONDS)
    if producer.flush(FLUSH_SECONDS):
        raise AssertionError("the broker did not take all records")
    return total


def latencies(server: PostgresServer, rows: int, since: int) -> list[float]:
    """The median, 99 of 100 and the longest, of what was sent since. Rows that are missing or out of place are a
    failure."""
    with pg.connect(server) as db:
        if (there := pg.count(server, "landed")) != rows or db.execute(MISPLACED).fetchone() != (0,):
            raise AssertionError(f"{there} rows instead of {rows}, or not in order")
        found: Any = db.execute(VISIBLE, [since]).fetchone()
    return [float(one) for one in found[0]]


def arrived(server: PostgresServer, rows: int, stream: ours.Stream) -> None:
    stream.wait(f"{rows} rows", lambda: pg.count(server, "landed") >= rows, ARRIVE_SECONDS_MAX)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.kafka_latency", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm-up", type=float, default=10.0)
    parser.add_argument("--rate", type=int, default=5000)
    parser.add_argument("--job-env", default="", help="more for the job's env, to try settings")
    wanted = parser.parse_args(arguments)
    with pg.server(track_commit_timestamp="on") as server, KafkaServer.running() as broker, ours.home() as place:
        make_topic(broker)
        with pg.connect(server) as db:
            db.execute(CREATE)
        with ours.streaming(job(broker, server, wanted.job_env), place) as stream:
            first = produce(broker, wanted.rate, wanted.warm_up)
            arrived(server, first, stream)
            since = time.time_ns() // 1000
            rows = first + produce(broker, wanted.rate, wanted.seconds, first)
            arrived(server, rows, stream)
            stream.stop()
        median, most, longest = latencies(server, rows, since)
    print(
        f"{wanted.rate} records a second for {wanted.seconds:g} s: "
        f"p50 {median:.3f} s, p99 {most:.3f} s, longest {longest:.3f} s"
    )
    pairs.verdict("issue 5, bar 8: Kafka to PostgreSQL, direct, p99 in seconds", most, BAR_SECONDS, at_most=True)


if __name__ == "__main__":
    main()
