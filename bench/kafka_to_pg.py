"""Kafka to PostgreSQL, exactly-once, against a bare loop of the client that throws away what it gets.

    python -m bench.kafka_to_pg [--pairs 7] [--rows 3000000] [--limit]

Records of 200 bytes in two partitions, JSON of three fields each. "ours, text" takes the same records as lines of text,
one column, which leaves a parser nothing to do; "ours" makes columns of them. "bare" is the client's batch-consume
loop, in one process, that throws messages away unseen, with the settings of our source: of those that matter, a full
queue is not left alone for a second. "bytes taken" asks each message for its value as well. "as it comes" is the loop
with the client's own settings, so many messages at a time. "reader" is our source alone, in one process as well: what
it fetches is decoded to columns and thrown away. "limit" is the server alone, without Kafka: the same rows, ready in
COPY's own bytes, from two sessions into a table without a key.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from bench import ours, pairs, pg
from seatunnel_connectors.kafka.client.consumer import BACKOFF_MS
from tests.servers.kafka import KafkaServer
from tests.servers.postgres import DATABASE, PostgresServer

if TYPE_CHECKING:
    from confluent_kafka import Message

    Take = Callable[[Sequence[Message]], int]

BARE = "bare"
OURS = {"isolation.level": "read_committed", "fetch.queue.backoff.ms": BACKOFF_MS}
TOPIC = "records"
PARTITIONS = 2
RECORD_BYTES = 200
CONSUME = 500  # messages asked for at once: more is slower for the bare loop
AS_IT_COMES = (100, 500, 1000)  # messages at once, where nobody has looked for what suits the client best
FLUSH_SECONDS = 120.0
BAR = 0.5
COPY_BYTES = 1 << 20
SCHEMA = {"fields": {"id": "bigint", "name": "string", "pad": "string"}}
JSON, TEXT = "schema { fields { id = bigint, name = string, pad = string } }", "format = text"


def make_topic(broker: KafkaServer) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": broker.dsn})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()


def produce(broker: KafkaServer, rows: int) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.dsn, "linger.ms": 50, "queue.buffering.max.messages": rows + 1})
    for number in range(rows):
        head = b'{"id":%d,"name":"customer %d","pad":"' % (number, number)
        producer.produce(
            TOPIC, value=head + b"x" * (RECORD_BYTES - len(head) - 2) + b'"}', partition=number % PARTITIONS
        )
    if producer.flush(FLUSH_SECONDS):
        raise AssertionError("the broker did not take all records")


def loop(broker: KafkaServer, rows: int, take: Take, at_once: int = CONSUME, **settings: object) -> float:
    """The client's batch-consume loop in one process; ``take`` says how many of a batch were messages."""
    from confluent_kafka import Consumer, TopicPartition

    always = {"group.id": "bare", "enable.auto.commit": False, "auto.offset.reset": "error"}
    consumer = Consumer({"bootstrap.servers": broker.dsn, **always, **settings})
    started = time.perf_counter()
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])
    left = rows
    while left:
        left -= take(consumer.consume(min(at_once, left), 1.0))
    seconds = time.perf_counter() - started
    consumer.close()
    return seconds


def counted(messages: Sequence[Message]) -> int:
    return sum(message.error() is None for message in messages)


def taken(messages: Sequence[Message]) -> int:
    """Also takes each one's bytes, as whoever wants them does."""
    return len([message.value() for message in messages if message.error() is None])


def reader(broker: KafkaServer, rows: int) -> float:
    from seatunnel_connectors.kafka.factory import KafkaSourceFactory
    from seatunnel_py.api import Batch, StepContext
    from seatunnel_py.api.process.resources import close_all

    given = {"bootstrap.servers": broker.dsn, "topic": TOPIC, "start_mode": "earliest", "schema": SCHEMA}
    options = KafkaSourceFactory.options.model_validate(given)
    source = KafkaSourceFactory().create(options, StepContext("kafka"))  # type: ignore[arg-type]
    (table,) = source.tables()
    splits = list(source.enumerator([table], None).discover())
    started = time.perf_counter()
    made = source.reader(table)
    made.with_metadata = False  # as in the job: no step looks at it
    elements = (element for split in splits for element in made.read(split, None))
    found = sum(element.rows for element in elements if isinstance(element, Batch))
    seconds = time.perf_counter() - started
    close_all()
    if found != rows:
        raise AssertionError(f"the reader found {found} rows instead of {rows}")
    return seconds


def job(broker: KafkaServer, server: PostgresServer, form: str = JSON) -> str:
    return f"""env {{ job.mode = "BATCH", parallelism = {PARTITIONS}, guarantee = exactly-once }}
source {{
  Kafka {{
    bootstrap.servers = "{broker.dsn}"
    topic = "{TOPIC}"
    start_mode = earliest
    {form}
  }}
}}
sink {{
  Jdbc {{
{ours.connection(server)}
    generate_sink_sql = true
    database = "{DATABASE}"
    table = "{pg.TARGET}.{pg.BIG_TABLE}"
    schema_save_mode = "RECREATE_SCHEMA"
  }}
}}
"""


def whole(broker: KafkaServer, server: PostgresServer, rows: int, place: Path, form: str = JSON) -> float:
    pg.drop_targets(server)
    pg.checkpoint(server)
    result = ours.run(job(broker, server, form), place)
    pg.expect_copied(server, rows)
    return result.data_seconds


def limit(server: PostgresServer, rows: int, parts: Sequence[Path]) -> float:
    """What the server itself needs for these rows."""
    pg.drop_targets(server)
    with pg.connect(server) as db:
        db.execute(f"CREATE TABLE {pg.TARGET}.{pg.BIG_TABLE} (id bigint, name text, pad text)")
    pg.checkpoint(server)
    seconds = pairs.at_a_time(partial(copy_in, server.dsn), parts)
    pg.expect_copied(server, rows)
    return seconds


def copy_in(dsn: str, part: Path) -> None:
    sql = f"COPY {pg.TARGET}.{pg.BIG_TABLE} FROM STDIN (FORMAT binary)".encode()
    with psycopg.connect(dsn) as db, part.open("rb") as file, db.cursor().copy(sql) as copy:
        while block := file.read(COPY_BYTES):
            copy.write(block)


def written_out(server: PostgresServer, place: Path) -> list[Path]:
    """The rows of the target, a file for each partition."""
    paths = [place / f"part-{number}" for number in range(PARTITIONS)]
    for number, path in enumerate(paths):
        query = f"SELECT * FROM {pg.TARGET}.{pg.BIG_TABLE} WHERE id % {PARTITIONS} = {number}"
        sql = f"COPY ({query}) TO STDOUT (FORMAT binary)".encode()
        with pg.connect(server) as db, path.open("wb") as file, db.cursor().copy(sql) as copy:
            file.writelines(copy)
    return paths


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.kafka_to_pg", description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--limit", action="store_true", help="measure what the server alone needs")
    options = parser.parse_args(arguments)
    rows = options.rows
    with pg.server() as server, KafkaServer.running() as broker, ours.home() as place:
        make_topic(broker)
        produce(broker, rows)
        ways: dict[str, pairs.Way] = {
            BARE: partial(loop, broker, rows, counted, **OURS),
            "bare, bytes taken": partial(loop, broker, rows, taken, **OURS),
            **{f"as it comes, {size}": partial(loop, broker, rows, counted, size) for size in AS_IT_COMES},
            "reader": lambda: reader(broker, rows),
            "ours": lambda: whole(broker, server, rows, place),
            "ours, text": lambda: whole(broker, server, rows, place, TEXT),
        }
        if options.limit:
            whole(broker, server, rows, place)
            ways["limit"] = partial(limit, server, rows, written_out(server, place))
        seconds = pairs.interleave(ways, options.pairs)
    pairs.report("Kafka to PostgreSQL", seconds, base=BARE, rows=rows)
    for way in ("ours", "ours, text"):
        for base in (name for name in seconds if name.startswith((BARE, "as it comes"))):
            pairs.verdict_of_pairs(seconds, way, base, BAR, "issue 5, bar 8: rate")


if __name__ == "__main__":
    main()
