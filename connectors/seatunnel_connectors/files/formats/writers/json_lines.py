"""Writes the format json, one object per line with every field, and the change logs that contain such objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seatunnel_connectors.files.formats.writers.base import TextWriter, joined_rows
from seatunnel_py.api import BadRowsError
from seatunnel_py.formats.json.changes import enveloped
from seatunnel_py.formats.json.text import json_documents

if TYPE_CHECKING:
    import pyarrow as pa


class JsonWriter(TextWriter):
    """JSON documents."""

    def body(self, batch: pa.RecordBatch) -> bytes:
        import pyarrow.compute as pc

        end = self.options.row_delimiter
        documents = self.documents(batch)
        # JSON escapes line breaks; any other delimiter may occur in a document, and would end it for a reader.
        if end not in ("\n", "\r\n", "\r") and pc.any(pc.match_substring(documents, end)).as_py():
            raise BadRowsError(
                f"the document of a row holds the delimiter {end!r}, which would tear it",
                "choose another row_delimiter",
            )
        return joined_rows(documents, end)

    def documents(self, batch: pa.RecordBatch) -> Any:
        """JSON text of each row."""
        names = [column.name for column in self.columns]
        types = [column.dtype for column in self.columns]
        return json_documents(names, types, batch.columns[: len(names)], self.rules)


class ChangeWriter(JsonWriter):
    """Writes change logs: JSON documents with row kinds, which are the last written column."""

    def documents(self, batch: pa.RecordBatch) -> Any:
        return enveloped(self.options.file_format_type, super().documents(batch), batch.columns[-1])
