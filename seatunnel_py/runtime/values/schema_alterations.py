"""Finds the changes of schemas in a record that its plan does not have yet. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.source import SourceTable
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.values.subtask_state import state_of
from seatunnel_py.work.plain_schema import table_plain
from seatunnel_py.work.schema_alteration import SchemaAlteration


def pending_in(
    record: CheckpointRecord, vertex: str, tables: Mapping[TablePath, SourceTable]
) -> tuple[SchemaAlteration, ...]:
    """The changes that the states of a log hold. ``tables``: those of the plan."""
    states = (state_of(one.state) for at, one in record.snapshots.items() if at.vertex == vertex)
    found = (SchemaAlteration.from_plain(one) for state in states for one in state.altered)
    return tuple(one for one in found if not is_planned(one, tables))


def is_planned(one: SchemaAlteration, tables: Mapping[TablePath, SourceTable]) -> bool:
    """Whether the plan reads the table under this schema; its projection is the plan's own."""
    if one.path not in tables:
        return False
    wanted, found = (replace(table, projection=None) for table in (one.table, tables[one.path]))
    return table_plain(wanted) == table_plain(found)
