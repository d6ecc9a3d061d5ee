"""Resolves references inside a query during translation: types of expressions, names of columns, replaced columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlglot import exp

from seatunnel_py.api.schema import TableSchema
from seatunnel_py.plan.sql.parse import written
from seatunnel_py.spark.query.types import spark_type

TypeOracle: TypeAlias = Callable[[str], str | None]

_INT_MAX = 2**31 - 1
_ROWS_FROM_ONE = frozenset(
    {"EXPLODE", "EXPLODE_OUTER", "POSEXPLODE", "POSEXPLODE_OUTER", "INLINE", "INLINE_OUTER", "STACK", "JSON_TUPLE"}
)


@dataclass(slots=True)
class _Scope:
    """One SELECT. ``sources`` is the text of its inputs, as far as that has been written."""

    select: exp.Select
    columns: Mapping[str, str]
    sources: list[str] = field(default_factory=list)


class Scopes:
    """The selects around the current expression, innermost last."""

    def __init__(
        self, inputs: Mapping[str, TableSchema], ask: TypeOracle | None, write: Callable[[exp.Expr], str]
    ) -> None:
        self._inputs = inputs
        self._ask = ask
        self._write = write
        self._stack: list[_Scope] = []
        self._ctes: list[str] = []
        self._known: dict[str, str] = {}

    @contextmanager
    def entered(self, select: exp.Select, names: Mapping[int, str]) -> Iterator[None]:
        """Inside the block types are those of expressions in ``select``."""
        ctes = len(self._ctes)
        with_ = select.args.get("with_")
        for cte in with_.expressions if with_ else ():
            self._ctes.append(self._write(cte))
        scope = _Scope(select, self._columns(select, names))
        self._stack.append(scope)
        self._collect(scope)
        yield
        self._stack.pop()
        if with_ is None or select.parent is not None:
            del self._ctes[ctes:]

    def _columns(self, select: exp.Select, names: Mapping[int, str]) -> dict[str, str]:
        """Types by column, if the select reads one input and nothing else."""
        source = select.args.get("from_")
        if source is None or select.args.get("joins") or select.args.get("laterals"):
            return {}
        name = names.get(id(source.this))
        if name is None or source.this.args.get("joins"):
            return {}
        return {column.name: spark_type(column.dtype) for column in self._inputs[name].columns}

    def _collect(self, scope: _Scope) -> None:
        """Write the inputs of the select. Outer joins are written as plain ones: types do not depend on that."""
        if self._ask is None:
            return
        source = scope.select.args.get("from_")
        if source is not None:
            scope.sources.append(f"FROM {self._write(source.this)}")
        for join in scope.select.args.get("joins") or ():
            bare = not join.args.get("using") and (join.args.get("method") or "").upper() != "NATURAL"
            scope.sources.append(f"CROSS JOIN {self._write(join.this)}" if bare else self._write(join).strip())
        for lateral in scope.select.args.get("laterals") or ():
            scope.sources.append(self._write(lateral).strip())

    def type_of(self, node: exp.Expr, sql: str) -> str:
        """Spark's name of the type; empty if unknown."""
        if isinstance(node, (exp.Literal, exp.Null)):
            return _literal_type(node, sql)
        if not self._stack:
            return ""
        scope = self._stack[-1]
        if isinstance(node, exp.Column) and not node.table and node.name in scope.columns:
            return scope.columns[node.name]
        if self._ask is None:
            return ""
        ctes = f"WITH {', '.join(self._ctes)} " if self._ctes else ""
        question = f"{ctes}SELECT {sql} AS x {' '.join(scope.sources)}"
        if question not in self._known:
            self._known[question] = self._ask(question) or ""
        return self._known[question]


def _literal_type(node: exp.Literal | exp.Null, sql: str) -> str:
    if isinstance(node, exp.Null):
        return "void"
    if node.is_string:
        return "string"
    if node.this.isdigit():
        return "int" if int(node.this) <= _INT_MAX else "bigint"
    return "double" if sql.endswith("D") else ""


# ------------------------------------------------------------------ changes to the tree


def prepare(tree: exp.Query, tables: Mapping[int, TableSchema], names: Mapping[int, str]) -> None:
    """Name the columns that have no alias, and let exploded columns replace those of the same name.

    ``tables`` are the schemas of the inputs by the ``id`` of their node, ``names`` are their names in the job."""
    _call_as_written(tree, tables, names)
    for select in list(tree.find_all(exp.Select)):
        _name_columns(select)
    for select in list(tree.find_all(exp.Select)):
        source = select.args.get("from_")
        laterals = select.args.get("laterals") or []
        if source is not None and laterals and not select.args.get("joins") and id(source.this) in tables:
            _replace_exploded(select, source.this, tables[id(source.this)], laterals)


def _call_as_written(tree: exp.Query, tables: Mapping[int, TableSchema], names: Mapping[int, str]) -> None:
    """``fake.name FROM dual``: the input by its name in the job, if the query calls it something else."""
    sources = [table for table in tree.find_all(exp.Table) if id(table) in names]
    if len(sources) != 1:
        return
    (source,) = sources
    name = names[id(source)].lower()
    own = {column.name.lower() for column in tables[id(source)].columns}
    if name in own or any(other.alias_or_name.lower() == name for other in tree.find_all(exp.Table, exp.Subquery)):
        return
    for column in tree.find_all(exp.Column):
        if column.parts[0].name.lower() == name and len(column.parts) > 1:
            column.parts[0].replace(exp.to_identifier(source.alias_or_name, quoted=True))


def _name_columns(select: exp.Select) -> None:
    named = []
    for projection in select.expressions:
        bare = projection.unnest()
        keeps = isinstance(projection, (exp.Alias, exp.Aliases, exp.Column, exp.Dot, exp.Star))
        several = isinstance(bare, exp.Anonymous) and bare.name.upper() in _ROWS_FROM_ONE
        named.append(
            projection if keeps or several else exp.alias_(projection, written(projection), quoted=True, copy=False)
        )
    select.set("expressions", named)


def _replace_exploded(select: exp.Select, table: exp.Table, schema: TableSchema, laterals: list[exp.Lateral]) -> None:
    """``LATERAL VIEW EXPLODE(x) AS name`` replaces the table's own column ``name``.

    The select list then means the exploded column, everything else the table's own.
    """
    own = {column.name for column in schema.columns}
    views: dict[str, str] = {}
    for number, lateral in enumerate(laterals):
        columns = [column.name for column in lateral.args["alias"].columns]
        if not own.intersection(columns):
            continue
        alias = lateral.args["alias"].name or f"exploded_{number}"
        lateral.args["alias"].set("this", exp.to_identifier(alias))
        views.update(dict.fromkeys(columns, alias))
    if not views:
        return
    base = table.alias or table.name
    for lateral in laterals:
        _qualify(lateral.this, dict.fromkeys(own, base))
    for clause in ("where", "group", "having", "order"):
        if select.args.get(clause):
            _qualify(select.args[clause], dict.fromkeys(own, base))
    listed: list[exp.Expr] = []
    for projection in select.expressions:
        if isinstance(projection, exp.Star) and not projection.args.get("except_"):
            listed += [_column(column.name, views.get(column.name, base)) for column in schema.columns]
            listed += [
                _column(column.name, lateral.args["alias"].name)
                for lateral in laterals
                for column in lateral.args["alias"].columns
                if column.name not in own
            ]
        else:
            _qualify(projection, views)
            listed.append(projection)
    select.set("expressions", listed)


def _qualify(node: exp.Expr, tables: Mapping[str, str]) -> None:
    for column in list(node.find_all(exp.Column)):
        if not column.table and column.name in tables:
            column.set("table", exp.to_identifier(tables[column.name], quoted=True))


def _column(name: str, table: str) -> exp.Expr:
    column = exp.column(exp.to_identifier(name, quoted=True))
    if table:
        column.set("table", exp.to_identifier(table, quoted=True))
    return column
