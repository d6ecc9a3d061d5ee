"""One vertex under every order of results: rows are taken once, in order, and never too many at a time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from runtime_toys import ToySource, read, schema, sink_node, source_node, worked

from seatunnel_py.api import TablePath
from seatunnel_py.plan.flows import SqlNode
from seatunnel_py.plan.pipelines import Channel, Vertex
from seatunnel_py.plan.sql import Analysis, Determinism
from seatunnel_py.runtime.vertex_run import VertexRun
from seatunnel_py.work.unit import Budget, Slice, UnitResult

X = TablePath.parse("x")


def slices(*rows: int) -> list[Slice]:
    return [Slice("c", number, X, "mem:", number, each, each) for number, each in enumerate(rows)]


def reading(*rows: int, parallelism: int = 1, budget: int = 10) -> VertexRun:
    source = ToySource(rows)
    run = VertexRun(
        Vertex("x", (source_node("x", source), sink_node("out", "x")), parallelism=parallelism), Budget(budget), 4
    )
    run.add_splits(source.enumerator([source_node("x").table], None).discover())
    return run


def receiving(parallelism: int = 1, budget: int = 10, capacity: int = 4) -> VertexRun:
    channel = Channel("c", "a", "x", X)
    return VertexRun(
        Vertex("x", (sink_node("out", "x"),), (channel,), parallelism=parallelism), Budget(budget), capacity
    )


def querying() -> VertexRun:
    node = SqlNode(
        "q",
        source_node("q").step,
        Analysis("q", (), False, Determinism.DETERMINATE),
        (("i", schema("x")),),
        schema("q"),
    )
    return VertexRun(Vertex("q", (node,), (Channel("c", "a", "q", X, "i"),)), Budget(10), 4)


@given(
    st.lists(st.integers(1, 60), max_size=6),
    st.integers(1, 4),
    st.integers(1, 25),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["done", "done", "lost"])), max_size=300),
)
def test_every_row_of_every_split_is_taken_once_and_in_order(
    rows: list[int], parallelism: int, budget: int, fates: list[tuple[int, str]]
) -> None:
    """Whatever finishes first and however many are lost: of a split at most one unit is under way, of the vertex at
    most ``parallelism``, and the rows of a split come one after the other."""
    run = reading(*rows, parallelism=parallelism, budget=budget)
    taken: dict[str, list[int]] = {}
    script = iter(fates)
    while not run.done:
        run.next_units(True)
        under_way = list(run.running.values())
        splits = [unit.split.id for unit in under_way if unit.split]
        assert 1 <= len(under_way) <= parallelism
        assert len(set(splits)) == len(splits)
        pick, fate = next(script, (0, "done"))
        unit = under_way[pick % len(under_way)]
        if fate == "lost":
            assert run.again(unit.id).data_id == unit.data_id
            continue
        assert unit.split is not None
        taken.setdefault(unit.split.id, []).extend(read(unit))
        run.succeeded(worked(unit, run.vertex))

    assert taken == {f"s{number}": list(range(each)) for number, each in enumerate(rows)}
    assert sum(piece.piece.rows for piece in run.pieces) == sum(rows)


def test_a_second_attempt_has_the_same_rows_and_another_number() -> None:
    """The sink can tell "again" from "more"; the unit stays under way."""
    run = reading(10)
    (unit,) = run.next_units(True)

    retry = run.again(unit.id)

    assert (retry.id.sequence, retry.id.attempt, retry.data_id) == (0, 1, unit.data_id)
    assert list(run.running) == [retry.id]
    assert run.next_units(True) == []


def test_a_full_channel_downstream_holds_new_units_back() -> None:
    """Back-pressure: what is under way goes on, nothing starts."""
    run = reading(10, 10, parallelism=2)

    assert run.next_units(False) == []
    assert len(run.next_units(True)) == 2


def test_an_empty_source_is_done_at_once() -> None:
    """No split, no unit."""
    run = reading()

    assert run.next_units(True) == []
    assert run.done


def test_batches_are_taken_in_order_up_to_the_budget() -> None:
    """A unit gets as many batches as make it worth its while; it is full where its channel is."""
    run = receiving()
    run.add_slices(slices(4, 4, 4, 4))

    assert run.full
    (unit,) = run.next_units(True)
    assert [item.sequence for item in unit.slices] == [0, 1, 2]
    assert (run.unread, run.full, run.done) == (1, False, False)


def test_a_receiver_is_done_when_its_input_has_ended_and_all_is_taken() -> None:
    """Not before: more may come."""
    run = receiving()
    run.add_slices(slices(4))
    (unit,) = run.next_units(True)
    run.succeeded(UnitResult(unit.id))

    assert not run.done
    run.input_ended = True
    assert run.done


def test_a_wide_query_waits_for_all_of_its_input_and_runs_once() -> None:
    """It is never full, for it must take everything; without a row it runs as well: count(*) of nothing is a row."""
    run = querying()
    run.add_slices(slices(*[4] * 50))

    assert not run.full
    assert run.next_units(True) == []
    run.input_ended = True
    (unit,) = run.next_units(True)
    assert len(unit.slices) == 50
    assert run.next_units(True) == []
    run.succeeded(UnitResult(unit.id))
    assert run.done

    empty = querying()
    empty.input_ended = True
    assert not empty.done
    assert len(empty.next_units(True)) == 1
