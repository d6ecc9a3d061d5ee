"""Deciding, before anything is written, what becomes of the target and how rows get into it."""

from __future__ import annotations

from dataclasses import replace

from seatunnel_connectors.jdbc.dialect import SinkRequest
from seatunnel_connectors.jdbc.postgres.connection.session import quote
from seatunnel_connectors.jdbc.postgres.connection.types import created_type, native_of, target_column
from seatunnel_connectors.jdbc.postgres.ledger import ledger_tables
from seatunnel_connectors.jdbc.postgres.read import details
from seatunnel_connectors.jdbc.postgres.write import ddl
from seatunnel_connectors.jdbc.postgres.write.inspect_target import PLAIN, Target
from seatunnel_connectors.jdbc.postgres.write.load_plan import Load, LoadColumn, load_of
from seatunnel_connectors.jdbc.target import version_column
from seatunnel_connectors.jdbc.target.column_fit import checked_columns, conversions
from seatunnel_connectors.jdbc.target.details import divided
from seatunnel_connectors.jdbc.target.load_decision import (
    PREPARED,
    SHADOW,
    TABLE,
    Recipes,
    decide_load,
    present_in,
    recipe_of,
    refuse_misfit,
    visible_by,
)
from seatunnel_connectors.jdbc.target.sink_key import key_is_proved, key_of
from seatunnel_connectors.jdbc.target.target_plan import (
    NO_COLUMNS,
    TargetPlan,
    column_problems,
    estimated_rows,
    guards,
    misfits,
    target_name,
)
from seatunnel_py.api import (
    Detail,
    Effect,
    FatalError,
    JobMode,
    Setup,
    TableSchema,
)

RECIPES = Recipes(staged=True, prepared=True, shadow_pays=True)
UNIT_BYTES = 13  # of a unit's name after the name of its table
SMALL_ROWS = 50_000  # a table of so many is one unit, and its making a good part of the work


def plan(request: SinkRequest, target: Target) -> Setup:
    """The start effects and the way to load. FatalError names every problem of this table at once."""
    options, table = request.options, request.table
    shown = f"{target.schema}.{target.table}"
    decision = decide_load(request, target, place_of(request, target.schema, target.table), shown)
    chosen, key, names = decision.chosen, decision.key, decision.names
    problems = _problems(request, target, chosen, key, names)
    problems += version_column.problems(options, table, key, names, {} if chosen.create else target.columns)
    refuse_misfit(request, shown, problems)
    how = recipe_of(
        request, shown, RECIPES, lambda: _why_no_shadow(request, chosen, key, decision.books), books=decision.books
    )
    if how == PREPARED:
        _check_prepared(request, target, key, shown)
    columns = target.columns
    if chosen.create:
        columns = {names[one.name]: target_column(names[one.name], created_type(one)) for one in table.columns}
    token = decision.token
    into = target.table if how in (TABLE, PREPARED) else ddl.cut(target.table, f"__st_{token}", room_for=UNIT_BYTES)
    load = Load(
        how=how, schema=target.schema, table=target.table, into=into, token=token,
        key=tuple(names[column] for column in key), upsert=options.enable_upsert, books=decision.books,
        columns=_columns(table, names, target, chosen, key), checks=() if chosen.create else _checks(target, names),
        fresh=decision.fresh, at_end=decision.at_end,
        booked=target.has_books, versioned_by=version_column.versioned_by(options, names),
        plain=chosen.create or target.kind == PLAIN,
        triggered=not chosen.create and target.triggered,
        nulls_in_key=not chosen.create and any(target.columns[names[column]].nullable for column in key),
        checked=tuple((one.name, str(one.dtype), one.digits) for one in checked_columns(table, columns, names)),
    )  # fmt: skip
    carried, left = divided(
        options, table, lambda one: details.can_be_made(one, names), lambda *_: True, unique_keys=True
    )
    effects, load = _effects(request, target, chosen, load, names, key, carried)
    load = replace(load, at_end=load.at_end and how != PREPARED)
    visible = visible_by(how, at_end=load.at_end)
    changes = conversions(table, columns, names)
    there = present_in(request, decision, target, guarded=guards(target.columns, target.keys, names.values()))
    return Setup(tuple(effects), load.to_plain(), visible, load.books, changes, there, left if chosen.create else ())


def planned_again(request: SinkRequest, target: Target, setup: Setup) -> Setup:
    """The set-up of later units, once the target is altered for the schema of ``request``: the same recipe and ledger.
    FatalError names every problem of the target."""
    load, table, chosen = load_of(setup.data), request.table, TargetPlan()
    key = key_of(request.options, table)
    names = {column: target_name(column, request.options.field_ide) for column in table.names}
    refuse_misfit(request, load.shown, _problems(request, target, chosen, key, names))
    columns = target.columns
    load = replace(
        load, key=tuple(names[column] for column in key), columns=_columns(table, names, target, chosen, key),
        checks=_checks(target, names), versioned_by=version_column.versioned_by(request.options, names),
        triggered=target.triggered, nulls_in_key=any(columns[names[column]].nullable for column in key), make=(),
        checked=tuple((one.name, str(one.dtype), one.digits) for one in checked_columns(table, columns, names)),
    )  # fmt: skip
    return replace(setup, data=load.to_plain(), conversions=conversions(table, columns, names))


def place_of(request: SinkRequest, schema: str, table: str) -> tuple[object, ...]:
    """Data that sinks of the same table share within a run."""
    return (request.address.identity, schema, table)


def _problems(
    request: SinkRequest, target: Target, chosen: TargetPlan, key: tuple[str, ...], names: dict[str, str]
) -> list[str]:
    problems = column_problems(ddl.NAMES, names.values(), request.options.field_ide)
    if chosen.create:
        if not target.may_create:
            problems.append(f"the user may not create tables in schema {target.schema!r}")
        if not names:
            problems.append(NO_COLUMNS)
        if chosen.drop and target.dependents:
            problems.append(f"it cannot be dropped: {', '.join(target.dependents)} depends on it")
        for column in request.table.columns:
            try:
                created_type(column)
            except (ValueError, KeyError):
                problems.append(f"column {column.name!r}: PostgreSQL has no type for {column.dtype}")
        return problems
    problems += misfits(request.table, target.columns, names)
    if key and request.options.enable_upsert:
        wanted = {names[column] for column in key}
        if not any(set(unique) == wanted for unique in target.keys):
            problems.append(
                f"it has no unique key on ({', '.join(names[column] for column in key)}), which inserting or updating "
                "by key needs; add one, set primary_keys to its key, or set enable_upsert = false"
            )
    return problems


def _made_with_rows(request: SinkRequest, chosen: TargetPlan, load: Load) -> bool:
    """True if the first unit creates the target: a small table then costs the server a third less
    (docs/architecture.md). User statements, and dropping or emptying a table, must precede all rows."""
    rows = estimated_rows(request.table)
    small = rows is not None and rows <= SMALL_ROWS
    return (
        load.how == TABLE
        and load.books
        and chosen == TargetPlan(create=True)
        and request.mode is JobMode.BATCH
        and small
    )


def _check_prepared(request: SinkRequest, target: Target, key: tuple[str, ...], shown: str) -> None:
    if not target.prepared_max:
        raise FatalError(
            f"the sink table {shown}: exactly_once_recipe = prepared, but the server's max_prepared_transactions is 0",
            "raise it and start the server again, or set exactly_once_recipe = staged",
        )
    if key and request.options.enable_upsert:
        raise FatalError(
            f"the sink table {shown}: a key that a prepared transaction has written is locked until its checkpoint, so "
            "rows cannot be merged by key",
            "set exactly_once_recipe = staged, or enable_upsert = false",
        )


def _why_no_shadow(request: SinkRequest, chosen: TargetPlan, key: tuple[str, ...], books: bool) -> str:
    """Why the table cannot be filled beside its place; empty: it can."""
    if request.mode is not JobMode.BATCH:
        return "only a job that ends has a moment at which one table can take another's place"
    if not chosen.create or chosen.custom or not books:
        return "the table is not made by this run (schema_save_mode = RECREATE_SCHEMA creates it again)"
    if not key_is_proved(key, request.table):  # a key is found broken only at the end
        return f"the source does not prove that rows differ in ({', '.join(key)})"
    return ""


def _checks(target: Target, names: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Constraints of the target on the rows; unknown if a trigger may change rows first."""
    if target.changes_rows:
        return ()
    columns = set(names.values())
    return tuple((one.name, one.expression) for one in target.checks if one.columns and columns.issuperset(one.columns))


def _columns(
    table: TableSchema, names: dict[str, str], target: Target, chosen: TargetPlan, key: tuple[str, ...]
) -> tuple[LoadColumn, ...]:
    made = []
    for column in table.columns:
        name = names[column.name]
        if chosen.create:
            full = created_type(column)
            native = native_of(full)
            required, collation = ddl.is_required(column, key), ""
        else:
            native, full = target.natives[name], target.shown[name]
            required = not target.columns[name].nullable and not target.changes_rows
            collation = target.collations.get(name, "")
        made.append(LoadColumn(column.name, name, native.name, native.element, full, required, collation))
    return tuple(made)


def _effects(
    request: SinkRequest, target: Target, chosen: TargetPlan, load: Load, names: dict[str, str], key: tuple[str, ...],
    carried: tuple[Detail, ...],
) -> tuple[list[Effect], Load]:  # fmt: skip
    """The effects to show, and the load with its statements for the set-up, for units, and for the end."""
    table, shown = request.table, f"{load.schema}.{load.table}"
    relation = quote(load.schema, load.table)
    effects: list[Effect] = []
    before: list[str] = []
    finish: list[str] = []
    make: list[str] = []
    if not target.schema_exists:
        before.append(ledger_tables.create_schema(load.schema))
        effects.append(Effect("create schema", load.schema, f"CREATE SCHEMA IF NOT EXISTS {quote(load.schema)}"))
    if load.books and not target.has_books:
        before.append(ledger_tables.create(load.schema).strip().rstrip(";"))
        effects.append(Effect("create ledger", f"{load.schema}.{ledger_tables.LEDGER}"))
    if chosen.drop:
        statement = f"DROP TABLE {relation}"
        effects.append(Effect("drop table", shown, statement, destructive=True))
        before.append(ddl.only_if(load.schema, load.table, f"c.oid = {target.oid}", statement))
    if chosen.create:
        wanted = request.options.table_options
        keyed = ddl.create_table(load.schema, load.table, table, names, key, keyed=True, wanted=wanted)
        index = request.options.create_index
        keyless = ddl.create_table(load.schema, load.table, table, names, (), keyed=True, wanted=wanted)
        effects.append(Effect("create table", shown, keyed if index else keyless))
        extra = details.statements(load.schema, load.into if load.how == SHADOW else load.table, carried, load.table)
        effects += [Effect("carry over", shown, "\n".join(extra))] if extra else []
        if load.how != SHADOW:
            made = [keyed if index else keyless]
            made += ddl.indexes(load.schema, load.table, table, names, key, load.table) if index else []
            made += [*ddl.comments(load.schema, load.table, table, names), *extra]
            if _made_with_rows(request, chosen, load):
                make.append(ddl.once(load.schema, load.table, made))
            else:
                before += made
        else:
            before.append(ddl.create_table(load.schema, load.into, table, names, key, keyed=False, wanted=wanted))
            finish += ddl.indexes(load.schema, load.into, table, names, key, load.table) if index else []
            finish += [*ddl.comments(load.schema, load.into, table, names), *extra]
    if chosen.truncate:
        statement = f"TRUNCATE TABLE {target.own_rows}"
        effects.append(Effect("truncate table", shown, statement, destructive=True))
        before.append(ddl.only_if(load.schema, load.table, f"pg_relation_filenode(c.oid) = {target.file}", statement))
    if chosen.custom:
        statement = (request.options.custom_sql or "").strip().rstrip(";")
        effects.append(Effect("custom sql", shown, statement, destructive=True))
        before.append(statement)
    return effects, replace(load, before=tuple(before), finish=tuple(finish), make=tuple(make))
