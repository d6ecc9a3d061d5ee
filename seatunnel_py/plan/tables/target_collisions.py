"""Refuses two source tables with one target, unless the job file names a target for several on purpose.

Refuses two sinks of a job that write to one place before anything is opened for writing: they would mix or overwrite
rows of two tables. Places are compared by the target's rules for names: letter case, Unicode forms, truncation. A
target is asked for its rules only if names are alike. An option that names the target without a placeholder (``table =
"orders_all"``) accepts any number of tables, and the plan shows how many.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from seatunnel_py.api.names import ALIKE, Naming, TargetPlace
from seatunnel_py.api.options import OptionInfo, Options, describe
from seatunnel_py.config.placeholders import follows_tables
from seatunnel_py.errors import PlanError, Problem, RetriableError, SeaTunnelError, UnreachableError
from seatunnel_py.plan.graph_nodes import FlowGraph, SharedTarget, SinkNode, SourcePart
from seatunnel_py.plan.plugins import plugin_calls

NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class _Placed:
    node: SinkNode
    place: TargetPlace


def check(graph: FlowGraph) -> tuple[str, ...]:
    """Notes on targets that several tables share on purpose; their nodes are marked. Raises PlanError with the tables
    that would collide."""
    problems: list[Problem] = []
    notes: list[str] = []
    away = 0
    for alike in _alike(graph):
        try:
            groups = list(_same(alike))
        except (SeaTunnelError, ValueError) as error:
            away += isinstance(error, RetriableError)
            problems.append(_unanswered(alike, error))
            continue
        for group in groups:
            if all(_is_named(one.node) and not one.place.exclusive for one in group):
                shared = SharedTarget()
                graph.nodes |= {one.node.id: replace(one.node, shared=shared) for one in group}
                notes.append(f"{len(group)} tables into one: {_tables(group)} into {group[0].node.sink.target}")
            else:
                problems.append(_problem(group))
    if problems:
        raise (UnreachableError if away == len(problems) else PlanError)(tuple(problems))
    return tuple(notes)


def _alike(graph: FlowGraph) -> Iterator[Sequence[_Placed]]:
    """Groups of sinks that may share a place by the rules of some target. A missing outer name may match any."""
    sinks = (
        node
        for node in graph.nodes.values()
        if isinstance(node, SinkNode) and node.part is not SourcePart.LOG_AFTER_COPY  # its copy has the same target
    )
    placed = [
        _Placed(node, place) for node in sinks if (place := plugin_calls.place_of(node.step, node.sink)) is not None
    ]
    for group in _grouped(placed, lambda one: (one.place.system, ALIKE.key(one.place.names[-1]))):
        if any("" in one.place.names for one in group):
            yield group
        else:
            yield from _grouped(group, lambda one: tuple(map(ALIKE.key, one.place.names)))


def _same(alike: Sequence[_Placed]) -> Iterable[Sequence[_Placed]]:
    """Groups among them that the target does take for one place."""
    first = alike[0].node
    rules = plugin_calls.name_rules_of(first.step, first.sink)
    return _grouped(alike, lambda one: tuple(map(rules.key, one.place.names)))


def _grouped(placed: Sequence[_Placed], key: Callable[[_Placed], Hashable]) -> Iterable[Sequence[_Placed]]:
    """Groups of several members that have a key in common."""
    groups: dict[Hashable, list[_Placed]] = {}
    for one in placed:
        groups.setdefault(key(one), []).append(one)
    return [group for group in groups.values() if len(group) > 1]


def _naming(node: SinkNode) -> list[OptionInfo]:
    """The options that name the target, the main one first."""
    model: type[Options] = type(node.step.options)
    options = [info for info in describe(model) if info.naming not in (None, Naming.FILE)]
    return sorted(options, key=lambda info: info.naming is Naming.PLAIN)


def _is_named(node: SinkNode) -> bool:
    """Whether the job file names one target for all incoming tables."""
    texts = [getattr(node.step.options, info.name) for info in _naming(node)]
    return bool(texts and texts[0]) and not any(map(follows_tables, texts))


def _tables(group: Sequence[_Placed]) -> str:
    names = list(dict.fromkeys(str(one.node.table.path) for one in group))
    return ", ".join(names[:NAMED_MAX]) + (", …" if len(names) > NAMED_MAX else "")


def _problem(group: Sequence[_Placed]) -> Problem:
    node, others = group[0].node, [one.node for one in group[1:]]
    option = next((info.key for info in _naming(node)), "")
    targets = list(dict.fromkeys(one.node.sink.target for one in group))
    into = targets[0] if len(targets) == 1 else f"{targets[0]}, which is the same as {targets[1]} there"
    if all(other.table.path == node.table.path for other in others):
        steps = ", ".join(dict.fromkeys(one.node.step.id for one in group))
        text = f"table {node.table.path} would be written to {into} by each of the steps {steps}"
        remedy = f"remove one of the steps, or give them separate targets with {option}"
    else:
        text = f"the tables {_tables(group)} would all be written to {into}, and their rows mixed or overwritten"
        remedy = (
            f"give each its own target: {option} with ${{schema_name}} or ${{database_name}} beside "
            f"${{table_name}} (seatunnel copy: --into); {option} without a placeholder merges them on purpose"
        )
    return node.step.node.problem(text, option=option, remedy=remedy)


def _unanswered(alike: Sequence[_Placed], error: Exception) -> Problem:
    message = error.message if isinstance(error, SeaTunnelError) else str(error)
    remedy = error.remedy if isinstance(error, SeaTunnelError) else ""
    text = f"the targets of {_tables(alike)} have similar names, and the target cannot be queried: {message}"
    return alike[0].node.step.node.problem(text, remedy=remedy)
