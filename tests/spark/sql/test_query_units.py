"""Units with queries in them: every row arrives once, with all that belongs to it, or the unit fails whole."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.api import RowKind, SourceTable, Split, TableSchema
from seatunnel_py.api.capabilities import Cardinality
from seatunnel_py.plan.sql.analysis import Analysis
from seatunnel_py.spark.query.catalyst import Analyst
from seatunnel_py.spark.query.unit import QuerySessions, needs_catalyst, run_query_unit
from seatunnel_py.work.chain import (
    Chain,
    ChainChannel,
    ChainQuery,
    ChainSink,
    ChainSource,
    ChainSql,
    ChainTransform,
)
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.segments import read_slices
from seatunnel_py.work.unit import Budget, FailureKind, Slice, Unit, UnitId, UnitResult
from tests.spark.sql.parts import PATH, SIDE, TABLE, Doubled, Kept, Numbers

pytestmark = pytest.mark.spark

SPLIT = Split("all", PATH)


@pytest.fixture(scope="module")
def analyst(session: Any) -> Analyst:
    return Analyst(session)


@pytest.fixture(scope="module")
def sessions(application: Any) -> QuerySessions:
    return QuerySessions(application.context)


def step(analyst: Analyst, query: str, table: TableSchema = TABLE, name: str = "Sql-1") -> ChainSql:
    analysis: Analysis = analyst.analyse(query, {"orders": table}, "seatunnel")
    assert analysis.narrow
    return ChainSql(name, table, "orders", analysis.query, table.with_columns(analysis.columns))


def chain(source: Numbers, *transforms: Any, sinks: tuple[ChainSink, ...] = ()) -> Chain:
    head = ChainSource("source", source, SourceTable(TABLE))
    return Chain("v[shop.orders]", "job", "lineage", 1, head, transforms, sinks)


def unit(number: int = 0, **more: Any) -> Unit:
    return Unit(UnitId("v[shop.orders]", number), SPLIT, **more)


def kept(place: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(place.glob("*.json")) for line in path.read_text().splitlines()]


def test_rows_keep_what_belongs_to_them(analyst: Analyst, sessions: QuerySessions, tmp_path: Path) -> None:
    """Values, types, kinds, metadata and the position of the last batch survive a projection with a filter."""
    query = step(
        analyst, "select id, upper(name) as name, clock, attributes, tags, half, price, at from dual where id % 2 = 1"
    )
    sink = ChainSink("sink", PATH, Kept(str(tmp_path)))

    result = run_query_unit(sessions, chain(Numbers(), query, sinks=(sink,)), unit(), str(tmp_path))

    batches = kept(tmp_path)
    rows = [row for batch in batches for row in batch["rows"]]
    kinds = [kind for batch in batches for kind in batch["kinds"]]
    delays = [delay for batch in batches for delay in batch["metadata"]["Delay"]]
    assert result.failure is None
    assert (result.done, result.next, result.rows) == (True, None, 40)
    assert [row["id"] for row in rows] == list(range(1, 40, 2))
    assert kinds == [3 if row["id"] % 3 == 0 else 0 for row in rows]
    assert delays == [row["id"] * 2 for row in rows]
    assert [batch["end"] for batch in batches] == [{"next": 10}, {"next": 20}, {"next": 30}, {"next": 40}]
    assert batches[0]["types"] == [str(field.type) for field in query.output.arrow()]
    assert (rows[0]["name"], rows[2]["name"], rows[0]["clock"]) == ("N1", None, "00:00:00.000001")
    assert [(piece.step, piece.piece.rows) for piece in result.pieces] == [("sink", 20)]
    counts = {count.step: (count.rows_in, count.rows_out) for count in result.counts}
    assert counts == {"source": (40, 40), "Sql-1": (40, 20), "sink": (20, 20)}


def test_a_unit_stops_at_its_budget(analyst: Analyst, sessions: QuerySessions, tmp_path: Path) -> None:
    """The position that the reader reached is the unit's, whatever the query leaves of the rows."""
    query = step(analyst, "select id from dual where id < 5")
    whole = chain(Numbers(), query, sinks=(ChainSink("sink", PATH, Kept(str(tmp_path))),))

    first = run_query_unit(sessions, whole, unit(budget=Budget(rows=15)), str(tmp_path))
    second = run_query_unit(sessions, whole, unit(1, start=first.next), str(tmp_path))

    assert (first.done, first.rows, first.next and dict(first.next.value)) == (False, 20, {"next": 20})
    assert (second.done, second.rows, second.pieces) == (True, 20, ())
    assert [row["id"] for batch in kept(tmp_path) for row in batch["rows"]] == [0, 1, 2, 3, 4]


def test_a_query_that_no_row_passes_has_filtered_them_all(
    analyst: Analyst, sessions: QuerySessions, tmp_path: Path
) -> None:
    """Else the unit seems to have lost its rows, and its table fails. Also where another query stands behind it."""
    none = step(analyst, "select * from dual where id < 0")
    behind = step(analyst, "select id from dual", name="Sql-2")
    sink = ChainSink("sink", PATH, Kept(str(tmp_path)))

    result = run_query_unit(sessions, chain(Numbers(), none, behind, sinks=(sink,)), unit(), str(tmp_path))

    counts = {count.step: (count.rows_in, count.rows_out) for count in result.counts}
    assert (result.failure, result.done, result.rows, result.pieces) == (None, True, 40, ())
    assert counts == {"source": (40, 40), "Sql-1": (40, 0), "Sql-2": (0, 0)}


def test_transforms_and_queries_in_any_order(analyst: Analyst, sessions: QuerySessions, tmp_path: Path) -> None:
    """Two queries with transforms around them; the rows of another table go round the queries."""
    first = step(analyst, "select * from dual where id < 40")
    second = step(analyst, "select id, id / 2 as half_id from dual", name="Sql-2")
    sinks = (ChainSink("sink", PATH, Kept(str(tmp_path))), ChainSink("side", SIDE, Kept(str(tmp_path))))
    double = ChainTransform("double", PATH, Doubled(), cardinality=Cardinality.ANY)

    result = run_query_unit(
        sessions, chain(Numbers(), double, first, double, second, sinks=sinks), unit(), str(tmp_path)
    )

    batches = kept(tmp_path)
    assert result.failure is None
    assert [row["id"] for batch in batches if batch["table"] == str(PATH) for row in batch["rows"]] == list(
        range(0, 80, 4)
    )
    aside = sorted(row["id"] for batch in batches if batch["table"] == str(SIDE) for row in batch["rows"])
    assert aside == [0, 0, 10, 10, 20, 20, 30, 30]
    assert {piece.step: piece.piece.rows for piece in result.pieces} == {"sink": 20, "side": 8}


def test_a_source_that_fails_fails_the_unit(analyst: Analyst, sessions: QuerySessions, tmp_path: Path) -> None:
    """Nothing is staged behind a query whose rows did not all come."""
    query = step(analyst, "select id from dual")
    whole = chain(Numbers(fails_after=20), query, sinks=(ChainSink("sink", PATH, Kept(str(tmp_path))),))

    result = run_query_unit(sessions, whole, unit(), str(tmp_path))

    assert result.failure is not None
    assert (result.failure.kind, result.failure.message, result.failure.step) == (
        FailureKind.FATAL,
        "the source broke",
        "source",
    )
    assert result.pieces == ()
    assert kept(tmp_path) == []


def test_a_sink_that_fails_fails_the_unit(analyst: Analyst, sessions: QuerySessions, tmp_path: Path) -> None:
    """The reader is told, and the failure is the sink's own."""
    query = step(analyst, "select id from dual")
    sink = ChainSink("sink", PATH, Kept(str(tmp_path), fails_at=25))

    result = run_query_unit(sessions, chain(Numbers(batches=400), query, sinks=(sink,)), unit(), str(tmp_path))

    assert result.failure is not None
    assert (result.failure.message, result.failure.step) == ("the target broke", "sink")
    assert kept(tmp_path) == []


def test_a_bad_value_fails_the_unit_in_words(analyst: Analyst, sessions: QuerySessions, tmp_path: Path) -> None:
    """What Catalyst finds while it runs is the query's failure, told without a stack."""
    query = step(analyst, "select id, cast(name as int) as number from dual")
    sink = ChainSink("sink", PATH, Kept(str(tmp_path)))

    result = run_query_unit(sessions, chain(Numbers(), query, sinks=(sink,)), unit(), str(tmp_path))

    assert result.failure is not None
    assert (result.failure.kind, result.failure.step) == (FailureKind.FATAL, "Sql-1")
    assert result.failure.message.startswith('The value \'n1\' of the type "STRING" cannot be cast to "INT"')
    assert "\n" not in result.failure.message
    assert kept(tmp_path) == []


@pytest.mark.parametrize("word", ["cancelled", "java.io.EOFException", "ExecutorLostFailure SQLSTATE: 08000"])
@pytest.mark.parametrize("wrong", ["cast(concat('{}', id) as int)", "raise_error(concat('{}', id))"])
def test_a_bad_value_that_reads_like_a_lost_worker_fails_the_unit_at_once(
    analyst: Analyst, sessions: QuerySessions, tmp_path: Path, word: str, wrong: str
) -> None:
    """It was tried four times, and the receipt named a worker that was lost. Behind a shuffle as well."""
    made = f"cast({wrong.format(word)} as string) as x"
    found: Analysis = analyst.analyse(f"select id, {made} from o", {"o": TABLE}, "spark")
    narrow = ChainSql("Sql-1", TABLE, "o", found.query, TABLE.with_columns(found.columns))
    within = chain(Numbers(), narrow, sinks=(ChainSink("sink", PATH, Kept(str(tmp_path))),))
    found = analyst.analyse(f"select {made}, count(*) as c from o group by 1", {"o": TABLE}, "spark")
    head = ChainQuery("Sql-1", found.query, (("a", "o", TABLE),), replace(TABLE, columns=found.columns))
    over = Chain("q", "job", "lineage", 1, head, output=ChainChannel("q", str(tmp_path)))
    slices = tuple(replace(item, channel="a") for item in written(tmp_path, kinds=False))

    for whole, one in ((within, unit()), (over, Unit(UnitId("q", 0), slices=slices))):
        result = run_query_unit(sessions, whole, one, str(tmp_path))
        assert result.failure is not None and result.failure.kind is FailureKind.FATAL
        assert word.partition(" ")[0] in result.failure.message


def test_a_unit_of_a_channel(analyst: Analyst, sessions: QuerySessions, tmp_path: Path) -> None:
    """Slices instead of a split; what nobody takes goes to the output channel as slices."""
    slices = written(tmp_path)
    query = step(analyst, "select id from dual where id >= 35")
    head = ChainChannel("in", str(tmp_path))
    whole = Chain("v", "job", "lineage", 1, head, (query,), (), ChainChannel("out", str(tmp_path)))

    result = run_query_unit(sessions, whole, Unit(UnitId("v", 0), slices=slices), str(tmp_path))

    assert result.failure is None
    assert [batch.data.column("id").to_pylist() for batch in read_slices(result.slices)] == [[35, 36, 37, 38, 39]]


def test_a_wide_query_reads_and_writes_channels(analyst: Analyst, sessions: QuerySessions, tmp_path: Path) -> None:
    """A join with an aggregate over two inputs, one of them empty in part."""
    orders = written(tmp_path, kinds=False)
    named = {"o": TABLE, "p": TABLE}
    query = "select p.id, count(*) as n, sum(o.id) as s from o join p on o.id % 10 = p.id group by p.id order by p.id"
    analysis = analyst.analyse(query, named, "seatunnel")
    output = replace(TABLE, columns=analysis.columns)
    inputs = (("a", "o", TABLE), ("b", "p", TABLE))
    slices = tuple(replace(item, channel=name) for name in ("a", "b") for item in orders)
    head = ChainQuery("Sql-1", analysis.query, inputs, output)
    whole = Chain("q", "job", "lineage", 1, head, output=ChainChannel("q", str(tmp_path)))

    result = run_query_unit(sessions, whole, Unit(UnitId("q", 0), slices=slices), str(tmp_path))

    answer = [row for batch in read_slices(result.slices) for row in batch.data.to_pylist()]
    assert not analysis.narrow and needs_catalyst(whole)
    assert result.failure is None
    assert answer == [{"id": at, "n": 4, "s": at * 4 + 60} for at in range(10)]
    assert [item.sequence for item in result.slices] == list(range(len(result.slices)))
    assert {item.channel for item in result.slices} == {"q"}


def test_a_wide_query_takes_inserts_only(analyst: Analyst, sessions: QuerySessions, tmp_path: Path) -> None:
    """What a DELETE would mean for a sum is not known, and the message says what to do."""
    analysis = analyst.analyse("select count(*) as n from o", {"o": TABLE}, "seatunnel")
    head = ChainQuery("Sql-1", analysis.query, (("a", "o", TABLE),), replace(TABLE, columns=analysis.columns))
    whole = Chain("q", "job", "lineage", 1, head, output=ChainChannel("q", str(tmp_path)))
    slices = tuple(replace(item, channel="a") for item in written(tmp_path))

    result = run_query_unit(sessions, whole, Unit(UnitId("q", 0), slices=slices), str(tmp_path))

    assert result.failure is not None
    assert (
        result.failure.message
        == f"Sql-1 joins, sorts or aggregates, and got a row of kind {RowKind.DELETE.name} of {PATH}"
    )
    assert result.failure.remedy.startswith("take changes out with FilterRowKind")


def test_a_wide_query_over_nothing(analyst: Analyst, sessions: QuerySessions, tmp_path: Path) -> None:
    """No batch came: an aggregate still has an answer."""
    analysis = analyst.analyse("select count(*) as n from o", {"o": TABLE}, "seatunnel")
    head = ChainQuery("Sql-1", analysis.query, (("a", "o", TABLE),), replace(TABLE, columns=analysis.columns))
    whole = Chain("q", "job", "lineage", 1, head, output=ChainChannel("q", str(tmp_path)))

    result = run_query_unit(sessions, whole, Unit(UnitId("q", 0)), str(tmp_path))

    assert [batch.data.to_pylist() for batch in read_slices(result.slices)] == [[{"n": 0}]]


def test_many_rows_stream_through(analyst: Analyst, sessions: QuerySessions, tmp_path: Path) -> None:
    """A unit of many batches: all of them pass both stages side by side."""
    query = step(analyst, "select id, concat(name, '_') as name from dual where id % 1000 = 0")
    sink = ChainSink("sink", PATH, Kept(str(tmp_path)))
    patient = unit(budget=Budget(rows=1 << 40, seconds=600))

    result = run_query_unit(sessions, chain(Numbers(20, 5_000), query, sinks=(sink,)), patient, str(tmp_path))

    assert (result.failure, result.rows, result.done) == (None, 100_000, True)
    assert [row["id"] for batch in kept(tmp_path) for row in batch["rows"]] == list(range(0, 100_000, 1000))


def written(place: Path, *, kinds: bool = True) -> tuple[Slice, ...]:
    """The rows of ``Numbers`` as slices of a channel."""
    head = ChainSource("source", Numbers(kinds=kinds), SourceTable(TABLE))
    result: UnitResult = run_unit(
        unit(99), Chain("w", "job", "lineage", 1, head, output=ChainChannel("in", str(place)))
    )
    assert result.failure is None
    return result.slices
