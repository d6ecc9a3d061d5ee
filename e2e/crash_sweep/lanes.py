"""Cases in as many lanes as are asked for, and a journal from which a sweep goes on."""

from __future__ import annotations

import queue
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from e2e.crash_sweep import report
from e2e.crash_sweep.place import Lane
from e2e.crash_sweep.report import Outcome


class Named(Protocol):
    """A case; its name stands for it in the journal."""

    @property
    def name(self) -> str: ...


C = TypeVar("C", bound=Named)


class Sweep(Generic[C]):
    """``run`` runs one case in a lane, in a directory below the given one; ``journal`` says what is done already."""

    def __init__(
        self,
        cases: Sequence[C],
        run: Callable[[C, int, Lane, Path], Outcome],
        journal: Path | None,
        minutes: float,
        make_lane: Callable[[], Lane] = Lane,
    ) -> None:
        self.outcomes = report.load(journal) if journal else []
        known = {outcome.case for outcome in self.outcomes}
        self.waiting: queue.SimpleQueue[tuple[int, C]] = queue.SimpleQueue()
        for number, case in enumerate(cases):
            if case.name not in known:
                self.waiting.put((number, case))
        self.total, self.journal, self._run, self._make_lane = len(cases), journal, run, make_lane
        self.root = Path(tempfile.mkdtemp(prefix="crash-sweep-"))
        self.until = time.monotonic() + 60 * minutes
        self.lock = threading.Lock()

    def run(self, jobs: int) -> bool:
        """Whether everything held. A signal ends the chunk: no other case begins, those under way go to their ends."""
        for stop in (signal.SIGINT, signal.SIGTERM):
            signal.signal(stop, lambda *_: setattr(self, "until", 0.0))
        threads = [threading.Thread(target=self._lane) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with suppress(OSError):  # what was violated keeps its directory, to be looked at
            self.root.rmdir()
        return not any(outcome.violations for outcome in self.outcomes)

    def _lane(self) -> None:
        lane = self._make_lane()
        try:
            while time.monotonic() < self.until:
                try:
                    number, case = self.waiting.get_nowait()
                except queue.Empty:
                    return
                self._ended(number, self._run(case, number, lane, self.root))
        finally:
            lane.close()

    def _ended(self, number: int, outcome: Outcome) -> None:
        with self.lock:
            self.outcomes.append(outcome)
            if self.journal:
                report.append(self.journal, outcome)
            verdict = "VIOLATED" if outcome.violations else "ok"
            print(f"{number + 1:>4}/{self.total} {outcome.seconds:6.1f} s {verdict:<9} {outcome.case}", flush=True)
            for violation in outcome.violations:
                print(f"          {violation}", flush=True)
