"""Lists what a job file asks to read, one request per table or query, before any database is contacted."""

from __future__ import annotations

from dataclasses import dataclass, field

from seatunnel_connectors.jdbc.options import JdbcSourceOptions, TableOptions
from seatunnel_connectors.jdbc.source.condition import condition_of
from seatunnel_py.api import TablePath


@dataclass(frozen=True, slots=True)
class Partition:
    """How the user wants a table divided; absent values are chosen automatically. ``limits``: rows below ``lower`` and
    above ``upper`` are not read; else the two are only points to divide at."""

    column: str | None = None
    number: int | None = None
    lower: str | None = None
    upper: str | None = None
    limits: bool = False


@dataclass(frozen=True, slots=True)
class TableRequest:
    """One table or query to read. ``label`` names its option, for messages. ``where`` is a condition without the
    word."""

    label: str
    path: str | None
    query: str | None
    where: str = ""
    pattern: bool = False
    count: bool = False
    partition: Partition = field(default_factory=Partition)


def requests_of(options: JdbcSourceOptions) -> list[TableRequest]:
    """All requests of the options, in their order."""
    if options.table_list:
        return [_listed(entry, at, options) for at, entry in enumerate(options.table_list)]
    return [
        TableRequest(
            label="query" if options.query else "table_path",
            path=options.table_path,
            query=_statement(options.query),
            where=_condition(options.where_condition),
            pattern=options.use_regex and not options.query,
            count=options.use_select_count,
            partition=Partition(
                options.partition_column,
                options.partition_num,
                options.partition_lower_bound,
                options.partition_upper_bound,
                # SeaTunnel divides a query by its bounds and reads nothing outside of them; a table it divides by
                # itself.
                limits=bool(options.query and options.partition_column) and _has_bounds(options),
            ),
        )
    ]


def reads_query(options: JdbcSourceOptions, path: TablePath) -> bool:
    """Whether the rows of this table are those of a query. A query without a name makes all tables uncertain."""
    queries = [one for one in requests_of(options) if one.query]
    return any(one.path is None or TablePath.parse(one.path).table == path.table for one in queries)


def _has_bounds(options: JdbcSourceOptions) -> bool:
    return options.partition_lower_bound is not None or options.partition_upper_bound is not None


def _listed(entry: TableOptions, at: int, options: JdbcSourceOptions) -> TableRequest:
    return TableRequest(
        label=f"table_list[{at}]",
        path=entry.table_path,
        query=_statement(entry.query),
        where=_condition(entry.where_condition or options.where_condition),
        pattern=(entry.use_regex or options.use_regex) and not entry.query,
        count=entry.use_select_count or options.use_select_count,
        partition=Partition(
            entry.partition_column or options.partition_column,
            entry.partition_num or options.partition_num,
            entry.partition_lower_bound,
            entry.partition_upper_bound,
        ),
    )


def _statement(query: str | None) -> str | None:
    """The statement without its final semicolon, which would end the enclosing statement."""
    return query.strip().rstrip(";").rstrip() if query else None


def _condition(where: str | None) -> str:
    return "" if where is None else condition_of(where)
