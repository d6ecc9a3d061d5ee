"""Defines the Kafka source: tables from options, a split per partition, group offsets committed for monitoring.

Rules. (1) A bounded split ends at the log's end when the splits were found, or before a moment that the job file names.
(2) The start of a fresh start is looked up once and stored in the split. (3) A partition that appears later is read
from its beginning, because none of it was read yet. (4) A topic that was deleted, or created again, is an error: it has
no position to resume from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import cast

from seatunnel_connectors.kafka.client import consumer_group, topics
from seatunnel_connectors.kafka.client.client import Cluster
from seatunnel_connectors.kafka.client.consumer import AHEAD_KILOBYTES
from seatunnel_connectors.kafka.client.topics import Topic
from seatunnel_connectors.kafka.schemas.protobuf_schema import MessageSchema
from seatunnel_connectors.kafka.source.formats import check_columns, default_columns
from seatunnel_connectors.kafka.source.options import StartMode, TopicFormat, TopicOptions
from seatunnel_connectors.kafka.source.reader import KafkaReader, PartitionSplit, place_of
from seatunnel_connectors.kafka.source.records import Spot
from seatunnel_py.api import (
    Column,
    Dataset,
    DataType,
    Enumerator,
    FatalError,
    Kind,
    Plain,
    Position,
    Reader,
    Source,
    SourceTable,
    Split,
    TablePath,
    TableSchema,
)
from seatunnel_py.formats.schema_option import table_schema

AHEAD_KILOBYTES_MIN = 1024


@dataclass(frozen=True, slots=True)
class KafkaTable:
    """One table of the source: its options and its identity."""

    options: TopicOptions
    path: TablePath
    message: MessageSchema | None = None


@dataclass(frozen=True)
class KafkaSource(Source):
    """Reads tables from topics of one cluster."""

    cluster: Cluster
    entries: tuple[KafkaTable, ...]
    bounded: bool
    commits: bool = True
    interval: float | None = None
    reset: StartMode | None = None

    def tables(self) -> Sequence[SourceTable]:
        return [
            SourceTable(self._schema(entry), notes=entry.options.surplus_fields.notes(entry.options.format))
            for entry in self.entries
        ]

    def _schema(self, entry: KafkaTable) -> TableSchema:
        columns = None if entry.options.has_schema else default_columns(entry.options, entry.message)
        declared = None if entry.options.format is TopicFormat.NATIVE else entry.options.declared
        found = replace(table_schema(declared, columns=columns), path=entry.path)
        check_columns(entry.options, found, entry.message)
        headers = [Column(name, DataType(Kind.STRING)) for name in entry.options.kafka_headers_fields]
        taken = next((column.name for column in headers if column.name in found.names), None)
        if taken is not None:
            raise ValueError(f"kafka_headers_fields: {taken} is a column of the schema already")
        return found.with_columns((*found.columns, *headers))

    def datasets(self, table: SourceTable) -> Sequence[Dataset]:
        options = next(entry.options for entry in self.entries if entry.path == table.schema.path)
        return () if options.pattern else [self.cluster.dataset(topic) for topic in options.topics]

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        wanted = {table.schema.path for table in tables}
        return KafkaEnumerator(self, [entry for entry in self.entries if entry.path in wanted], state)

    def reader(self, table: SourceTable) -> Reader:
        entry = next(entry for entry in self.entries if entry.path == table.schema.path)
        consumer_group = entry.options.consumer_group
        return KafkaReader(self.cluster, entry.options, table.schema, consumer_group, self.reset, entry.message)


class KafkaEnumerator(Enumerator):
    """Finds the partitions of some tables' topics. The state holds topic, partition and topic's id of each split
    found."""

    def __init__(self, source: KafkaSource, entries: Sequence[KafkaTable], state: Plain) -> None:
        self.source, self.entries = source, entries
        self.cluster = source.cluster
        self.interval = None if source.bounded else source.interval
        self.is_first = state is None
        self.known: dict[str, tuple[str, int, str]] = {}
        self.told: dict[Spot, int] = {}
        for name, where in cast("Mapping[str, tuple[str, int, str]]", state or {}).items():
            self.known[name] = (where[0], where[1], where[2])

    def snapshot(self) -> Plain:
        return {name: list(where) for name, where in self.known.items()}

    # ---------------------------------------------------------------- splits

    def discover(self) -> Iterable[Split]:
        found = [(entry, self._topics(entry)) for entry in self.entries]
        # Other tables of the source have their own enumerators: assume that they are as large as these.
        count = sum(len(topic.partitions) for _, known in found for topic in known)
        ahead = AHEAD_KILOBYTES * len(self.entries) // max(1, count * len(self.source.entries))
        ahead = max(AHEAD_KILOBYTES_MIN, ahead)
        splits: list[Split] = []
        # Update the known splits only when all were found: an error then finds the unreturned ones again.
        known = dict(self.known)
        for entry, there in found:
            splits += self._splits(entry, there, ahead, known)
        self.known, self.is_first = known, False
        return splits

    def _topics(self, entry: KafkaTable) -> list[Topic]:
        """Topics of the table now, verified to be the ones of before."""
        found = topics.find_topics(self.cluster, entry.options)
        if not found and self.is_first:
            raise FatalError(
                f"Kafka: no topic matches {entry.options.topic!r} (table {entry.path})",
                "correct the pattern, or make the topic first",
            )
        ids = {topic.name: topic.id for topic in found}
        for name, (topic, _, known) in self.known.items():
            if name.startswith(_prefix(entry)) and ids.get(topic, "") != known:
                raise topics.made_anew(topic) if topic in ids else FatalError(f"Kafka: topic {topic} was deleted")
        return found

    def _splits(
        self, entry: KafkaTable, found: Sequence[Topic], ahead: int, known: dict[str, tuple[str, int, str]]
    ) -> list[Split]:
        ids = {topic.name: topic.id for topic in found}
        spots = [(topic.name, partition) for topic in found for partition in topic.partitions]
        spots = [spot for spot in spots if _split_id(entry, spot) not in self.known]
        begin = self._starts(entry.options, spots) if self.is_first else topics.earliest(self.cluster, spots)
        end = self._ends(entry.options, spots) if self.source.bounded else {}
        splits = []
        for spot in spots:
            name, (topic, partition), stop = _split_id(entry, spot), spot, end.get(spot)
            known[name] = (topic, partition, ids[topic])
            if stop is not None and stop <= begin[spot]:
                continue  # nothing to be read
            part = PartitionSplit(topic, partition, ids[topic], begin[spot], stop, ahead)
            rows = None if stop is None else stop - begin[spot]
            splits.append(Split(name, entry.path, asdict(part), rows=rows))
        return splits

    def _starts(self, options: TopicOptions, spots: Sequence[Spot]) -> dict[Spot, int]:
        """Start offset of each partition on a fresh start."""
        first = topics.earliest(self.cluster, spots)
        match options.start_mode:
            case StartMode.EARLIEST:
                return first
            case StartMode.LATEST:
                return topics.latest(self.cluster, spots)
            case StartMode.TIMESTAMP:
                later = topics.since(self.cluster, spots, options.start_mode_timestamp or 0)
                return {**topics.latest(self.cluster, spots), **later}
            case StartMode.SPECIFIC_OFFSETS:
                return self._specific(options, spots, first)
            case StartMode.GROUP_OFFSETS:
                told = consumer_group.committed(self.cluster, options.consumer_group, spots)
                return {**self._without_offset(spots, first), **self._still_there(told, first)}

    def _ends(self, options: TopicOptions, spots: Sequence[Spot]) -> dict[Spot, int]:
        """End offset of each bounded split: the present end of the log, or the first record of a moment."""
        now = topics.latest(self.cluster, spots)
        if options.end_timestamp is None:
            return now
        return {**now, **topics.since(self.cluster, spots, options.end_timestamp)}

    def _without_offset(self, spots: Sequence[Spot], first: Mapping[Spot, int]) -> Mapping[Spot, int]:
        """Start offset of partitions for which the group has committed none."""
        return topics.latest(self.cluster, spots) if self.source.reset is StartMode.LATEST else first

    def _still_there(self, told: Mapping[Spot, int], first: Mapping[Spot, int]) -> dict[Spot, int]:
        for spot, offset in told.items():
            if offset < first[spot] and self.source.reset is None:
                raise topics.gone(spot, offset, first[spot])
        return {spot: offset for spot, offset in told.items() if offset >= first[spot]}

    def _specific(self, options: TopicOptions, spots: Sequence[Spot], first: Mapping[Spot, int]) -> dict[Spot, int]:
        given = {_spot(name): offset for name, offset in options.start_mode_offsets.items()}
        unknown = sorted(given.keys() - set(spots))
        if unknown:
            topic, partition = unknown[0]
            raise FatalError(
                f"Kafka: start_mode.offsets: topic {topic} has no partition {partition}, or is not read here",
                f"the partitions are {', '.join(f'{topic}-{partition}' for topic, partition in spots)}",
            )
        end = topics.latest(self.cluster, given)
        for spot, offset in given.items():
            if not first[spot] <= offset <= end[spot]:
                raise FatalError(
                    f"Kafka: start_mode.offsets: {spot[0]}-{spot[1]} holds offsets {first[spot]} to {end[spot]}, "
                    f"and not {offset}"
                )
        return {**first, **given}

    # ---------------------------------------------------------------- lag

    def on_checkpoint_complete(self, positions: Mapping[str, Position]) -> None:
        """Commit the groups' offsets, once for each new position."""
        if not self.source.commits:
            return
        for entry in self.entries:
            offsets = {
                self.known[name][:2]: place_of(position).offset
                for name, position in positions.items()
                if name.startswith(_prefix(entry)) and name in self.known
            }
            news = {spot: offset for spot, offset in offsets.items() if self.told.get(spot) != offset}
            consumer_group.commit(self.cluster, entry.options.consumer_group, news)
            self.told |= news


def _prefix(entry: KafkaTable) -> str:
    return f"{entry.path}/"


def _split_id(entry: KafkaTable, spot: Spot) -> str:
    return f"{_prefix(entry)}{spot[0]}-{spot[1]}"


def _spot(name: str) -> Spot:
    topic, _, partition = name.rpartition("-")
    return topic, int(partition)
