"""A Kafka topic as a target, exactly once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from e2e.crash_sweep.judge import Glance, Row, Seen
from e2e.crash_sweep.place import Place
from tests.connectors.kafka.sink_support import records


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """Rows of a split have one key, so they lie in one partition, in their order."""

    recipe = "kafka"
    server = "kafka"
    ordered = True
    seen = Seen.PREFIX

    def prepare(self, place: Place) -> None:
        """The topic is made with its first record."""

    def text(self, place: Place) -> str:
        return f"""Kafka {{ plugin_input = {place.read}, topic = "{place.name}", bootstrap.servers = "{place.kafka.dsn}",
            semantics = EXACTLY_ONCE, partition_key_fields = [split] }}"""

    def rows(self, place: Place) -> Sequence[Row]:
        loaded = (json.loads(record.value) for record in records(place.kafka.dsn, place.name))
        return [(one["source"], one["split"], one["seq"]) for one in loaded]

    def glance(self, place: Place) -> Glance:
        return Glance.at(self.rows(place))

    def left_behind(self, place: Place) -> Sequence[str]:
        return [path.name for path in (place.home / ".seatunnel").rglob("*.arrow")]
