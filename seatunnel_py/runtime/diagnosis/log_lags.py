"""Looks up how far logs are ahead of what is durable in the targets, and reports one that the server may soon remove.

Rules. (1) The place that counts is that of the newest checkpoint: rows after it would be read again. (2) Servers are
queried on a separate thread, one log at a time, every ``EVERY_SECONDS``. (3) A risk is reported when it begins and when
it is over, not at each look. (4) A server that does not answer changes nothing: the reader of the log reports it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from seatunnel_py.api.log_source import BegunLog, LogLag, LogSource
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.plan.graph_nodes import SourceNode
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.runtime.observe.events import LogAtRisk

if TYPE_CHECKING:
    from seatunnel_py.runtime.diagnosis.job_port import JobPort
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine

EVERY_SECONDS = 10.0


class LogLags:
    """The lags of the logs of one job, by pipeline."""

    def __init__(self, driver: JobPort, machines: Mapping[str, PipelineMachine]) -> None:
        self._driver = driver
        self._machines = machines
        self._found: dict[str, LogLag] = {}
        self._next = driver.now()
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="lag")

    def of(self, machine: PipelineMachine) -> LogLag | None:
        """The last lag that was looked up; None for a pipeline without a log, and before the first checkpoint."""
        return self._found.get(machine.key)

    def look(self, at: float) -> None:
        """Query the servers of all logs, if it is time."""
        if at < self._next:
            return
        self._next = at + EVERY_SECONDS
        for key in self._driver.open:
            machine = self._machines[key]
            for source, begun in _places(machine):
                self._asking.submit(self._ask, key, machine, source, begun)

    def close(self) -> None:
        """Stop, because the driver ends."""
        self._asking.shutdown(wait=False, cancel_futures=True)

    def _ask(self, key: str, machine: PipelineMachine, source: SourceNode, begun: BegunLog) -> None:
        """On the other thread."""
        assert isinstance(source.source, LogSource), f"{source.id} has no log"
        try:
            found = plugin_calls.lag_of(source.step, source.source, begun)
        except (SeaTunnelError, plugin_calls.PluginCallError):
            return
        if found is not None:
            self._driver.post(partial(self._found_out, key, machine, found))

    def _found_out(self, key: str, machine: PipelineMachine, found: LogLag) -> None:
        before = self._found.get(key)
        self._found[key] = found
        if bool(found.warning) != bool(before is not None and before.warning):
            name, now = machine.pipeline.name, self._driver.now()
            self._driver.tell(LogAtRisk(machine.id, name, found.bytes, found.warning, found.remedy, now))


def _places(machine: PipelineMachine) -> Iterator[tuple[SourceNode, BegunLog]]:
    """The log of a pipeline that follows one, and the place of its newest checkpoint."""
    record = machine.newest
    if machine.pipeline.log is None or record is None or record.kind is RecordKind.ZERO or machine.shown_state.ended:
        return
    for vertex in machine.pipeline.vertices:
        if vertex.source is not None and vertex.source.part.is_log and vertex.id in machine.state.prepared.rounds:
            yield vertex.source, machine.state.prepared.begun_log(vertex.id, record)
