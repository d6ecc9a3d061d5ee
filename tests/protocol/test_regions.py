"""Who restarts: every shape of graph by hand, and all small graphs by brute force."""

from __future__ import annotations

import itertools
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.failover.regions import closure_faults, pipelines, replay_differs, restart_set
from seatunnel_py.protocol.model.errors import LocalProtocolError
from seatunnel_py.protocol.model.topology import Edge, Topology, Vertex, VertexDeterminism
from tests.protocol.graphs import CHAIN, DIAMOND, JOIN, LOOP, SIBLINGS, graph, names, topologies


@pytest.mark.parametrize(
    ("text", "failed", "region"),
    [
        # chain: the failed vertex and its upstream, never its downstream (O5.2)
        (CHAIN, "out", "src map out"),
        (CHAIN, "map", "src map"),
        (CHAIN, "src", "src"),
        # fan-out: a sibling goes on (I21)
        (SIBLINGS, "a", "src a"),
        (SIBLINGS, "src", "src"),
        (SIBLINGS, "a b", "src a b"),
        ("src>a src>b src>c", "b", "src b"),
        # join: both arms
        (JOIN, "join", "left right join"),
        (JOIN, "left", "left"),
        (JOIN, "out", "left right join out"),
        # diamond
        (DIAMOND, "a", "src a"),
        (DIAMOND, "join", "src a b join"),
        # loop: a back-edge is an input like any other (R3)
        (LOOP, "map", "src map check"),
        (LOOP, "check", "src map check"),
        (LOOP, "out", "src map check out"),
        (LOOP, "src", "src"),
        ("src>map map>map map>out", "map", "src map"),
        # two loops, one inside the other
        ("src>a a>b b>c c>b c>a c>out", "b", "src a b c"),
        # nothing failed
        (CHAIN, "", ""),
    ],
)
def test_the_upstream_restarts_with_what_failed(text: str, failed: str, region: str) -> None:
    """O5.2, I20: only the failed vertex and its upstream restart."""
    assert restart_set(graph(text), names(failed)) == names(region)


@pytest.mark.parametrize(
    ("text", "failed", "region"),
    [
        ("src=map map>out", "out", "map out"),
        ("src=map map>out", "map", "map"),
        ("src>map map=out", "out", "out"),
        ("src>map map=out", "map", "src map"),
        # with everything retained at its inputs, a vertex restarts alone (I20)
        ("left=join right=join join>out", "join", "join"),
        ("left=join right>join join>out", "join", "right join"),
        # the sender of a retained channel restarts if there is another reason for it
        ("src>a src=b a>join b>join", "join", "src a b join"),
        ("src=a src>a", "a", "src a"),
        # a retained back-edge does not pull its sender in, a retained way into the loop not the way to it
        ("src>map map>check check=map", "map", "src map"),
        ("src=map map>check check>map", "map", "map check"),
        ("src=map map=check check=map", "check", "check"),
    ],
)
def test_what_is_retained_stops_the_way_upstream(text: str, failed: str, region: str) -> None:
    """I20: only ancestors whose needed output is not retained."""
    assert restart_set(graph(text), names(failed)) == names(region)


@pytest.mark.parametrize(
    ("text", "indeterminate", "failed", "region"),
    [
        (CHAIN, "src", "src", "src map out"),
        (CHAIN, "src", "out", "src map out"),
        (CHAIN, "map", "map", "src map out"),
        (SIBLINGS, "src", "a", "src a b"),
        # who survives does not differ: an indeterminate descendant, or one behind a retained edge
        (SIBLINGS, "b", "a", "src a"),
        ("src=a src>b a>out", "src", "a", "a"),
        ("src=a src>b a>out", "src", "b", "src a b out"),
        # a descendant that is taken along pulls its own upstream in
        ("src>a src>join other>join", "src", "a", "src a join other"),
        ("src>a src>join other=join", "src", "a", "src a join"),
        # and is taken along through retained edges too
        ("src=a a=out", "src", "src", "src a out"),
        # the other source of that join is indeterminate itself, and takes its descendants along
        ("src>a src>join other>join other>z", "src other", "a", "src a join other z"),
        (DIAMOND, "a", "a", "src a join b out"),
        (LOOP, "check", "map", "src map check out"),
        (LOOP, "src", "src", "src map check out"),
    ],
)
def test_whoever_read_what_will_be_different_restarts(text: str, indeterminate: str, failed: str, region: str) -> None:
    """I20: if any u of the region is indeterminate, every descendant of u."""
    assert restart_set(graph(text, indeterminate=indeterminate), names(failed)) == names(region)


def test_another_order_is_no_other_content() -> None:
    """I22: a digest does not look at order, and the journal fixes what each unit takes."""
    assert restart_set(graph(SIBLINGS, unordered="src"), ["a"]) == names("src a")


@pytest.mark.parametrize(
    ("text", "failed", "region"),
    [
        (SIBLINGS, "a", "src a b"),
        (SIBLINGS, "src", "src a b"),
        # nobody needs it, so that it does not restart
        ("src=a src>b", "a", "a"),
        # one channel of two is kept: not enough
        ("src=a src>b", "b", "src a b"),
        # all is kept: what the journal names is answered from there (R5)
        ("src=a src=b", "src", "src"),
    ],
)
def test_a_source_that_cannot_be_read_twice_differs_unless_all_it_emits_is_retained(
    text: str, failed: str, region: str
) -> None:
    """R5."""
    assert restart_set(graph(text, once="src"), names(failed)) == names(region)


def test_only_sources_are_asked_whether_they_can_be_read_again() -> None:
    """R5: ``replayable`` is about what comes from outside."""
    assert not replay_differs(graph(CHAIN, once="map"), "map")
    assert replay_differs(graph(CHAIN, once="src"), "src")
    assert not replay_differs(graph("src", once="src"), "src")


@pytest.mark.parametrize(
    ("text", "detached", "indeterminate", "failed", "region"),
    [
        (SIBLINGS, "a", "", "a", ""),
        (SIBLINGS, "a", "", "a b", "src b"),
        (SIBLINGS, "a", "src", "b", "src b"),
        # an isolated vertex between two that run carries nothing, in neither direction
        ("src>a a>out src>out", "a", "", "out", "src out"),
        ("src>a a>out other>out", "a", "src", "src", "src"),
    ],
)
def test_isolated_vertices_neither_restart_nor_carry_a_restart_on(
    text: str, detached: str, indeterminate: str, failed: str, region: str
) -> None:
    """R6."""
    topology = graph(text, detached=detached, indeterminate=indeterminate)
    assert restart_set(topology, names(failed)) == names(region)


def test_a_cut_channel_needs_no_cache() -> None:
    """R5, R6: what an isolated vertex would lack makes no difference to those that run."""
    assert replay_differs(graph("src=a src>b", once="src"), "src")
    assert not replay_differs(graph("src=a src>b", once="src", detached="b"), "src")


def test_an_unknown_name_is_our_mistake() -> None:
    with pytest.raises(LocalProtocolError, match="nobody"):
        restart_set(graph(CHAIN), ["out", "nobody"])


# ---------------------------------------------------------------- pipelines


def test_unrelated_vertices_do_not_influence_each_other() -> None:
    """O5.1: hundreds of tables are hundreds of pipelines; a failure stays in its own."""
    whole = graph("a1>a2 b1>b2 c1>c2 c3>c2 alone", indeterminate="a1 b1 c1 c3", detached="c3")
    parts = pipelines(whole)

    assert [set(part.by_id) for part in parts] == [{"a1", "a2"}, {"b1", "b2"}, {"c1", "c2", "c3"}, {"alone"}]
    assert [part.detached for part in parts] == [names(""), names(""), names("c3"), names("")]
    assert [len(part.edges) for part in parts] == [1, 1, 2, 0]
    for part in parts:
        for name in part.live:
            assert restart_set(whole, [name]) == restart_set(part, [name])


def test_vertices_of_a_pipeline_keep_their_order_and_version() -> None:
    """R1: positions in the topology mean something (edge numbers name channels)."""
    whole = Topology((Vertex("z"), Vertex("q"), Vertex("a")), (Edge("z", "a"),), version=7)
    first, second = pipelines(whole)

    assert [vertex.id for vertex in first.vertices] == ["z", "a"]
    assert first.edges == whole.edges
    assert [vertex.id for vertex in second.vertices] == ["q"]
    assert (first.version, second.version) == (7, 7)


def test_no_vertices_are_no_pipeline() -> None:
    assert pipelines(Topology(())) == ()


def test_a_pipeline_without_a_source_is_refused() -> None:
    """R1: in the whole graph another pipeline's source would hide it."""
    with pytest.raises(ValueError, match="there is no source"):
        pipelines(graph("src>out a>b b>a"))


# ---------------------------------------------------------------- closure


@pytest.mark.parametrize(
    ("region", "fault"),
    [
        ("a", "a needs what src sent, but src stays"),
        ("src a", "b would see other rows, but stays"),
        ("src b", "a failed, but stays"),
        ("src a b c gone", "gone is isolated, but restarts"),
        ("src a b", "c would see other rows, but stays"),
    ],
)
def test_an_open_set_is_named(region: str, fault: str) -> None:
    """I20: the closure check says what is missing."""
    topology = graph("src>a src>b b=c src>gone", indeterminate="src", detached="gone")
    assert fault in closure_faults(topology, ["a"], names(region))


def test_a_closed_set_has_no_fault() -> None:
    topology = graph("src>a src>b b=c src>gone", indeterminate="src", detached="gone")
    assert closure_faults(topology, ["a", "gone"], names("src a b c")) == ()
    assert closure_faults(graph("src=a"), ["a"], ["a"]) == ()


def rules_hold(topology: Topology, failed: Collection[str], region: Collection[str]) -> bool:
    """R2 to R6 as they are written, of one set, by definition of descendant; the slow judge of the fast search."""
    live = set(topology.live)
    edges = [edge for edge in topology.edges if edge.sender in live and edge.receiver in live]

    def descends(one: str, two: str) -> bool:
        paths = itertools.chain.from_iterable(itertools.permutations(live - {one, two}, n) for n in range(len(live)))
        steps = {(edge.sender, edge.receiver) for edge in edges}
        return any(steps.issuperset(itertools.pairwise((one, *path, two))) for path in paths)

    differing = {
        one
        for one in region
        if one in live
        and (
            topology.vertex(one).determinism is VertexDeterminism.INDETERMINATE
            or (
                not topology.vertex(one).replayable
                and one in topology.sources
                and not all(edge.retained for edge in edges if edge.sender == one)
            )
        )
    }
    return (
        live.issuperset(region)
        and live.intersection(failed).issubset(region)
        and all(edge.sender in region for edge in edges if edge.receiver in region and not edge.retained)
        and all(two in region for one in differing for two in live if descends(one, two))
    )


@given(topologies(), st.data())
def test_the_restart_set_is_the_smallest_closed_one(topology: Topology, data: st.DataObject) -> None:
    """I20, R7: against all subsets of all vertices, judged by the rules as they are written."""
    failed = data.draw(st.frozensets(st.sampled_from(sorted(topology.by_id))))
    subsets = itertools.chain.from_iterable(
        itertools.combinations(topology.by_id, n) for n in range(len(topology.vertices) + 1)
    )
    closed = [frozenset(subset) for subset in subsets if rules_hold(topology, failed, subset)]

    assert restart_set(topology, failed) == min(closed, key=len) == frozenset.intersection(*closed)


@given(topologies(), st.data())
def test_the_closure_check_agrees_with_the_rules(topology: Topology, data: st.DataObject) -> None:
    """I20: for any set, not only for the one that was computed."""
    some = st.frozensets(st.sampled_from(sorted(topology.by_id)))
    failed, region = data.draw(some), data.draw(some)

    assert (closure_faults(topology, failed, region) == ()) is rules_hold(topology, failed, region)


@given(topologies(), st.data())
def test_failures_together_are_the_union_of_what_each_asks_for(topology: Topology, data: st.DataObject) -> None:
    """F6, I26: monotone, idempotent, and in whatever order they come."""
    some = st.frozensets(st.sampled_from(sorted(topology.by_id)))
    one, two = data.draw(some), data.draw(some)
    first, second, both = (restart_set(topology, failed) for failed in (one, two, one | two))

    assert both == first | second
    assert restart_set(topology, first) == first
    assert restart_set(topology, first | two) == both
    assert closure_faults(topology, one | two, both) == ()
