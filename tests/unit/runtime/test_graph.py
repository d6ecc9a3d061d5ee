"""The protocol's graph of a plan: edges, what may be made again, and whose rows become visible together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.api import Guarantee, TablePath, TransformCapabilities
from seatunnel_py.api.capabilities import Determinism as Promised
from seatunnel_py.config.env import Retain
from seatunnel_py.plan.graph_nodes import SinkNode, SourceNode, SqlNode
from seatunnel_py.plan.pipelines import Pipeline, PlannedChannel, PlannedVertex
from seatunnel_py.plan.sql.analysis import Analysis
from seatunnel_py.protocol.model.topology import SinkKind, Spread, VertexDeterminism
from seatunnel_py.runtime.values.topology_builder import graph_of
from tests.kit.runtime_toys import ToySink, ToySource, filter_node, forked, sink_node, source_node, straight

X = TablePath.parse("x")


def query_node(name: str, table: str, determinism: Promised = Promised.DETERMINATE, *, narrow: bool = False) -> SqlNode:
    head = source_node(table)
    analysis = Analysis(name, (), narrow, determinism)
    return SqlNode(name, head.step, analysis, ((table, head.table.schema),), head.table.schema)


def reading(name: str, **capabilities: Any) -> SourceNode:
    node = source_node(name)
    return replace(node, capabilities=replace(node.capabilities, **capabilities))


def writing(name: str, table: str, guarantee: Guarantee) -> SinkNode:
    node = sink_node(name, table)
    return replace(node, capabilities=replace(node.capabilities, guarantee=guarantee))


def two(head: tuple[Any, ...], sender: int = 1, receiver: int = 1) -> Pipeline:
    """A chain, and a sink behind a channel."""
    channel = PlannedChannel("c", "a", "b", X)
    return Pipeline(
        "p",
        "x",
        (
            PlannedVertex("a", head, (), (channel,), sender),
            PlannedVertex("b", (sink_node("out", "x"),), (channel,), (), receiver),
        ),
    )


@given(st.integers(1, 4), st.integers(1, 4))
def test_an_edge_is_forward_where_both_ends_are_equally_parallel(sender: int, receiver: int) -> None:
    """Else every sender reaches every receiver."""
    topology = graph_of(two((source_node("x"),), sender, receiver)).topology
    (edge,) = topology.edges

    assert edge.spread is (Spread.FORWARD if sender == receiver else Spread.KEYED)
    assert len(topology.channels) == (sender if sender == receiver else sender * receiver)


def test_a_wide_query_has_one_subtask_whatever_its_parallelism() -> None:
    """It needs its input whole; its senders all reach it, and it reaches all its receivers."""
    into, out = PlannedChannel("i", "a", "q", X, "x"), PlannedChannel("o", "q", "b", X)
    vertices = (
        PlannedVertex("a", (source_node("x"),), (), (into,), 3),
        PlannedVertex("q", (query_node("q", "x"),), (into,), (out,), 3),
        PlannedVertex("b", (sink_node("out", "x"),), (out,), (), 3),
    )
    topology = graph_of(Pipeline("p", "x", vertices)).topology

    assert [vertex.parallelism for vertex in topology.vertices] == [3, 1, 3]
    assert [edge.spread for edge in topology.edges] == [Spread.KEYED, Spread.KEYED]


@given(st.integers(1, 4), st.integers(1, 3))
def test_vertices_and_channels_of_the_plan_are_those_of_the_protocol(sinks: int, parallelism: int) -> None:
    """In the plan's order: the number of an edge names its channel."""
    pipeline = forked("x", ToySource(), [ToySink(f"s{number}") for number in range(sinks)], parallelism)
    graph = graph_of(pipeline)

    assert [vertex.id for vertex in graph.topology.vertices] == [vertex.id for vertex in pipeline.vertices]
    assert [(edge.sender, edge.receiver) for edge in graph.topology.edges] == [
        (channel.sender, channel.receiver) for channel in graph.channels
    ]
    assert graph.channels == pipeline.vertices[0].outputs


def groups_of(pipeline: Pipeline) -> list[list[list[str]]]:
    """Ids of the sinks by scope and committer."""
    return [[[node.id for node in group] for group in groups] for groups in graph_of(pipeline).scopes.values()]


def test_sinks_of_several_vertices_finish_each_by_itself() -> None:
    pipeline = forked("x", ToySource(), [ToySink("one"), ToySink("two")])
    graph = graph_of(pipeline)

    assert groups_of(pipeline) == [[["one[x]"]], [["two[x]"]]]
    assert graph.topology.commit_scopes == tuple(graph.scopes)


def test_a_union_is_one_scope_and_one_committer() -> None:
    """Two vertices that write one table: its rows become visible at once, and by one commit."""
    vertices = tuple(PlannedVertex(name, (source_node("x"), sink_node("out", "x"))) for name in ("a", "b"))
    pipeline = Pipeline("p", "x", vertices)

    assert groups_of(pipeline) == [[["out[x]"]]]
    assert len(graph_of(pipeline).topology.commit_scopes) == 1


def test_tables_of_a_sink_that_spans_tables_share_a_committer() -> None:
    vertices = tuple(
        PlannedVertex(name, (source_node(name), sink_node("count", name, spans=True), sink_node("log", name)))
        for name in ("x", "y")
    )
    pipeline = Pipeline("p", "x", vertices)

    assert groups_of(pipeline) == [[["count[x]", "count[y]"], ["log[x]"], ["log[y]"]]]
    assert len(graph_of(pipeline).topology.commit_scopes) == 1


def test_sinks_of_one_chain_are_one_scope_with_a_committer_each() -> None:
    """Their rows are staged by the same units, so one checkpoint covers them."""
    vertex = PlannedVertex("x", (source_node("x"), sink_node("one", "x"), sink_node("two", "x")))

    assert groups_of(Pipeline("p", "x", (vertex,))) == [[["one[x]"], ["two[x]"]]]


@given(st.permutations(["one", "two", "both", "other"]))
def test_scopes_that_meet_later_become_one(order: list[str]) -> None:
    """Whatever comes first in the plan: who writes both tables brings together those who write one of them each."""
    sinks = {"one": ["s"], "two": ["t"], "both": ["s", "t"], "other": ["u"]}
    vertices = tuple(
        PlannedVertex(name, (source_node("x"), *(sink_node(sink, "x") for sink in sinks[name]))) for name in order
    )
    pipeline = Pipeline("p", "x", vertices)
    topology = graph_of(pipeline).topology

    assert len({topology.vertex(name).commit_scope for name in ("one", "two", "both")}) == 1
    assert topology.vertex("other").commit_scope != topology.vertex("one").commit_scope
    assert sorted(sorted(node for group in scope for node in group) for scope in groups_of(pipeline)) == [
        ["s[x]", "t[x]"],
        ["u[x]"],
    ]
    assert set(topology.commit_scopes) == set(graph_of(pipeline).scopes)


@given(st.sampled_from(Promised), st.sampled_from(Promised), st.sampled_from(Promised))
def test_a_chain_promises_what_its_weakest_step_does(source: Promised, transform: Promised, query: Promised) -> None:
    """Source, transform and query alike (I22)."""
    filtering = replace(filter_node("f", "x"), capabilities=TransformCapabilities(determinism=transform))
    head = (reading("x", determinism=source), filtering, query_node("n", "x", query, narrow=True))
    found = graph_of(two(head)).topology.vertex("a").determinism

    assert found is VertexDeterminism[min(source, transform, query).name]


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        (reading("x"), False),
        (reading("x", replayable=False), True),
        (reading("x", determinism=Promised.UNORDERED), True),
        (reading("x", determinism=Promised.INDETERMINATE), True),
    ],
)
def test_edges_are_retained_where_their_rows_could_not_be_made_again_just_so(head: SourceNode, wanted: bool) -> None:
    """``auto``; ``env`` may say always or never."""

    def retained(retain: Retain) -> bool:
        (edge,) = graph_of(two((head,)), retain).topology.edges
        return edge.retained

    assert (retained(Retain.AUTO), retained(Retain.ALWAYS), retained(Retain.NEVER)) == (wanted, True, False)


def test_a_source_that_cannot_be_read_again_is_no_replayable_vertex() -> None:
    """A vertex without a source can do again what it is given again."""
    topology = graph_of(two((reading("x", replayable=False),))).topology

    assert (topology.vertex("a").replayable, topology.vertex("b").replayable) == (False, True)


@given(st.lists(st.sampled_from(Guarantee), min_size=1, max_size=3))
def test_a_chain_of_sinks_promises_what_the_weakest_does(guarantees: list[Guarantee]) -> None:
    kinds = {
        Guarantee.AT_LEAST_ONCE: SinkKind.AT_LEAST_ONCE,
        Guarantee.IDEMPOTENT: SinkKind.IDEMPOTENT,
        Guarantee.TWO_PHASE_COMMIT: SinkKind.TWO_PHASE,
    }
    sinks = tuple(writing(f"s{number}", "x", each) for number, each in enumerate(guarantees))
    (vertex,) = graph_of(Pipeline("p", "x", (PlannedVertex("x", (source_node("x"), *sinks)),))).topology.vertices

    assert vertex.sink is kinds[min(guarantees)]


def test_the_same_plan_gives_the_same_graph() -> None:
    """Every driver comes to the same: records name its vertices, edges and scopes."""
    for pipeline in (straight("x", parallelism=3), forked("x", ToySource(), [ToySink("one"), ToySink("two")])):
        assert graph_of(pipeline) == graph_of(pipeline)
