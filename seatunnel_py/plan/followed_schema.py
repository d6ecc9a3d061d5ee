"""Decides the schema that later steps see after a change of a followed table's schema. Pure.

Rules. (1) If every part of a change is applied, later steps see the schema of the source. (2) A column that is dropped
or renamed stays and takes nulls, unless the policy applies that; later rows have null in it. (3) Later steps do not see
an added column that is not applied. (4) A type that is not applied stays, if it holds each value of the new one; else
the table stops. (5) A column without nulls that gets them takes them under every policy. (6) The key stays: a change
by which rows lose a part of it stops the table. (7) Under TRY a change that cannot be applied counts as ignored.
(8) Under INBOX the table waits, unless the policy excludes all parts of the change; the decision of a person takes the
place of the policy's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from seatunnel_py.api.schema import Column, TableSchema, is_widened
from seatunnel_py.api.schema_policy import SchemaBehavior, SchemaEvent, SchemaPolicy
from seatunnel_py.api.source import SourceTable
from seatunnel_py.errors import FatalError
from seatunnel_py.work.schema_alteration import SchemaAlteration

COPY_AGAIN = "start the job again with --fresh, which copies the table as it is now"
DECIDE = "`seatunnel changes list JOB` shows it, `approve` and `reject` decide"


_ANY_TYPE = (SchemaBehavior.EVOLVE, SchemaBehavior.TRY, SchemaBehavior.INBOX)


def decided(one: SchemaAlteration, before: SourceTable, policy: SchemaPolicy, remedy: str = DECIDE) -> SchemaAlteration:
    """The alteration with the part of it that the policy applies, or with the reason why the table stops. ``before``:
    the table as the plan has it; ``remedy``: of a table that waits."""
    if one.stops is not None:
        return one
    if one.behavior is not None:
        policy = replace(policy, behavior=one.behavior)
        if one.behavior is SchemaBehavior.IGNORE:
            policy = replace(policy, include=frozenset())
    elif policy.behavior is SchemaBehavior.INBOX and waits(one, before, policy):
        statement = f" ({one.statement})" if one.statement else ""
        return replace(one, stops=(f"{one.path} has changed{statement}, and waits for a decision", remedy))
    if policy.stops:
        statement = f" ({one.statement})" if one.statement else ""
        return replace(one, stops=(f"{one.path} has changed{statement}, which the job does not follow", COPY_AGAIN))
    if one.truncates:
        return replace(one, truncates=policy.applies(SchemaEvent.TRUNCATE_TABLE))
    try:
        output = followed(before, one, policy)
    except FatalError as error:
        if policy.behavior is SchemaBehavior.TRY:
            return decided(replace(one, behavior=SchemaBehavior.IGNORE), before, policy)
        statement = f" ({one.statement})" if one.statement else ""
        return replace(one, stops=(f"the schema of {one.path} has changed{statement}: {error.message}", error.remedy))
    after = one.table.schema
    same = (output.columns, output.primary_key) == (after.columns, after.primary_key)
    return replace(one, table=replace(one.table, projection=None if same else output))


def waits(one: SchemaAlteration, before: SourceTable, policy: SchemaPolicy) -> bool:
    """Whether a change waits for a decision under INBOX (rule 8)."""
    kinds = kinds_of(one, before.schema)
    return not kinds or any(map(policy.applies, kinds))


def followed(before: SourceTable, one: SchemaAlteration, policy: SchemaPolicy) -> TableSchema:
    """The schema that later steps see. Raises FatalError if the table has to stop."""
    read, after, given = before.schema, one.table.schema, before.output
    if before.projection is None and not policy.keeps_names and all(map(policy.applies, kinds_of(one, read))):
        return after
    names = one.renamed if policy.applies(SchemaEvent.RENAME_COLUMN) else {}
    columns = dict[str, Column]()
    for column in given.columns:
        earlier = read.column(column.name)
        source = after.column(column.name if earlier is None else one.renamed.get(column.name, column.name))
        if source is None and earlier is not None and policy.applies(SchemaEvent.DROP_COLUMN):
            continue
        name = names.get(column.name, column.name) if earlier is not None else column.name
        if name in columns or (after.column(name) is not None and (source is None or source.name != name)):
            raise FatalError(f"column {name!r} has another meaning now", COPY_AGAIN)
        has_values = source is not None and source.name == name
        kept = _typed(column, earlier, source, policy) if source and has_values else replace(column, nullable=True)
        columns[name] = replace(kept, name=name)
    for column in after.columns:
        is_new = column.name in one.renamed.values() or read.column(column.name) is None
        if column.name not in columns and is_new and _is_added(column, one, policy):
            lenient = policy.behavior is SchemaBehavior.LENIENT
            columns[column.name] = replace(column, nullable=True) if lenient else column
    return _with_key(given, tuple(columns.values()), names, after)


def _is_added(column: Column, one: SchemaAlteration, policy: SchemaPolicy) -> bool:
    if column.name in one.renamed.values():
        return policy.keeps_names
    return policy.applies(SchemaEvent.ADD_COLUMN)


def kinds_of(one: SchemaAlteration, read: TableSchema) -> frozenset[SchemaEvent]:
    """The kinds of changes between two schemas of the source."""
    after, found = one.table.schema, set[SchemaEvent]()
    if one.truncates:
        return frozenset({SchemaEvent.TRUNCATE_TABLE})
    names = {name: one.renamed.get(name, name) for name in read.names}
    if one.renamed:
        found.add(SchemaEvent.RENAME_COLUMN)
    if not set(names.values()) <= set(after.names):
        found.add(SchemaEvent.DROP_COLUMN)
    if not set(after.names) <= set(names.values()):
        found.add(SchemaEvent.ADD_COLUMN)
    for old, new in names.items():
        earlier, later = read.column(old), after.column(new)
        if earlier is not None and later is not None and _shape(earlier) != _shape(later):
            found.add(SchemaEvent.ALTER_COLUMN_TYPE)
    return frozenset(found)


def _shape(column: Column) -> object:
    return column.dtype, column.length, column.scale, column.native


def _typed(column: Column, earlier: Column | None, source: Column, policy: SchemaPolicy) -> Column:
    """The column that later steps have had, for values of ``source``. ``earlier``: the source's column before."""
    nullable = column.nullable or source.nullable
    if earlier is not None and _shape(earlier) == _shape(source):
        return replace(column, nullable=nullable)
    follows = policy.applies(SchemaEvent.ALTER_COLUMN_TYPE)
    if follows and (is_widened(column, source) or policy.behavior in _ANY_TYPE):
        return replace(source, nullable=nullable, comment=column.comment)
    if _shape(column) == _shape(source) or is_widened(source, column):
        return replace(column, nullable=nullable)
    raise FatalError(
        f"column {source.name!r} is {source.native or source.dtype}, and later steps keep "
        f"{column.native or column.dtype}, which does not hold each of its values",
        f"let targets follow changes of types (schema-changes.behavior = evolve); or {COPY_AGAIN}",
    )


def _with_key(
    given: TableSchema, columns: tuple[Column, ...], names: Mapping[str, str], after: TableSchema
) -> TableSchema:
    renamed = replace(
        given,
        primary_key=given.primary_key and replace(
            given.primary_key, columns=tuple(names.get(name, name) for name in given.primary_key.columns)
        ),
        constraints=tuple(
            replace(one, columns=tuple((names.get(name, name), order) for name, order in one.columns))
            for one in given.constraints
        ),
    )  # fmt: skip
    if lost := [name for name in renamed.key if after.column(name) is None]:
        raise FatalError(f"rows have no value any more in {lost[0]!r}, a column of the key", COPY_AGAIN)
    found = renamed.with_columns(columns)
    if renamed.key and found.key != renamed.key:
        raise FatalError("the key of the target would lose a column", COPY_AGAIN)
    return found
