"""Handles the answers to calls of a pipeline, by the effect that made the call.

Rules. (1) While a pipeline is over, only those answers matter that its end waits for. (2) A call that fails is made
again where that may help; the tables give the next step when it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.runtime.messages import effects
from seatunnel_py.runtime.pipeline.parts import Parts
from seatunnel_py.runtime.state.calls import OpenCall
from seatunnel_py.runtime.state.journal_entries import Deliver
from seatunnel_py.runtime.state.troubles import commit_of
from seatunnel_py.runtime.storage.journal import done_line
from seatunnel_py.runtime.targets.commit_verdict import reason_of
from seatunnel_py.work.unit import FailureKind, UnitFailure


def done(parts: Parts, call: OpenCall, value: Any) -> None:
    """Handle a call that has succeeded."""
    table = LATE if parts.state.is_over else DONE
    follow = table.get(type(call.effect))
    if follow is not None:
        follow(parts, call.effect, value)


def failed(parts: Parts, call: OpenCall, failure: UnitFailure) -> None:
    """Handle a call that has failed: make it again after a pause, or take the next step from the tables."""
    state = parts.state
    delay = state.context.settings.retry.delay(failure, call.tries) if call.retried else None
    if not state.is_over and delay is not None and failure.kind is FailureKind.RETRIABLE:
        state.retrying(call.name, call.tries + 1, delay, failure)
        state.after(("call", state.calls.pauses(call)), delay)
        return
    table = LATE_FAILED if state.is_over else FAILED
    follow = table.get(type(call.effect))
    if follow is not None:
        follow(parts, call.effect, failure)


# ---------------------------------------------------------------- targets


def _set_up(parts: Parts, effect: effects.SetUpScope, _: Any) -> None:
    state = parts.state
    event = report.SetUpDone(state.at, effect.group)
    state.journal([done_line(state.context.key, effect.group)], Deliver(None, event))


def _committed(parts: Parts, effect: effects.CommitScope, _: Any) -> None:
    state = parts.state
    if state.troubles.ends(commit_of(effect.scope)):
        state.recovered()
    driver = state.context.job.incarnation
    state.to_coordinator(report.CommitConfirmed(state.at, driver, effect.scope, effect.checkpoint))


def _commit_failed(parts: Parts, effect: effects.CommitScope, failure: UnitFailure) -> None:
    state, scope = parts.state, effect.scope
    if not parts.isolated.commit_failed(scope, failure):
        state.troubles.begins(commit_of(scope), failure)
    driver = state.context.job.incarnation
    state.to_coordinator(report.CommitFailed(state.at, driver, scope, effect.checkpoint, reason_of(failure)))


def _not_dropped(parts: Parts, effect: effects.AbortPieces, failure: UnitFailure) -> None:
    parts.units.strays += effect.pieces
    parts.state.show_failure(failure)


# ---------------------------------------------------------------- sources


def _reopened(parts: Parts, effect: effects.ReopenSource, value: Any) -> None:
    parts.discovery.reopened(effect.vertex, value)
    parts.renewal.reopened(effect.vertex)
    parts.discovery.free(effect.vertex)


def _confirmed(parts: Parts, effect: effects.ConfirmPositions, _: Any) -> None:
    parts.discovery.free(effect.vertex)


def _not_confirmed(parts: Parts, effect: effects.ConfirmPositions, failure: UnitFailure) -> None:
    parts.discovery.not_confirmed(effect.vertex, failure)


def _found(parts: Parts, effect: effects.Discover, value: Any) -> None:
    parts.discovery.found(effect.vertex, value)


def _not_found(parts: Parts, effect: effects.Discover, failure: UnitFailure) -> None:
    parts.discovery.not_found(effect.vertex, failure)


def _heard(parts: Parts, effect: effects.HandleReaderEvents, value: Any) -> None:
    parts.discovery.heard(effect.vertex, value)


# ---------------------------------------------------------------- the beginning and the end


def _cannot_begin(parts: Parts, _: effects.Call, failure: UnitFailure) -> None:
    parts.closing.cannot_begin(failure)


def _give_up(parts: Parts, _: effects.Call, failure: UnitFailure) -> None:
    parts.closing.give_up(failure)


def _swept(parts: Parts, _: effects.CloseOut, failure: UnitFailure | None) -> None:
    parts.closing.swept(failure)


def _planned_again(parts: Parts, _: effects.PlanLogAgain, __: Any) -> None:
    parts.closing.planned_again()


def _not_planned_again(parts: Parts, _: effects.PlanLogAgain, failure: UnitFailure) -> None:
    parts.closing.planned_again(failure)


def _checked(parts: Parts, _: effects.CheckClaim, overtaken: UnitFailure | None) -> None:
    parts.closing.checked(overtaken)


Follow = Callable[[Parts, Any, Any], None]
DONE: Mapping[type, Follow] = {
    effects.SetUpScope: _set_up,
    effects.CommitScope: _committed,
    effects.ReopenSource: _reopened,
    effects.ConfirmPositions: _confirmed,
    effects.Discover: _found,
    effects.HandleReaderEvents: _heard,
}
"""Prepare and RegisterChains are the beginning of the machine itself; after DropPieces nothing follows."""
FAILED: Mapping[type, Follow] = {
    effects.Prepare: _cannot_begin,
    effects.RegisterChains: _cannot_begin,
    effects.SetUpScope: _give_up,
    effects.CommitScope: _commit_failed,
    effects.AbortPieces: _not_dropped,
    effects.ReopenSource: _give_up,
    effects.ConfirmPositions: _not_confirmed,
    effects.Discover: _not_found,
    effects.HandleReaderEvents: _heard,
}
LATE: Mapping[type, Follow] = {
    effects.HandleReaderEvents: _heard,
    effects.CloseOut: _swept,
    effects.CheckClaim: _checked,
    effects.PlanLogAgain: _planned_again,
}
LATE_FAILED: Mapping[type, Follow] = {
    effects.AbortPieces: _not_dropped,
    effects.HandleReaderEvents: _heard,
    effects.CloseOut: _swept,
    effects.CheckClaim: _checked,
    effects.PlanLogAgain: _not_planned_again,
}
