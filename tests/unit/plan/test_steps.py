"""Wiring: what a job file's names mean, and every way to get them wrong."""

from __future__ import annotations

import pytest

from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import JobFileError
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import PluginKind
from seatunnel_py.plan.steps import Job, understand

SOURCE = "Countdown { start = 3, %s }"
SINK = "Lines { directory = /tmp/x, %s }"


def job(sources: list[str], transforms: list[str], sinks: list[str], env: str = "") -> Job:
    text = (
        f"env {{ {env} }}\n"
        "source {" + "\n".join(SOURCE % more for more in sources) + "}\n"
        "transform {" + "\n".join(f"Double {{ field = n, {more} }}" for more in transforms) + "}\n"
        "sink {" + "\n".join(SINK % more for more in sinks) + "}"
    )
    return understand(loads(text), installed())


def problems(*arguments: list[str]) -> str:
    with pytest.raises(JobFileError) as caught:
        job(*arguments)
    return str(caught.value)


def edges(found: Job) -> dict[str, tuple[str, ...]]:
    return {step.id: step.inputs for step in found.steps}


def test_a_simple_graph_needs_no_names() -> None:
    """One source, at most one transform, one sink: they follow one another."""
    assert edges(job([""], [""], [""])) == {
        "Countdown-source-1": (),
        "Double-transform-1": ("Countdown-source-1",),
        "Lines-sink-1": ("Double-transform-1",),
    }


def test_declaration_order_does_not_matter_when_names_are_given() -> None:
    """Steps come out in topological order, whatever the order in the file."""
    found = job(
        ["plugin_output = a"],
        ["plugin_input = b, plugin_output = c", "plugin_input = a, plugin_output = b"],
        ["plugin_input = c"],
    )

    assert [step.id for step in found.steps] == ["a", "b", "c", "Lines-sink-1"]


def test_older_names_of_the_wiring_options_work_and_are_noted() -> None:
    """result_table_name and source_table_name are what older job files say."""
    found = job(["result_table_name = a"], [], ["source_table_name = a"])

    assert edges(found)["Lines-sink-1"] == ("a",)
    assert any("result_table_name" in note for note in found.notes)


def test_a_union_keeps_the_order_of_its_inputs() -> None:
    """plugin_input may be a list: all its rows go into the sink."""
    found = job(["plugin_output = a", "plugin_output = b"], [], ['plugin_input = ["b", "a"]'])

    assert edges(found)["Lines-sink-1"] == ("b", "a")


def test_an_unknown_input_is_an_error_with_the_nearest_name_even_in_a_simple_graph() -> None:
    """SeaTunnel takes the last data set instead, and the job synchronises the wrong table."""
    text = problems(["plugin_output = orders"], [], ["plugin_input = order"])

    assert "no step has the output 'order'" in text
    assert "did you mean 'orders'" in text


def test_a_wrong_name_is_told_beside_a_wrong_option() -> None:
    """Every mistake at once; but a name that is missing may be the option that is misspelt."""
    text = problems(["plugin_output = orders, strat = 1", "plugin_output = lines"], [], ["plugin_input = order"])
    assert "no step has the output 'order'" in text and "did you mean 'orders'" in text and "strat" in text

    text = problems(["plugin_outptu = orders", "plugin_output = lines"], [], ["plugin_input = orders"])
    assert "plugin_outptu" in text and "no step has the output" not in text


def test_without_strict_a_wrong_name_is_a_note_where_there_is_one_way_only() -> None:
    """SeaTunnel's own job files hold such names; in a simple graph they can mean the step before, and nothing else."""
    found = job([""], ["plugin_input = fake, plugin_output = b"], ["plugin_input = b"], env="strict = false")

    assert edges(found)["b"] == ("Countdown-source-1",)
    assert edges(found)["Lines-sink-1"] == ("b",)
    assert any("no step has the output 'fake'" in note for note in found.notes)
    with pytest.raises(JobFileError, match="no step has the output 'c'"):
        job(["plugin_output = a", "plugin_output = b"], [], ['plugin_input = ["a", "b", "c"]'], env="strict = false")


def test_a_complex_graph_needs_every_name() -> None:
    """All missing names are reported at once, each at its step."""
    text = problems(["", "plugin_output = b"], [], [""])

    assert text.count("plugin_output is missing") == 1
    assert text.count("plugin_input is missing") == 1
    assert "nothing reads the output 'b'" in text


def test_two_steps_with_one_name_are_refused() -> None:
    """A name is an identity: state and wiring are found by it."""
    assert "'a' is used by more than one step" in problems(
        ["plugin_output = a", "plugin_output = a"], [], ["plugin_input = a"]
    )


def test_a_simple_graph_may_use_one_name_twice() -> None:
    """There is no doubt who is meant, so SeaTunnel's job files do it: the transform reads the source, the sink it."""
    for transform in ("plugin_output = a", "plugin_input = a, plugin_output = a"):
        found = job(["plugin_output = a"], [transform], ["plugin_input = a"])

        (transform_id,) = [step.id for step in found.of_kind(PluginKind.TRANSFORM)]
        assert edges(found) == {"a": (), transform_id: ("a",), "Lines-sink-1": (transform_id,)}


def test_an_end_that_a_step_does_not_have_is_noted() -> None:
    """A sink has no output and a source no input; job files name them all the same, by either name."""
    found = job(["plugin_output = a, source_table_name = x"], [], ["plugin_input = a, plugin_output = y"])

    assert edges(found)["Lines-sink-1"] == ("a",)
    assert sum("unknown option, ignored" in note for note in found.notes) == 2


def test_a_circle_is_refused() -> None:
    """Retry loops have a form of their own; a circle of names is a mistake."""
    text = problems(
        ["plugin_output = a"],
        ['plugin_input = ["a", "c"], plugin_output = b', "plugin_input = b, plugin_output = c"],
        ["plugin_input = c"],
    )

    assert "in a circle" in text


def test_an_unknown_plugin_names_the_nearest_one() -> None:
    """The message says which plugins there are."""
    with pytest.raises(JobFileError) as caught:
        understand(loads("source { Countdwn { start = 1 } }\nsink { Lines { directory = x } }"), installed())

    (problem,) = caught.value.problems
    assert problem.suggestion == "Countdown"
    assert (problem.line, problem.column) == (1, 10)


def test_parallelism_comes_from_the_source_then_from_env_and_is_inherited() -> None:
    """Transforms and sinks run as wide as what feeds them."""
    text = "env { parallelism = 4 }\nsource { Countdown { start = 1 %s } }\nsink { Lines { directory = x } }"

    own = understand(loads(text % ", parallelism = 2"), installed())
    inherited = understand(loads(text % ""), installed())

    assert [step.parallelism for step in own.steps] == [2, 2]
    assert [step.parallelism for step in inherited.steps] == [4, 4]


def test_plugin_names_are_compared_without_regard_to_case() -> None:
    """As in SeaTunnel."""
    found = understand(loads("source { cOUNTDOWN { start = 1 } }\nsink { lines { directory = x } }"), installed())

    assert [step.plugin for step in found.of_kind(PluginKind.SOURCE)] == ["Countdown"]
