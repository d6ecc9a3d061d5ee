"""The tables of a log's pipeline: taken out, fused if there is one, and added again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from plan_toys import Graph, schema

from seatunnel_py.api import SourceTable
from seatunnel_py.plan.graph_nodes import SourceNode, SourcePart, TableStream
from seatunnel_py.plan.log_tables import following, fused, grown, ordered, unfused
from seatunnel_py.plan.pipelines import Pipeline, divide
from seatunnel_py.runtime.values.topology_builder import graph_of

NAMES = ("a", "b", "c", "d")


def logged(tables: Sequence[str], *, transformed: bool, targets: int) -> Pipeline:
    """The pipeline of a log with these tables, each with its own sinks."""
    graph, other = Graph(), Graph()
    node = other.flow.nodes[other.source("log", tables[0]).node]
    assert isinstance(node, SourceNode)
    found = tuple(SourceTable(schema(name)) for name in tables)
    log = replace(node, id="log~log", table=found[0], part=SourcePart.LOG, log_tables=found)
    graph.flow.put(log, ())
    for name in tables:
        stream = TableStream(log.id, schema(name))
        if transformed:
            (stream,) = graph.transform("change", stream)
        for number in range(targets):
            graph.sink(f"out{number}", [stream])
    (pipeline,) = divide(graph.flow)
    return pipeline


def shape(pipeline: Pipeline) -> list[object]:
    return [
        (one.id, [node.id for node in one.nodes], set(one.inputs), set(one.outputs))
        for one in sorted(pipeline.vertices, key=lambda one: one.id)
    ]


@given(st.data())
def test_a_log_grows_back_to_what_was_taken_out(data: st.DataObject) -> None:
    tables = data.draw(st.lists(st.sampled_from(NAMES), min_size=2, unique=True))
    whole = logged(tables, transformed=data.draw(st.booleans()), targets=data.draw(st.sampled_from((1, 2))))
    kept = data.draw(st.lists(st.sampled_from(tables), min_size=1, max_size=len(tables) - 1, unique=True))
    assert whole.log is not None
    paths = {table.schema.path.table: table.schema.path for table in whole.log.tables}
    part = following(whole, [paths[name] for name in kept])
    if len(part.vertices) == 2:
        part = fused(part)
    found = grown(replace(part, becomes=whole), [paths[name] for name in tables if name not in kept])
    assert found == whole
    assert part.log is not None and {table.schema.path.table for table in part.log.tables} == set(kept)


@given(st.permutations(NAMES), st.booleans(), st.sampled_from((1, 2)))
def test_a_log_has_its_tables_in_the_order_of_its_checkpoint(
    names: Sequence[str], transformed: bool, targets: int
) -> None:
    """A record names its channels by number."""
    whole = logged(NAMES, transformed=transformed, targets=targets)
    found = ordered(
        logged(names, transformed=transformed, targets=targets), whole.tables, [one.id for one in whole.vertices]
    )
    assert (graph_of(found), found.tables) == (graph_of(whole), whole.tables)


@given(st.sampled_from(NAMES), st.booleans(), st.sampled_from((1, 2)))
def test_a_log_of_one_table_is_as_it_is_planned_for_that_table(name: str, transformed: bool, targets: int) -> None:
    whole = logged(NAMES, transformed=transformed, targets=targets)
    alone = logged((name,), transformed=transformed, targets=targets)
    part = following(whole, [schema(name).path])
    readers = len(next(vertex for vertex in part.vertices if vertex.source is not None).outputs)
    assert shape(part if readers > 1 else fused(part)) == shape(alone)
    assert readers > 1 or shape(unfused(alone)) == shape(part)


@given(st.data())
def test_a_log_leaves_out_what_the_job_no_longer_has(data: st.DataObject) -> None:
    tables = data.draw(st.lists(st.sampled_from(NAMES), min_size=3, unique=True))
    transformed, targets = data.draw(st.booleans()), data.draw(st.sampled_from((1, 2)))
    now, before = (logged(some, transformed=transformed, targets=targets) for some in (tables[1:], tables[:-1]))
    assert now.log is not None
    joining = [table.schema.path for table in now.log.tables if table.schema.path.table == tables[-1]]
    assert shape(grown(replace(before, becomes=now), joining)) == shape(now)
