"""The topics that the jobs read, filled with what SeaTunnel's own tests put there: the same columns, rows of ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from e2e.kafka_support import producing
from seatunnel_connectors.kafka.schemas.protobuf_schema import loaded, message_schema
from tests.servers.kafka import KafkaServer

ROWS = 100
GROUP = "SeaTunnel-Consumer-Group"
READ_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Kafka:
    """A broker. Topics stay: each of them is filled once, whichever job wants it."""

    server: KafkaServer

    @property
    def host(self) -> str:
        return self.server.dsn

    def reset(self) -> None:
        """Nothing: jobs do not write to topics that others read."""

    def fill(self, topic: str, values: Sequence[bytes]) -> None:
        """A topic of one partition with these messages, unless it is there."""
        admin = AdminClient({"bootstrap.servers": self.host})
        if topic in admin.list_topics(timeout=READ_SECONDS).topics:
            return
        for made in admin.create_topics([NewTopic(topic, 1, 1)]).values():
            made.result()
        with producing(self.server) as producer:
            for value in values:
                producer.produce(topic, value, partition=0)

    def commit(self, topic: str, offset: int) -> None:
        """SeaTunnel's default group has read so far."""
        with closing(self._consumer(GROUP)) as consumer:
            consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)

    def values(self, topic: str) -> list[bytes]:
        """What a reader of committed records finds in a topic of one partition."""
        with closing(self._consumer("conformance")) as consumer:
            _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=READ_SECONDS)
            consumer.assign([TopicPartition(topic, 0, 0)])
            found = consumer.consume(end, timeout=READ_SECONDS) if end else []
        return [message.value() for message in found if not message.error()]

    def _consumer(self, group: str) -> Consumer:
        return Consumer({"bootstrap.servers": self.host, "group.id": group, "enable.auto.commit": False})


Prepare = Callable[[Any], None]


def topic(name: str, values: Iterable[bytes], read: int | None = None) -> Prepare:
    """Fills a topic; of ``read`` messages somebody has said that they were read."""

    def prepare(server: Any) -> None:
        if isinstance(server, Kafka):
            server.fill(name, list(values))
            if read is not None:
                server.commit(name, read)

    return prepare


def both(*prepares: Prepare) -> Prepare:
    """For a job of several servers: each of them takes what is meant for it."""

    def prepare(server: Any) -> None:
        for one in prepares:
            one(server)

    return prepare


def numbers(count: int) -> list[bytes]:
    """JSON with an id."""
    return [json.dumps({"id": number}).encode() for number in range(count)]


def texts() -> list[bytes]:
    """Rows of all types as text between commas; inside a field SeaTunnel's separators of the next levels."""
    return [
        ",".join(
            (
                str(n), f"key\x03{n}", str(n % 100), "string", "false", "1", "1", "1", "1", "1.1", "1.1", "1.1", "test",
                "2024-01-01", "2024-01-01 12:59:23",
            )
        ).encode()
        for n in range(ROWS)
    ]  # fmt: skip


def documents() -> list[bytes]:
    """The same rows as JSON."""
    return [
        json.dumps(
            {
                "id": n, "c_map": {"key": n}, "c_array": [n % 100], "c_string": "string", "c_boolean": False,
                "c_tinyint": 1, "c_smallint": 1, "c_int": 1, "c_bigint": 1, "c_float": 1.1, "c_double": 1.1,
                "c_decimal": 1.1, "c_bytes": "dGVzdA==", "c_date": "2024-01-01", "c_timestamp": "2024-01-01T12:59:23",
            }
        ).encode()
        for n in range(ROWS)
    ]  # fmt: skip


def changes() -> list[bytes]:
    """A change log as Oracle GoldenGate writes it: 3 rows come, one changes, one goes."""

    def row(number: int, weight: str) -> dict[str, Any]:
        return {"id": number, "name": f"name {number}", "description": None, "weight": weight}

    said: list[dict[str, Any]] = [{"op_type": "I", "after": row(number, "1.5")} for number in (1, 2, 3)]
    said.append({"op_type": "U", "before": row(2, "1.5"), "after": row(2, "2.5")})
    said.append({"op_type": "D", "before": row(3, "1.5")})
    about = {"table": "OGG.TBL_TEST", "op_ts": "2024-01-01 12:00:00.000000", "pos": "00000000000000000143"}
    return [json.dumps({**about, **one}).encode() for one in said]


def connected() -> list[bytes]:
    """Rows as Kafka Connect's JDBC source writes them, with their schema."""
    fields = [{"type": "int32", "optional": False, "field": "id"}]
    fields += [{"type": "string", "optional": True, "field": name} for name in ("name", "description", "weight")]
    schema = {"type": "struct", "fields": fields, "optional": False, "name": "products"}
    return [
        json.dumps(
            {"schema": schema, "payload": dict(zip(("id", "name", "description", "weight"), row, strict=True))}
        ).encode()
        for row in CHANGED
    ]


_PERSON = """
    syntax = "proto3";
    package org.apache.seatunnel.format.protobuf;
    message Person {
        int32 c_int32 = 1;
        int64 c_int64 = 2;
        float c_float = 3;
        double c_double = 4;
        bool c_bool = 5;
        string c_string = 6;
        bytes c_bytes = 7;
        message Address { string street = 1; string city = 2; string state = 3; string zip = 4; }
        Address address = 8;
        map<string, float> attributes = 9;
        repeated string phone_numbers = 10;
    }
"""


def people() -> list[bytes]:
    """Messages of SeaTunnel's own schema, as Protobuf's runtime writes them."""
    person = loaded(message_schema(_PERSON, "Person")).one
    return [
        person(
            c_int32=n, c_int64=n << 40, c_float=1.5, c_double=2.25, c_bool=n % 2 == 0, c_string=f"person {n}",
            c_bytes=bytes([n]), address={"street": "1 Main St", "city": "Springfield", "state": "IL", "zip": "62701"},
            attributes={"a": 1.5, "b": 2.5}, phone_numbers=["1", str(n)],
        ).SerializeToString()
        for n in range(ROWS)
    ]  # fmt: skip


CHANGED = [(1, "name 1", None, "1.5"), (2, "name 2", None, "2.5")]
