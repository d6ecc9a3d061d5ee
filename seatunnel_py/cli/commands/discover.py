"""Implements ``seatunnel discover``: lists the tables that a source finds, with columns, keys and sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from seatunnel_py.api import SourceTable, TableFailure, TableLeftOut, TablePath
from seatunnel_py.api.names import globbed
from seatunnel_py.api.text.java_regex import NamePattern, name_pattern
from seatunnel_py.cli.commands.probe_target import ProbeTarget, understood
from seatunnel_py.cli.view.numbers import size
from seatunnel_py.cli.view.problems import tell_plain
from seatunnel_py.cli.view.terminal import Styled, say, say_json
from seatunnel_py.errors import ExitCode, JobFileError, SeaTunnelError
from seatunnel_py.nouns import counted
from seatunnel_py.plan.plugins.plugin_calls import source_of
from seatunnel_py.plan.plugins.registry import PluginKind
from seatunnel_py.plan.steps import Job, Step

Described: TypeAlias = SourceTable | TableFailure


def discover(question: ProbeTarget, exclude: Sequence[str] = (), *, as_json: bool) -> int:
    """Ask every source for its tables and print them, except those in ``exclude``; reads no rows. Raises SeaTunnelError
    if a source cannot list its tables."""
    excluded = _excluded(exclude)
    try:
        job, steps = understood(question)
    except JobFileError as error:
        if not as_json:
            raise
        return tell_plain(error)
    found = [(step, *_without(excluded, *found_by(step, job))) for step in steps if step.kind is PluginKind.SOURCE]
    code = _exit_code([table for _, tables, _ in found for table in tables])
    if as_json:
        plain = [{"source": step.id, **_plain(table)} for step, tables, _ in found for table in tables]
        say_json(plain, default=str)
        return code
    for step, tables, left_out in found:
        say(f"{step.id} ({step.plugin}): {counted(len(tables), 'table')}")
        for table in tables:
            say(*_parts(table))
        for why, number in Counter(one.why for one in left_out).items():
            say(f"\n  skipped: {number} ({why})")
    return code


def _excluded(names: Sequence[str]) -> NamePattern | None:
    """Exclusion patterns, as in ``seatunnel copy``."""
    if not names:
        return None
    try:
        return name_pattern(globbed(names))
    except ValueError as error:
        raise SeaTunnelError(f"--exclude: {error}", "name a table, with * for anything") from None


def _without(
    excluded: NamePattern | None, tables: list[Described], left_out: tuple[TableLeftOut, ...]
) -> tuple[list[Described], tuple[TableLeftOut, ...]]:
    if excluded is None:
        return tables, left_out
    kept = [table for table in tables if not excluded.fullmatch(_bare(_path(table)))]
    more = (TableLeftOut(_path(table), "excluded") for table in tables if table not in kept)
    return kept, (*left_out, *more)


def _exit_code(found: list[Described]) -> int:
    """A run would isolate tables that cannot be described."""
    described = [isinstance(table, SourceTable) for table in found]
    if all(described):
        return ExitCode.SUCCESS
    return ExitCode.SOME_TABLES_FAILED if any(described) else ExitCode.FAILED


def found_by(step: Step, job: Job) -> tuple[list[Described], tuple[TableLeftOut, ...]]:
    """List the tables of one source by name, including those that it cannot describe, and the excluded ones."""
    _, tables, failures, left_out, _ = source_of(step, job)
    return sorted([*tables, *failures], key=_name), left_out


def _path(table: Described) -> TablePath:
    return table.path if isinstance(table, TableFailure) else table.schema.path


def _bare(path: TablePath) -> str:
    """Return the name for pattern matching: without the quotes that protect dots inside names."""
    return ".".join(filter(None, (path.database, path.schema, path.table)))


def _name(table: Described) -> str:
    return str(_path(table))


def _parts(table: Described) -> Iterator[str | Styled]:
    if isinstance(table, TableFailure):
        yield "\n  "
        yield Styled(_name(table), bold=True)
        yield "  "
        yield Styled("PROBLEM", "red")
        yield f"  {table.message}"
        if table.remedy:
            yield "\n    "
            yield Styled("remedy", "green")
            yield f": {table.remedy}"
        return
    schema = table.schema
    sizes = [f"about {counted(table.rows, 'row')}"] if table.rows is not None else []
    sizes += [size(table.bytes)] if table.bytes is not None else []
    yield "\n  "
    yield Styled(str(schema.path), bold=True)
    yield f"  {', '.join(sizes)}" if sizes else ""
    wide = max((len(column.name) for column in schema.columns), default=0)
    for column in schema.columns:
        marks = ["key"] if column.name in schema.key else []
        marks += [] if column.nullable else ["not null"]
        marks += [f"from {column.native}"] if column.native and column.native != str(column.dtype) else []
        yield f"\n    {column.name:{wide}}  {column.dtype}" + (f"  {', '.join(marks)}" if marks else "")


def _plain(table: Described) -> dict[str, Any]:
    if isinstance(table, TableFailure):
        return {"table": _name(table), "problem": table.message, "remedy": table.remedy}
    schema = table.schema
    return {
        "table": str(schema.path),
        "rows": table.rows,
        "bytes": table.bytes,
        "key": list(schema.key),
        "columns": [
            {"name": column.name, "type": str(column.dtype), "native": column.native, "nullable": column.nullable}
            for column in schema.columns
        ],
    }
