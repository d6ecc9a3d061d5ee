"""Sums of rows: they add up in any order, and come back from a record as they went in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import Piece, TablePath
from seatunnel_py.plan.graph_nodes import SqlNode
from seatunnel_py.plan.pipelines import PlannedChannel, PlannedVertex
from seatunnel_py.plan.sql.analysis import Analysis, Determinism
from seatunnel_py.runtime.counts.row_tallies import RowTally, TallyCounter, tally_of
from seatunnel_py.work.unit import Budget, SinkPiece, Slice, StepCount, Unit, UnitId, UnitResult
from tests.kit.runtime_toys import ToySource, filter_node, sink_node, source_node, worked

X = TablePath.parse("x")
NODES = ("out[x]", "bad[x]", "count[y]")

amounts = st.integers(0, 10**12)
tallies = st.builds(
    RowTally, amounts, amounts, amounts, st.dictionaries(st.sampled_from(NODES), st.tuples(amounts, amounts))
)


@given(tallies, tallies, tallies)
def test_sums_are_the_same_in_whatever_order_units_end(one: RowTally, two: RowTally, three: RowTally) -> None:
    assert one.plus(two).plus(three) == three.plus(one.plus(two)) == two.plus(three).plus(one)
    assert one.plus(RowTally()) == one


@given(tallies)
def test_a_tally_survives_a_record(tally: RowTally) -> None:
    """It is part of a subtask's state."""
    assert tally_of(json.loads(json.dumps(tally.to_plain()))) == tally


def test_a_subtask_without_a_state_has_counted_nothing() -> None:
    assert tally_of(None) == RowTally()


def test_a_channel_is_no_second_reading() -> None:
    """Rows behind a channel were read where it begins; they are written where they arrive."""
    channel = PlannedChannel("c", "a", "x", X)
    behind = PlannedVertex("x", (sink_node("out", "x"),), (channel,))
    unit = Unit(UnitId("x", 1), slices=(Slice("c", 1, X, "mem:", 0, 7, 7),))

    assert TallyCounter(behind).of(worked(unit, behind)) == RowTally(0, 0, 0, {"out[x]": (7, 56)})


def test_what_a_source_reads_drops_and_writes_is_counted_once_each() -> None:
    vertex = PlannedVertex(
        "x", (source_node("x"), filter_node("even", "x"), sink_node("out", "x"), sink_node("log", "x"))
    )
    source = ToySource((10,))
    (split,) = source.enumerator([source_node("x").table], None).discover()
    unit = Unit(UnitId("x", 1), split, budget=Budget(1000))

    tally = TallyCounter(vertex).of(worked(unit, vertex, filtered=4))

    assert tally == RowTally(10, 4, 0, {"out[x]": (6, 48), "log[x]": (6, 48)})


def test_rejected_rows_are_not_filtered_ones() -> None:
    """They were refused, and are kept somewhere; ten rows are three written, five filtered and two rejected."""
    vertex = PlannedVertex("x", (source_node("x"), filter_node("check", "x"), sink_node("out", "x")))
    counts = (StepCount("check", X, 10, 3, 2), StepCount("out", X, 3, 3))
    result = UnitResult(UnitId("x", 1), rows=10, pieces=(SinkPiece("out", X, Piece(3)),), counts=counts)

    tally = TallyCounter(vertex).of(result)

    assert (tally.read, tally.filtered, tally.rejected, tally.written) == (10, 5, 2, {"out[x]": (3, 0)})


def test_what_a_reader_skips_was_read_and_filtered() -> None:
    """Ten rows, three skipped records and one bad row are fourteen that were read."""
    vertex = PlannedVertex("x", (source_node("x"), sink_node("out", "x")))
    counts = (StepCount("x-in", X, 14, 10, 1), StepCount("out", X, 10, 10))
    result = UnitResult(UnitId("x", 1), rows=11, pieces=(SinkPiece("out", X, Piece(10)),), counts=counts)

    tally = TallyCounter(vertex).of(result)

    assert (tally.read, tally.filtered, tally.rejected, tally.written) == (14, 3, 1, {"out[x]": (10, 0)})


def test_a_step_that_gives_more_rows_than_it_got_filters_none() -> None:
    vertex = PlannedVertex("x", (source_node("x"), filter_node("explode", "x"), sink_node("out", "x")))
    result = UnitResult(UnitId("x", 1), rows=10, counts=(StepCount("explode", X, 10, 30),))

    assert TallyCounter(vertex).of(result).filtered == 0


@pytest.mark.parametrize(("narrow", "filtered"), [(True, 4), (False, 0)])
def test_a_narrow_query_filters_and_a_wide_one_makes_other_rows(narrow: bool, filtered: int) -> None:
    head = source_node("x")
    analysis = Analysis("q", (), narrow, Determinism.DETERMINATE)
    query = SqlNode("q", filter_node("q", "x").step, analysis, (("x", head.table.schema),), head.table.schema)
    vertex = PlannedVertex("x", (head, query))

    assert TallyCounter(vertex).of(UnitResult(UnitId("x", 1), rows=10, counts=(StepCount("q", X, 10, 6),))) == RowTally(
        10, filtered
    )
