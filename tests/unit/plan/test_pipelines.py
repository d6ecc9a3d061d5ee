"""How a table graph is cut: what shares a fate, what runs as one function, where the channels lie."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_toys import Graph, steps_of

from seatunnel_py.api.schema import TableSchema
from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import JobFileError
from seatunnel_py.plan import table_graph
from seatunnel_py.plan.graph_nodes import FlowGraph, SinkNode, SourceNode
from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex, divide, unread
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.steps import understand


def chains(pipeline: Pipeline) -> dict[str, list[str]]:
    return {vertex.id: [node.id for node in vertex.nodes] for vertex in pipeline.vertices}


def channels(pipeline: Pipeline) -> set[tuple[str, str, str]]:
    return {(c.sender, c.receiver, str(c.table)) for vertex in pipeline.vertices for c in vertex.outputs}


def graph_of(text: str) -> FlowGraph:
    return table_graph.build(understand(loads(text), installed()), None)


def test_tables_that_share_nothing_are_pipelines_of_their_own() -> None:
    """One pipeline a table, named after it, each a single chain."""
    graph = Graph()
    streams = [graph.source("in", f"t{number}") for number in range(3)]
    graph.sink("out", streams)

    found = divide(graph.flow)

    assert [pipeline.name for pipeline in found] == ["t0", "t1", "t2"]
    assert [chains(pipeline) for pipeline in found] == [{f"in[t{n}]": [f"in[t{n}]", f"out[t{n}]"]} for n in range(3)]


def test_a_source_without_independent_tables_is_one_pipeline() -> None:
    """A change log is read once for all of its tables."""
    graph = Graph()
    graph.sink("out", [graph.source("log", f"t{number}", independent_tables=False) for number in range(3)])

    (found,) = divide(graph.flow)

    assert [str(path) for path in found.tables] == ["t0", "t1", "t2"]
    assert found.name == "t0 and 2 more"


def test_a_sink_that_spans_tables_joins_them_and_no_others() -> None:
    """What counts over all tables needs all of them; another sink's tables keep their own fates."""
    graph = Graph()
    both = [graph.source("a", "x"), graph.source("b", "y")]
    graph.sink("count", both, spans=True)
    graph.sink("plain", [graph.source("c", "z")])

    found = divide(graph.flow)

    assert [[str(path) for path in pipeline.tables] for pipeline in found] == [["x", "y"], ["z"]]
    assert [len(pipeline.sinks) for pipeline in found] == [2, 1]


def test_a_stream_with_two_readers_goes_through_a_channel() -> None:
    """Each reader is a vertex of its own, with its own transforms."""
    graph = Graph()
    stream = graph.source("a", "x")
    (doubled,) = graph.transform("t", stream)
    graph.sink("plain", [stream])
    graph.sink("double", [doubled])

    (found,) = divide(graph.flow)

    assert chains(found) == {
        "a[x]": ["a[x]"],
        "t[x]<a[x]": ["t[x]", "double[x]"],
        "plain[x]<a[x]": ["plain[x]"],
    }
    assert channels(found) == {("a[x]", "t[x]<a[x]", "x"), ("a[x]", "plain[x]<a[x]", "x")}


def test_a_union_needs_no_channel() -> None:
    """Every input's chain runs into the sink by itself; the sink is one commit scope."""
    graph = Graph()
    graph.sink("out", [graph.source("a", "x"), graph.source("b", "x")])

    (found,) = divide(graph.flow)

    assert chains(found) == {"a[x]": ["a[x]", "out[x]"], "b[x]": ["b[x]", "out[x]"]}
    assert channels(found) == set()
    assert [node.id for node in found.sinks] == ["out[x]"]


def test_two_inputs_that_bring_one_table_get_a_transform_each() -> None:
    """A node reads one stream. With one node for both, its rows would be handed on twice, or not at all."""
    graph = graph_of("""
        source { Countdown { plugin_output = a, start = 3 }, Countdown { plugin_output = b, start = 4 } }
        transform { Double { plugin_input = [a, b], plugin_output = c, field = n } }
        sink { Lines { plugin_input = c, directory = /tmp/x } }""")

    (found,) = divide(graph)

    assert chains(found) == {
        "a[countdown]": ["a[countdown]", "c[countdown]", "Lines-sink-1[countdown]"],
        "b[countdown]": ["b[countdown]", "c[countdown]~2", "Lines-sink-1[countdown]"],
    }


def test_side_outputs_stay_in_the_chain() -> None:
    """A chain is a tree: rows of the side table run on in the same function."""
    graph = Graph()
    good, bad = graph.transform("check", graph.source("a", "x"), side=["errors"])
    graph.sink("out", [good])
    graph.sink("rejects", [bad])

    (found,) = divide(graph.flow)

    assert chains(found) == {"a[x]": ["a[x]", "check[x]", "out[x]", "rejects[errors]"]}


def test_only_the_stream_with_several_readers_leaves_a_chain_with_side_outputs() -> None:
    """A fan-out of the side table is none of the main table's business."""
    graph = Graph()
    good, bad = graph.transform("check", graph.source("a", "x"), side=["errors"])
    graph.sink("out", [good])
    graph.sink("one", [bad])
    graph.sink("two", [bad])

    (found,) = divide(graph.flow)

    assert chains(found)["a[x]"] == ["a[x]", "check[x]", "out[x]"]
    assert {table for _, _, table in channels(found)} == {"errors"}


def test_two_branches_of_a_chain_may_meet_in_one_sink() -> None:
    """The sink is in the chain once: each row goes into it once."""
    graph = Graph()
    good, bad = graph.transform("check", graph.source("a", "x"), side=["errors"])
    graph.sink("out", [good, *graph.transform("rename", bad, output="x")])

    (found,) = divide(graph.flow)

    assert sorted(chains(found)["a[x]"]) == ["a[x]", "check[x]", "out[x]", "rename[errors]"]


def test_a_wide_query_is_a_vertex_between_channels() -> None:
    """It needs its inputs whole, and Catalyst, not a worker, gives its output."""
    graph = Graph()
    joined = graph.query("q", {"l": graph.source("a", "x"), "r": graph.source("b", "y")})
    (after,) = graph.transform("t", joined)
    graph.sink("out", [after])

    (found,) = divide(graph.flow)

    assert chains(found) == {"a[x]": ["a[x]"], "b[y]": ["b[y]"], "q[q]": ["q[q]"], "t[q]<q[q]": ["t[q]", "out[q]"]}
    (query,) = [vertex for vertex in found.vertices if vertex.query]
    assert [(channel.sender, channel.name) for channel in query.inputs] == [("a[x]", "l"), ("b[y]", "r")]


def test_a_narrow_query_is_part_of_a_chain() -> None:
    """One scan with projections and filters: rows in, rows out."""
    graph = Graph()
    graph.sink("out", [graph.query("q", {"x": graph.source("a", "x")}, narrow=True)])

    (found,) = divide(graph.flow)

    assert chains(found) == {"a[x]": ["a[x]", "q[q]", "out[q]"]}


def test_senders_come_before_receivers() -> None:
    """Whoever walks over the vertices once has seen the end of every input before it looks at the receiver: a query
    behind a transform behind a fan-out is the case where the order of the graph is another."""
    graph = Graph()
    stream = graph.source("a", "x")
    (one,) = graph.transform("t", stream)
    graph.sink("out", [graph.query("q", {"l": one, "r": stream})])

    (found,) = divide(graph.flow)

    assert in_order(found)


def in_order(pipeline: Pipeline) -> bool:
    place = {vertex.id: number for number, vertex in enumerate(pipeline.vertices)}
    return all(place[channel.sender] < place[vertex.id] for vertex in pipeline.vertices for channel in vertex.inputs)


def test_a_table_that_reaches_no_sink_is_not_read() -> None:
    """A filter over a thousand tables that keeps three must not read the others."""
    graph = Graph()
    kept = graph.transform("only", graph.source("in", "x"))
    graph.transform("only", graph.source("in", "y"), output=None)
    graph.sink("out", kept)

    found = divide(graph.flow)

    assert [pipeline.name for pipeline in found] == ["x"]
    assert [str(path) for path in unread(graph.flow, found)] == ["y"]


def test_a_source_that_names_a_table_twice_is_refused() -> None:
    """A slip in a list of two hundred tables would otherwise write its rows twice, or lose one of the two."""
    text = """
        source { FakeSource { tables_configs = [
          { schema { table = x, fields { id = int } } }, { schema { table = x, fields { id = int } } } ] } }
        sink { Console {} }"""

    with pytest.raises(JobFileError, match="x"):
        graph_of(text)


@pytest.mark.parametrize("inputs", ["[a, a]", "[a, b, a]"])
def test_an_input_that_is_named_twice_is_refused(inputs: str) -> None:
    """Its rows would arrive twice."""
    text = f"""
        source {{ Countdown {{ plugin_output = a, start = 3 }}, Countdown {{ plugin_output = b, start = 3 }} }}
        sink {{ Lines {{ plugin_input = {inputs}, directory = /tmp/x }}, Lines {{ plugin_input = b, directory = y }} }}"""

    with pytest.raises(JobFileError, match="the input 'a' is named 2 times"):
        understand(loads(text), installed())


def test_names_that_lead_past_the_transform_are_refused() -> None:
    """In a simple graph as well, a step whose rows nobody reads is a mistake; it used to fail when it ran."""
    text = """
        source { Countdown { plugin_output = a, start = 3 } }
        transform { Double { plugin_input = a, plugin_output = b, field = n } }
        sink { Lines { plugin_input = a, directory = /tmp/x } }"""

    with pytest.raises(JobFileError, match="nothing reads the output of 'b'"):
        understand(loads(text), installed())


def test_thousands_of_tables_divide_in_linear_time() -> None:
    """Ten times the tables take about ten times as long, not a hundred."""

    def steps(tables: int) -> int:
        graph = Graph()
        graph.sink("out", [graph.transform("t", graph.source("in", f"t{n}"))[0] for n in range(tables)])
        return steps_of(lambda: divide(graph.flow))

    assert steps(2000) < 12 * steps(200)


@st.composite
def drawn_graphs(draw: st.DrawFn) -> FlowGraph:
    """Any graph of a few sources, transforms with side outputs, queries and sinks."""
    graph = Graph()
    streams = [
        graph.source(f"a{n}", f"t{draw(st.integers(0, 2))}", independent_tables=draw(st.booleans()))
        for n in range(draw(st.integers(1, 4)))
    ]
    for number in range(draw(st.integers(0, 5))):
        source = draw(st.sampled_from(streams))
        match draw(st.sampled_from(["map", "side", "drop", "narrow", "wide"])):
            case "map":
                streams += graph.transform(f"m{number}", source, output=draw(st.sampled_from(["", "t0", "t1"])))
            case "side":
                streams += graph.transform(f"v{number}", source, side=[f"e{number}"])
            case "drop":
                graph.transform(f"d{number}", source, output=None)
            case "narrow":
                streams.append(graph.query(f"n{number}", {"x": source}, narrow=True))
            case "wide":
                others = draw(st.lists(st.sampled_from(streams), max_size=2, unique_by=lambda stream: stream.node))
                inputs = {f"i{place}": each for place, each in enumerate([source, *others])}
                if len({(each.node, each.table.path) for each in inputs.values()}) == len(inputs):
                    streams.append(graph.query(f"w{number}", inputs))
    for number in range(draw(st.integers(1, 3))):
        read = draw(st.lists(st.sampled_from(streams), min_size=1, unique_by=lambda s: (s.node, s.table.path)))
        graph.sink(f"s{number}", read, spans=draw(st.booleans()))
    return graph.flow


@given(drawn_graphs())
def test_every_graph_is_cut_without_loss(graph: FlowGraph) -> None:
    """Every source that reaches a sink is in exactly one pipeline, with everything behind it; edges lie inside a chain
    or on a channel; senders come first; a vertex is reached from a source."""
    pipelines = divide(graph)

    members = [{node.id for vertex in pipeline.vertices for node in vertex.nodes} for pipeline in pipelines]
    everything = set().union(*members)
    assert sum(map(len, members)) == len(everything)
    assert {node.id for node in graph.nodes.values() if isinstance(node, SinkNode)} <= everything
    for pipeline in pipelines:
        assert in_order(pipeline)
        assert len({vertex.id for vertex in pipeline.vertices}) == len(pipeline.vertices)
        for vertex in pipeline.vertices:
            assert len({node.id for node in vertex.nodes}) == len(vertex.nodes)
            assert_one_way_in(graph, vertex)
    for edge in graph.edges:
        if edge.sender in everything:
            assert edge.receiver in everything
    left = {str(path) for path in unread(graph, pipelines)}
    read = [node for node in graph.nodes.values() if isinstance(node, SourceNode) and node.id in everything]
    assert len(read) + len(unread(graph, pipelines)) == sum(isinstance(n, SourceNode) for n in graph.nodes.values())
    assert left <= {str(schema_of(node).path) for node in graph.nodes.values() if isinstance(node, SourceNode)}


def schema_of(node: SourceNode) -> TableSchema:
    return node.table.schema


def assert_one_way_in(graph: FlowGraph, vertex: PlannedVertex) -> None:
    """Inside a vertex every node but the first is fed by nodes of the vertex, or is a union's sink."""
    inside = {node.id for node in vertex.nodes}
    assert bool(vertex.inputs) != (vertex.source is not None)
    for node in vertex.nodes[1:]:
        senders = {edge.sender for edge in graph.inputs(node.id)}
        assert senders & inside
        assert senders <= inside or isinstance(node, SinkNode)
