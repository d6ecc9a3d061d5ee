"""Sources on the private broker, and messages of every kind for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Producer

from seatunnel_connectors.kafka.factory import KafkaSourceFactory
from seatunnel_connectors.kafka.source.source import KafkaSource
from seatunnel_py.api import (
    Batch,
    Heartbeat,
    JobMode,
    Position,
    ReadContext,
    Rejected,
    RowKind,
    Skipped,
    Split,
    StepContext,
)
from tests.connectors.kafka.markers import settled
from tests.connectors.kafka.topics import CALL_SECONDS
from tests.servers.kafka import KafkaServer

ROW = {"fields": {"seq": "bigint", "name": "string"}}


def send(server: KafkaServer, topic: str, values: Sequence[bytes | None], partition: int = 0, **more: Any) -> None:
    """Messages of one partition, in order, with whatever ``produce`` takes besides."""
    producer = Producer({"bootstrap.servers": server.dsn, "enable.idempotence": True, "log_level": 0})
    refused: list[Any] = []
    for value in values:
        producer.produce(
            topic, value=value, partition=partition, on_delivery=lambda error, _: refused.append(error), **more
        )
    assert producer.flush(CALL_SECONDS) == 0 and not any(refused), refused


def transactional(server: KafkaServer, name: str) -> Producer:
    """A producer inside transactions."""
    producer = Producer({"bootstrap.servers": server.dsn, "transactional.id": name, "log_level": 0})
    producer.init_transactions(CALL_SECONDS)
    return producer


def in_transaction(
    server: KafkaServer, producer: Producer, topic: str, values: Sequence[bytes], *, commit: bool
) -> None:
    """One whole transaction in partition 0, whose end readers see when this returns."""
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value=value, partition=0)
    assert producer.flush(CALL_SECONDS) == 0
    if commit:
        producer.commit_transaction(CALL_SECONDS)
    else:
        producer.abort_transaction(CALL_SECONDS)
    assert settled(server.dsn, topic, CALL_SECONDS)


def source(server: KafkaServer, topic: str | None = None, *, streaming: bool = False, **options: Any) -> KafkaSource:
    """A source as a job file would describe it; keys with _ for the dots, where the key has dots."""
    given = {"bootstrap.servers": server.dsn, "start_mode": "earliest", "schema": ROW, **options}
    if topic is not None:
        given["topic"] = topic
    parsed = KafkaSourceFactory.options.model_validate(
        {name: value for name, value in given.items() if value is not None}
    )
    mode = JobMode.STREAMING if streaming else JobMode.BATCH
    made = KafkaSourceFactory().create(parsed, StepContext("kafka", mode=mode))
    assert isinstance(made, KafkaSource)
    return made


def splits_of(made: KafkaSource, state: Any = None) -> list[Split]:
    return list(made.enumerator(made.tables(), state).discover())


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader gave: rows with the short names of their kinds, the last position, what it could not decode, and
    the number of messages that it skipped."""

    rows: list[tuple[Any, ...]]
    kinds: list[str]
    end: Position | None
    batches: list[Batch]
    refused: list[tuple[bytes, str]]
    skipped: int


def read(made: KafkaSource, split: Split, start: Position | None = None, *, until: Position | None = None) -> Read:
    """A split to its end, or, of one without an end, to the first moment at which nothing follows."""
    table = next(table for table in made.tables() if table.schema.path == split.table)
    reader = made.reader(table)
    rows: list[tuple[Any, ...]] = []
    kinds: list[str] = []
    batches: list[Batch] = []
    refused: list[tuple[bytes, str]] = []
    end, silent, skipped = start, 0, 0
    elements = reader.read(split, start, ReadContext(until))
    for element in elements:
        assert isinstance(element, Batch | Heartbeat | Rejected | Skipped)
        if isinstance(element, Rejected):
            refused += zip(element.data.column("raw").to_pylist(), element.reasons, strict=True)
            continue
        if isinstance(element, Skipped):
            skipped += element.rows
            continue
        moved, end = element.end != end, element.end
        if isinstance(element, Batch):
            batches.append(element)
            rows += [tuple(row.values()) for row in element.data.to_pylist()]
            said = element.kinds.to_pylist() if element.kinds is not None else [0] * element.rows
            kinds += [RowKind(kind).short for kind in said]
        silent = 0 if moved else silent + 1
        if until is not None and element.end is not None and element.end.value == until.value:
            break
        if silent == 20 and split.payload["end"] is None:
            break
    elements.close()  # type: ignore[attr-defined]
    return Read(rows, kinds, end, batches, refused, skipped)


def all_rows(made: KafkaSource) -> list[tuple[Any, ...]]:
    """The rows of all splits, split by split."""
    return [row for split in splits_of(made) for row in read(made, split).rows]


def row(seq: int, name: str = "n") -> bytes:
    return b'{"seq": %d, "name": "%s"}' % (seq, name.encode())
