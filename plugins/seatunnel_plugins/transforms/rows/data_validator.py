"""DataValidator: rows that break a rule fail the job, are skipped, or go to a table of errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from seatunnel_plugins.transforms.rows.validation_rules import RuleOptions, ValidationRule, bound_rule
from seatunnel_plugins.transforms.shared.batches import column, kept
from seatunnel_plugins.transforms.shared.column_lineages import computed
from seatunnel_plugins.transforms.shared.texts import json_data
from seatunnel_py.api import (
    BadRowsError,
    Batch,
    Cardinality,
    Column,
    ColumnLineage,
    DataType,
    Determinism,
    Kind,
    Rejected,
    StepContext,
    TablePath,
    TableSchema,
    Transform,
    TransformCapabilities,
    TransformFactory,
    TransformOptions,
    exactly_one,
    option,
    required_when,
    shown_rows,
)
from seatunnel_py.formats.json.values import json_text

if TYPE_CHECKING:
    import pyarrow as pa

TEXT = DataType(Kind.STRING)
ERROR_COLUMNS = (
    Column("source_table_id", TEXT, nullable=False, comment="Source table identifier"),
    Column("source_table_path", TEXT, nullable=False, comment="Source table path"),
    Column("original_data", TEXT, nullable=False, comment="The row as a JSON object"),
    Column("validation_errors", TEXT, nullable=False, comment="JSON array of field_name and error_message"),
    Column("create_time", DataType(Kind.TIMESTAMP), nullable=False, comment="When the row was found wrong"),
)
SHOWN_CHARACTERS_MAX = 500  # of a row in an error message


class OnError(StrEnum):
    FAIL = "FAIL"
    SKIP = "SKIP"
    ROUTE_TO_TABLE = "ROUTE_TO_TABLE"


class FieldRules(RuleOptions):
    field_name: str = option(doc="field to check")
    nested: tuple[RuleOptions, ...] | None = option(None, key="rules", min_length=1, doc="rules for the field")

    rules = (*RuleOptions.rules, exactly_one("rule_type", "nested"))


class DataValidatorOptions(TransformOptions):
    row_error_handle_way: OnError | None = option(
        None,
        fallback=("error_handle_way",),
        doc="action for a row that breaks a rule: FAIL the job, SKIP the row, or ROUTE_TO_TABLE (write it to "
        "error_table); default: ROUTE_TO_TABLE if error_table is given, else FAIL",
    )
    error_table: str | None = option(
        None,
        # In HOCON this key replaces the value beside it, so that value may be missing.
        fallback=("row_error_handle_way.error_table",),
        min_length=1,
        doc="table for rows that break a rule; a bare name means a table of the same database",
    )
    field_rules: tuple[FieldRules, ...] = option(min_length=1, doc="fields and their rules")

    rules = (required_when("error_table", other="row_error_handle_way", equals=(OnError.ROUTE_TO_TABLE,)),)

    @property
    def way(self) -> OnError:
        return self.row_error_handle_way or (OnError.ROUTE_TO_TABLE if self.error_table else OnError.FAIL)


@dataclass(frozen=True, slots=True)
class DataValidator(Transform):
    table: TableSchema
    checks: tuple[ValidationRule, ...]
    on_error: OnError
    errors: TableSchema | None

    def output(self) -> TableSchema:
        return self.table

    def side_outputs(self) -> Sequence[TableSchema]:
        return (self.errors,) if self.errors is not None else ()

    def column_lineage(self) -> ColumnLineage:
        return computed(self.table, rows=[one.column.name for one in self.checks])

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        import pyarrow.compute as pc

        masks = [check.broken(batch.data.column(check.column.name)) for check in self.checks]
        bad = masks[0]
        for mask in masks[1:]:
            bad = pc.or_(bad, mask)
        if not bad.true_count:
            yield batch
            return
        if self.on_error is OnError.FAIL:
            raise self._failure(batch, masks, bad)
        good = kept(batch, pc.invert(bad))
        if good.rows:
            yield good
        if self.errors is not None:
            yield self._routed(kept(batch, bad), [mask.filter(bad) for mask in masks])

    def _reasons(self, batch: Batch, masks: list[pa.BooleanArray], at: int) -> list[dict[str, str]]:
        return [
            {"field_name": check.column.name, "error_message": check.message(_value(batch, check.column.name, at))}
            for check, mask in zip(self.checks, masks, strict=True)
            if mask[at].as_py()
        ]

    def _json(self, row: dict[str, Any]) -> str:
        data = {one.name: json_data(row[one.name], one.dtype) for one in self.table.columns}
        return json_text(data)

    def _failure(self, batch: Batch, masks: list[pa.BooleanArray], bad: pa.BooleanArray) -> BadRowsError:
        at = bad.index(True).as_py()
        (row,) = shown_rows(batch.data.slice(at, 1))
        reasons = "; ".join(reason["error_message"] for reason in self._reasons(batch, masks, at))
        shown = self._json(row)[:SHOWN_CHARACTERS_MAX]
        return BadRowsError(
            f"DataValidator: table {batch.table}: {bad.true_count} of {batch.rows} rows break a rule; "
            f"the first: {reasons}; row {shown}",
            "correct the data, or set row_error_handle_way to SKIP or ROUTE_TO_TABLE",
            at,
        )

    def _routed(self, batch: Batch, masks: list[pa.BooleanArray]) -> Batch:
        import pyarrow as pa

        assert self.errors is not None
        rows = shown_rows(batch.data)
        source = self.table.path.full_name
        found = [json_text(self._reasons(batch, masks, at)) for at in range(batch.rows)]
        now = datetime.now(UTC).astimezone().replace(tzinfo=None)
        columns = [[source] * len(rows), [source] * len(rows), [self._json(row) for row in rows], found]
        arrays = [
            *(pa.array(values, pa.string()) for values in columns),
            pa.array([now] * len(rows), pa.timestamp("us")),
        ]
        data = pa.RecordBatch.from_arrays(arrays, schema=self.errors.arrow())
        return replace(batch, table=self.errors.path, data=data, kinds=None, absent=None, metadata={})


def _value(batch: Batch, name: str, at: int) -> pa.Array:
    return batch.data.column(name).slice(at, 1)


class DataValidatorFactory(TransformFactory[DataValidatorOptions]):
    name = "DataValidator"
    summary = "Checks fields; rows that break a rule fail the job, are skipped or go to a table of errors"
    options = DataValidatorOptions

    def capabilities(self, options: DataValidatorOptions) -> TransformCapabilities:
        routes = options.way is OnError.ROUTE_TO_TABLE
        return TransformCapabilities(
            # The error table's create_time differs at each read.
            Determinism.INDETERMINATE if routes else Determinism.DETERMINATE,
            Cardinality.ONE_TO_ONE if options.way is OnError.FAIL else Cardinality.FILTER,
            keeps_keys=True,
        )

    def create(self, options: DataValidatorOptions, table: TableSchema, context: StepContext) -> DataValidator:
        checks: list[ValidationRule] = []
        for given in options.field_rules:
            checked = column(table, given.field_name, "field_rules")
            for one in given.nested or (given,):
                if one.rule_type is None:
                    raise ValueError(f"field_rules: {given.field_name!r}: rule_type is missing")
                checks += bound_rule(one, checked)
        return DataValidator(table, tuple(checks), options.way, _errors(options, table))


def _errors(options: DataValidatorOptions, table: TableSchema) -> TableSchema | None:
    if options.way is not OnError.ROUTE_TO_TABLE or options.error_table is None:
        return None
    path = TablePath.parse(options.error_table)
    if not path.database and not path.schema:
        path = replace(path, database=table.path.database)
    if path == table.path:
        raise ValueError(f"error_table: {path} is the table that is checked")
    return TableSchema(path, ERROR_COLUMNS, comment="Error table for validation failures")
