"""Encodes rows that are records already, as the source's format native reads them, or as sources of change data capture
give documents: each part has a column of its name.

``value`` must be there; ``key``, ``headers``, ``partition`` and ``timestamp`` may be missing, and null if a record has
none. Other columns (``offset``, ``timestampType``) describe the old record; the new one gets its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.kafka.source.formats import NATIVE
from seatunnel_py.api import DataType, Kind, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

PARTS: Mapping[str, DataType] = {
    column.name: column.dtype for column in NATIVE if column.name not in ("offset", "timestampType")
}
_DOCUMENTS = "compatible_debezium_json"
_REMEDY = "set format = COMPATIBLE_DEBEZIUM_JSON in the source whose changes these are, or debezium_json here"
_AS_BYTES = (Kind.BYTES, Kind.STRING)


def check(table: TableSchema, form: str) -> None:
    """Raise ValueError if the columns are not parts of a record."""
    if table.column("value") is None:
        parts = ", ".join(PARTS) if form != _DOCUMENTS else "topic, key and value"
        hint = f"; {_REMEDY}" if form == _DOCUMENTS else ""
        raise ValueError(
            f"the format {form} takes records apart as {parts}, and there is no column 'value'; "
            f"columns: {', '.join(table.names)}{hint}"
        )
    for name, wanted in PARTS.items():
        column = table.column(name)
        if column is None or column.dtype == wanted:
            continue
        if wanted.kind is not Kind.BYTES or column.dtype.kind not in _AS_BYTES:
            raise ValueError(f"the format {form}: column {name!r} is {column.dtype}, and has to be {wanted}")


def native_records(data: pa.RecordBatch) -> dict[str, Any]:
    """Parts of the records by name, as the sender takes them."""
    import pyarrow as pa

    found = {name: data.column(name) for name in PARTS if name in data.schema.names}
    return {name: one.cast(pa.binary()) if name in ("key", "value") else one for name, one in found.items()}
