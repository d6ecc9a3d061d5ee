"""What the run of one pipeline needs of the loop, as a protocol: time, workers, other threads, durable things."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from seatunnel_py.protocol.coordinator.events import CoordinatorEvent
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import TakenInput
from seatunnel_py.runtime.observe.events import JobEvent
from seatunnel_py.runtime.targets.target_batcher import Failed, TargetCall, Then
from seatunnel_py.runtime.values.rate_limit import RateLimit
from seatunnel_py.work.chain import Chain
from seatunnel_py.work.unit import Unit, UnitId


class DriverPort(Protocol):
    """Whatever is reported back is reported on the loop's own thread."""

    def now(self) -> float: ...

    def owns(self, pipeline: str) -> None:
        """Units of this pipeline's vertices are its own from now on."""

    def when_begun(self, call: Callable[[], None]) -> None:
        """Call once there is an engine, and from then on at once."""

    def register(self, chain: Chain) -> None:
        """Units of this vertex run this chain from now on. May raise whatever a plugin that cannot travel raises."""

    def submit(self, unit: Unit) -> None: ...

    def cancel(self, unit: UnitId) -> None: ...

    def abandon(self, unit: UnitId) -> None:
        """It is taken for lost."""

    def to_coordinator(self, pipeline: str, event: CoordinatorEvent) -> None:
        """Hand an event to the pipeline's coordinator; what it says comes to ``PipelineRun.perform``."""

    def after(self, key: tuple[Any, ...], seconds: float, call: Callable[[], None]) -> None:
        """Call later; a second one under the same key takes the place of the first."""

    def forget(self, key: tuple[Any, ...]) -> None:
        """Do not call what waits under this key."""

    def aside(self, task: Callable[[], Any], then: Then, failed: Failed) -> None:
        """Run something that blocks on another thread."""

    def of_target(self, work: TargetCall, then: Then, failed: Failed) -> None:
        """Have a target do this, perhaps with what other pipelines want of it."""

    def log(
        self, lines: Iterable[Mapping[str, Any]], then: Callable[[], None], overtaken: Callable[[], None] = ...
    ) -> None:
        """Make these lines of the journal durable, then call; ``overtaken`` instead where another driver has the
        journal by now."""

    def taken(self, pipeline: str, subtask: Subtask) -> tuple[TakenInput, ...]:
        """The journal of a subtask, in order."""

    def completed(self, pipeline: str, record: CheckpointRecord) -> None:
        """A record of the pipeline is durable: what it holds the journal may forget."""

    def read_limit(self, source: str) -> RateLimit | None:
        """The budget of this source step, which all its readers share."""

    def exchanged(self) -> int:
        """The bytes that the channels of all pipelines take."""

    def delete_record(self, pipeline: str, checkpoint: int) -> None: ...

    def tell(self, event: JobEvent) -> None:
        """For people and logs."""

    def ended(self, pipeline: str) -> None:
        """Nothing of this pipeline is at work any more."""
