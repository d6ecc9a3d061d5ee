"""Implements ``seatunnel test-connection``: connects to both ends of a job, or to one plugin's."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field

from seatunnel_py.cli.commands.probe_target import ProbeTarget, understood
from seatunnel_py.cli.view.problems import tell_plain
from seatunnel_py.cli.view.terminal import Styled, say, say_json
from seatunnel_py.errors import ExitCode, JobFileError, SeaTunnelError, first_line
from seatunnel_py.plan.plugins.registry import missing_extra
from seatunnel_py.plan.steps import Step

AT_ONCE = 8  # unreachable places take their whole time-out, so ask them in parallel


@dataclass(frozen=True, slots=True)
class ConnectionAnswer:
    """Outcome of one step. ``found`` is None if the step connects to nothing; ``message`` describes the failure."""

    step: str
    kind: str
    plugin: str
    seconds: float
    found: Mapping[str, str] | None = field(default_factory=dict)
    message: str = ""
    remedy: str = ""

    @property
    def good(self) -> bool:
        return not self.message


def test_connection(question: ProbeTarget, *, as_json: bool) -> int:
    """Ask every source and sink in parallel; print a line each, in the order of the job."""
    try:
        _, steps = understood(question)
    except JobFileError as error:
        if not as_json:
            raise
        return tell_plain(error)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="ask") as threads:
        answers = list(threads.map(ask, steps))
    if as_json:
        say_json([{**asdict(answer), "good": answer.good} for answer in answers])
    else:
        for answer in answers:
            say(_mark(answer), _line(answer))
    return ExitCode.SUCCESS if all(answer.good for answer in answers) else ExitCode.FAILED


def ask(step: Step) -> ConnectionAnswer:
    """Connect as the step would."""
    started = time.monotonic()
    about = step.id, step.kind.value, step.plugin
    found: Mapping[str, str] | None = None
    message = remedy = ""
    try:
        found = step.factory.test_connection(step.options)
    except SeaTunnelError as error:
        message, remedy = error.message, error.remedy
    except ImportError as error:
        missing = missing_extra(step.factory, error, step.options)
        message, remedy = missing.message, missing.remedy
    except Exception as error:  # noqa: BLE001 - a plugin's own code runs here, and the other steps are asked as well
        message = f"{type(error).__name__}: {first_line(str(error))}"
    return ConnectionAnswer(*about, round(time.monotonic() - started, 3), found, message, remedy)


def _mark(answer: ConnectionAnswer) -> Styled:
    return Styled("ok  ", "green") if answer.good else Styled("fail", "red")


def _line(answer: ConnectionAnswer) -> str:
    head = f" {answer.kind:6} {answer.step}"
    if not answer.good:
        lines = [f"{head}: {answer.message}"]
        return "\n".join(lines + ([f"     remedy: {answer.remedy}"] if answer.remedy else []))
    if answer.found is None:
        return f"{head}: nothing to connect to"
    server, *more = [value if name == "server" else f"{name} {value}" for name, value in answer.found.items() if value]
    return f"{head}: {', '.join([server, *more])} ({answer.seconds * 1000:,.0f} ms)"
