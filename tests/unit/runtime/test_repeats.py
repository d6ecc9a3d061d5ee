"""What a run did again stands in its receipt: each cause once."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatunnel_py.cli.view import receipt_view
from seatunnel_py.cli.view.receipt_view import receipt_text
from seatunnel_py.runtime.observe.events import JobEvent, RegionRestarted, UnitRetried
from seatunnel_py.runtime.observe.receipt import Receipt, Repeated, Seconds, TableReceipt, TableState
from seatunnel_py.runtime.observe.repeated_attempts import RepeatedAttempts
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.work.unit import FailureKind, UnitFailure


def retried(table: str, unit: str, message: str) -> JobEvent:
    return UnitRetried("p", table, unit, 1, 0.0, UnitFailure(FailureKind.LOST, message), 0.0)


def shown(repeated: tuple[Repeated, ...], home: Path) -> str:
    receipt = Receipt("j", "job", (TableReceipt("a", (), TableState.DONE, 5),), Seconds(), repeated=repeated)
    assert receipt.to_plain()["repeated"] == [
        {"cause": one.cause, "attempts": one.attempts, "tables": list(one.tables)} for one in repeated
    ]
    return receipt_text(receipt, Home(home))


def test_a_lost_worker_is_one_cause_for_all_its_units(tmp_path: Path) -> None:
    repeats = RepeatedAttempts()
    for table, unit in (("a", "a#1.e0.a0"), ("a", "a#2.e0.a0"), ("b", "b#1.e0.a0")):
        repeats.saw(retried(table, unit, f"the worker of unit {unit} was lost: its process ended\nmore"))
    repeats.saw(retried("b", "commit", "the server is away"))
    repeats.saw(RegionRestarted("p", "b", {"v": 2}, 3, {"v": "the server is away", "w": "no"}, (), (), 0.0))

    assert repeats.told() == (
        Repeated("the worker was lost: its process ended", 3, ("a", "b")),
        Repeated("the server is away", 2, ("b",)),
        Repeated("no", 1, ("b",)),
    )
    text = shown(repeats.told(), tmp_path)
    assert "3 attempts of 2 tables were repeated: the worker was lost: its process ended\n" in text
    assert "2 attempts of b were repeated: the server is away\n" in text
    assert "1 attempt of b was repeated: no\n" in text


def test_a_run_without_failures_says_nothing_of_them(tmp_path: Path) -> None:
    assert "repeated" not in shown((), tmp_path)


def test_many_causes_are_summed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipt_view, "CAUSES_MAX", 1)

    text = shown(tuple(Repeated(str(number), 4, ("a",)) for number in range(3)), tmp_path)

    assert "8 more attempts of 2 other causes: `seatunnel jobs show` has all" in text
