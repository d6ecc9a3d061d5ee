"""Resolves the subject of ``test-connection`` and ``discover``: the steps of a job file, or one plugin with options."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seatunnel_py import app
from seatunnel_py.api import SourceFactory
from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import JobFileError, Problem
from seatunnel_py.plan.job_text.blocks import option_value
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.plugins.registry import PluginKind, UnknownPluginError
from seatunnel_py.plan.steps import Job, Step, understand

COMMAND_LINE = "command line"
_OTHER_END: Mapping[PluginKind, tuple[PluginKind, dict[str, Any]]] = {
    PluginKind.SOURCE: (PluginKind.SINK, {"plugin_name": "Console"}),
    PluginKind.SINK: (PluginKind.SOURCE, {"plugin_name": "FakeSource", "schema": {"fields": {"id": "bigint"}}}),
}


@dataclass(frozen=True, slots=True)
class ProbeTarget:
    """``subject`` is a job file, or the name of a plugin with ``options`` as ``key=value``; ``kind`` is the kind of
    plugin."""

    subject: str
    variables: Mapping[str, str]
    options: Sequence[str] = ()
    kind: PluginKind = PluginKind.SOURCE

    @property
    def of_plugin(self) -> bool:
        return bool(self.options) or not (Path(self.subject).suffix or Path(self.subject).exists())


def question_of(
    subject: str, variables: Mapping[str, str], options: Sequence[str] | None, *, sink: bool = False
) -> ProbeTarget:
    return ProbeTarget(subject, variables, options or (), PluginKind.SINK if sink else PluginKind.SOURCE)


def understood(question: ProbeTarget) -> tuple[Job, tuple[Step, ...]]:
    """A job, and those of its steps that are meant. Nothing is opened. Raises JobFileError."""
    if not question.of_plugin:
        job = app.check(Path(question.subject), question.variables)
        return job, tuple(step for step in job.steps if step.kind is not PluginKind.TRANSFORM)
    given = {"plugin_name": question.subject, **_given(question.options)}
    try:
        job = _around(question, given)
    except JobFileError:
        everything = _everything(question)
        if not everything or everything.keys() & given.keys():
            raise
        job = _around(question, {**given, **everything})
    return job, job.of_kind(question.kind)


def _around(question: ProbeTarget, given: Mapping[str, Any]) -> Job:
    """A job of one step and a stub as the other end; it is never written to disk, for options may hold secrets."""
    other, step = _OTHER_END[question.kind]
    text = json.dumps({"env": {"job.mode": "BATCH"}, question.kind.value: [given], other.value: [step]})
    found: list[Problem] = []
    return understand(loads(text, question.variables, file=COMMAND_LINE, collect=found), installed(), found)


def _everything(question: ProbeTarget) -> Mapping[str, Any]:
    """Options that select all tables."""
    try:
        factory = installed().factory(question.kind, question.subject)
    except UnknownPluginError:
        return {}
    return factory.everything if isinstance(factory, SourceFactory) else {}


def _given(options: Sequence[str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    problems = []
    for number, option in enumerate(options, 1):
        name, equals, value = option.partition("=")
        if not equals or not name.strip():  # it may be a secret whose name was forgotten: it is not repeated
            problems.append(Problem(f"-o takes key=value; option {number} has no key or no =", COMMAND_LINE))
        given[name.strip()] = option_value(value)
    if problems:
        raise JobFileError(tuple(problems))
    return given
