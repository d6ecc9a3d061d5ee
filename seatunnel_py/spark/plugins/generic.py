"""Implements ``Spark``: any format that Spark can read or write, as a source and as a sink.

The declared guarantee is the format's real one: Spark's own writers commit on their own, so a failure between their
commit and ours can write rows twice. Rows reach the target at the commit, not before.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from seatunnel_py.api import (
    Determinism,
    Guarantee,
    Naming,
    SinkCapabilities,
    SinkFactory,
    SinkOptions,
    SourceCapabilities,
    SourceFactory,
    SourceOptions,
    StepContext,
    TableSchema,
    option,
)
from seatunnel_py.formats.schema_option import DeclaredSchema, table_path, table_schema
from seatunnel_py.plan.sql.analysis import SparkFactory
from seatunnel_py.spark.plugins.option_places import require_places

if TYPE_CHECKING:
    from seatunnel_py.api import Sink, Source


class SaveMode(StrEnum):
    """Spark's save modes for existing rows."""

    APPEND = "append"
    OVERWRITE = "overwrite"
    IGNORE = "ignore"
    ERROR = "error"


class SparkSourceOptions(SourceOptions):
    """Options of the source."""

    format: str = option(min_length=1, doc="Spark's name of the format, such as parquet, avro, jdbc, delta")
    reader_options: dict[str, str] = option({}, key="options", doc="the format's own options, such as path")
    declared: DeclaredSchema | None = option(None, key="schema", doc="columns; absent: those of the format")


class SparkSinkOptions(SinkOptions):
    """Options of the sink."""

    format: str = option(min_length=1, doc="Spark's name of the format, such as parquet, avro, jdbc, delta")
    writer_options: dict[str, str] = option(
        {}, key="options", naming=Naming.DIRECTORY, doc="the format's own options, such as path"
    )
    save_mode: SaveMode = option(SaveMode.APPEND, doc="effect on existing rows")
    tmp_path: str = option("/tmp/seatunnel", doc="where rows wait for the commit; on a cluster a shared location")


class SparkSourceFactory(SourceFactory[SparkSourceOptions], SparkFactory):
    name = "Spark"
    summary = "Any format that Spark can read"
    options = SparkSourceOptions

    def capabilities(self, options: SparkSourceOptions, context: StepContext) -> SourceCapabilities:
        # The format decides how it divides and orders its rows.
        return SourceCapabilities(determinism=Determinism.UNORDERED)

    def create(self, options: SparkSourceOptions, context: StepContext) -> Source:
        from seatunnel_py.spark.plugins.generic_source import SparkSource

        require_places(options.reader_options)
        declared = options.declared
        table = table_schema(declared, options.plugin_output) if declared else None
        path = table_path(declared, options.plugin_output)
        return SparkSource(options.format, tuple(options.reader_options.items()), path, table)


class SparkSinkFactory(SinkFactory[SparkSinkOptions], SparkFactory):
    name = "Spark"
    summary = "Any format that Spark can write"
    options = SparkSinkOptions

    def capabilities(self, options: SparkSinkOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return SinkCapabilities(Guarantee.AT_LEAST_ONCE, "Spark's writers commit on their own")

    def create(self, options: SparkSinkOptions, table: TableSchema, context: StepContext) -> Sink:
        from seatunnel_py.spark.plugins.generic_sink import SparkSink

        require_places(options.writer_options)
        given = tuple(options.writer_options.items())
        chosen = "save_mode" in options.model_fields_set
        return SparkSink(options.format, given, options.save_mode.value, options.tmp_path, table, chosen)
