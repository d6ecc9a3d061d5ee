"""Options of sources that can give documents instead of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import model_validator

from seatunnel_connectors.debezium_json.settings import Database, DebeziumJsonOptions, RowFormat, options_of
from seatunnel_py.api import Options, OutputTransform, option

SETTINGS_DOC = (
    "with format = COMPATIBLE_DEBEZIUM_JSON these shape the documents: "
    "key.converter.schemas.enable, value.converter.schemas.enable, database.server.name (or topic.prefix), "
    "decimal.handling.mode, time.precision.mode, binary.handling.mode, unavailable.value.placeholder"
)


class DocumentOptions(Options):
    """The form in which a source gives changes."""

    server: ClassVar[tuple[Database, str]]
    """Kind of the source's server, and its logical name without a setting."""

    format: RowFormat = option(
        RowFormat.DEFAULT,
        doc="DEFAULT: rows; COMPATIBLE_DEBEZIUM_JSON: documents as Debezium writes them, in columns topic, key and "
        "value, for the format of that name of the sink Kafka",
    )
    declared: dict[str, Any] | None = option(
        None, key="schema", doc="accepted with COMPATIBLE_DEBEZIUM_JSON, whose columns are topic, key and value"
    )
    if TYPE_CHECKING:
        debezium: dict[str, str]  # sources declare it themselves: its check needs options that stand before it

    @property
    def documents(self) -> DebeziumJsonOptions | None:
        """The form of documents; None: the source gives rows."""
        if self.format is RowFormat.DEFAULT:
            return None
        return options_of(*self.server, self.debezium)

    def output_transform(self) -> OutputTransform | None:
        """The step that makes documents; None: the source gives rows."""
        documents = self.documents
        if documents is None:
            return None
        from seatunnel_connectors.debezium_json.factory import DebeziumDocumentsFactory

        return DebeziumDocumentsFactory(), documents

    @model_validator(mode="after")
    def _fits_the_format(self) -> DocumentOptions:
        if self.documents is None and self.declared is not None:
            raise ValueError("schema: the columns are those of the tables; leave it out")
        return self
