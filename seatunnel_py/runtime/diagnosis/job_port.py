"""What requests of people, and the watch for stalls, need of the loop, as a protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.messages.engine_port import Engine
from seatunnel_py.runtime.messages.events import PipelineEvent
from seatunnel_py.runtime.observe.events import JobEvent

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine


class JobPort(Protocol):
    """Only ``post`` may be called from another thread."""

    stopped_by: int
    closed: set[str]

    @property
    def engine(self) -> Engine:
        """The engine of the job."""

    def now(self) -> float: ...

    def turn(self, machine: PipelineMachine, event: PipelineEvent) -> None:
        """Have a pipeline handle an event; on the loop only."""

    def post(self, call: Callable[[], None]) -> None:
        """Have something called on the loop."""

    def after(self, key: tuple[Any, ...], seconds: float, call: Callable[[], None]) -> None:
        """Call later; a second one under the same key takes the place of the first."""

    def tell(self, event: JobEvent) -> None:
        """For people and logs."""

    def newest(self, pipeline: str) -> CheckpointRecord | None:
        """Where a pipeline stands, whether it has begun in this driver or not."""

    def unconfirmed(self, pipeline: str) -> tuple[int, ...]:
        """The checkpoints of a pipeline whose rows are not known to be committed."""

    def cancel_all(self, lives: Iterable[PipelineMachine], why: str, *, whole: bool) -> None:
        """End these at once; ``whole``: they are all there are, and the job ends."""

    def stop_waiting(self, exit_code: int, why: str = ...) -> None:
        """No pipeline begins any more."""
