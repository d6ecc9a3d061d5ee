"""Reads the rows of a sink's target back, for comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.options import JdbcSourceOptions
from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.jdbc.source.source import JdbcSource
from seatunnel_connectors.jdbc.target.target_plan import target_name
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import FatalError, SourceTable, StoredRows, TableFailure, TablePath


def stored_rows(request: SinkRequest, address: Address, path: TablePath) -> StoredRows:
    """The target at this path. Raises FatalError if there is none, or if it cannot be read."""
    options = JdbcSourceOptions.model_validate(
        # A target may hold any small number in TINYINT(1), whatever the source calls it.
        {"url": request.options.url, "table_path": path.full_name, "int_type_narrowing": False,
         "enable_concurrent_read": False}
    )  # fmt: skip
    source = JdbcSource(address, options)
    for found in _described(source, path):
        if isinstance(found, SourceTable):
            case = request.options.field_ide
            return StoredRows(source, found, {name: target_name(name, case) for name in request.table.names})
        if isinstance(found, TableFailure):
            raise FatalError(f"the sink table {found.path} cannot be read: {found.message}", found.remedy)
    raise FatalError(f"the sink table {path} cannot be read", "grant SELECT on it")


def _described(source: JdbcSource, path: TablePath) -> Sequence[Found]:
    try:
        return source.tables()
    except FatalError as error:
        raise FatalError(
            f"the sink table {path} cannot be read: {error.message.splitlines()[-1].strip()}",
            "run the job first, or correct the sink's options",
        ) from error
