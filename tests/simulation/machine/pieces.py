"""Staged rows of one machine: what a record names is kept, and what none will ever name is dropped.

Rules. (1) Rows that the newest record names are dropped only where all are given up. (2) Rows of an attempt that failed,
and rows that no record names of an execution that is over, have been dropped when the machine is closed, or are
handed over to be.
"""

from __future__ import annotations

from collections.abc import Iterable

from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.messages.effects import CloseKind, CloseOut
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.targets.sink_operations import piece_of
from seatunnel_py.work.unit import SinkPiece, UnitId, UnitResult
from tests.simulation.violation import expect


def name_of(piece: SinkPiece) -> tuple[str, str]:
    """Its unit and its sink."""
    return str(piece.piece.data["unit"]), piece.step  # type: ignore[index,call-overload]


class I33NamedStays:
    """Of one machine."""

    def __init__(self, machine: PipelineMachine) -> None:
        self._machine = machine
        self._failed: set[tuple[str, str]] = set()
        self._of_units: dict[tuple[str, str], UnitId] = {}
        self._named: set[tuple[str, str]] = set()
        self._perhaps: dict[int, set[tuple[str, str]]] = {}
        self._dropped: set[tuple[str, str]] = set()

    def reported(self, result: UnitResult) -> None:
        """A unit has ended with these."""
        names = set(map(name_of, result.pieces))
        if result.failure is not None:
            self._failed |= names
        self._of_units |= dict.fromkeys(names, result.id)

    @property
    def any(self) -> bool:
        """Whether anything was staged."""
        return bool(self._of_units)

    def storing(self, record: CheckpointRecord) -> None:
        """It may become durable, and this driver never hear of it."""
        self._perhaps[record.checkpoint] = _named_in(record)

    def voided(self, checkpoints: Iterable[int]) -> None:
        """No driver goes on from these, though they may be in the store."""
        for checkpoint in checkpoints:
            self._perhaps.pop(checkpoint, None)

    def stored(self, record: CheckpointRecord) -> None:
        """It is durable."""
        self._named |= _named_in(record)

    def dropped(self, pieces: Iterable[SinkPiece], newest: CheckpointRecord | None) -> None:
        """These are dropped while others go on."""
        names = set(map(name_of, pieces))
        named = names & (set() if newest is None else _named_in(newest))
        expect(not named, "I33NamedStays", f"{sorted(named)} are dropped, and the newest record names them")
        self._dropped |= names

    def closed(self, effect: CloseOut) -> None:
        """It is closed so."""
        handed = set(map(name_of, effect.pieces))
        done = handed | self._dropped
        expect(self._failed <= done, "StrayRowsGo", f"{sorted(self._failed - done)} of failed attempts stay")
        if effect.kind is CloseKind.ABORT:
            kept = self._of_units.keys() - done - self._named
            expect(not kept, "StrayRowsGo", f"all is given up, and {sorted(kept)} stay")
        else:
            withdraws = effect.kind is CloseKind.WITHDRAW  # the newer driver may go on from any record
            perhaps = set[tuple[str, str]]().union(*self._perhaps.values())
            named = handed & (perhaps if withdraws else self._newest_named())
            expect(not named, "I33NamedStays", f"{sorted(named)} are dropped at the end ({effect.kind.name})")
        expect(not (over := self._unnamed_of_the_past() - done), "StrayRowsGo", f"{sorted(over)} stay")

    def _newest_named(self) -> set[tuple[str, str]]:
        newest = self._machine.newest
        return set() if newest is None else _named_in(newest)

    def _unnamed_of_the_past(self) -> set[tuple[str, str]]:
        """Of executions that are over, but for those of isolated sinks."""
        now = {(one.vertex, one.index): run.participant.epoch for one, run in self._machine.executions.items()}
        out = {(one.vertex, one.index) for one in self._machine.state.isolated}
        found = set()
        for name, unit in self._of_units.items():
            subtask = unit.vertex, unit.subtask
            if subtask not in out and unit.epoch + 1 < now[subtask] and name not in self._named:
                found.add(name)
        return found


def _named_in(record: CheckpointRecord) -> set[tuple[str, str]]:
    return {name_of(piece_of(piece)) for commit in record.uncommitted for piece in commit.pieces}
