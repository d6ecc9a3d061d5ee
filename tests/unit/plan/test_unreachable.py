"""A job that cannot be planned since something is away is not a wrong job file: a scheduler may try it again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from seatunnel_py.api import (
    Determinism,
    Enumerator,
    FatalError,
    Plain,
    PluginError,
    Reader,
    RetriableError,
    Source,
    SourceCapabilities,
    SourceFactory,
    SourceOptions,
    SourceTable,
    StepContext,
)
from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import ExitCode, PlanError
from seatunnel_py.plan import table_graph
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import PluginEntry, PluginKind, Registry
from seatunnel_py.plan.steps import understand


class Failing(Source):
    def __init__(self, error: PluginError) -> None:
        self.error = error

    def tables(self) -> Sequence[SourceTable]:
        raise self.error

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        raise AssertionError("planning opens nothing")

    def reader(self, table: SourceTable) -> Reader:
        raise AssertionError("planning opens nothing")


def failing(plugin: str, error: PluginError) -> PluginEntry:
    class Factory(SourceFactory[SourceOptions]):
        name = plugin
        options = SourceOptions

        def capabilities(self, options: SourceOptions, context: StepContext) -> SourceCapabilities:
            return SourceCapabilities(determinism=Determinism.DETERMINATE)

        def create(self, options: SourceOptions, context: StepContext) -> Source:
            return Failing(error)

    return PluginEntry(PluginKind.SOURCE, plugin, "tests", factory=Factory)


@pytest.mark.parametrize(
    ("sources", "code"),
    [
        (["Away"], ExitCode.FAILED),
        (["Away", "Away"], ExitCode.FAILED),
        (["Wrong"], ExitCode.JOB_FILE_WRONG),
        (["Away", "Wrong"], ExitCode.JOB_FILE_WRONG),
    ],
)
def test_only_what_is_away_may_be_tried_again(sources: list[str], code: int) -> None:
    """Where something is wrong as well, another try cannot help."""
    entries = failing("Away", RetriableError("no answer")), failing("Wrong", FatalError("no such table"))
    registry = Registry((*installed().entries(), *entries))
    steps = "\n".join(f"{name} {{ plugin_output = o{number} }}" for number, name in enumerate(sources))
    names = ", ".join(f"o{number}" for number in range(len(sources)))
    job = understand(loads(f"source {{ {steps} }}\nsink {{ Console {{ plugin_input = [{names}] }} }}"), registry)

    with pytest.raises(PlanError) as caught:
        table_graph.build(job, None)

    assert len(caught.value.problems) == len(sources)
    assert caught.value.exit_code == code
