"""Schemas of documents, as Kafka Connect writes them beside the content."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from seatunnel_connectors.debezium_json.fields import ConnectSchema, Form
from seatunnel_py.api import TableSchema

_TRANSACTION = {
    "type": "struct",
    "fields": [
        {"type": "string", "optional": False, "field": "id"},
        {"type": "int64", "optional": False, "field": "total_order"},
        {"type": "int64", "optional": False, "field": "data_collection_order"},
    ],
    "optional": True,
    "field": "transaction",
}


def key_schema(topic: str, table: TableSchema, forms: Sequence[Form]) -> ConnectSchema:
    """The schema of a key."""
    return _row_schema(f"{topic}.Key", table, forms, table.key)


def envelope_schema(topic: str, table: TableSchema, forms: Sequence[Form], source: ConnectSchema) -> ConnectSchema:
    """The schema of a value. ``source``: that of its block ``source``."""
    row = {**_row_schema(f"{topic}.Value", table, forms, table.names), "optional": True}
    fields = [
        {**row, "field": "before"},
        {**row, "field": "after"},
        source,
        {"type": "string", "optional": False, "field": "op"},
        {"type": "int64", "optional": True, "field": "ts_ms"},
        _TRANSACTION,
    ]
    return {"type": "struct", "fields": fields, "optional": False, "name": f"{topic}.Envelope"}


def beginning(schema: ConnectSchema) -> str:
    """The text before the content of a document with this schema; a brace follows the content."""
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f'{{"schema":{text},"payload":'


def _row_schema(name: str, table: TableSchema, forms: Sequence[Form], names: Collection[str]) -> dict[str, Any]:
    fields = [
        {**form.schema, "optional": column.nullable, "field": column.name}
        for column, form in zip(table.columns, forms, strict=True)
        if column.name in names
    ]
    return {"type": "struct", "fields": fields, "optional": False, "name": name}
