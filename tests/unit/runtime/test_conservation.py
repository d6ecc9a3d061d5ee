"""Rows are conserved in every unit, whatever its worker says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatunnel_py.api import Cardinality, Determinism, Piece, Split, TablePath
from seatunnel_py.plan.graph_nodes import SqlNode
from seatunnel_py.plan.pipelines import PlannedVertex
from seatunnel_py.plan.sql.analysis import Analysis
from seatunnel_py.runtime.counts.row_conservation import violation
from seatunnel_py.runtime.counts.row_tallies import TallyCounter
from seatunnel_py.work.unit import QUARANTINE, SinkPiece, Slice, StepCount, Unit, UnitId, UnitResult
from tests.kit.runtime_toys import ToySink, ToySource, filter_node, forked, sink_node, source_node, straight, worked

TABLE = TablePath.parse("t")
READ = Unit(UnitId("t", 1), Split("s0", TABLE, rows=10))


def found(vertex: PlannedVertex, unit: Unit, result: UnitResult) -> str:
    failure = violation(vertex, unit, result, TallyCounter(vertex).of(result))
    return failure.message if failure else ""


def test_honest_units_are_fine() -> None:
    """A chain to a sink, one to a channel, one that filters, one with bad rows."""
    chain = straight("t").vertices[0]
    assert not found(chain, READ, worked(READ, chain))
    head, behind, _ = forked("t", ToySource(), [ToySink("a"), ToySink("b")]).vertices
    sent = worked(READ, head)
    assert not found(head, READ, sent)
    taking = Unit(UnitId(behind.id, 1), slices=sent.slices)
    assert not found(behind, taking, worked(taking, behind))
    filtering = PlannedVertex("t", (source_node("t"), filter_node("f", "t"), sink_node("out", "t")))
    assert not found(filtering, READ, worked(READ, filtering, filtered=3))
    aside = SinkPiece(QUARANTINE, TABLE, Piece(2))
    rejected = StepCount("t-in", TABLE, 10, 8, 2)
    kept = replace(worked(READ, chain).pieces[0], piece=Piece(8))
    assert not found(chain, READ, replace(worked(READ, chain), pieces=(kept, aside), counts=(rejected,)))


@pytest.mark.parametrize(("skipped", "written", "words"), [(3, 10, ""), (3, 9, "13 rows went in, 9 came out, 3 were")])
def test_what_a_reader_skips_is_no_loss_and_hides_none(skipped: int, written: int, words: str) -> None:
    chain = straight("t").vertices[0]
    honest = worked(READ, chain)
    pieces = (replace(honest.pieces[0], piece=Piece(written)),)
    counts = (StepCount("t-in", TABLE, 10 + skipped, 10),)

    message = found(chain, READ, replace(honest, pieces=pieces, counts=counts))

    assert words in message and bool(words) is bool(message)


@pytest.mark.parametrize(
    ("rows", "written", "filtered", "words"),
    [
        (10, 9, 0, "10 rows went in, 9 came out, 0 were filtered and 0 rejected"),
        (10, 11, 0, "10 rows went in, 11 came out"),
        (10, 8, 1, "10 rows went in, 8 came out, 1 were filtered"),
    ],
)
def test_rows_that_vanish_or_appear(rows: int, written: int, filtered: int, words: str) -> None:
    """A sink that confirms what it was not given, a filter that says less than it drops."""
    vertex = PlannedVertex("t", (source_node("t"), filter_node("f", "t"), sink_node("out", "t")))
    honest = worked(READ, vertex, filtered=filtered)
    lying = replace(honest, pieces=(replace(honest.pieces[0], piece=Piece(written)),))

    assert words in found(vertex, READ, lying)


def test_a_query_may_give_several_rows_for_one() -> None:
    """It says how many: EXPLODE, and whatever stands behind it gets as many."""
    head = source_node("t")
    analysis = Analysis("q", (), True, Determinism.DETERMINATE)
    query = SqlNode("q", filter_node("q", "t").step, analysis, (("t", head.table.schema),), head.table.schema)
    vertex = PlannedVertex("t", (head, query, sink_node("out", "t")))
    result = worked(READ, PlannedVertex("t", (head, sink_node("out", "t"))))
    many = replace(result.pieces[0], piece=Piece(25))
    result = replace(result, pieces=(many,), counts=(StepCount("q", TABLE, 10, 25), StepCount("out", TABLE, 25, 25)))

    assert not found(vertex, READ, result)
    assert "10 rows went in, queries added 15, 24 came out" in found(
        vertex, READ, replace(result, pieces=(replace(many, piece=Piece(24)),))
    )


def test_rows_that_were_sent_and_not_received() -> None:
    """Each slice says how many rows it holds."""
    behind = forked("t", ToySource(), [ToySink("a")]).vertices[1]
    unit = Unit(UnitId(behind.id, 1), slices=(Slice("t", 1, TABLE, "mem:1", 0, 10, 80),))

    assert "10 rows were sent to it, and it took 9" in found(behind, unit, replace(worked(unit, behind), rows=9))


def test_a_step_that_makes_other_rows_is_not_balanced() -> None:
    """It has declared that."""
    vertex = PlannedVertex("t", (source_node("t"), filter_node("f", "t", Cardinality.ANY), sink_node("out", "t")))
    honest = worked(READ, vertex)

    assert not found(vertex, READ, replace(honest, pieces=(replace(honest.pieces[0], piece=Piece(77)),)))
