"""Reads facts from an analysed plan: whether it is narrow, how repeatable it is, which columns it only passes on.

Starts nothing and knows no session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from seatunnel_py.api.capabilities import Determinism
from seatunnel_py.spark.query.plan_tree import PlanNode, kind_of, outputs_of_view
from seatunnel_py.spark.query.query_lineage import QueryLineage, query_lineage

_NARROW = frozenset({"Project", "Filter", "SubqueryAlias", "View", "Generate"})
_TRANSPARENT = frozenset({"Filter", "Sort", "GlobalLimit", "LocalLimit", "Offset", "SubqueryAlias", "Distinct"})
_LIMITS = frozenset({"GlobalLimit", "LocalLimit", "Offset", "Tail"})

# Expression (or node) -> how a second run would differ.
_ANEW: Mapping[str, str] = {
    **dict.fromkeys(("Rand", "Randn", "RandStr", "Uniform", "Shuffle", "Uuid", "Sample"), "draws at random"),
    **dict.fromkeys(
        ("CurrentDate", "CurrentTime", "CurrentTimestamp", "CurrentBatchTimestamp", "LocalTimestamp", "Now"),
        "depends on when it runs",
    ),
    **dict.fromkeys(("MonotonicallyIncreasingID", "SparkPartitionID"), "depends on how the rows are divided"),
    **dict.fromkeys(("InputFileName", "InputFileBlockStart", "InputFileBlockLength"), "depends on Spark's own files"),
    **dict.fromkeys(
        (
            "CallMethodViaReflection",
            "HiveGenericUDF",
            "HiveSimpleUDF",
            "PythonUDAF",
            "PythonUDF",
            "PythonUDTF",
            "ScalaUDAF",
            "ScalaUDF",
            "TryReflect",
        ),
        "runs code that Spark cannot look into",
    ),
    **dict.fromkeys(
        ("AnyValue", "CollectList", "CollectSet", "First", "Last", "ListAgg", "MaxBy", "MinBy", "Mode"),
        "depends on the order of the rows of a group",
    ),
    **dict.fromkeys(
        ("Lag", "Lead", "NTile", "NthValue", "RowNumber"), "depends on the order of rows that compare as equal"
    ),
    "AesEncrypt": "may draw its initial vector at random",
}


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """``passed`` maps a column of the result to the input column that it equals, (view, column). ``lineage``: None
    if it is unknown."""

    narrow: bool
    determinism: Determinism
    why: str
    passed: Mapping[int, tuple[str, str]]
    lineage: QueryLineage | None = None


def facts(root: PlanNode) -> PlanFacts:
    """The facts of an analysed plan."""
    nodes = list(root.walk())
    expressions = [kind for node in nodes if node.kind != "View" for kind in _expressions(node.fields)]
    subqueries = any(kind.endswith(("Subquery", "Exists", "ListQuery")) for kind in expressions)
    scans = sum(node.kind == "View" for node in nodes)
    narrow = scans == 1 and not subqueries and all(node.kind in _NARROW for node in nodes)
    why = _why_anew(root, [*expressions, *(node.kind for node in nodes)])
    determinism = Determinism.DETERMINATE if narrow else Determinism.UNORDERED
    repeats = Determinism.INDETERMINATE if why else determinism
    return PlanFacts(narrow, repeats, why, _passed(root), query_lineage(root))


def _expressions(value: Any) -> Iterator[str]:
    """The kinds of all expressions in a node's fields, plans inside expressions included."""
    if isinstance(value, list):
        for item in value:
            yield from _expressions(item)
    elif isinstance(value, dict):
        if "class" in value and "num-children" in value:
            yield kind_of(value)
        for item in value.values():
            yield from _expressions(item)


def _why_anew(root: PlanNode, kinds: list[str]) -> str:
    for kind in kinds:
        if kind in _ANEW:
            return f"{kind} {_ANEW[kind]}"
    if any(node.kind in _LIMITS and not _sorted(node) for node in root.walk()):
        return "LIMIT without ORDER BY takes whichever rows come first"
    return ""


def _sorted(node: PlanNode) -> bool:
    while node.children and node.kind in _TRANSPARENT | {"Project"}:
        if node.kind == "Sort":
            return True
        node = node.children[0]
    return False


def _passed(root: PlanNode) -> dict[int, tuple[str, str]]:
    """Columns that come out unchanged, by their position."""
    sources: dict[Any, tuple[str, str]] = {}
    for node in root.walk():
        if node.kind == "SubqueryAlias" and node.children[0].kind == "View":
            name = node.fields["identifier"]["name"]
            for attribute in outputs_of_view(node.children[0]):
                sources[attribute["exprId"]["id"]] = (name, attribute["name"])
    top = root
    while top.kind in _TRANSPARENT and len(top.children) == 1:
        top = top.children[0]
    found = {}
    for position, expression in enumerate(top.fields.get("projectList") or []):
        bare = expression[1:] if kind_of(expression[0]) == "Alias" else expression
        if len(bare) == 1 and kind_of(bare[0]) == "AttributeReference":
            source = sources.get(bare[0]["exprId"]["id"])
            if source is not None:
                found[position] = source
    return found
