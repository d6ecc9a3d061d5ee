"""The receipt: exit codes, totals, and whose rows went where."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from seatunnel_py.api import Cardinality, Piece, TablePath
from seatunnel_py.cli.view.receipt_view import receipt_text
from seatunnel_py.errors import ExitCode
from seatunnel_py.plan.graph_nodes import SqlNode
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel, PlannedVertex
from seatunnel_py.plan.sql.analysis import Analysis, Determinism
from seatunnel_py.runtime.counts.row_tallies import RowTally, TallyCounter
from seatunnel_py.runtime.counts.table_counts import TableCounts
from seatunnel_py.runtime.observe.receipt import Receipt, Seconds, TableReceipt, TableState, TargetReceipt
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.work.unit import Budget, SinkPiece, Slice, StepCount, Unit, UnitId, UnitResult
from tests.kit.runtime_toys import ToySink, ToySource, failed, filter_node, forked, sink_node, source_node, worked

DONE, FAILED, STOPPED, ISOLATED = TableState.DONE, TableState.FAILED, TableState.STOPPED, TableState.ISOLATED
X = TablePath.parse("x")


def receipt(*states: TableState, stopped_by: int = 0) -> Receipt:
    tables = tuple(TableReceipt(f"t{number}", (), state) for number, state in enumerate(states))
    return Receipt("j", "job", tables, Seconds(), stopped_by=stopped_by)


@pytest.mark.parametrize(
    ("states", "stopped_by", "code", "state"),
    [
        ([DONE, DONE], 0, 0, "SUCCESS"),
        ([], 0, 0, "SUCCESS"),
        ([DONE, FAILED], 0, 3, "SOME_TABLES_FAILED"),
        ([DONE, ISOLATED], 0, 3, "SOME_TABLES_FAILED"),
        ([FAILED, FAILED], 0, 1, "FAILED"),
        ([DONE, STOPPED], 130, 130, "STOPPED"),
        ([STOPPED], 143, 143, "STOPPED"),
        ([], 130, 130, "STOPPED"),
        ([FAILED, STOPPED], 1, 1, "FAILED"),  # fail fast
        ([DONE, DONE], 130, 0, "SUCCESS"),  # the stop came when everything had been committed
    ],
)
def test_exit_codes(states: list[TableState], stopped_by: int, code: int, state: str) -> None:
    """What the shell sees (design, section 8)."""
    found = receipt(*states, stopped_by=stopped_by)

    assert (found.exit_code, found.state) == (code, state)


def unit(vertex: str, rows: int) -> Unit:
    source = ToySource((rows,))
    (split,) = source.enumerator([source_node("x").table], None).discover()
    return Unit(UnitId(vertex, 0), split, budget=Budget(1000))


def receiving(vertex: str, rows: int) -> Unit:
    return Unit(UnitId(vertex, 0), slices=(Slice("c", 0, X, "mem:", 0, rows, rows),))


def counted(pipeline: Pipeline, *results: UnitResult, attempts: dict[str, int] | None = None) -> Sequence[TableReceipt]:
    """The receipts of a pipeline whose units have given these results."""
    counting = {vertex.id: TallyCounter(vertex) for vertex in pipeline.vertices}
    tallies: dict[str, RowTally] = {}
    for result in results:
        vertex = result.id.vertex
        tallies[vertex] = tallies.get(vertex, RowTally()).plus(counting[vertex].of(result))
    return TableCounts(pipeline).receipts(tallies, attempts or {}, DONE, 1.0, None)


def test_a_table_with_two_targets_counts_into_each() -> None:
    """A row that two sinks take is read once, and written once into each."""
    pipeline = forked("x", ToySource((10,)), [ToySink("one"), ToySink("two")])
    behind = [worked(receiving(vertex.id, 10), vertex) for vertex in pipeline.vertices[1:]]

    (table,) = counted(pipeline, worked(unit("x", 10), pipeline.vertices[0]), *behind)

    assert (table.rows_read, table.rows_written, table.rows_filtered) == (10, 20, 0)
    assert table.targets == (TargetReceipt("one", 10, 80), TargetReceipt("two", 10, 80))


def test_filtered_rows_are_counted_where_they_are_dropped() -> None:
    """Read is written and filtered; a sink that writes less than it got is not a filter."""
    vertex = PlannedVertex("x", (source_node("x"), filter_node("even", "x"), sink_node("out", "x")))

    (table,) = counted(Pipeline("p", "x", (vertex,)), worked(unit("x", 10), vertex, filtered=4))

    assert (table.rows_read, table.rows_written, table.rows_filtered) == (10, 6, 4)


def test_rows_that_leave_by_a_side_output_are_not_filtered() -> None:
    """They are written, into the side table's target."""
    errors = TablePath.parse("errors")
    vertex = PlannedVertex(
        "x", (source_node("x"), filter_node("check", "x"), sink_node("out", "x"), sink_node("bad", "errors"))
    )
    pieces = (SinkPiece("out", X, Piece(7)), SinkPiece("bad", errors, Piece(2)))
    result = UnitResult(UnitId("x", 0), rows=10, pieces=pieces, counts=(StepCount("check", X, 10, 9),))

    (table,) = counted(Pipeline("p", "x", (vertex,)), result)

    assert (table.rows_read, table.rows_filtered) == (10, 1)
    assert [target.rows_written for target in table.targets] == [7, 2]


def test_a_step_that_makes_other_rows_filters_nothing() -> None:
    """Ten rows that become one sum have not been dropped."""
    vertex = PlannedVertex("x", (source_node("x"), filter_node("sum", "x", Cardinality.ANY), sink_node("out", "x")))

    (table,) = counted(Pipeline("p", "x", (vertex,)), worked(unit("x", 10), vertex, filtered=9))

    assert (table.rows_written, table.rows_filtered) == (1, 0)


def test_a_union_shows_what_each_table_brought() -> None:
    """Two sources of one table name are two lines, each with its own rows."""
    first = PlannedVertex("a", (source_node("x"), sink_node("out", "x")))
    second = PlannedVertex("b", (source_node("x"), sink_node("out", "x")))

    tables = counted(Pipeline("p", "x", (first, second)), worked(unit("a", 10), first), worked(unit("b", 5), second))

    assert [(table.rows_read, table.rows_written) for table in tables] == [(10, 10), (5, 5)]


def test_a_target_belongs_to_the_tables_that_lead_to_it() -> None:
    """Tables that share a pipeline only because a sink spans them do not show one another's targets."""
    vertices = tuple(
        PlannedVertex(name, (source_node(name), sink_node("count", name, ToySink(f"count of {name}"), spans=True)))
        for name in ("x", "y")
    )

    tables = counted(Pipeline("p", "x", vertices))

    assert [[each.target for each in table.targets] for table in tables] == [["count of x"], ["count of y"]]


def test_rows_behind_a_channel_belong_to_the_source_that_feeds_it() -> None:
    """Also when the table was renamed on the way, and another table of the pipeline comes first."""
    y = TablePath.parse("renamed")
    channel = PlannedChannel("c", "b", "b>", y)
    vertices = (
        PlannedVertex("a", (source_node("first"), sink_node("out", "first"))),
        PlannedVertex("b", (source_node("second"), filter_node("rename", "second")), (), (channel,)),
        PlannedVertex("b>", (sink_node("out", "renamed"),), (channel,)),
    )

    a, b = counted(
        Pipeline("p", "first", vertices), worked(receiving("b>", 8), vertices[2]), attempts={"b": 1, "b>": 2}
    )

    assert (a.rows_written, a.attempts) == (0, 0)
    assert (b.rows_written, b.attempts) == (8, 3)


def joined() -> tuple[Pipeline, PlannedVertex]:
    """A query over two tables, and its sink."""
    left, right, out = (
        PlannedChannel("l", "a", "q", X, "l"),
        PlannedChannel("r", "b", "q", X, "r"),
        PlannedChannel("o", "q", "s", X),
    )
    head = source_node("x")
    analysis = Analysis("q", (), False, Determinism.DETERMINATE)
    query = SqlNode("q", head.step, analysis, (("l", head.table.schema), ("r", head.table.schema)), head.table.schema)
    last = PlannedVertex("s", (sink_node("out", "x"),), (out,))
    vertices = (
        PlannedVertex("a", (source_node("orders"),), (), (left,)),
        PlannedVertex("b", (source_node("people"),), (), (right,)),
        PlannedVertex("q", (query,), (left, right), (out,)),
        last,
    )
    return Pipeline("p", "orders", vertices), last


def test_rows_of_a_join_stand_with_its_first_table() -> None:
    """Nobody can say whose they are; the other table says that it does not know, not that nothing was written."""
    pipeline, last = joined()
    of_query = UnitResult(UnitId("q", 0), rows=99, counts=(StepCount("x-in", X, 99, 6),))

    tables = counted(pipeline, of_query, worked(receiving("s", 6), last))

    assert [table.targets for table in tables] == [
        (TargetReceipt("out", 6, 48),),
        (TargetReceipt("out", None, None),),
    ]
    assert [(table.rows_read, table.rows_filtered) for table in tables] == [(0, 0), (0, 0)]


def filled() -> Receipt:
    two = (TargetReceipt("lake/[orders]", 10, 80), TargetReceipt("console", 10, 90))
    cause = failed(UnitId("u", 0)).failure
    tables = (
        TableReceipt("shop.[/orders]", two, DONE, 10, 20, 0, 0, 170, 1, 1.5),
        TableReceipt("people", (TargetReceipt("lake", None, None),), FAILED, 7, 0, 2, cause=cause),
    )
    return Receipt("j", "job", tables, Seconds(2.0, 1.0, 1.0, 0.5), ("a note [/with] brackets",))


def test_json_has_a_list_of_targets_and_totals_and_no_trace() -> None:
    """Machines get the same numbers as people; traces stay in the log."""
    plain = json.loads(json.dumps(filled().to_plain()))

    none = {"cause": None, "stands": None, "present": None, "conversions": [], "not_carried_over": []}
    assert plain["tables"][0]["targets"] == [
        {"target": "lake/[orders]", "rows_written": 10, "bytes_written": 80, "state": "DONE", **none},
        {"target": "console", "rows_written": 10, "bytes_written": 90, "state": "DONE", **none},
    ]
    assert plain["totals"] == {
        "rows_read": 17,
        "rows_written": 20,
        "rows_filtered": 2,
        "rows_rejected": 0,
        "bytes_written": 170,
    }
    assert (plain["state"], plain["exit_code"]) == ("SOME_TABLES_FAILED", ExitCode.SOME_TABLES_FAILED)
    assert "trace" not in plain["tables"][1]["cause"]


def test_text_has_a_line_per_target_with_its_own_rows() -> None:
    """Names with brackets are shown as they are; what is not known is a dash, not a zero."""
    text = receipt_text(filled(), Home.of_environment())
    lines = [line.split() for line in text.splitlines()]

    assert ["shop.[/orders]", "lake/[orders]", "10", "10", "0", "0", "80", "B", "1.5", "s", "done"] in lines
    assert ["console", "10", "90", "B"] in lines
    assert "a note [/with] brackets" in text
    assert any(line[:4] == ["people", "lake", "7", "–"] for line in lines)
    assert "u#0.e0.a0 went wrong" in text


def restored(*, kept: bool, before: int, data: float) -> Receipt:
    row = TableReceipt("a", (TargetReceipt("lake", 50, 1),), DONE, 50, 50, rows_read_before=before, kept=kept)
    return Receipt("j", "job", (row,), Seconds(2.0, 1.0, data))


def test_a_rate_is_of_what_this_run_has_read() -> None:
    """P1: tables that a restore kept were read at 9,946,074 rows/s, in 0.0 s."""
    kept = restored(kept=True, before=50, data=0.001)
    assert (kept.rate, kept.to_plain()["this_run"]) == (None, {"rows_read": 0, "rows_per_second": None})
    text = receipt_text(kept, Home.of_environment())
    (line,) = [line for line in text.splitlines() if line.startswith(" a ")]
    assert line.split()[-2:] == ["–", "kept"]
    assert "rows/s" not in text and "1 table was done before this run, and kept" in text

    part = restored(kept=False, before=20, data=2.0)
    assert part.rate == 15.0
    assert "rows moved for 2.0 s of 2.0 s, at 15 rows/s" in receipt_text(part, Home.of_environment())
    assert "this run read 30 of these 50 rows, the runs before it 20" in receipt_text(part, Home.of_environment())

    assert restored(kept=False, before=0, data=0.0).rate is None
    assert "this run" not in receipt_text(restored(kept=False, before=0, data=1.0), Home.of_environment())
