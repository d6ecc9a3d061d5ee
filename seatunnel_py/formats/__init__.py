"""PUBLIC: formats for connectors. Plugins import only the names listed here, not the modules below.

Offers the option ``schema`` with the table that it declares, and a codec for values of one row each. Importing this
package does not load pyarrow.
"""

from __future__ import annotations

from seatunnel_py.formats.messages.codec import MessageCodec, MessageFormat
from seatunnel_py.formats.schema_option import (
    DEFAULT_PATH,
    DeclaredSchema,
    SchemaOptions,
    TypeOption,
    check_columns,
    check_unique,
    table_path,
    table_schema,
)

__all__ = [
    "DEFAULT_PATH",
    "DeclaredSchema",
    "MessageCodec",
    "MessageFormat",
    "SchemaOptions",
    "TypeOption",
    "check_columns",
    "check_unique",
    "table_path",
    "table_schema",
]
