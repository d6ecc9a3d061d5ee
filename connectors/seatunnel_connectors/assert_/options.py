"""Options of Assert: its rule language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import field_validator

from seatunnel_py.api import Options, SinkOptions, at_least_one, option, required_when
from seatunnel_py.formats.schema_option import ConstraintKind, SortType, TypeOption


class RowRuleType(StrEnum):
    MIN_ROW = "MIN_ROW"
    MAX_ROW = "MAX_ROW"


class ValueRuleType(StrEnum):
    NOT_NULL = "NOT_NULL"
    NULL = "NULL"
    MIN = "MIN"
    MAX = "MAX"
    MIN_LENGTH = "MIN_LENGTH"
    MAX_LENGTH = "MAX_LENGTH"


BOUNDED = (ValueRuleType.MIN, ValueRuleType.MAX, ValueRuleType.MIN_LENGTH, ValueRuleType.MAX_LENGTH)


class RowRule(Options):
    rule_type: RowRuleType = option(doc="whether rule_value is the smallest or the largest allowed number of rows")
    rule_value: float = option(ge=0, doc="allowed number of rows, inclusive")


class ValueRule(Options):
    rule_type: ValueRuleType | None = option(None, doc="rule for every value of the field")
    rule_value: float | None = option(None, doc="bound of the rule, inclusive")
    equals_to: Any = option(None, doc="required value of every row that is not null, written as in JSON; null: NULL")

    rules = (at_least_one("rule_type", "equals_to"), required_when("rule_value", other="rule_type", equals=BOUNDED))


class FieldRule(Options):
    field_name: str = option(doc="column of the table")
    field_type: TypeOption | None = option(None, doc="type of the column, as text or as an object of nested fields")
    field_value: tuple[ValueRule, ...] = option((), doc="rules for the column's values")

    @field_validator("field_value", mode="before")
    @classmethod
    def _null_is_a_value(cls, given: Any) -> Any:
        """Read ``equals_to = null`` as the rule NULL; elsewhere an explicit null counts as absent."""
        return [_null_rule(rule) for rule in given] if isinstance(given, Sequence) else given


def _null_rule(rule: Any) -> Any:
    if not isinstance(rule, Mapping) or "equals_to" not in rule or rule["equals_to"] is not None:
        return rule
    return {"rule_type": ValueRuleType.NULL.value} | {key: rule[key] for key in rule if key != "equals_to"}


class PrimaryKeyRule(Options):
    primary_key_name: str | None = option(None, doc="name of the primary key")
    primary_key_columns: tuple[str, ...] = option((), doc="columns of the primary key, in any order")


class ConstraintColumnRule(Options):
    constraint_key_column_name: str = option(doc="column of the constraint")
    constraint_key_sort_type: SortType = option(SortType.ASC, doc="sort order of the column")


class ConstraintRule(Options):
    constraint_key_name: str = option(doc="name of the constraint")
    constraint_key_type: ConstraintKind = option(doc="kind of the constraint")
    constraint_key_columns: tuple[ConstraintColumnRule, ...] = option((), doc="columns of the constraint")


class ColumnRule(Options):
    """Expected column. Options that are not given are not compared."""

    name: str = option(doc="name of the column")
    type: TypeOption = option(doc="type of the column")
    column_length: int | None = option(None, doc="length in characters or bytes")
    nullable: bool | None = option(None, doc="whether the column may hold null")
    default_value: Any = option(None, doc="default of the column")
    comment: str | None = option(None, doc="comment of the column")


class TableIdentifierRule(Options):
    catalog_name: str | None = option(None, doc="accepted; not compared, because tables belong to no catalog here")
    table: str = option(doc="path of the table")


class CatalogTableRule(Options):
    primary_key_rule: PrimaryKeyRule | None = option(None, doc="primary key of the table")
    constraint_key_rule: tuple[ConstraintRule, ...] | None = option(None, doc="all constraints, in any order")
    column_rule: tuple[ColumnRule, ...] | None = option(None, doc="all columns, in any order")
    table_identifier_rule: TableIdentifierRule | None = option(None, doc="path of the table")
    table_path: str | None = option(None, doc="path of the table, without a catalog")


class TableRules(Options):
    """Rules for one table."""

    row_rules: tuple[RowRule, ...] = option((), doc="rules for the number of rows, over all readers")
    field_rules: tuple[FieldRule, ...] = option((), doc="rules for types and values of fields")
    catalog_table_rule: CatalogTableRule | None = option(
        None, doc="rules for the table itself, checked before any row is read"
    )


class TableEntry(TableRules):
    table_path: str = option(doc="path of the table that these rules apply to")


class RuleSet(TableRules):
    table_names: tuple[str, ...] = option((), key="table-names", doc="paths of exactly the tables that must have rows")
    tables_configs: tuple[TableEntry, ...] = option((), doc="rules by table; a single entry applies to all rows")

    rules = (at_least_one("row_rules", "field_rules", "catalog_table_rule", "table_names", "tables_configs"),)

    def of(self, path: str) -> TableRules:
        """The rules for rows of that table."""
        if not self.tables_configs:
            return self
        if len(self.tables_configs) == 1:
            return self.tables_configs[0]
        return next((entry for entry in self.tables_configs if entry.table_path == path), TableRules())


class AssertOptions(SinkOptions):
    rule_set: RuleSet = option(key="rules", doc="rules to check; the first broken rule fails the job")
