"""The graph of a plan by steps: which step feeds which, and which tables pass which. Never a node for each table.

Reads a plan as ``plan_data.describe`` makes it, and as a run stores it. Steps that are alike are folded into one node
where there are more than ``NODES_MAX``: first those with the same plugin and the same surroundings, then coarser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from seatunnel_py.nouns import counted
from seatunnel_py.plan.picture.layered_layout import depths

NODES_MAX = 50
Line = tuple[str, str]
_IN_BRACKETS = re.compile(r"\[(.*)\]")


@dataclass(frozen=True, slots=True)
class GraphStep:
    """A step, or several that are alike: ``steps`` are their ids."""

    id: str
    kind: str
    plugin: str
    label: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableRoute:
    """The nodes and lines that rows of a table pass. ``sinks``: the node of each target, by its text."""

    nodes: frozenset[str]
    lines: frozenset[Line]
    sinks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepGraph:
    """``routes``: by table."""

    nodes: tuple[GraphStep, ...]
    lines: tuple[Line, ...]
    routes: Mapping[str, TableRoute]


def step_graph(plan: Mapping[str, Any], *, nodes_max: int = NODES_MAX) -> StepGraph:
    """The graph of a plan."""
    steps = {step["id"]: step for step in plan["steps"]}
    passed: dict[str, _Passed] = {}
    for pipeline in plan["pipelines"]:
        for table, found in _passed_in(pipeline):
            passed.setdefault(table, _Passed()).add(found)
    for one in plan.get("isolated", ()):
        if one["step"] in steps:
            passed.setdefault(one["table"], _Passed()).steps.add(one["step"])
    order = {id: number for number, id in enumerate(steps)}
    lines = {line for found in passed.values() for line in found.lines}
    lines_in_order = sorted(lines, key=lambda line: (order[line[0]], order[line[1]]))
    nodes = _folded(list(steps.values()), lines_in_order, nodes_max)
    node_of = {step: node.id for node in nodes for step in node.steps}
    kept = dict.fromkeys((node_of[begin], node_of[end]) for begin, end in lines_in_order)
    routes = _routes(passed, node_of)
    return StepGraph(nodes, tuple(line for line in kept if line[0] != line[1]), routes)


@dataclass(slots=True)
class _Passed:
    steps: set[str] = field(default_factory=set)
    lines: set[Line] = field(default_factory=set)
    sinks: dict[str, str] = field(default_factory=dict)

    def add(self, other: _Passed) -> None:
        self.steps |= other.steps
        self.lines |= other.lines
        self.sinks |= other.sinks


def _passed_in(pipeline: Mapping[str, Any]) -> Iterable[tuple[str, _Passed]]:
    """The steps that each source table of a pipeline passes."""
    vertices = {vertex["id"]: vertex for vertex in pipeline["vertices"]}
    for vertex in pipeline["vertices"]:
        if vertex["inputs"] or "table" not in vertex["nodes"][0]:
            continue
        first = vertex["nodes"][0]
        tables = first.get("tables") or [first["table"]]
        if len(tables) == 1:
            yield tables[0], _from(vertex, vertices)
            continue
        chain, last = _chain(vertex), vertex["nodes"][-1]["step"]
        by_table: dict[str, _Passed] = {}
        for receiver in map(vertices.__getitem__, vertex["outputs"]):
            found = _from(receiver, vertices)
            found.lines |= _line(last, receiver["nodes"][0]["step"])
            name = _IN_BRACKETS.search(receiver["nodes"][0]["id"])
            if name is not None and name[1] in tables:
                by_table.setdefault(name[1], _Passed()).add(found)
            else:
                chain.add(found)  # it takes rows of any of them, as far as the plan names it
        for table in tables:
            whole = by_table.setdefault(table, _Passed())
            whole.add(chain)
            yield table, whole


def _from(vertex: Mapping[str, Any], vertices: Mapping[str, Mapping[str, Any]]) -> _Passed:
    """The steps that follow a vertex, its own included."""
    found, waiting, seen = _Passed(), [vertex], {vertex["id"]}
    while waiting:
        one = waiting.pop()
        found.add(_chain(one))
        for id in one["outputs"]:
            found.lines |= _line(one["nodes"][-1]["step"], vertices[id]["nodes"][0]["step"])
            if id not in seen:
                seen.add(id)
                waiting.append(vertices[id])
    return found


def _chain(vertex: Mapping[str, Any]) -> _Passed:
    nodes = vertex["nodes"]
    found = _Passed({node["step"] for node in nodes})
    for one, following in pairwise(nodes):
        found.lines |= _line(one["step"], following["step"])
    found.sinks |= {node["target"]: node["step"] for node in nodes if "target" in node}
    return found


def _line(begin: str, end: str) -> set[Line]:
    return {(begin, end)} if begin != end else set()


def _routes(passed: Mapping[str, _Passed], node_of: Mapping[str, str]) -> dict[str, TableRoute]:
    """Most tables go the same way, which is kept once."""
    known: dict[Any, TableRoute] = {}
    found = {}
    for table, one in passed.items():
        nodes = frozenset(node_of[step] for step in one.steps)
        lines = frozenset((node_of[begin], node_of[end]) for begin, end in one.lines)
        sinks = {target: node_of[step] for target, step in one.sinks.items()}
        lines = frozenset(line for line in lines if line[0] != line[1])
        route = TableRoute(nodes, lines, sinks)
        found[table] = known.setdefault((nodes, lines, tuple(sorted(sinks.items()))), route)
    return found


def _folded(steps: Sequence[Mapping[str, Any]], lines: Sequence[Line], nodes_max: int) -> tuple[GraphStep, ...]:
    """The nodes: a step each, or the finest groups of steps that are few enough."""
    if len(steps) <= nodes_max:
        return tuple(GraphStep(one["id"], one["kind"], one["plugin"], one["id"], (one["id"],)) for one in steps)
    ids = [one["id"] for one in steps]
    depth = depths(ids, lines)
    alike = _surroundings(steps, lines)
    coarser: Sequence[Callable[[Mapping[str, Any]], Any]] = (
        lambda step: alike[step["id"]],
        lambda step: (step["kind"], step["plugin"], depth[step["id"]]),
        lambda step: (step["kind"], depth[step["id"]]),
        lambda step: step["kind"],
    )
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for key in coarser:
        groups = {}
        for step in steps:
            groups.setdefault(key(step), []).append(step)
        if len(groups) <= nodes_max:
            break
    return tuple(map(_node, groups.values()))


def _surroundings(steps: Sequence[Mapping[str, Any]], lines: Sequence[Line]) -> dict[str, int]:
    """A number for each step: equal for steps with equal plugins that have equal ones before and after them. No line
    leads from such a group to itself, by whatever way: so the folded graph has no cycle, either."""
    before: dict[str, list[str]] = {step["id"]: [] for step in steps}
    after: dict[str, list[str]] = {step["id"]: [] for step in steps}
    for begin, end in lines:
        after[begin].append(end)
        before[end].append(begin)
    numbers: dict[Any, int] = {}
    colour = {one["id"]: numbers.setdefault((one["kind"], one["plugin"]), len(numbers)) for one in steps}
    while True:
        numbers, finer = {}, {}
        for id, own in colour.items():
            sides = (frozenset(colour[one] for one in side[id]) for side in (before, after))
            finer[id] = numbers.setdefault((own, *sides), len(numbers))
        if len(numbers) == len(set(colour.values())):
            return finer
        colour = finer


def _node(group: Sequence[Mapping[str, Any]]) -> GraphStep:
    first, ids = group[0], tuple(step["id"] for step in group)
    if len(group) == 1:
        return GraphStep(first["id"], first["kind"], first["plugin"], first["id"], ids)
    plugins = {step["plugin"] for step in group}
    plugin = first["plugin"] if len(plugins) == 1 else ""
    label = f"{counted(len(group), first['kind'])} alike" if plugin else counted(len(group), first["kind"])
    return GraphStep(f"{first['id']}+{len(group) - 1}", first["kind"], plugin, label, ids)
