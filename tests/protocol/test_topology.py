"""What is read off the graph: channels, back-edges, ancestors; and what is no graph."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.topology import Edge, Spread, Topology, Vertex
from tests.protocol.graphs import descendants


def graph(*edges: str, **parallelism: int) -> Topology:
    """``graph("ab", "bc", b=2)``: keyed edges between vertices of one letter."""
    names = sorted({name for edge in edges for name in edge})
    return Topology(
        tuple(Vertex(name, parallelism.get(name, 1)) for name in names),
        tuple(Edge(*edge, spread=Spread.KEYED) for edge in edges),
    )


def test_a_vertex_that_is_named_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="named twice"):
        Topology((Vertex("a"), Vertex("a")))


def test_an_edge_to_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\['b'\], which is not a vertex"):
        Topology((Vertex("a"),), (Edge("a", "b"),))


def test_a_forward_edge_needs_one_subtask_for_each() -> None:
    with pytest.raises(ValueError, match="differ in parallelism"):
        Topology((Vertex("a", 2), Vertex("b")), (Edge("a", "b"),))


def test_a_graph_in_which_nothing_could_start_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no source"):
        graph("ab", "ba")


@pytest.mark.parametrize(
    ("edges", "back"),
    [
        (["ab", "bc"], []),
        (["ab", "bc", "cb"], ["cb"]),
        (["ab", "bb"], ["bb"]),
        (["ab", "ac", "bd", "cd"], []),
        (["ab", "bc", "cd", "db", "ce"], ["db"]),
        (["ac", "bc", "cd", "dc"], ["dc"]),
        (["zc", "bc", "cb"], ["bc"]),
    ],
)
def test_edges_that_close_a_cycle_are_found(edges: list[str], back: list[str]) -> None:
    """T1, O3.2: those that lead back, as seen from the source."""
    found = graph(*edges).back_edges

    assert [edges[number] for number in sorted(found)] == back


@given(st.lists(st.sampled_from([f"{a}{b}" for a in "abcde" for b in "abcde"]), unique=True, max_size=12))
def test_without_its_back_edges_a_graph_has_no_cycle(edges: list[str]) -> None:
    """T2: waiting for barriers along what is left always ends; also in a cycle that no source reaches."""
    made = graph("sa", *edges)

    waiting = {number: edge for number, edge in enumerate(made.edges) if number not in made.back_edges}
    while waiting:
        receivers = {edge.receiver for edge in waiting.values()}
        free = [number for number, edge in waiting.items() if edge.sender not in receivers]
        assert free, f"{sorted(waiting.values(), key=str)} is a cycle"
        for number in free:
            del waiting[number]


def test_channels_connect_subtasks_as_the_edge_says() -> None:
    made = Topology((Vertex("a", 2), Vertex("b", 2), Vertex("c")), (Edge("a", "b"), Edge("b", "c", Spread.BROADCAST)))

    assert made.channels == (
        Channel(0, Subtask("a", 0), Subtask("b", 0)),
        Channel(0, Subtask("a", 1), Subtask("b", 1)),
        Channel(1, Subtask("b", 0), Subtask("c", 0)),
        Channel(1, Subtask("b", 1), Subtask("c", 0)),
    )
    assert made.inputs(Subtask("c")) == made.channels[2:]
    assert made.outputs(Subtask("a", 1)) == made.channels[1:2]


def test_an_isolated_vertex_takes_no_part() -> None:
    made = Topology(graph("ab", "ac").vertices, graph("ab", "ac").edges, 2, frozenset("c"))

    assert made.live == ("a", "b")
    assert {str(channel) for channel in made.channels} == {"a[0]->b[0]"}
    assert made.subtasks() == (Subtask("a"), Subtask("b"))


def test_what_an_isolated_vertex_fed_is_no_source() -> None:
    """T3: it has inputs, from which nothing comes; it begins nothing by itself."""
    cut = Topology(graph("ab", "bc").vertices, graph("ab", "bc").edges, 2, frozenset("a"))

    assert cut.sources == ("a",)


def test_ancestors_and_descendants() -> None:
    made = graph("ac", "bc", "cd", "ce", "ec")

    assert made.ancestors("d") == set("abce") and descendants(made, "a") == set("cde")
    assert made.sources == ("a", "b")
