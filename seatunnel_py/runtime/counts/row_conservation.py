"""Checks for each finished unit that rows are conserved from a vertex's inputs to its sinks and channels (I6). So
they are conserved in every checkpoint, over restarts and restores. Pure.

Rules. (1) A unit reads exactly the rows of its slices, so sent and received rows are equal. (2) Each input row is
an output row, is filtered by a filtering step, or is rejected; a query may also produce additional rows, and reports
their number. (3) For a step that produces other rows, such as an aggregate, the counts are only reported.
"""

from __future__ import annotations

from seatunnel_py.api.capabilities import Cardinality
from seatunnel_py.nouns import counted
from seatunnel_py.plan.graph_nodes import SqlNode, TransformNode
from seatunnel_py.plan.pipelines import PlannedVertex
from seatunnel_py.runtime.counts.row_tallies import RowTally
from seatunnel_py.work.unit import QUARANTINE, FailureKind, Unit, UnitFailure, UnitResult


def violation(vertex: PlannedVertex, unit: Unit, result: UnitResult, tally: RowTally) -> UnitFailure | None:
    """Why a successful unit must not count; ``tally``: the counts that it adds."""
    if vertex.query is not None:
        return None
    if unit.split is None:
        sent = sum(one.rows for one in unit.slices)
        if result.rows != sent:
            return _failure(
                unit, f"{counted(sent, 'row')} {'was' if sent == 1 else 'were'} sent to it, and it took {result.rows}"
            )
    if any(_makes_others(node) for node in vertex.nodes):
        return None
    went_in = result.rows if vertex.source is None else tally.read  # with rows that its reader skipped
    out = sum(piece.piece.rows for piece in result.pieces if piece.step != QUARANTINE)
    out += sum(one.rows for one in result.slices)
    added = _added(vertex, result)
    if went_in + added != out + tally.filtered + tally.rejected:
        by_query = f", queries added {added}" if added else ""
        return _failure(
            unit,
            f"{went_in} rows went in{by_query}, {out} came out, {tally.filtered} were filtered and "
            f"{tally.rejected} rejected",
        )
    return None


def _added(vertex: PlannedVertex, result: UnitResult) -> int:
    """Additional rows that queries of the chain produced, for example by EXPLODE."""
    queries = {node.step.id for node in vertex.nodes if isinstance(node, SqlNode)}
    return sum(
        max(0, count.rows_out + count.rejected - count.rows_in) for count in result.counts if count.step in queries
    )


def _makes_others(node: object) -> bool:
    return isinstance(node, TransformNode) and node.capabilities.cardinality is Cardinality.ANY


def _failure(unit: Unit, what: str) -> UnitFailure:
    return UnitFailure(
        FailureKind.FATAL, f"rows are not conserved in unit {unit.id}: {what}", "report this plugin's fault"
    )
