"""Targets may forget a job only when all of it has arrived; each of their ledgers hears that once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from seatunnel_py.api import CommitContext, Committer, FatalError, Piece
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget, Unit
from tests.kit.runtime_toys import Clock, ScriptedEngine, Target, ToySink, ToySource, driver_of, failed, straight

SETTINGS = replace(
    Settings(RetryPolicy(0, 0.001), Budget(10, 1.0), exchange="mem:", restarts=Backoff(0, 0.001)), ledger_days=7
)


@dataclass(frozen=True)
class LedgerSink(ToySink):
    """``told``: which ledgers have heard of the end, and how long they are to remember."""

    ledger: str | None = None
    told: list[tuple[str | None, str, int]] = field(default_factory=list)
    away: Exception | None = None

    def committer(self) -> Committer:
        return _LedgerCommitter(self)


class _LedgerCommitter(Committer):
    def __init__(self, sink: LedgerSink) -> None:
        self._sink = sink

    def commit(self, pieces: list[Piece], context: CommitContext) -> None:  # type: ignore[override]
        self._sink.state.tell("commit")

    def ledger(self, context: CommitContext) -> Hashable:
        return self._sink.ledger

    def lineage_ended(self, context: CommitContext, keep_days: int) -> None:
        if self._sink.away:
            raise self._sink.away
        self._sink.told.append((self._sink.ledger, context.lineage, keep_days))


def run(
    place: Path, ledgers: dict[str, str | None], *, poisoned: str = "", away: Exception | None = None
) -> tuple[object, ...]:
    """A job of these tables: what the ledgers heard, its lineage, and the notes."""
    told: list[tuple[str | None, str, int]] = []
    lines = [
        straight(name, ToySource((10,)), LedgerSink(name, Target(), ledger, told, away))
        for name, ledger in ledgers.items()
    ]
    engine = ScriptedEngine(lines)

    def script(unit: Unit) -> object:
        return failed(unit.id) if unit.id.vertex == poisoned else engine.work(unit)

    engine.script = script  # type: ignore[assignment]
    driver = driver_of(lines, engine, SETTINGS, Clock(), lambda event: None, place)
    driver.run()
    engine.stop()
    notes = driver.end_lineage()
    return told, driver.job._authority.lineage, notes


def test_each_ledger_hears_once_that_all_tables_have_arrived(tmp_path: Path) -> None:
    told, lineage, notes = run(tmp_path, {"x": "one", "y": "one", "z": "two", "q": None})
    assert told == [("one", lineage, 7), ("two", lineage, 7)]
    assert notes == ()


def test_no_ledger_hears_anything_while_a_table_is_missing(tmp_path: Path) -> None:
    """Its next driver repeats the last commits of the others, too (CM5)."""
    told, _, notes = run(tmp_path, {"x": "one", "y": "one", "z": "two"}, poisoned="z")
    assert (told, notes) == ([], ())


@pytest.mark.parametrize(
    ("away", "why"),
    [
        (FatalError("it is away\nfor long"), "it is away"),
        (OSError("no route"), "lineage_ended of the plugin Toy failed: OSError: no route"),
    ],
)
def test_a_ledger_that_cannot_be_told_is_a_note_and_no_failure(tmp_path: Path, away: Exception, why: str) -> None:
    """Whatever its plugin raises: the rows have arrived."""
    _, _, notes = run(tmp_path, {"x": "one", "y": "one"}, away=away)
    (note,) = notes
    assert note.startswith(f"the ledger beside x was not swept: {why}")
