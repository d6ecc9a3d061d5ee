"""What a path promises: the table of cases, and the refusal of what is too weak."""

from __future__ import annotations

import pytest
from plan_toys import Graph, steps_of

from seatunnel_py.api import Determinism, Guarantee
from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import PlanError
from seatunnel_py.plan import guarantee, table_graph
from seatunnel_py.plan.pipelines import divide
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.steps import understand

AT_LEAST, IDEMPOTENT, TWO_PHASE = Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT, Guarantee.TWO_PHASE_COMMIT
SAME, SHUFFLED, OTHER = Determinism.DETERMINATE, Determinism.UNORDERED, Determinism.INDETERMINATE


def promised(graph: Graph) -> dict[tuple[str, str], Guarantee]:
    return {
        (path.source, path.sink): path.guarantee
        for pipeline in divide(graph.flow)
        for path in guarantee.paths(graph.flow, pipeline)
    }


@pytest.mark.parametrize(
    ("sink", "replayable", "source", "transform", "expected"),
    [
        (TWO_PHASE, True, SAME, SAME, TWO_PHASE),
        (TWO_PHASE, True, SAME, OTHER, TWO_PHASE),  # what was staged is dropped before other rows are made
        (TWO_PHASE, True, OTHER, SAME, AT_LEAST),  # P2-F1: the rest of a split is not what it was
        (TWO_PHASE, False, SAME, SAME, AT_LEAST),
        (IDEMPOTENT, True, SAME, SAME, IDEMPOTENT),
        (IDEMPOTENT, True, SAME, SHUFFLED, IDEMPOTENT),  # by key: the order does not matter
        (IDEMPOTENT, True, SAME, OTHER, AT_LEAST),
        (IDEMPOTENT, True, OTHER, SAME, AT_LEAST),
        (IDEMPOTENT, False, SAME, SAME, AT_LEAST),
        (AT_LEAST, True, SAME, SAME, AT_LEAST),
        (AT_LEAST, False, OTHER, OTHER, AT_LEAST),
    ],
)
def test_the_promise_of_a_path(
    sink: Guarantee, replayable: bool, source: Determinism, transform: Determinism, expected: Guarantee
) -> None:
    """The weakest part decides, and only what the sink cannot make up for is weak."""
    graph = Graph()
    read = graph.source("a", "x", replayable=replayable, determinism=source)
    graph.sink("out", graph.transform("t", read, determinism=transform), guarantee=sink)

    assert promised(graph) == {("a[x]", "out[x]"): expected}


def test_a_source_of_indeterminate_rows_says_what_a_restart_can_do() -> None:
    """P2-F1: such a source was sold as exactly-once, and a run without any failure wrote rows twice."""
    graph = Graph()
    graph.sink("out", [graph.source("a", "x", determinism=OTHER)], guarantee=TWO_PHASE)

    (path,) = guarantee.paths(graph.flow, divide(graph.flow)[0])

    assert path.guarantee is AT_LEAST
    assert "INDETERMINATE" in path.why
    assert "rows can come again or be missing" in path.why


@pytest.mark.parametrize(("keys", "expected"), [((), AT_LEAST), (("n",), TWO_PHASE)])
def test_a_copy_that_overlaps_its_log_promises_keyed_sinks_only(keys: tuple[str, ...], expected: Guarantee) -> None:
    """A change that is made during the copy is in both."""
    graph = Graph()
    graph.sink("out", [graph.source("a", "x", overlaps_log=True)], guarantee=TWO_PHASE, keys=keys)

    (path,) = guarantee.paths(graph.flow, divide(graph.flow)[0])

    assert path.guarantee is expected
    assert keys or "repeats changes" in path.why


def test_a_branch_does_not_weaken_its_neighbour() -> None:
    """Two ways into one sink: only the one with the dice in it loses its promise, and the reason names them."""
    graph = Graph()
    safe = graph.source("a", "x")
    (diced,) = graph.transform("dice", graph.source("b", "x"), determinism=OTHER)
    graph.sink("out", [safe, diced], guarantee=IDEMPOTENT)

    assert promised(graph) == {("a[x]", "out[x]"): IDEMPOTENT, ("b[x]", "out[x]"): AT_LEAST}


def test_a_join_is_as_weak_as_its_weakest_input() -> None:
    """What comes out for a row of one side depends on the rows of the other."""
    graph = Graph()
    safe = graph.source("a", "x")
    (diced,) = graph.transform("dice", graph.source("b", "y"), determinism=OTHER)
    graph.sink("out", [graph.query("q", {"x": safe, "y": diced})], guarantee=IDEMPOTENT)

    assert promised(graph) == {("a[x]", "out[q]"): AT_LEAST, ("b[y]", "out[q]"): AT_LEAST}


def test_of_two_ways_to_a_sink_the_weaker_one_counts() -> None:
    """A row of the source may take either."""
    graph = Graph()
    read = graph.source("a", "x")
    graph.sink("out", [read, *graph.transform("dice", read, determinism=OTHER)], guarantee=IDEMPOTENT)

    assert promised(graph) == {("a[x]", "out[x]"): AT_LEAST}


def test_every_source_of_every_sink_has_a_path() -> None:
    """A fan-out of a union: two sources, two sinks, four promises."""
    graph = Graph()
    streams = [graph.source("a", "x"), graph.source("b", "x")]
    graph.sink("one", streams)
    graph.sink("two", streams, guarantee=AT_LEAST)

    assert promised(graph) == {
        (source, sink): TWO_PHASE if sink == "one[x]" else AT_LEAST
        for source in ("a[x]", "b[x]")
        for sink in ("one[x]", "two[x]")
    }


JOB = """
env { guarantee = %s }
source { FakeSource { schema { fields { id = int } } } }
sink { %s }"""
FILES = "LocalFile { path = /tmp/x, file_format_type = csv, is_enable_transaction = true }"


@pytest.mark.parametrize(
    ("wanted", "sink", "accepted"),
    [
        ("exactly-once", "Console {}", False),
        ("exactly-once", FILES, True),
        ("at-least-once", "Console {}", True),
        ("null", "Console {}", True),
    ],
)
def test_env_guarantee_refuses_a_weaker_path(wanted: str, sink: str, accepted: bool) -> None:
    """The refusal stands at the sink and says which path is weak and why."""
    job = understand(loads(JOB % (wanted, sink)), installed())
    graph = table_graph.build(job, None)

    if accepted:
        guarantee.require(graph, divide(graph), job.file.env.guarantee)
        return
    with pytest.raises(PlanError) as caught:
        guarantee.require(graph, divide(graph), job.file.env.guarantee)
    (problem,) = caught.value.problems
    assert (problem.line, problem.column) == (4, 8)
    assert "is only at-least-once: " in problem.message
    assert "env.guarantee" in problem.remedy


def test_promises_of_thousands_of_tables_take_linear_time() -> None:
    """Each sink looks at its own ancestors only."""

    def steps(tables: int) -> int:
        graph = Graph()
        graph.sink("out", [graph.source("in", f"t{n}") for n in range(tables)])
        pipelines = divide(graph.flow)
        return steps_of(lambda: guarantee.require(graph.flow, pipelines, "exactly-once"))

    assert steps(2000) < 12 * steps(200)
