"""The graph of a run as plain data, in two parts: the geometry, which is of its plan, and the counts, which change.

Rows are counted where they are read and where they are written. Between two transforms nothing counts them, and the
number is None. Tables of which the plan does not show a way are counted under ``elsewhere``.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seatunnel_py.plan.picture.layered_layout import LayoutBox, placed
from seatunnel_py.plan.picture.step_graph import Line, StepGraph

WIDTH, HEIGHT = 220, 72
GAP_X, GAP_Y = 96, 28


def geometry(graph: StepGraph) -> dict[str, Any]:
    """Nodes and edges with their places in pixels, and a digest of all that."""
    found = placed([LayoutBox(one.id, WIDTH, HEIGHT) for one in graph.nodes], graph.lines, gap_x=GAP_X, gap_y=GAP_Y)
    nodes = []
    for node in graph.nodes:
        box = found.boxes[node.id]
        about = {"id": node.id, "kind": node.kind, "plugin": node.plugin, "label": node.label}
        place = {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
        nodes.append({**about, **place, "folded": len(node.steps)})
    edges = [{"from": one.begin, "to": one.end, "points": [list(at) for at in one.points]} for one in found.lines]
    drawn = {"width": found.width, "height": found.height, "nodes": nodes, "edges": edges}
    digest = hashlib.sha256(json.dumps(drawn, sort_keys=True).encode()).hexdigest()[:32]
    return {"digest": digest, **drawn}


@dataclass(slots=True)
class _Counts:
    states: dict[str, Counter[str]] = field(default_factory=dict)
    read: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    lines: Counter[Line] = field(default_factory=Counter)
    elsewhere: Counter[str] = field(default_factory=Counter)
    unknown: set[Line] = field(default_factory=set)


def counts(graph: StepGraph, tables: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """States of tables and rows for each node and edge; ``tables``: as in a receipt."""
    kinds = {node.id: node.kind for node in graph.nodes}
    found = _Counts({id: Counter() for id in kinds})
    for table in tables:
        _add(found, graph, kinds, table)
    into: dict[str, list[Line]] = {}
    out: dict[str, list[Line]] = {}
    for line in graph.lines:
        out.setdefault(line[0], []).append(line)
        into.setdefault(line[1], []).append(line)
    ends = {line for line in graph.lines if kinds[line[0]] == "source" or kinds[line[1]] == "sink"}
    counted = ends - found.unknown
    nodes = {}
    for id, kind in kinds.items():
        rows_in = found.written[id] if kind == "sink" else _sum(found.lines, into.get(id, []), counted)
        leaving = out.get(id, [])
        # Over several lines the same rows go out several times.
        rows_out = found.read[id] if kind == "source" else _sum(found.lines, leaving[:1], counted)
        nodes[id] = {
            "tables": dict(found.states[id]),
            "rows_in": rows_in,
            "rows_out": rows_out if len(leaving) <= 1 or kind == "source" else None,
        }
    edges = [
        {"from": line[0], "to": line[1], "rows": found.lines[line] if line in counted else None} for line in graph.lines
    ]
    return {"nodes": nodes, "edges": edges, "elsewhere": dict(found.elsewhere)}


def before(graph: StepGraph) -> dict[str, Any]:
    """The counts before a run: every table waits, and rows are unknown."""
    passing = Counter(id for route in graph.routes.values() for id in route.nodes)
    waiting = {node.id: {"PENDING": passing[node.id]} if passing[node.id] else {} for node in graph.nodes}
    nodes = {id: {"tables": tables, "rows_in": None, "rows_out": None} for id, tables in waiting.items()}
    return {"nodes": nodes, "edges": [{"from": a, "to": b, "rows": None} for a, b in graph.lines], "elsewhere": {}}


def _sum(rows: Counter[Line], lines: list[Line], counted: set[Line]) -> int | None:
    return sum(rows[line] for line in lines) if lines and counted.issuperset(lines) else None


def _add(found: _Counts, graph: StepGraph, kinds: Mapping[str, str], table: Mapping[str, Any]) -> None:
    route = graph.routes.get(table["table"])
    if route is None:
        found.elsewhere[table["state"]] += 1
        return
    targets = [(route.sinks.get(one["target"]), one) for one in table.get("targets", ())]
    state_of = {id: one["state"] for id, one in targets if id is not None}
    written: Counter[str] = Counter()
    for id, one in targets:
        if id is not None:
            written[id] += one["rows_written"]
    sinks = [id for id in route.nodes if kinds[id] == "sink"]
    if not state_of and len(sinks) == 1:  # the plan names the target with other words
        written[sinks[0]] = table["rows_written"]
    found.written += written
    entering = Counter(end for _, end in route.lines)
    for id in route.nodes:
        found.states[id][state_of.get(id, table["state"])] += 1
        if kinds[id] == "source":
            found.read[id] += table["rows_read"]
    for line in route.lines:
        if kinds[line[0]] == "source":
            found.lines[line] += table["rows_read"]
        elif entering[line[1]] > 1:  # how the rows are divided is not counted
            found.unknown.add(line)
        elif kinds[line[1]] == "sink":
            found.lines[line] += written[line[1]]


def whole(geometry: Mapping[str, Any], counts: Mapping[str, Any]) -> dict[str, Any]:
    """Merge geometry and counts into one document."""
    rows = {(edge["from"], edge["to"]): edge["rows"] for edge in counts["edges"]}
    nodes = [{**node, **counts["nodes"][node["id"]]} for node in geometry["nodes"]]
    edges = [{**edge, "rows": rows[edge["from"], edge["to"]]} for edge in geometry["edges"]]
    return {**geometry, "nodes": nodes, "edges": edges, "elsewhere": counts["elsewhere"]}
