"""Rows that come back to the step that rejected them: how a job file becomes a graph with a back-edge, and where not."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from plan_toys import Graph

from seatunnel_py.api import Guarantee
from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import PlanError
from seatunnel_py.plan import guarantee, plan_data, plan_svg, retry_loops, table_graph
from seatunnel_py.plan.graph_nodes import FlowGraph
from seatunnel_py.plan.pipelines import divide
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.steps import understand
from seatunnel_py.protocol.model.topology import VertexDeterminism
from seatunnel_py.runtime.values.topology_builder import graph_of

CHECKED = """DataValidator { plugin_input = a, plugin_output = b, retry_rejected = 3,
                             field_rules = [ { field_name = id, rule_type = NOT_NULL } ] }"""
FILES = 'LocalFile { plugin_input = b, path = "/tmp/nowhere", file_format_type = csv }'


JOB = "source {{ {} }}\ntransform {{ {} }}\nsink {{ {} }}"


def planned(source: str, sink: str, transform: str = CHECKED) -> FlowGraph:
    graph = table_graph.build(understand(loads(JOB.format(source, transform, sink)), installed()), None)
    retry_loops.check(graph)
    return graph


def fake(parallelism: int = 1) -> str:
    return f"FakeSource {{ plugin_output = a, parallelism = {parallelism}, schema {{ fields {{ id = bigint }} }} }}"


def target(place: Path) -> str:
    return f"""Jdbc {{ plugin_input = b, url = "jdbc:sqlite:{place}/target.db", driver = sqlite, generate_sink_sql = true,
                       table = t, primary_keys = [id] }}"""


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_step_with_a_loop_is_a_vertex_with_a_back_edge(parallelism: int) -> None:
    """Found by graph search, one to one; whoever runs it again gets other rows."""
    (pipeline,) = divide(planned(fake(parallelism), FILES))
    topology = graph_of(pipeline).topology

    source, step, sink = pipeline.vertices
    assert [len(vertex.nodes) for vertex in pipeline.vertices] == [1, 1, 1]
    assert (source.retry, sink.retry) == (None, None)
    assert step.retry is not None and step.retry.times == 3
    assert [channel.sender for channel in step.inputs] == [source.id]
    assert [channel.receiver for channel in step.outputs] == [sink.id]
    (back,) = topology.back_edges
    assert (topology.edges[back].sender, topology.edges[back].receiver) == (step.id, step.id)
    assert [c.sender.index for c in topology.channels if c.edge == back] == list(range(parallelism))
    assert topology.vertex(step.id).determinism is VertexDeterminism.INDETERMINATE


def test_people_see_the_loop() -> None:
    """In the text of a plan, in its data, and in its picture."""
    graph = planned(fake(), FILES)

    described = plan_data.describe(
        understand(loads(JOB.format(fake(), CHECKED, FILES)), installed()), graph, divide(graph), look=False
    )

    assert [vertex.get("retry_rejected") for vertex in described["pipelines"][0]["vertices"]] == [None, 3, None]
    assert plan_data.text(described).count("rows that it rejects come back to it, at most 3 times") == 1
    assert plan_svg.svg(described).count("rejected, at most 3 times") == 1


def test_the_path_keeps_its_promise_where_the_sink_can_drop_what_it_has_staged() -> None:
    """A row may be rejected now and pass the next time: that is a step that gives other rows when it runs again."""
    graph = planned(fake(), FILES)
    (pipeline,) = divide(graph)

    (path,) = guarantee.paths(graph, pipeline)

    assert path.guarantee is Guarantee.TWO_PHASE_COMMIT


def test_a_keyed_sink_is_refused_where_a_key_may_come_twice(tmp_path: Path) -> None:
    """An older row that comes back late would take the place of a newer one."""
    with pytest.raises(PlanError, match=r"(?s)retry_rejected.*by key \(id\).*late.*only adds rows"):
        planned(fake(), target(tmp_path))


def test_a_keyed_sink_is_taken_where_the_source_proves_that_a_key_comes_once(tmp_path: Path) -> None:
    """There is nothing that a row could overtake."""
    with sqlite3.connect(tmp_path / "source.db") as connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
    source = (
        f"""Jdbc {{ plugin_output = a, url = "jdbc:sqlite:{tmp_path}/source.db", driver = sqlite, table_path = t }}"""
    )

    assert planned(source, target(tmp_path)).nodes

    queried = """Sql { plugin_input = a, plugin_output = b, retry_rejected = 3, query = "SELECT * FROM a" }"""
    with pytest.raises(PlanError, match="a query rejects no rows"):
        planned(source, FILES, queried)


def test_a_keyed_sink_is_taken_where_it_compares_versions(tmp_path: Path) -> None:
    """The older row loses, however late it comes."""
    compared = target(tmp_path).replace("primary_keys", "version_column = at, primary_keys")
    source = fake().replace("id = bigint", "id = bigint, at = timestamp")

    assert planned(source, compared).nodes


def test_an_ordered_sink_is_refused() -> None:
    """Readers of a partition see rows in the order in which they came."""
    with pytest.raises(PlanError, match="keeps rows in their order"):
        planned(fake(), 'Kafka { plugin_input = b, topic = t, bootstrap.servers = "localhost:1" }')


def test_a_query_that_needs_all_rows_is_refused_behind_a_loop_and_no_other() -> None:
    """It would wait for rows of which nobody can say whether they come."""
    for narrow in (True, False):
        graph = Graph()
        (checked,) = graph.transform("t", graph.source("a"), retries=3)
        graph.sink("out", [graph.query("q", {"t": checked}, narrow=narrow)])
        found = [(node.id, behind.id, why) for node, behind, why in retry_loops.refused(graph.flow)]

        assert found == ([] if narrow else [("t[t]", "q[q]", "needs all rows before it begins")])
