"""A target that is away holds up the sources of its pipeline, and nothing else; they go on as soon as it is back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_driver_late import SECONDS_MAX, Gate, wait_until
from test_enumerating import unbounded

from seatunnel_py.config.env import Retain
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.coordinator.trigger import CheckpointSettings
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.diagnosis.diagnostics import status_of
from seatunnel_py.runtime.messages.events import SavepointRequest
from seatunnel_py.runtime.observe.pipeline_status import PipelineStatus
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.subtasks.flow_control import PauseReason, pause
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget, FailureKind, Unit, UnitId
from tests.kit.runtime_toys import (
    Clock,
    ScriptedEngine,
    Target,
    ToySink,
    ToySource,
    driver_of,
    failed,
    forked,
    straight,
)


@pytest.mark.parametrize("reads_again", [False, True])
@pytest.mark.parametrize(
    ("lag", "full", "reason"),
    [
        (0, False, None),
        (2, False, PauseReason.COMMITS),
        (0, True, PauseReason.EXCHANGE),
        (2, True, PauseReason.COMMITS),
    ],
)
def test_a_source_waits_for_commits_and_room_but_never_with_units_that_it_repeats(
    reads_again: bool, lag: int, full: bool, reason: PauseReason | None
) -> None:
    """Seed 533: the checkpoint that makes room waited for units that waited for room."""
    found = pause(reads_again=reads_again, lag=lag, max_uncommitted=2, exchange_full=full)

    assert found is (None if reads_again else reason)


class Job:
    """One pipeline whose commits wait at ``gate``. No timer takes checkpoints, unless there is an ``interval``."""

    def __init__(
        self, place: Path, pipeline: Pipeline, gate: Gate, *, limit: int = 1, interval: float | None = None
    ) -> None:
        self.place, self.gate = place, gate
        self.engine = ScriptedEngine([pipeline])
        self.hold: Callable[[Unit], bool] = lambda unit: False
        self.engine.script = lambda unit: None if self.hold(unit) else self.engine.work(unit)
        settings = Settings(
            RetryPolicy(0, 0.001), Budget(10, 1.0), exchange="mem:", retain=Retain.NEVER,
            restarts=Backoff(100, 0.001, longest=0.002),
            checkpoint=CheckpointSettings(interval=interval, max_uncommitted=limit, alignment_timeout=None),
        )  # fmt: skip
        self.driver = driver_of([pipeline], self.engine, settings, Clock(), lambda event: None, place)
        self.life = next(iter(self.driver.job.pipelines.values()))
        self.thread = threading.Thread(target=self.driver.run, daemon=True)

    def __enter__(self) -> Job:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.gate.open.set()
        self.driver.stop()
        self.driver.stop()
        self.thread.join(SECONDS_MAX)
        self.engine.stop()
        assert not self.thread.is_alive(), "the job hangs"

    def on_loop(self, call: Callable[[], Any]) -> Any:
        """What this gives there, where nothing changes meanwhile."""
        found: list[Any] = []
        done = threading.Event()
        self.driver.post(lambda: (found.append(call()), done.set()))
        assert done.wait(SECONDS_MAX)
        return found[0]

    @property
    def status(self) -> PipelineStatus:
        (status,) = self.driver.status()
        return status

    def savepoint(self, name: str = "sp") -> None:
        self.driver.post(lambda: self.driver.job.turn(self.life, SavepointRequest(name, stop=False)))

    def pauses(self) -> bool:
        """Every source waits because of commits, and has nothing under way."""
        sources = [one for one in self.status.subtasks if one.reads]
        return bool(sources) and all(
            one.waits and not one.at_work and one.pause is PauseReason.COMMITS for one in sources
        )

    def wait_until_paused(self) -> None:
        wait_until(lambda: self.on_loop(self.pauses))

    def read(self) -> int:
        """How many units of sources were begun."""
        return sum(unit.split is not None for unit in list(self.engine.submitted))

    def unit(self, vertex: str, sequence: int) -> Unit:
        """It is under way, and held."""

        def found() -> list[Unit]:
            held = list(self.engine.held.values())
            return [one for one in held if (one.id.vertex, one.id.sequence) == (vertex, sequence)]

        wait_until(found)
        return found()[0]

    def let_go(self, unit: Unit, outcome: Any = None) -> None:
        del self.engine.held[unit.id]
        self.engine._say(unit.id, outcome or self.engine.work(unit))

    def checkpoint(self) -> int:
        """The newest one in the store."""
        found = CheckpointStore(LocalStorage(self.place / "checkpoints")).read().records.get("x", ())
        return max((one.checkpoint for one in found), default=0)


def committed_units(target: Target) -> list[str]:
    return [str(piece.data["unit"]) for piece in target.committed]


def test_sources_pause_at_the_limit_and_go_on_with_the_confirmation(tmp_path: Path) -> None:
    """No timer helps: without the confirmation's word the job would stand still for ever, short of its end."""
    gate = Gate("commit")
    target = Target(gate)
    with Job(tmp_path, straight("x", ToySource((1_000,)), ToySink("out", target)), gate) as job:
        job.hold = lambda unit: unit.id.sequence in (3, 4)
        third = job.unit("x", 3)
        job.savepoint()
        job.let_go(third)
        assert gate.reached.wait(SECONDS_MAX)
        job.let_go(job.unit("x", 4))
        job.wait_until_paused()
        assert job.read() == 4

        gate.open.set()
        job.thread.join(SECONDS_MAX)
        assert job.status.state is TableState.DONE
    assert sorted(committed_units(target)) == sorted({str(UnitId("x", number, 0, 0)) for number in range(1, 101)})


def test_a_lag_below_the_limit_holds_nobody_up(tmp_path: Path) -> None:
    gate = Gate("commit")
    with Job(tmp_path, straight("x", ToySource((1_000,)), ToySink("out", Target(gate))), gate, limit=2) as job:
        job.hold = lambda unit: unit.id.sequence == 3
        third = job.unit("x", 3)
        job.savepoint()
        job.hold = lambda unit: False
        job.let_go(third)
        wait_until(lambda: job.read() == 100)


def test_a_stream_pauses_again_and_again_and_is_stopped_while_it_does(tmp_path: Path) -> None:
    """I44: the savepoint behind which it ends needs neither the target nor the source."""
    gate = Gate("commit")
    pipeline = unbounded(straight("x", ToySource((10**9,)), ToySink("out", Target(gate))))
    with Job(tmp_path, pipeline, gate, limit=2, interval=0.02) as job:
        job.wait_until_paused()
        begun, newest = job.read(), job.checkpoint()
        assert newest >= 2
        gate.open.set()
        wait_until(lambda: job.read() > 2 * begun and job.checkpoint() > newest + 2)
        gate.open.clear()
        job.wait_until_paused()

        begun, newest = job.read(), job.checkpoint()
        job.driver.stop()
        wait_until(lambda: job.checkpoint() > newest)
        assert (job.read(), gate.open.is_set()) == (begun, False)
        gate.open.set()
        job.thread.join(SECONDS_MAX)
        assert job.status.state is TableState.STOPPED


def test_what_was_read_before_is_read_again_in_spite_of_the_lag(tmp_path: Path) -> None:
    """A barrier passes no subtask that repeats its journal: a savepoint would wait for the target."""
    gate = Gate("commit")
    pipeline = forked("x", ToySource((1_000,)), [ToySink("out", Target(gate))])
    with Job(tmp_path, pipeline, gate) as job:
        job.hold = lambda unit: unit.id.sequence in (3, 4)
        third = job.unit("x", 3)
        job.savepoint()
        job.let_go(third)
        job.let_go(job.unit("x>0", 3))
        assert gate.reached.wait(SECONDS_MAX)
        job.let_go(job.unit("x", 4))
        fourth = job.unit("x>0", 4)
        job.wait_until_paused()
        job.hold = lambda unit: False

        job.let_go(fourth, failed(fourth.id, FailureKind.RETRIABLE))
        again = {UnitId("x", 4, 1, 0), UnitId("x>0", 4, 1, 0)}
        wait_until(lambda: again <= {unit.id for unit in list(job.engine.submitted)})
        job.wait_until_paused()
        newest = job.checkpoint()
        job.savepoint("another")
        wait_until(lambda: job.checkpoint() > newest)
        assert not gate.open.is_set()


def test_it_says_why_its_sources_pause(tmp_path: Path) -> None:
    gate = Gate("commit")
    pipeline = unbounded(forked("x", ToySource((10**9,)), [ToySink("out", Target(gate))]))
    with Job(tmp_path, pipeline, gate, limit=2, interval=0.02) as job:
        job.wait_until_paused()
        found = job.on_loop(lambda: status_of(job.life, job.driver.job.now(), None))
    assert found.busy and found.lag == 2
    assert found.waits[0].startswith("commit ")
    assert found.waits[1] == f"its sources pause: {PauseReason.COMMITS}"
    assert any(text.startswith("x[0] has to pause") for text in found.waits)
