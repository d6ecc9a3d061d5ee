"""Translates SeaTunnel's SQL to Spark's.

Rules. (1) A function of SeaTunnel keeps its meaning; every other name is Spark's. (2) Nulls and LIKE are the
standard's. (3) Arithmetic gives SeaTunnel's types: whole numbers divide to whole numbers, small ones count as INT, a
number with a point is a DOUBLE unless decimals are involved. (4) A column without an alias is named by its own text.
(5) An expression that cannot keep its meaning is refused, with function and place.

If the meaning depends on types (a cast of a number to a date, MOD), they are looked up in the columns of the inputs, or
asked from Catalyst. Without an answer the translation is the general one.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import ClassVar, TypeAlias

from sqlglot import exp
from sqlglot.generator import Generator

from seatunnel_py.api.schema import TableSchema
from seatunnel_py.plan.sql.parse import (
    ANY_TABLE,
    SPARK,
    SeaTunnelDialect,
    SqlError,
    at,
    input_tables,
    parse_query,
    table_name,
)
from seatunnel_py.spark.dialect import arithmetic
from seatunnel_py.spark.dialect.call import Argument, Call, mixed
from seatunnel_py.spark.dialect.functions import FUNCTIONS
from seatunnel_py.spark.dialect.other_functions import cast
from seatunnel_py.spark.dialect.scope import Scopes, TypeOracle, prepare
from seatunnel_py.spark.dialect.time_functions import EXTRACT_FIELDS, FIELDS_OF_TIMES
from seatunnel_py.spark.query.types import quoted, text

Type = exp.DataType.Type
Tables: TypeAlias = Mapping[str, TableSchema]
Names: TypeAlias = list[tuple[exp.Table, str]]

_TYPES = {
    Type.BOOLEAN: "BOOLEAN",
    Type.TINYINT: "TINYINT",
    Type.SMALLINT: "SMALLINT",
    Type.INT: "INT",
    Type.BIGINT: "BIGINT",
    Type.FLOAT: "FLOAT",
    Type.DOUBLE: "DOUBLE",
    Type.TEXT: "STRING",
    Type.VARCHAR: "STRING",
    Type.NVARCHAR: "STRING",
    Type.CHAR: "STRING",
    Type.BINARY: "BINARY",
    Type.VARBINARY: "BINARY",
    Type.DATE: "DATE",
    Type.TIME: "TIME(6)",
    Type.TIMESTAMP: "TIMESTAMP_NTZ",
    Type.TIMESTAMPNTZ: "TIMESTAMP_NTZ",
    Type.DATETIME: "TIMESTAMP_NTZ",
    Type.TIMESTAMPTZ: "TIMESTAMP_LTZ",
    Type.TIMESTAMPLTZ: "TIMESTAMP_LTZ",
}


def translate(query: str, inputs: Tables, dialect: str, ask: TypeOracle | None = None) -> str:
    """Return Spark's text for a query over ``inputs``. Raises SqlError, which is a ValueError.

    ``ask`` returns the type of the only column of a SELECT in Spark's SQL, or None.
    """
    tree = parse_query(query, dialect) if dialect != SPARK else _lenient(query)
    if tree is None:
        return query.strip().rstrip(";")
    names = [(table, _input(table, inputs)) for table in input_tables(tree)]
    if dialect == SPARK:
        return _renamed(query, names)
    return _Writer(inputs, names, ask).write(tree)


def _lenient(query: str) -> exp.Query | None:
    """Spark may understand queries that this parser does not, and decides about its own dialect."""
    try:
        return parse_query(query, SPARK)
    except SqlError:
        return None


def _input(table: exp.Table, inputs: Tables) -> str:
    """The input that a table of the query refers to. A query over one input may use any name for it."""
    name = table_name(table)
    if name in inputs:
        return name
    if len(inputs) == 1:
        return next(iter(inputs))
    near = difflib.get_close_matches(name, inputs, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    if name.lower() == ANY_TABLE:
        hint = f"; {ANY_TABLE} stands for the only input, and here are {len(inputs)}"
    raise at(table, f"there is no input {name!r}{hint} (inputs: {', '.join(inputs)})")


def _renamed(query: str, names: Names) -> str:
    """Return Spark's own text, changed only if an input is called by another name."""
    query = query.rstrip().rstrip(";")
    for table, name in sorted(names, key=lambda item: -item[0].parts[0].meta.get("start", 0)):
        first, last = table.parts[0].meta, table.parts[-1].meta
        if table_name(table) == name or "start" not in first:
            continue
        alias = "" if table.alias else f" AS {quoted(table.name)}"
        query = query[: first["start"]] + quoted(name) + alias + query[last["end"] + 1 :]
    return query


class _Writer(Generator):
    """Writes a tree of SeaTunnel's dialect as Spark SQL."""

    TRANSFORMS: ClassVar = {
        **Generator.TRANSFORMS,
        exp.CurrentDate: lambda self, node: "current_date()",
        exp.CurrentTime: lambda self, node: "current_time()",
        exp.CurrentTimestamp: lambda self, node: "localtimestamp()",
        **{kind: lambda self, node: arithmetic.write(self, node) for kind in arithmetic.OPERATORS},
    }

    def __init__(self, inputs: Tables, names: Names, ask: TypeOracle | None) -> None:
        super().__init__(dialect=SeaTunnelDialect, normalize_functions=False, comments=False)
        self._inputs = inputs
        # Nodes that look alike are equal, and two tables of one query may look alike.
        self._names = {id(table): name for table, name in names}
        self.scopes = Scopes(inputs, ask, self.sql)

    def write(self, tree: exp.Query) -> str:
        """Write the whole query."""
        prepare(tree, {table: self._inputs[name] for table, name in self._names.items()}, self._names)
        return str(self.sql(tree))

    def type_of(self, node: exp.Expr, sql: str) -> str:
        """Spark's name for the type of an expression in the current select; empty: unknown."""
        return self.scopes.type_of(node, sql)

    def argument(self, node: exp.Expr) -> Argument:
        return Argument(node, self.sql(node), self.type_of)

    # ------------------------------------------------------------ structure

    def select_sql(self, node: exp.Select) -> str:
        with self.scopes.entered(node, self._names):
            return str(super().select_sql(node))

    def table_sql(self, node: exp.Table, sep: str = " AS ") -> str:
        name = self._names.get(id(node))
        if name is None:
            return str(super().table_sql(node, sep))
        alias = self.sql(node, "alias") or quoted(node.name)
        joins = "".join(self.sql(join) for join in node.args.get("joins") or [])
        return f"{quoted(name)}{sep}{alias}{joins}"

    def identifier_sql(self, node: exp.Identifier) -> str:
        plain = node.name.replace("_", "a").isalnum() and not node.args.get("quoted")
        return node.name if plain else quoted(node.name)

    # ------------------------------------------------------------ values

    def literal_sql(self, node: exp.Literal) -> str:
        if node.is_string:
            return text(node.this)
        return arithmetic.number(self, node)

    def case_sql(self, node: exp.Case) -> str:
        """``CASE x WHEN condition``: in SeaTunnel that is a condition and not a value to compare with, unless x is a
        condition itself."""
        operand = node.this
        if operand is not None and self.argument(operand).type not in ("boolean", ""):
            branches = node.args["ifs"]
            if any(self.argument(branch.this).type == "boolean" for branch in branches):
                for branch in branches:
                    if self.argument(branch.this).type != "boolean":
                        branch.set("this", exp.EQ(this=operand.copy(), expression=branch.this.copy()))
                node.set("this", None)
        results = [branch.args["true"] for branch in node.args["ifs"]]
        results += [node.args["default"]] if node.args.get("default") else []
        if (mixture := mixed([self.argument(result) for result in results])) is not None:
            raise at(node, f"CASE {mixture}")
        return str(super().case_sql(node))

    def cast_sql(self, node: exp.Cast, safe_prefix: str | None = None) -> str:
        target = self.datatype_sql(node.to)
        return cast(self.argument(node.this), target, safe=isinstance(node, exp.TryCast))

    def trycast_sql(self, node: exp.TryCast) -> str:
        return self.cast_sql(node)

    def datatype_sql(self, node: exp.DataType) -> str:
        kind = node.this
        if kind is Type.DECIMAL:
            return (
                f"DECIMAL({', '.join(self.sql(part) for part in node.expressions)})" if node.expressions else "DECIMAL"
            )
        if kind is Type.ARRAY:
            return f"ARRAY<{self.sql(node.expressions[0])}>"
        if kind is Type.MAP:
            return f"MAP<{', '.join(self.sql(part) for part in node.expressions)}>"
        if kind not in _TYPES:
            raise at(node.parent, f"there is no type {kind.value} to cast to")
        return _TYPES[kind]

    def extract_sql(self, node: exp.Extract) -> str:
        field = node.this.name.upper()
        form = EXTRACT_FIELDS.get(field)
        if form is None:
            raise at(node, f"EXTRACT does not know {field}; it knows {', '.join(EXTRACT_FIELDS)}")
        value = self.argument(node.args["expression"])
        if field not in FIELDS_OF_TIMES and value.type.startswith("time("):
            raise at(node, f"EXTRACT({field} FROM {value.sql}): a time has no date")
        return form.format(value.sql)

    def attimezone_sql(self, node: exp.AtTimeZone) -> str:
        # An instant is the same in every zone, and a column of instants keeps no zone.
        return f"CAST({self.sql(node, 'this')} AS TIMESTAMP_LTZ)"

    def anonymous_sql(self, node: exp.Anonymous) -> str:
        name = node.name
        translation = FUNCTIONS.get(name.upper())
        if translation is None or isinstance(node.this, exp.Identifier):
            return str(super().anonymous_sql(node))
        return translation(Call(name, tuple(self.argument(arg) for arg in node.expressions), node))
