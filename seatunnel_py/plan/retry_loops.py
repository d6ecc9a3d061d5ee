"""Decides whether rows may come back to a step that rejected them. Pure.

Rules. (1) A row that comes back is late: others have passed it. So the plan refuses a sink after such a step if the
sink keeps the order of rows. The plan also refuses a sink that knows rows by key, unless it compares versions: an older
row would replace a newer one. (2) If the source proves that a key comes once there is nothing to overtake. (3) A query
that needs all of its rows is refused: it would wait for rows that may never come.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from seatunnel_py.api.capabilities import Guarantee
from seatunnel_py.errors import PlanError, Problem
from seatunnel_py.plan.graph_nodes import FlowGraph, SinkNode, SqlNode, TableNode, TransformNode

OPTION = "retry_rejected"


def check(graph: FlowGraph) -> None:
    """Raises PlanError naming each step whose rejected rows must not come back."""
    problems = tuple(_problem(node, behind, why) for node, behind, why in refused(graph))
    if problems:
        raise PlanError(problems)


def refused(graph: FlowGraph) -> Iterator[tuple[TransformNode, TableNode, str]]:
    """Each step with a loop, a node after it that cannot handle late rows, and why."""
    for node in graph.nodes.values():
        if isinstance(node, TransformNode) and node.retries:
            for behind in _behind(graph, node):
                if why := _why_not(behind):
                    yield node, behind, why


def _behind(graph: FlowGraph, start: TableNode) -> Iterator[TableNode]:
    found = {start.id}
    waiting = deque(found)
    while waiting:
        for edge in graph.outputs(waiting.popleft()):
            if edge.receiver not in found:
                found.add(edge.receiver)
                waiting.append(edge.receiver)
                yield graph.nodes[edge.receiver]


def _why_not(node: TableNode) -> str:
    if isinstance(node, SqlNode) and not (node.analysis.narrow and len(node.inputs) == 1):
        return "needs all rows before it begins"
    if not isinstance(node, SinkNode) or _comes_once(node):
        return ""
    capabilities = node.capabilities
    if (capabilities.keys or capabilities.guarantee is Guarantee.IDEMPOTENT) and not capabilities.versioned:
        by = f"by key ({', '.join(capabilities.keys)})" if capabilities.keys else "again when they come twice"
        return f"knows rows {by}: a late row would replace a newer one"
    return "keeps rows in their order" if capabilities.keeps_order else ""


def _comes_once(sink: SinkNode) -> bool:
    """Whether all rows that reach the sink have different keys."""
    key = sink.table.primary_key
    known: Iterable[str] = sink.capabilities.keys or sink.table.key
    return key is not None and key.proved and set(key.columns) <= set(known)


def _problem(node: TransformNode, behind: TableNode, why: str) -> Problem:
    text = f"table {node.table.path}: {behind.step.id} after it {why}"
    remedy = (
        "write to a sink that only adds rows or compares versions (Jdbc: version_column), or read a table whose key is "
        "unique, through steps that keep keys"
        if isinstance(behind, SinkNode)
        else "put the query before the step, or into a separate job"
    )
    return node.step.node.problem(text, remedy=remedy, option=OPTION)
