"""Reads facts from an analysed plan: whether it is narrow, how repeatable it is, which columns it only passes on.

Reads the JSON form of a plan: a list of nodes in depth-first order, each with its class, its number of children and its
fields; expressions are lists of the same kind. Starts nothing and knows no session.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from seatunnel_py.api.capabilities import Determinism

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
    """``passed`` maps a column of the result to the input column that it equals, (view, column)."""

    narrow: bool
    determinism: Determinism
    why: str
    passed: Mapping[int, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Node:
    fields: Mapping[str, Any]
    children: tuple[_Node, ...]

    @property
    def kind(self) -> str:
        return _kind(self.fields)

    def walk(self) -> Iterator[_Node]:
        """This node and those below it, down to the views."""
        yield self
        if self.kind != "View":
            for child in self.children:
                yield from child.walk()


def facts(plan_json: str) -> PlanFacts:
    """Parse a plan's JSON."""
    root, _ = _tree(json.loads(plan_json), 0)
    nodes = list(root.walk())
    expressions = [kind for node in nodes if node.kind != "View" for kind in _expressions(node.fields)]
    subqueries = any(kind.endswith(("Subquery", "Exists", "ListQuery")) for kind in expressions)
    scans = sum(node.kind == "View" for node in nodes)
    narrow = scans == 1 and not subqueries and all(node.kind in _NARROW for node in nodes)
    why = _why_anew(root, [*expressions, *(node.kind for node in nodes)])
    determinism = Determinism.DETERMINATE if narrow else Determinism.UNORDERED
    return PlanFacts(narrow, Determinism.INDETERMINATE if why else determinism, why, _passed(root))


def _tree(nodes: list[dict[str, Any]], at: int) -> tuple[_Node, int]:
    """The node at an index with its children, and the next index after them."""
    fields = nodes[at]
    children = []
    at += 1
    for _ in range(fields["num-children"]):
        child, at = _tree(nodes, at)
        children.append(child)
    return _Node(fields, tuple(children)), at


def _kind(fields: Mapping[str, Any]) -> str:
    return str(fields["class"]).rpartition(".")[2].removesuffix("$")


def _expressions(value: Any) -> Iterator[str]:
    """The kinds of all expressions in a node's fields, plans inside expressions included."""
    if isinstance(value, list):
        for item in value:
            yield from _expressions(item)
    elif isinstance(value, dict):
        if "class" in value and "num-children" in value:
            yield _kind(value)
        for item in value.values():
            yield from _expressions(item)


def _why_anew(root: _Node, kinds: list[str]) -> str:
    for kind in kinds:
        if kind in _ANEW:
            return f"{kind} {_ANEW[kind]}"
    if any(node.kind in _LIMITS and not _sorted(node) for node in root.walk()):
        return "LIMIT without ORDER BY takes whichever rows come first"
    return ""


def _sorted(node: _Node) -> bool:
    while node.children and node.kind in _TRANSPARENT | {"Project"}:
        if node.kind == "Sort":
            return True
        node = node.children[0]
    return False


def _passed(root: _Node) -> dict[int, tuple[str, str]]:
    """Columns that come out unchanged, by their position."""
    sources: dict[Any, tuple[str, str]] = {}
    for node in root.walk():
        if node.kind == "SubqueryAlias" and node.children[0].kind == "View":
            name = node.fields["identifier"]["name"]
            for attribute in _outputs(node.children[0]):
                sources[attribute["exprId"]["id"]] = (name, attribute["name"])
    top = root
    while top.kind in _TRANSPARENT and len(top.children) == 1:
        top = top.children[0]
    found = {}
    for position, expression in enumerate(top.fields.get("projectList") or []):
        bare = expression[1:] if _kind(expression[0]) == "Alias" else expression
        if len(bare) == 1 and _kind(bare[0]) == "AttributeReference":
            source = sources.get(bare[0]["exprId"]["id"])
            if source is not None:
                found[position] = source
    return found


def _outputs(view: _Node) -> Iterator[Mapping[str, Any]]:
    """The attributes of a view: those of the relation under it, or of a projection of that."""
    (below,) = view.children
    for attribute in below.fields.get("output") or below.fields.get("projectList") or []:
        yield attribute[0]
