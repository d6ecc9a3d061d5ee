"""The targets of a table that is copied again are emptied only by the driver that has the job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.api import Committer
from seatunnel_py.api.sink import CommitContext, Setup, Visible
from seatunnel_py.errors import FencedError
from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.storage.checkpoint_store import FencedOffError
from seatunnel_py.runtime.storage.journal import JournalFile, emptied_line, reset_line, void_line
from seatunnel_py.runtime.storage.journal_writer import JournalBatcher
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.targets import sink_operations
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from tests.kit.machine_bench import BROKEN, SETTINGS, MachineBench
from tests.kit.runtime_toys import sink_node
from tests.kit.toy_jobs import Ledger, LedgerSink, chain


def test_a_journal_line_comes_before_the_target_is_emptied() -> None:
    bench = MachineBench(
        chain("x", (3,), 1, Visible.COMMITTED), SETTINGS, effects.Prepare, effects.AppendJournal, reset=True
    ).begin()
    (line,) = bench.held(effects.AppendJournal)
    assert line.lines == (emptied_line(bench.machine.key),)
    assert not bench.held(effects.Prepare)

    bench.answer(line)
    assert len(bench.held(effects.Prepare)) == 1


def test_a_driver_without_that_line_empties_nothing() -> None:
    bench = MachineBench(
        chain("x", (3,), 1, Visible.COMMITTED), SETTINGS, effects.Prepare, effects.AppendJournal, reset=True
    ).begin()
    (line,) = bench.held(effects.AppendJournal)
    bench.answer(line, events.JournalLost(line.entry))
    assert not bench.held(effects.Prepare)


def test_a_stop_waits_for_that_line() -> None:
    """Nothing that a pipeline has asked for comes after its end."""
    bench = MachineBench(
        chain("x", (3,), 1, Visible.COMMITTED), SETTINGS, effects.Prepare, effects.AppendJournal, reset=True
    ).begin()
    (line,) = bench.held(effects.AppendJournal)
    bench.tell(events.StopRequest(BROKEN, keep=False))
    assert bench.closed is None

    bench.answer(line)
    assert bench.closed is not None
    assert not bench.held(effects.Prepare)


def at_once(task: Callable[[], Any], then: Callable[[BaseException | None], None]) -> None:
    try:
        task()
    except FencedOffError as error:
        then(error)
    else:
        then(None)


@pytest.mark.parametrize(
    ("line", "refused"),
    [(emptied_line("x"), True), (void_line("x", [5], 4), True), (reset_line("x", begins=True), False)],
)
def test_an_overtaken_driver_gets_no_permission(tmp_path: Path, line: Any, *, refused: bool) -> None:
    """journal_writer rule 4: a newer driver has read the journal, and does not know of the line."""

    def check() -> None:
        raise FencedOffError("another driver")

    seen: list[str] = []
    file = JournalFile(LocalStorage(tmp_path), 1)
    batcher = JournalBatcher(file, at_once, check, lambda error, calls: seen.append(type(error).__name__))
    batcher.log([line], lambda: seen.append("goes on"), lambda: None)
    file.close()
    assert seen == (["FencedOffError"] if refused else ["goes on"])


@dataclass(frozen=True)
class OvertakenSink(LedgerSink):
    def committer(self) -> Committer:
        return _Overtaken()

    def truncate(self, setup: Setup, context: CommitContext) -> None:
        raise AssertionError("rows of the newer driver are removed")


class _Overtaken(Committer):
    def begin(self, context: CommitContext, *, fresh: bool) -> str | None:
        raise FencedError("a newer run")

    def commit(self, pieces: Any, context: CommitContext) -> None:
        raise AssertionError

    def abort(self, pieces: Any, context: CommitContext) -> None:
        raise AssertionError


def test_a_target_that_knows_a_newer_driver_is_not_emptied() -> None:
    node = sink_node("out", "x", OvertakenSink("out", Ledger()))
    with pytest.raises(FencedError):
        sink_operations.empty([[node]], JobIdentity("j", "lineage"), 0)


@dataclass(frozen=True)
class EmptiedSink(LedgerSink):
    def truncate(self, setup: Setup, context: CommitContext) -> None:
        self.state.tell(f"emptied by {context.incarnation}")


def test_a_target_learns_which_driver_empties_it() -> None:
    """A driver may be overtaken after it has begun: only the target can refuse it then."""
    ledger = Ledger()
    node = sink_node("out", "x", EmptiedSink("out", ledger))
    sink_operations.empty([[node]], JobIdentity("j", "lineage", incarnation=3), 0)
    assert "emptied by 3" in ledger.told
