"""The graph of a job in SeaTunnel's form, from the stored plan: one vertex for each step of the job file. Pure.

A vertex never stands for a table, so that a job with thousands of tables has a graph that can be drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

TABLES_MAX = 1_000
_KINDS = {"source": "Source", "transform": "Transform", "sink": "Sink"}


def env_options(plan: Mapping[str, Any] | None, about: Mapping[str, Any]) -> dict[str, Any]:
    """Options of ``env`` that are known of a run."""
    found = {"job.name": about.get("job_name", "")}
    return found if plan is None else {**found, "job.mode": plan["mode"]}


def job_dag(number: int, plan: Mapping[str, Any] | None, about: Mapping[str, Any]) -> dict[str, Any]:
    """The graph of a run. Without a plan it has no vertices."""
    steps = [] if plan is None else plan["steps"]
    tables, edges = _of_steps(plan or {"pipelines": ()})
    ids = {step["id"]: number for number, step in enumerate(steps, 1)}
    part_of = _parts(ids, edges)
    of_parts: dict[str, list[dict[str, str]]] = {str(part): [] for part in sorted(set(part_of.values()))}
    for first, second in sorted(edges, key=lambda edge: (ids[edge[0]], ids[edge[1]])):
        edge = {"inputVertexId": str(ids[first]), "targetVertexId": str(ids[second])}
        of_parts[str(part_of[first])].append(edge)
    return {
        "jobId": str(number),
        "pipelineEdges": of_parts,
        "envOptions": env_options(plan, about),
        "vertexInfoMap": list(_vertices(steps, ids, part_of, tables)),
    }


def _vertices(
    steps: list[Mapping[str, Any]], ids: Mapping[str, int], part_of: Mapping[str, int], tables: Mapping[str, list[str]]
) -> Iterator[dict[str, Any]]:
    counts = dict.fromkeys(_KINDS, 0)
    for step in steps:
        id, kind = step["id"], step["kind"]
        name = f"pipeline-{part_of[id]} [{_KINDS[kind]}[{counts[kind]}]-{step['plugin']}]"
        counts[kind] += 1
        yield {"vertexId": ids[id], "type": kind, "vertexName": name, "tablePaths": tables.get(id, [])[:TABLES_MAX]}


def _of_steps(plan: Mapping[str, Any]) -> tuple[dict[str, list[str]], set[tuple[str, str]]]:
    """The tables of each step, and the pairs of steps that follow one another."""
    tables: dict[str, dict[str, None]] = {}
    edges: set[tuple[str, str]] = set()
    for pipeline in plan["pipelines"]:
        vertices = {vertex["id"]: vertex for vertex in pipeline["vertices"]}
        for vertex in vertices.values():
            steps = [node["step"] for node in vertex["nodes"]]
            edges |= set(pairwise(steps))
            edges |= {(steps[-1], vertices[to]["nodes"][0]["step"]) for to in vertex["outputs"] if to in vertices}
            for node in vertex["nodes"]:
                tables.setdefault(node["step"], {})[node.get("table") or pipeline["name"]] = None
    return {step: list(found) for step, found in tables.items()}, edges


def _parts(ids: Mapping[str, int], edges: set[tuple[str, str]]) -> dict[str, int]:
    """The connected part that each step is in, from 1."""
    part = {id: id for id in ids}

    def root(id: str) -> str:
        while part[id] != id:
            id = part[id]
        return id

    for first, second in edges:
        one, two = sorted((root(first), root(second)), key=ids.__getitem__)
        part[two] = one
    numbers: dict[str, int] = {}
    return {id: numbers.setdefault(root(id), len(numbers) + 1) for id in ids}
