"""When checkpoint records go to the store: what comes within a moment is one write, and what follows from it is one
exchange with the target.

Rules. (1) A record waits only while a checkpoint of another pipeline is under way, and no longer than a moment. (2) The
one that a pipeline begins with waits for nobody: nothing runs before it is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from seatunnel_py.protocol.commit.record_batcher import CoordinatorGroup, HubCommand
from seatunnel_py.protocol.coordinator.events import CoordinatorEvent
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineRunner

MOMENT_SECONDS = 0.05  # 200 tables, every second: their records come within a few of them
PART_OF_INTERVAL = 20  # the moment is no longer than this part

After = Callable[[tuple[Any, ...], float, Callable[[], None]], None]


class RecordBatcher:
    """The hub of a driver. ``after`` calls later; ``perform`` gets what the hub says."""

    def __init__(
        self,
        lives: Mapping[str, PipelineRunner],
        interval: float | None,
        after: After,
        perform: Callable[[Iterable[HubCommand]], None],
        now: Callable[[], float],
    ) -> None:
        self._hub = CoordinatorGroup({}, holds=True)
        self._lives = lives
        self._after, self._perform, self._now = after, perform, now
        self._moment = MOMENT_SECONDS if interval is None else min(MOMENT_SECONDS, interval / PART_OF_INTERVAL)
        self._armed = False
        self._seen = 0
        self._awaited: str | None = None  # whose record may come: looking through a thousand pipelines for each is dear

    def handle(self, pipeline: str, event: CoordinatorEvent) -> None:
        """Perform what this event leads to."""
        coordinator = self._lives[pipeline].coordinator
        assert coordinator is not None, f"{pipeline} has no coordinator yet"
        self._hub.coordinators[pipeline] = coordinator
        self._perform(self._hub.handle(pipeline, event))
        self._look()

    def stored(self, number: int, *, ok: bool, fenced: bool) -> None:
        """A write has ended."""
        self._perform(self._hub.stored(self._now(), number, ok=ok, fenced=fenced))
        self._seen = 0
        self._look()

    def _look(self) -> None:
        """Records may have come; while a write is under way nothing else can be written."""
        waiting = self._hub.waiting
        if not waiting or self._hub.writing or (self._armed and len(waiting) == self._seen):
            return
        self._seen = len(waiting)
        if not self._others_may_come(waiting):
            self._perform(self._hub.write())
        elif not self._armed:
            self._armed = True
            self._after(("store",), self._moment, self._over)

    def _over(self) -> None:
        self._armed = False
        self._perform(self._hub.write())

    def _others_may_come(self, waiting: Mapping[str, CheckpointRecord]) -> bool:
        if any(record.kind is RecordKind.ZERO for record in waiting.values()):
            return False
        if self._awaited is None or not self._may_come(self._awaited, waiting):
            self._awaited = next((key for key in self._lives if self._may_come(key, waiting)), None)
        return self._awaited is not None

    def _may_come(self, pipeline: str, waiting: Mapping[str, CheckpointRecord]) -> bool:
        view = self._lives[pipeline].view
        return view is not None and bool(view.pending) and pipeline not in waiting
