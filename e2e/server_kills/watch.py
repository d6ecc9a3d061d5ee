"""Looks at the drivers of a home all the while: no run has two, and no more runs than the server's limit have one."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from e2e.server.driver_processes import drivers_of

EVERY_SECONDS = 0.4
TWO_SECONDS = 20.0


@dataclass
class DriverWatch:
    """``twice``: runs with two drivers for a while; a second process may come as far as to be refused. ``most``: the
    most runs that had a driver at once."""

    home: Path
    twice: set[str] = field(default_factory=set)
    most: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)

    def begin(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        two: dict[str, tuple[set[int], float]] = {}
        passed = 0.0
        while not self._ended.wait(EVERY_SECONDS):
            passed += EVERY_SECONDS
            drivers = drivers_of(self.home)
            self.most = max(self.most, len(drivers))
            for run, pids in drivers.items():
                if len(pids) < 2:
                    two.pop(run, None)
                elif two.setdefault(run, (set(pids), passed))[0] != set(pids):
                    two[run] = set(pids), passed
                elif passed - two[run][1] > TWO_SECONDS:
                    self.twice.add(run)

    def end(self) -> None:
        self._ended.set()
        self._thread.join(10)
