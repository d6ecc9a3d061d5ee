"""Facts about the tables of streams between steps. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from seatunnel_py.api.schema import TableSchema
from seatunnel_py.config.placeholders import UpstreamNames
from seatunnel_py.plan.graph_nodes import TableStream
from seatunnel_py.plan.steps import Step


def unproved(table: TableSchema) -> TableSchema:
    """Return the table with a key that is not guaranteed any more."""
    key = table.primary_key
    return replace(table, primary_key=replace(key, proved=False)) if key else table


def node_id(step: Step, table: TableSchema) -> str:
    """The name of the node of a step for a table."""
    return f"{step.id}[{table.path}]"


def differ(group: Iterable[TableStream]) -> bool:
    """Whether the tables of these streams have different columns."""
    shapes = {tuple((column.name, column.dtype) for column in stream.table.columns) for stream in group}
    return len(shapes) > 1


def names_of(table: TableSchema) -> UpstreamNames:
    """The names that placeholders stand for."""
    return UpstreamNames(
        database=table.path.database,
        schema=table.path.schema,
        table=table.path.table,
        primary_key=table.primary_key.columns if table.primary_key else (),
        unique_key=table.unique_key,
        field_names=table.names,
        partition_keys=table.partition_keys,
        comment=table.comment,
    )
