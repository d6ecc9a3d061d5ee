"""Writer of json: one object per line, every field written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_connectors.files.formats.writing import TextWriter, joined_rows
from seatunnel_connectors.json_text import json_documents

if TYPE_CHECKING:
    import pyarrow as pa


class JsonWriter(TextWriter):
    """JSON documents."""

    def body(self, batch: pa.RecordBatch) -> bytes:
        names = [column.name for column in self.columns]
        types = [column.dtype for column in self.columns]
        documents = json_documents(names, types, batch.columns, self.rules)
        return joined_rows(documents, self.options.row_delimiter)
