"""The end of a machine, step by step: staged rows, and one that would begin again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatunnel_py.api.sink import Visible
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.runtime.messages import effects, events
from seatunnel_py.runtime.messages.engine_port import UnitFinished
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.state.troubles import STORE, Troubles, commit_of, unit_of
from seatunnel_py.work.unit import UnitResult
from tests.kit.machine_bench import AWAY, BROKEN, GONE, SETTINGS, MachineBench
from tests.kit.runtime_toys import unbounded
from tests.kit.toy_jobs import chain, fork
from tests.simulation.jobs.sources import Finds, with_sources

STOP = events.StopRequest(BROKEN, keep=False)
EARLY = replace(SETTINGS, checkpoint=replace(SETTINGS.checkpoint, interval=0.5))


def of_one_moment(*rows: int, parallelism: int = 1) -> Pipeline:
    return with_sources(chain("x", rows, parallelism, Visible.FINAL), Finds.OF_ONE_MOMENT, lambda: 0.0)


def lost(effect: effects.SubmitUnit) -> UnitFinished:
    """The generation of its split is gone."""
    return UnitFinished(UnitResult(effect.unit.id, done=False, failure=GONE))


def begins_again(*hold: type) -> MachineBench:
    """One of two units has found that its snapshot is gone; the other one is under way."""
    bench = MachineBench(of_one_moment(5, 5, parallelism=2), SETTINGS, effects.SubmitUnit, *hold).begin()
    first, _ = bench.held(effects.SubmitUnit)
    bench.answer(first, lost(first))
    assert not [one for one in bench.asked if isinstance(one, effects.CloseOut)]
    return bench


def end_other_unit(bench: MachineBench) -> None:
    (other,) = bench.held(effects.SubmitUnit)
    bench.answer(other)


def of_kind(bench: MachineBench, kind: type) -> list[Any]:
    return [one for one in bench.asked if isinstance(one, kind)]


def test_one_that_begins_again_asks_whose_the_job_is() -> None:
    bench = begins_again()
    end_other_unit(bench)

    order = [name for name in bench.kinds() if name in ("CloseOut", "CheckClaim", "Closed")]
    assert order == ["CloseOut", "CheckClaim", "Closed"]
    assert bench.closed == effects.Closed(begin_again=True) and not bench.shown.ended


def test_one_that_is_to_be_stopped_while_it_closes_does_not_begin_again() -> None:
    bench = begins_again()
    bench.tell(STOP)
    end_other_unit(bench)

    assert not of_kind(bench, effects.CheckClaim)
    assert bench.closed == effects.Closed() and bench.shown is TableState.STOPPED


def test_one_that_is_to_be_stopped_while_its_claim_is_checked_does_not_begin_again() -> None:
    bench = begins_again(effects.CheckClaim)
    end_other_unit(bench)
    bench.tell(STOP)
    (check,) = bench.held(effects.CheckClaim)
    bench.answer(check)

    assert len(of_kind(bench, effects.CloseOut)) == 2
    assert bench.closed == effects.Closed() and bench.shown is TableState.STOPPED


def test_one_that_is_overtaken_does_not_begin_again() -> None:
    bench = begins_again(effects.CheckClaim)
    end_other_unit(bench)
    (check,) = bench.held(effects.CheckClaim)
    bench.answer(check, events.CallDone(check.call, BROKEN))

    kinds = [one.kind for one in of_kind(bench, effects.CloseOut)]
    assert kinds == [effects.CloseKind.RELEASE, effects.CloseKind.WITHDRAW]
    assert bench.closed == effects.Closed() and bench.shown is TableState.FAILED


def test_a_stop_that_was_withdrawn_holds_up_no_new_beginning() -> None:
    bench = MachineBench(of_one_moment(5, 5, parallelism=2), SETTINGS, effects.SubmitUnit).begin()
    bench.tell(events.SavepointRequest("sp", stop=True))
    bench.tell(events.StopWithdrawn())
    first, _ = bench.held(effects.SubmitUnit)
    bench.answer(first, lost(first))
    end_other_unit(bench)

    assert bench.closed == effects.Closed(begin_again=True)


def test_rows_that_could_not_be_dropped_are_dropped_in_the_end() -> None:
    """An attempt that may not pass ends the execution; another one follows, and the rows of the first are worth
    nothing."""

    def fails_once(found: UnitResult) -> UnitResult:
        if found.id.epoch or found.id.sequence < 2:
            return found
        return replace(found, done=False, failure=AWAY)

    hold = effects.AbortPieces
    bench = MachineBench(chain("x", (20,), 1, Visible.COMMITTED), SETTINGS, hold, result=fails_once).begin()
    while not bench.held(hold):
        bench.fire("retry" if len(of_kind(bench, effects.SubmitUnit)) < 5 else "coordinator")
    (abort,) = bench.held(hold)
    bench.fail(abort, BROKEN)
    bench.tell(STOP)

    (close,) = of_kind(bench, effects.CloseOut)
    assert abort.pieces and set(map(repr, abort.pieces)) <= set(map(repr, close.pieces))


def test_units_wait_until_the_journal_knows_that_sinks_are_set_up() -> None:
    bench = MachineBench(chain("x", (5,), 1, Visible.COMMITTED), SETTINGS, effects.AppendJournal).begin()
    (entry,) = bench.held(effects.AppendJournal)
    assert "done" in entry.lines[0] and not of_kind(bench, effects.SubmitUnit)

    bench.answer(entry)
    assert of_kind(bench, effects.SubmitUnit)


def test_the_journal_gives_up_what_earlier_drivers_have_left_before_anything_runs() -> None:
    line = chain("x", (5,), 1, Visible.COMMITTED)
    bench = MachineBench(line, SETTINGS, effects.AppendJournal, dropped=True).begin()
    (entry,) = bench.held(effects.AppendJournal)

    assert [one for one in entry.lines if one.get("dropped")]
    assert not of_kind(bench, effects.StoreRecord)


def test_a_record_is_durable_before_anything_is_committed() -> None:
    bench = MachineBench(chain("x", (5,), 1, Visible.COMMITTED), EARLY, effects.StoreRecord).begin()
    (zero,) = bench.held(effects.StoreRecord)
    assert not of_kind(bench, effects.SetUpScope)
    bench.answer(zero)
    while not bench.held(effects.StoreRecord):
        bench.fire("coordinator")
    assert not of_kind(bench, effects.CommitScope)

    bench.answer(bench.held(effects.StoreRecord)[0])
    assert of_kind(bench, effects.CommitScope)


@pytest.mark.parametrize("reason", [Reason.COMMIT_REFUSED, Reason.COMMIT_FAILED, Reason.LOST])
def test_a_store_that_has_failed_explains_no_commit(reason: Reason) -> None:
    troubles = Troubles()
    troubles.begins(commit_of("out"), BROKEN)
    troubles.begins(STORE, AWAY)

    assert troubles.cause(reason) == (commit_of("out"), BROKEN)


@pytest.mark.parametrize("stopped", [False, True])
def test_segments_of_a_pipeline_that_has_ended_hold_up_no_other(stopped: bool) -> None:
    """The room for channels is the job's: another table waited for ever for what a wide query, or a table that had
    failed, had left there."""
    line = fork("x", (5, 5), 1, 2, Visible.COMMITTED)
    vertex = line.vertices[1].id
    hold = (effects.SubmitUnit,) if stopped else ()
    bench = MachineBench(line, SETTINGS, *hold).begin()
    while stopped and not any(one.unit.id.vertex == vertex for one in bench.held(effects.SubmitUnit)):
        bench.answer(bench.held(effects.SubmitUnit)[0])
    if stopped:
        assert bench.machine.context.shared.exchange_bytes
        bench.tell(STOP)
    for one in bench.held(effects.SubmitUnit):
        bench.answer(one)

    made = {one.segment for unit in of_kind(bench, effects.SubmitUnit) for one in unit.unit.slices}
    removed = {url for one in of_kind(bench, effects.RemoveSegments) for url in one.urls}
    assert bench.closed and made and bench.machine.context.shared.exchange_bytes == 0
    assert stopped or removed == made


def test_rows_stay_where_the_journal_that_gives_them_up_is_another_drivers() -> None:
    bench = MachineBench(chain("x", (5,), 1, Visible.COMMITTED), SETTINGS, effects.SubmitUnit).begin()
    bench.hold.add(effects.AppendJournal)
    bench.tell(STOP)
    (unit,) = bench.held(effects.SubmitUnit)
    bench.answer(unit)
    (entry,) = bench.held(effects.AppendJournal)
    assert entry.lines[0]["dropped"] and not of_kind(bench, effects.CloseOut)

    bench.answer(entry, events.JournalLost(entry.entry))
    assert [one.kind for one in of_kind(bench, effects.CloseOut)] == [effects.CloseKind.WITHDRAW]


def test_nothing_follows_from_lines_that_are_not_durable() -> None:
    line = fork("x", (5,), 1, 1, Visible.COMMITTED)
    bench = MachineBench(line, SETTINGS, effects.SubmitUnit).begin()
    bench.hold.add(effects.AppendJournal)
    (unit,) = bench.held(effects.SubmitUnit)
    bench.answer(unit)
    (entry,) = bench.held(effects.AppendJournal)
    assert entry.lines[0]["s"] == ["x", 0]

    bench.answer(entry, events.JournalLost(entry.entry))
    assert [one.unit.id.vertex for one in of_kind(bench, effects.SubmitUnit)] == ["x"]


def test_records_that_are_not_needed_any_more_are_removed() -> None:
    settings = replace(EARLY, checkpoint=replace(EARLY.checkpoint, max_retained=1))
    line = with_sources(unbounded(chain("x", (50,), 1, Visible.COMMITTED)), Finds.AT_ONCE, lambda: 0.0)
    bench = MachineBench(line, settings).begin()
    while len(of_kind(bench, effects.StoreRecord)) < 5:
        bench.fire("coordinator")
        bench.fire("idle")

    _, *stored = [one.record.checkpoint for one in of_kind(bench, effects.StoreRecord)]  # checkpoint 0 stays
    removed = [one.checkpoint for one in of_kind(bench, effects.RemoveRecord)]
    assert removed == stored[: len(removed)] and len(stored) - len(removed) <= 2


def test_one_that_is_overtaken_while_its_first_lines_are_written_does_not_begin() -> None:
    bench = MachineBench(fork("x", (5,), 1, 1, Visible.COMMITTED), SETTINGS, effects.AppendJournal).begin()
    (entry,) = bench.held(effects.AppendJournal)
    assert "graph" in entry.lines[0]

    bench.tell(events.ClaimLost(BROKEN))
    bench.answer(entry)
    assert bench.closed and not of_kind(bench, effects.StoreRecord)


def test_rows_that_a_record_names_outlive_the_execution_that_staged_them() -> None:
    """It has failed while its checkpoint was being stored, and never heard that it is durable."""
    hold = (effects.SubmitUnit, effects.StoreRecord)
    bench = MachineBench(chain("x", (30,), 1, Visible.COMMITTED), EARLY, *hold).begin()
    bench.answer(bench.held(effects.StoreRecord)[0])
    bench.answer(bench.held(effects.SubmitUnit)[0])
    while not bench.held(effects.StoreRecord):
        bench.fire("coordinator")
        bench.answer(bench.held(effects.SubmitUnit)[0])
    (storing,) = bench.held(effects.StoreRecord)
    for _ in range(SETTINGS.retry.times + 1):
        (unit,) = bench.held(effects.SubmitUnit)
        bench.answer(unit, UnitFinished(UnitResult(unit.unit.id, done=False, failure=AWAY)))
        if not bench.machine.state.troubles.get(unit_of("x")):
            bench.fire("retry")
    bench.answer(storing)
    while not bench.held(effects.SubmitUnit):
        bench.fire("coordinator")

    assert storing.record.uncommitted[0].pieces and not of_kind(bench, effects.AbortPieces)
    assert bench.held(effects.SubmitUnit)[0].unit.id.epoch == 1


def test_a_stop_whose_savepoint_expires_is_requested_again() -> None:
    """A unit that took longer than the checkpoint kept a stream running for ever (seed 5044)."""
    bench = MachineBench(unbounded(chain("x", (5,), 1, Visible.COMMITTED)), SETTINGS, effects.SubmitUnit).begin()
    bench.tell(events.StopRequest(BROKEN, keep=True))
    (unit,) = bench.held(effects.SubmitUnit)
    expires = [one.timer for one in bench.asked if isinstance(one, effects.StartTimer) and "expire" in str(one.timer)]

    bench.tell(events.TimerFired(expires[-1]))
    assert [one.name for one in bench.asked if isinstance(one, effects.RefuseRequest)] == ["stop"]
    bench.answer(unit)
    restart = next(one.timer for one in bench.asked if isinstance(one, effects.StartTimer) and "restart" in one.timer)
    bench.tell(events.TimerFired(restart))
    assert not bench.closed
    bench.fire("stop")
    for waiting in bench.held(effects.SubmitUnit):
        bench.answer(waiting)

    assert bench.closed and bench.shown is TableState.STOPPED
