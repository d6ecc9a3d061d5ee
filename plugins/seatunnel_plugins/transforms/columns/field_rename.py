"""FieldRename: renames all columns by rules, or single ones by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seatunnel_plugins.transforms.shared.batches import distinct, renamed, reshaped
from seatunnel_plugins.transforms.shared.column_lineages import moved
from seatunnel_plugins.transforms.tables.naming import NamingOptions, new_name
from seatunnel_py.api import (
    Batch,
    ColumnLineage,
    Options,
    Rejected,
    StepContext,
    TableSchema,
    Transform,
    TransformCapabilities,
    TransformFactory,
    option,
)


class Specific(Options):
    field_name: str = option(doc="current name of the field")
    target_name: str = option(min_length=1, doc="new name of the field; the rules do not apply to it")


class FieldRenameOptions(NamingOptions):
    specific: tuple[Specific, ...] = option((), doc="single fields with their new names")


@dataclass(frozen=True, slots=True)
class FieldRename(Transform):
    result: TableSchema
    sources: tuple[tuple[str, str], ...]

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return moved(self.result, dict(self.sources))

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        yield reshaped(batch, self.result, dict(self.sources))


class FieldRenameFactory(TransformFactory[FieldRenameOptions]):
    name = "FieldRename"
    summary = "Renames columns: case, prefix, suffix, replacements, single names"
    options = FieldRenameOptions

    def capabilities(self, options: FieldRenameOptions) -> TransformCapabilities:
        return TransformCapabilities(keeps_keys=True)

    def create(self, options: FieldRenameOptions, table: TableSchema, context: StepContext) -> FieldRename:
        # A missing name is not an error: one step may rename the fields of many tables.
        given = {one.field_name: one.target_name for one in reversed(options.specific)}
        names = {name: given.get(name) or new_name(name, options) for name in table.names}
        if not all(names.values()):
            raise ValueError(f"a field of table {table.path} would have no name left")
        distinct(list(names.values()), f"table {table.path}")
        return FieldRename(renamed(table, names), tuple((new, old) for old, new in names.items()))
