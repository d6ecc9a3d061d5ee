"""Implements the ``Spark`` source: a DataFrame with a split for each of its partitions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from seatunnel_py.api import Column, Enumerator, Plain, SourceTable, Split, TablePath, TableSchema
from seatunnel_py.spark.plugins.frames import PARTITION, PARTITIONS, FrameSource, active_session
from seatunnel_py.spark.query.session import wire_ddl
from seatunnel_py.spark.query.types import column_type, quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class SparkSource(FrameSource):
    """``given`` may hold a password, so it is not shown."""

    format: str
    given: tuple[tuple[str, str], ...] = field(repr=False)
    path: TablePath
    declared: TableSchema | None = None

    def tables(self) -> Sequence[SourceTable]:
        frame = self._load(active_session())._jdf
        # Read here, where Spark runs for every command: a plan is shown when Spark has ended.
        hints = {PARTITIONS: int(frame.rdd().getNumPartitions())}
        return (SourceTable(self.declared or TableSchema(self.path, _columns(frame.schema())), hints=hints),)

    def frame(self, session: SparkSession) -> DataFrame:
        return self._load(session)

    def _load(self, session: SparkSession) -> DataFrame:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        from seatunnel_py.spark.query.errors import first_sentence

        reader = session.read.format(self.format).options(**dict(self.given))
        if self.declared is not None:
            reader = reader.schema(wire_ddl(self.declared))
        try:
            loaded = reader.load()
            if self.declared is None:
                return loaded
            return loaded.select(*(quoted(name) for name in self.declared.names))
        except (PySparkException, Py4JJavaError) as error:
            raise ValueError(f"Spark cannot read the format {self.format}: {first_sentence(error)}") from None

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        (table,) = tables
        count: Any = table.hints[PARTITIONS]
        return _Partitions(table.schema.path, int(count))


class _Partitions(Enumerator):
    def __init__(self, path: TablePath, count: int) -> None:
        self._path = path
        self._count = count

    def discover(self) -> Iterable[Split]:
        payloads = [{PARTITION: number, PARTITIONS: self._count} for number in range(self._count)]
        return [Split(f"{self._path}#{payload[PARTITION]}", self._path, payload) for payload in payloads]


def _columns(schema: Any) -> tuple[Column, ...]:
    """The columns of a JVM schema."""
    columns = []
    for found in json.loads(schema.json())["fields"]:
        try:
            columns.append(Column(found["name"], column_type(found["type"]), nullable=found["nullable"]))
        except ValueError as error:
            raise ValueError(f"column {found['name']!r}: {error}") from None
    return tuple(columns)
