"""The ``Spark`` source: a DataFrame, a split for each of its partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from seatunnel_py.api import Column, Enumerator, Plain, SourceTable, Split, TablePath, TableSchema
from seatunnel_py.spark.frames import PARTITION, PARTITIONS, FrameSource, active_session
from seatunnel_py.spark.generic import fields_of
from seatunnel_py.spark.sql_session import wire_ddl
from seatunnel_py.spark.sql_types import column_type, quoted

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
        if self.declared is not None:
            return (SourceTable(self.declared),)
        schema = self._load(active_session())._jdf.schema()
        columns = []
        for found in fields_of(schema):
            try:
                columns.append(Column(found["name"], column_type(found["type"]), nullable=found["nullable"]))
            except ValueError as error:
                raise ValueError(f"column {found['name']!r}: {error}") from None
        return (SourceTable(TableSchema(self.path, tuple(columns))),)

    def frame(self, session: SparkSession) -> DataFrame:
        return self._load(session)

    def _load(self, session: SparkSession) -> DataFrame:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        from seatunnel_py.spark.sql_errors import first_sentence

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
        return _Partitions(self, tables[0].schema.path)


class _Partitions(Enumerator):
    def __init__(self, source: SparkSource, path: TablePath) -> None:
        self._source = source
        self._path = path

    def discover(self) -> Iterable[Split]:
        count = int(self._source.frame(active_session())._jdf.rdd().getNumPartitions())
        payloads = [{PARTITION: number, PARTITIONS: count} for number in range(count)]
        return [Split(f"{self._path}#{payload[PARTITION]}", self._path, payload) for payload in payloads]
