"""Declares the step that a source with ``format = COMPATIBLE_DEBEZIUM_JSON`` brings along."""

from __future__ import annotations

from typing import ClassVar

from seatunnel_connectors.debezium_json.documents import DebeziumDocuments
from seatunnel_connectors.debezium_json.settings import DebeziumJsonOptions
from seatunnel_connectors.debezium_json.source_block import SourceBlock, source_fields
from seatunnel_py.api import (
    Cardinality,
    StepContext,
    TablePath,
    TableSchema,
    TransformCapabilities,
    TransformFactory,
    TransformOptions,
)


class DebeziumDocumentsFactory(TransformFactory[DebeziumJsonOptions]):
    """Documents of changes."""

    name: ClassVar[str] = "DebeziumDocuments"
    summary: ClassVar[str] = "Turns changes into documents as Debezium writes them"
    options: ClassVar[type[TransformOptions]] = DebeziumJsonOptions

    def capabilities(self, options: DebeziumJsonOptions) -> TransformCapabilities:
        block = SourceBlock(options.database, source_fields(options.database, options.server, TablePath("", "", "")))
        return TransformCapabilities(
            cardinality=Cardinality.FILTER,  # both rows of an update are one document
            depends_on_change=True,
            metadata=block.metadata,
            before_images=True,
        )

    def create(self, options: DebeziumJsonOptions, table: TableSchema, context: StepContext) -> DebeziumDocuments:
        return DebeziumDocuments.made(table, options)
