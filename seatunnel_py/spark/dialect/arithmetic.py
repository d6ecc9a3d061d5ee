"""Translates operators and numbers of SeaTunnel's SQL: their results have SeaTunnel's types."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from seatunnel_py.spark.dialect.call import FLOATING, INTEGERS, ArgumentWriter
from seatunnel_py.spark.dialect.remainder import decimal_remainder

OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.NullSafeEQ)
_CHOICES = frozenset({"COALESCE", "IFNULL", "NULLIF", "MULTI_IF", "GREATEST", "LEAST"})
_SMALL = frozenset({"tinyint", "smallint"})


def write(writer: ArgumentWriter, node: exp.Binary) -> str:
    """``a op b``. Any decimal makes a decimal, else any float a DOUBLE, any bigint a BIGINT, else the result is INT."""
    operator = OPERATORS[type(node)]
    left, right = writer.argument(node.left), writer.argument(node.right)
    plain = f"{left.sql} {operator} {right.sql}"
    lefts, rights = left.type, right.type
    if not lefts or not rights:
        return plain
    both = {lefts, rights}
    if both <= INTEGERS:
        if operator == "/":
            whole = f"{left} DIV {right}"
            return f"({whole})" if "bigint" in both else f"CAST({whole} AS INT)"
        if both <= _SMALL:
            return f"CAST({left.sql} AS INT) {operator} {right}"
        return plain
    decimal = next((dtype for dtype in (lefts, rights) if dtype.startswith("decimal")), None)
    if decimal is not None and both & FLOATING:
        if operator == "%":
            return f"CAST({decimal_remainder(left, right)} AS {decimal.upper()})"
        # Convert by way of a text: NaN and infinity are refused this way, and would be null otherwise.
        return f"CAST(CAST({plain} AS STRING) AS {decimal.upper()})"
    if "float" in both and "double" not in both and decimal is None:
        return f"CAST({left.sql} AS DOUBLE) {operator} {right}"
    return plain


def number(writer: ArgumentWriter, node: exp.Literal) -> str:
    """A number with a point is a DOUBLE, but among decimals it stays one, and comparing with it stays exact."""
    digits: str = node.this
    if digits.isdigit() or "e" in digits.lower() or _stays_decimal(writer, node):
        return digits
    return f"{digits}D"


def _stays_decimal(writer: ArgumentWriter, node: exp.Literal) -> bool:
    inner: exp.Expr = node
    parent = inner.parent
    while isinstance(parent, (exp.Paren, exp.Neg)):
        inner, parent = parent, parent.parent
    if isinstance(parent, _COMPARISONS):
        return True
    if isinstance(parent, exp.Cast):
        return parent.to.this is exp.DataType.Type.DECIMAL
    return any(writer.argument(other).type.startswith("decimal") for other in _others(inner, parent))


def _others(node: exp.Expr, parent: exp.Expr | None) -> Iterator[exp.Expr]:
    """The expressions combined with a number: the other operand, the other branches. Other literals carry no type
    information."""
    if isinstance(parent, exp.If):
        node, parent = parent, parent.parent
    found: list[exp.Expr] = []
    if isinstance(parent, exp.Binary) and type(parent) in OPERATORS:
        found = [parent.left, parent.right]
    elif isinstance(parent, exp.Case):
        found = [branch.args["true"] for branch in parent.args["ifs"]]
        found += [parent.args["default"]] if parent.args.get("default") else []
    elif isinstance(parent, exp.Anonymous) and parent.name.upper() in _CHOICES:
        found = parent.expressions
    for other in found:
        bare = other.unnest()
        bare = bare.this if isinstance(bare, exp.Neg) else bare
        if other is not node and not isinstance(bare, (exp.Literal, exp.Null)):
            yield other
