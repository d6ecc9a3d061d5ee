"""The JSON form of an analysed plan as a tree.

A tree is a list of nodes in depth-first order, each with its class, its number of children and its fields; expressions
are lists of the same kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PlanNode:
    fields: Mapping[str, Any]
    children: tuple[PlanNode, ...]

    @property
    def kind(self) -> str:
        return kind_of(self.fields)

    def walk(self) -> Iterator[PlanNode]:
        """Walk this node and its descendants, down to the views."""
        yield self
        if self.kind != "View":
            for child in self.children:
                yield from child.walk()


def plan_tree(plan_json: str) -> PlanNode:
    """Parse a plan's JSON."""
    return tree_of(json.loads(plan_json))


def tree_of(nodes: list[dict[str, Any]]) -> PlanNode:
    """The tree of a list of nodes, such as a plan inside an expression."""
    return _tree(nodes, 0)[0]


def _tree(nodes: list[dict[str, Any]], at: int) -> tuple[PlanNode, int]:
    """The node at an index with its children, and the next index after them."""
    fields = nodes[at]
    children = []
    at += 1
    for _ in range(fields["num-children"]):
        child, at = _tree(nodes, at)
        children.append(child)
    return PlanNode(fields, tuple(children)), at


def kind_of(fields: Mapping[str, Any]) -> str:
    """The class of a node or an expression, without its package."""
    return str(fields["class"]).rpartition(".")[2].removesuffix("$")


def outputs_of_view(view: PlanNode) -> Iterator[Mapping[str, Any]]:
    """The attributes of a view: those of the relation under it, or of a projection of that."""
    (below,) = view.children
    for attribute in below.fields.get("output") or below.fields.get("projectList") or []:
        yield attribute[0]
