"""PostgreSQL to Kafka, at least once and exactly once, against a bare loop of the client over ready-made records.

    python -m bench.pg_to_kafka [--pairs 7] [--rows 500000]

Both sinks write JSON of all columns. "bare" sends values of the same size that lie ready in memory, from one process,
idempotent and confirmed by all replicas: the fastest that anybody could be who uses this client.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from bench import ours, pairs, pg
from tests.servers.kafka import KafkaServer
from tests.servers.postgres import DATABASE, PostgresServer

FLUSH_SECONDS = 120.0
QUEUE = 200_000
_numbers = count(1)


def fresh_topic() -> str:
    return f"big-{next(_numbers)}"


def bare(broker: KafkaServer, values: Sequence[bytes]) -> float:
    from confluent_kafka import Producer

    settings = {"enable.idempotence": True, "linger.ms": 5, "batch.size": 1_000_000}
    producer = Producer({"bootstrap.servers": broker.dsn, "queue.buffering.max.messages": QUEUE, **settings})
    topic = fresh_topic()
    started = time.perf_counter()
    for value in values:
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(FLUSH_SECONDS):
        raise AssertionError("the broker did not take all records")
    return time.perf_counter() - started


def job(server: PostgresServer, broker: KafkaServer, topic: str, semantics: str) -> str:
    return f"""env {{ job.mode = "BATCH", parallelism = 2 }}
source {{
  Jdbc {{
{ours.connection(server)}
    table_path = "{DATABASE}.{pg.SOURCE}.{pg.BIG_TABLE}"
  }}
}}
sink {{
  Kafka {{
    bootstrap.servers = "{broker.dsn}"
    topic = "{topic}"
    semantics = {semantics}
  }}
}}
"""


def whole(server: PostgresServer, broker: KafkaServer, semantics: str, rows: int, place: Path) -> float:
    result = ours.run(job(server, broker, fresh_topic(), semantics), place)
    if result.rows_written != rows:
        raise AssertionError(f"{result.rows_written} rows were written instead of {rows}")
    return result.data_seconds


def values_of(server: PostgresServer) -> list[bytes]:
    """The records that the job makes, made before anybody looks at a clock."""
    with pg.connect(server) as connection:
        cursor = connection.execute(f"SELECT * FROM {pg.SOURCE}.{pg.BIG_TABLE}".encode())
        names = [column.name for column in cursor.description or ()]
        separators = (",", ":")
        return [
            json.dumps(dict(zip(names, row, strict=True)), default=str, separators=separators).encode()
            for row in cursor
        ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pg_to_kafka", description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--rows", type=int, default=500_000)
    options = parser.parse_args(arguments)
    rows = options.rows
    with pg.server() as server, KafkaServer.running() as broker, ours.home() as place:
        pg.make_big_table(server, rows)
        values = values_of(server)
        ways = {
            "bare": lambda: bare(broker, values),
            "at least once": lambda: whole(server, broker, "AT_LEAST_ONCE", rows, place),
            "exactly once": lambda: whole(server, broker, "EXACTLY_ONCE", rows, place),
        }
        seconds = pairs.interleave(ways, options.pairs)
    pairs.report("PostgreSQL to Kafka", seconds, base="bare", rows=rows)


if __name__ == "__main__":
    main()
