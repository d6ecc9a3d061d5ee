"""``python -m e2e.crash_sweep [--short] [--journal FILE] [--only TEXT] [--list]``"""

from __future__ import annotations

import argparse
import queue
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from e2e.crash_sweep import report
from e2e.crash_sweep.cases import Case, long_form, short_form
from e2e.crash_sweep.place import Lane
from e2e.crash_sweep.runner import Outcome, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.crash_sweep", description=__doc__)
    parser.add_argument("--short", action="store_true", help="every failpoint and every victim at least once")
    parser.add_argument("--journal", type=Path, help="a file that says what is done; what is in it is not done again")
    parser.add_argument("--only", default="", help="only cases whose name holds this text")
    parser.add_argument("--jobs", type=int, default=2, help="how many cases run at a time (2)")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no case after so long: a chunk")
    parser.add_argument("--list", action="store_true", help="print the cases")
    given = parser.parse_args()
    cases = [case for case in (short_form() if given.short else long_form()) if given.only in case.name]
    if given.list:
        print(*(case.name for case in cases), sep="\n")
        return 0
    outcomes = report.load(given.journal) if given.journal else []
    known = {outcome.case for outcome in outcomes}
    root = Path(tempfile.mkdtemp(prefix="crash-sweep-"))
    sweep = Sweep([case for case in cases if case.name not in known], root, given.journal, outcomes, given.minutes)
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: sweep.end_chunk())
    sweep.run(given.jobs)
    print(report.table(outcomes))
    broken = any(outcome.violations for outcome in outcomes)
    print(f"what was violated lies in {root}" if broken else "nothing lost, nothing twice, nothing left behind")
    return 1 if broken else 0


class Sweep:
    """Cases in as many lanes as are asked for."""

    def __init__(
        self, cases: list[Case], root: Path, journal: Path | None, outcomes: list[Outcome], minutes: float
    ) -> None:
        self.waiting: queue.SimpleQueue[tuple[int, Case]] = queue.SimpleQueue()
        for numbered in enumerate(cases):
            self.waiting.put(numbered)
        self.total, self.root, self.journal, self.outcomes = len(cases), root, journal, outcomes
        self.until = time.monotonic() + 60 * minutes
        self.lock = threading.Lock()

    def run(self, jobs: int) -> None:
        threads = [threading.Thread(target=self._lane) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def end_chunk(self) -> None:
        """Begin no other case; those that run go to their ends."""
        self.until = 0.0

    def _lane(self) -> None:
        lane = Lane()
        try:
            while time.monotonic() < self.until:
                try:
                    number, case = self.waiting.get_nowait()
                except queue.Empty:
                    return
                self._ended(number, run(case, number, lane, self.root))
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


if __name__ == "__main__":
    sys.exit(main())
