"""Units whose connection is lost without a word are given up, and no others (P4-F5)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py import app
from seatunnel_py.local import engine as local
from seatunnel_py.runtime.diagnosis import lost_units
from seatunnel_py.runtime.diagnosis.lost_units import Suspect, verdict
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.work.unit import UnitId


@dataclass(frozen=True)
class Place:
    """A source or sink that can tell what its server works at, or not."""

    found: Callable[[], Sequence[str] | None]

    def at_work(self, seconds: float) -> Sequence[str] | None:
        return self.found()


def away() -> Sequence[str]:
    raise OSError("connection timed out")


def suspect(*found: Callable[[], Sequence[str] | None], overdue: bool = False) -> Suspect:
    places: Any = {f"place {at}": Place(one) for at, one in enumerate(found)}
    return Suspect("p1", UnitId("v", 0), 130.0, places, overdue)


@pytest.mark.parametrize(
    ("found", "overdue", "given_up"),
    [
        ((list,), False, True),  # a server that works for nobody
        ((away,), False, True),  # a server that cannot be asked
        ((list, away), False, True),
        ((lambda: ["session 7 has been at one statement for 90 s (Lock: relation)"],), False, False),
        ((away, lambda: ["session 7 has been at one statement"]), False, False),
        ((lambda: None,), False, False),  # nobody can tell: the unit's own deadline decides
        ((lambda: None,), True, True),
        ((lambda: ["session 7 waits for a lock"],), True, False),
        ((), False, False),
    ],
)
def test_a_unit_is_given_up_where_no_server_works_for_it(
    found: Sequence[Callable[[], Sequence[str] | None]],
    overdue: bool,
    given_up: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lost_units, "LOOK_SECONDS", 0.0)
    why = verdict(suspect(*found, overdue=overdue))

    assert bool(why) is given_up
    if given_up and found:
        assert "its connection to place 0" in why
    if away in found and given_up:
        assert "does not answer: connection timed out" in why


def test_one_stop_ends_a_job_in_this_process_whose_unit_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first Ctrl-C waited for a unit that never came back."""
    monkeypatch.setattr(local, "GRACE_SECONDS", 0.3)
    hangs, release = threading.Event(), threading.Event()

    def hang(self: Any, batch: Any) -> None:
        hangs.set()
        release.wait(30)

    monkeypatch.setattr("seatunnel_connectors.console.sink.ConsoleWriter.write", hang)
    path = tmp_path / "job.conf"
    path.write_text("source { FakeSource { row.num = 10, schema { fields { id = int } } } }\nsink { Console {} }\n")
    drivers: list[Any] = []
    receipts: list[Any] = []

    def run() -> None:
        options = app.RunOptions({}, job_id="job", local=True)
        receipts.append(app.run(path, options, Home(tmp_path / "home"), lambda event: None, drivers.append))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert hangs.wait(20)
    began = time.monotonic()
    drivers[0].stop()
    thread.join(10)
    release.set()

    assert not thread.is_alive(), "the job hangs"
    assert time.monotonic() - began < 5
    assert receipts[0].exit_code == 130
