"""Compares the options of a sink with its target: decisions that need no connection."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from seatunnel_connectors.jdbc.options import FieldCase, JdbcSinkOptions
from seatunnel_connectors.save_modes import DataSaveMode, SchemaSaveMode
from seatunnel_py.api import (
    ANY_DIGITS,
    TEMPORAL,
    Column,
    DataType,
    FatalError,
    Kind,
    NameRules,
    Outcome,
    Present,
    TablePath,
    TableSchema,
    Treatment,
    TypeCompatibility,
    stored_as,
)


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """An existing or created column. ``fills``: the database fills it if it is omitted; ``digits``: digits of a
    second's fraction that it keeps; ``inexact``: it may take different texts for equal."""

    name: str
    dtype: DataType | None
    shown: str
    nullable: bool = True
    fills: bool = False
    length: int = 0
    generated: bool = False
    digits: int = ANY_DIGITS
    inexact: bool = False


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """Effects of the save modes on one table."""

    create: bool = False
    drop: bool = False
    truncate: bool = False
    custom: bool = False


def target_name(column: str, case: FieldCase) -> str:
    match case:
        case FieldCase.UPPERCASE:
            return column.upper()
        case FieldCase.LOWERCASE:
            return column.lower()
        case _:
            return column


def target_path(options: JdbcSinkOptions, table: TableSchema, *, schema_first: bool = False) -> TablePath:
    """The configured name of the target, with schema, prefix and suffix. Raises ValueError with the fault of the option
    ``table``; without it the source table's name is used, as one name."""
    text = (options.table or "").strip()
    try:
        path = TablePath.parse(text, schema_first=schema_first) if text else TablePath("", "", table.path.table)
    except ValueError as error:
        raise ValueError(f"table: {error}") from None
    schema = (options.target_schema or "").strip() or path.schema
    return replace(path, schema=schema, table=f"{options.table_prefix}{path.table}{options.table_suffix}")


def check_names(rules: NameRules, *names: str) -> None:
    """ValueError where the target cannot have one of the names; it would be cut, or be another one."""
    for problem in filter(None, map(rules.problem, names)):
        raise ValueError(f"table: {problem}; give the target another name")


def column_problems(rules: NameRules, names: Iterable[str], case: FieldCase) -> list[str]:
    """Why the column names are not valid in one table of the target; empty if they are."""
    names = tuple(names)
    why = "" if case is FieldCase.ORIGINAL else f" (field_ide = {case.value})"
    return [
        *(f"column: {problem}" for problem in map(rules.problem, names) if problem),
        *(f"the columns {one!r} and {other!r} have the same name there{why}" for one, other in rules.collisions(names)),
    ]


NO_COLUMNS = (
    "the source names no columns, so no table can be made (files: none is there yet, and no schema declares them)"
)


def estimated_rows(table: TableSchema) -> int | None:
    """The source's estimate of the table's rows, if any."""
    text = table.options.get("estimated_rows", "")
    return int(text) if text.isdigit() else None


def decide(options: JdbcSinkOptions, shown: str, *, exists: bool, has_rows: bool, first: bool = True) -> TargetPlan:
    """Apply the two save modes to an existing target. Raises FatalError if they forbid it. If this run has already
    prepared the target (not ``first``), it is not emptied a second time."""
    if not first:
        return TargetPlan(create=not exists)
    schema_mode, data_mode = options.schema_save_mode, options.data_save_mode
    if not exists and schema_mode in (SchemaSaveMode.ERROR_WHEN_SCHEMA_NOT_EXIST, SchemaSaveMode.IGNORE):
        raise FatalError(
            f"the sink table {shown} does not exist, and schema_save_mode is {schema_mode.value}",
            "create the table, or set schema_save_mode = CREATE_SCHEMA_WHEN_NOT_EXIST",
        )
    drop = exists and schema_mode is SchemaSaveMode.RECREATE_SCHEMA
    if data_mode is DataSaveMode.ERROR_WHEN_DATA_EXISTS and has_rows and not drop:
        raise FatalError(
            f"the sink table {shown} holds rows, and data_save_mode is ERROR_WHEN_DATA_EXISTS",
            "empty the table, or set data_save_mode = DROP_DATA or APPEND_DATA",
        )
    return TargetPlan(
        create=drop or not exists,
        drop=drop,
        truncate=exists and not drop and data_mode is DataSaveMode.DROP_DATA and has_rows,
        custom=data_mode is DataSaveMode.CUSTOM_PROCESSING and bool(options.custom_sql),
    )


def no_table(shown: str, kind: str) -> FatalError:
    """For a target's name at which something else stands: what is promised of rows holds for tables only."""
    return FatalError(
        f"the sink table {shown} is {kind}, and rows are written to tables only",
        "set table to the name of a table; `query` runs a statement of your own for each row, also into a view",
    )


COUNTED_MAX = 100_000
"""Rows of a target that are counted; beyond that its statistics answer."""


def counting(relation: str) -> str:
    """A query that counts a target's rows, up to one more than are counted."""
    return f"SELECT count(*) FROM (SELECT 1 AS one FROM {relation} LIMIT {COUNTED_MAX + 1}) AS counted"


def present_of(
    options: JdbcSinkOptions,
    chosen: TargetPlan,
    *,
    exists: bool,
    counted: int,
    estimate: int,
    by_key: bool,
    guarded: bool,
) -> Present:
    """Existing rows of the target and their treatment. ``estimate``: by its statistics; ``guarded``: it refuses rows
    that it already has."""
    if not exists:
        return Present(Treatment.NEW)
    count, bound = counted, ""
    if counted > COUNTED_MAX:
        count, bound = (estimate, "about") if estimate > COUNTED_MAX else (COUNTED_MAX, "more than")
    if chosen.drop or options.data_save_mode is DataSaveMode.DROP_DATA:
        return Present(Treatment.REPLACED, count, bound)
    if chosen.custom:
        return Present(Treatment.CUSTOM, count, bound)
    if by_key:
        return Present(Treatment.UPDATED, count, bound)
    said = guarded or "data_save_mode" in options.model_fields_set
    why = "there is no key to update them by" if options.enable_upsert else "enable_upsert is false"
    return Present(Treatment.APPENDED, count, bound, doubles="" if said else why, ways="" if said else WAYS)


WAYS = (
    "data_save_mode = DROP_DATA replaces them, APPEND_DATA adds to them, primary_keys names columns to update them by; "
    "seatunnel copy: --replace, --append"
)


def guards(target: Mapping[str, TargetColumn], keys: Iterable[Sequence[str]], names: Iterable[str]) -> bool:
    """Whether a unique key of the target keeps rows from coming twice, whatever is in them."""
    written = set(names)
    return any(written.issuperset(key) and not any(target[name].nullable for name in key) for key in keys)


NATIVE_OF = "native_dialect"
"""Key of ``TableSchema.options`` for the database whose type names the columns have in ``native``."""

_SHOWN_AS_TEXT = (
    r"uuid|jsonb?|xml|inet|cidr|macaddr8?|interval[a-z ]*(\(\d\))?|bit( varying)?\(\d+\)|bit varying|ts(vector|query)"
    r"|point|line|lseg|box|path|polygon|circle|(int[48]|num|ts|tstz|date)(multi)?range|jsonpath|pg_lsn"
    r"|time(\(\d\))? with time zone"
)
_WITH_MODIFIER = (
    r"character( varying)?\(\d+\)|numeric(\(\d+,-?\d+\))?|time\(\d\) without time zone"
    r"|timestamp\(\d\) with(out)? time zone"
)
KEPT_BY_POSTGRES = re.compile(rf"({_SHOWN_AS_TEXT}|{_WITH_MODIFIER})(\[\])?|character varying\[\]")
"""Names that a copy between two PostgreSQL servers keeps."""

TYPE_WORDS = re.compile(r"[A-Za-z_][\w ]*(\(\s*\d+(\s*,\s*\d+)?\s*\))?[A-Za-z_ ]*(\[\])?")
"""Pattern of a column type that a user may give (DefineSinkType)."""


def in_own_words(table: TableSchema, dialect: str) -> TableSchema:
    """The table without type names of another database; what a person gave (DefineSinkType) stays."""
    if table.options.get(NATIVE_OF, dialect) == dialect:
        return table
    columns = tuple(
        replace(column, native="") if KEPT_BY_POSTGRES.fullmatch(column.native) else column for column in table.columns
    )
    return replace(table, columns=columns)


def words_given(column: Column) -> str:
    """The target's type name for creating the column; empty if the user gave none."""
    return column.native if column.native and TYPE_WORDS.fullmatch(column.native) else ""


def misfits(table: TableSchema, target: dict[str, TargetColumn], names: dict[str, str]) -> list[str]:
    """Why the upstream rows do not fit the target's columns, one line for each column.

    ``names`` maps upstream column names to target names.
    """
    problems = []
    for column in table.columns:
        wanted = names[column.name]
        there = target.get(wanted)
        if there is None:
            near = next((name for name in target if name.lower() == wanted.lower()), None)
            hint = f", but {near!r}; set field_ide or rename it" if near else ""
            problems.append(f"column {wanted!r} ({column.dtype}) is missing in the target{hint}")
        elif there.generated:
            problems.append(f"column {wanted!r} is generated by the target itself and cannot be written")
        elif why := narrower(column, there):
            problems.append(f"column {wanted!r} is {there.shown} in the target, {why}")
    written = set(names.values())
    for there in target.values():
        if there.name not in written and not there.nullable and not there.fills and not there.generated:
            problems.append(
                f"column {there.name!r} of the target ({there.shown}) takes no nulls and has no default, "
                "and the upstream has no such column"
            )
    return problems


def narrower(column: Column, there: TargetColumn) -> str:
    """Why values of the column cannot all be stored, or an empty text: the target is refused before a row is written.
    Texts of unknown length are tried."""
    compatibility = compatibility_of(column, there)
    if compatibility.outcome is not Outcome.REFUSED:
        return ""
    return compatibility.note if not compatibility.note.startswith("cannot") else f"which {compatibility.note}"


def compatibility_of(column: Column, there: TargetColumn) -> TypeCompatibility:
    """How the column's values are stored there. A type that only the database knows decides by itself."""
    if there.dtype is None or (column.native and column.native == there.shown):
        return TypeCompatibility(Outcome.EXACT)
    if column.dtype.kind is Kind.STRING and there.dtype.kind is Kind.STRING and 0 < there.length < column.length:
        return TypeCompatibility(Outcome.REFUSED, f"shorter than the source's {column.length} characters")
    if column.dtype.kind is Kind.STRING and there.dtype.kind is Kind.STRING and there.digits != ANY_DIGITS:
        return TypeCompatibility(Outcome.REFUSED, f"which keeps only {there.digits} digits of a second")
    known = column.scale is not None and column.dtype.kind in TEMPORAL and column.scale <= there.digits
    return stored_as(column.dtype, there.dtype, ANY_DIGITS if known else there.digits)


def places_of(shown: str, columns: Sequence[str], table: TableSchema) -> list[int]:
    """Indexes in this table's rows of the columns of the target's set-up. A resumed run does not set it up
    again: reordered columns are mapped, new ones are ignored, and a missing one raises FatalError."""
    there = {column.name: at for at, column in enumerate(table.columns)}
    for name in columns:
        if name not in there:
            raise FatalError(
                f"{shown} was set up for a column {name!r}, which rows of {table.path} do not have any more",
                "restore it, in the source or with a transform, and resume with --restore latest; or start again with "
                "--fresh",
            )
    return [there[name] for name in columns]
