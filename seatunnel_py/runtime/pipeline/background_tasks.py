"""What blocks, run on other threads for one pipeline, and tried again where that may help.

Rules. (1) The pipeline waits for all of it before it is closed. (2) What comes back behind the end begins nothing; what
it has opened is closed with the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from seatunnel_py.runtime.targets.target_batcher import Failed, TargetCall, Then
from seatunnel_py.work.unit import FailureKind, UnitFailure

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.runner import PipelineRunner


def _nothing(_: Any) -> None:
    return None


class BackgroundTasks:
    """``under_way``: what is being done, and since when. Names are for people: several calls may have one."""

    def __init__(self, life: PipelineRunner) -> None:
        self._life = life
        self.under_way: dict[int, tuple[str, float]] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self.under_way)

    def __call__(self, what: str, job: Callable[[], Any], then: Then, failed: Failed, **more: Any) -> None:
        """Run ``job`` on another thread (``begin``)."""
        self.begin(what, partial(self._life.world.aside, job), then, failed, **more)

    def of_target(self, what: str, work: TargetCall, then: Then, failed: Failed, **more: Any) -> None:
        """Have a target do its work (``begin``)."""
        self.begin(what, partial(self._life.world.of_target, work), then, failed, **more)

    def begin(
        self,
        what: str,
        start: Callable[[Then, Failed], None],
        then: Then,
        failed: Failed,
        *,
        late: Then = _nothing,
        retried: bool = True,
        tries: int = 0,
    ) -> None:
        """``start`` something that calls one of two back; where trying again may help it is tried as often as a unit
        is. ``late`` gets what comes back behind the pipeline's end; ``tries``: how often this has failed before."""
        life = self._life
        number = next(self._numbers)
        self.under_way[number] = what, life.now()

        def done(value: Any) -> None:
            del self.under_way[number]
            (late if life.is_over else then)(value)
            life.close_if_idle()

        def not_done(failure: UnitFailure) -> None:
            del self.under_way[number]
            delay = life.settings.retry.delay(failure, tries) if retried else None
            if life.is_over or delay is None or failure.kind is not FailureKind.RETRIABLE:
                if not life.is_over:
                    failed(failure)
                life.close_if_idle()
                return
            life.shown.retrying(what, tries + 1, delay, failure)
            life.after(("aside", number), delay, again)

        def again() -> None:
            if not life.is_over:
                self.begin(what, start, then, failed, late=late, tries=tries + 1)

        start(done, not_done)
