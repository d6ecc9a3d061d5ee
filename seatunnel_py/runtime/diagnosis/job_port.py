"""The protocol between the loop and its callers: the request handler and the stall detector."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.messages.engine_port import Engine
from seatunnel_py.runtime.messages.events import PipelineEvent
from seatunnel_py.runtime.observe.events import JobEvent
from seatunnel_py.runtime.observe.receipt import TableReceipt

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine


class JobPort(Protocol):
    """The loop of one job. Only ``post`` may be called from another thread."""

    stopped_by: int
    open: Collection[str]

    @property
    def closed(self) -> Mapping[str, tuple[TableReceipt, ...]]:
        """The receipts of closed pipelines, by key."""

    @property
    def engine(self) -> Engine:
        """The engine of the job."""

    def now(self) -> float: ...

    def turn(self, machine: PipelineMachine, event: PipelineEvent) -> None:
        """Let a pipeline handle an event; on the loop only."""

    def post(self, call: Callable[[], None]) -> None:
        """Call this on the loop."""

    def after(self, key: tuple[Any, ...], seconds: float, call: Callable[[], None]) -> None:
        """Call this after so many seconds; a second call with the same key replaces the first."""

    def tell(self, event: JobEvent) -> None:
        """Send an event to the listeners."""

    def newest(self, pipeline: str) -> CheckpointRecord | None:
        """The last record of a pipeline, also of one that has not begun in this driver."""

    def unconfirmed(self, pipeline: str) -> tuple[int, ...]:
        """The checkpoints of a pipeline whose commits are not confirmed."""

    def cancel_all(self, machines: Iterable[PipelineMachine], why: str, *, whole: bool) -> None:
        """End these pipelines at once; ``whole``: these are all pipelines, so the job ends."""

    def stop_all(self, exit_code: int, why: str, *, again: bool = ...) -> None:
        """End the job, streams with savepoints; ``again``: its process then begins another run."""

    def stop_waiting(self, exit_code: int, why: str = ...) -> None:
        """Start no more pipelines."""
