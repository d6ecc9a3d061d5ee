"""Kills the supervising process at random moments while it starts, stops, restores and schedules runs.

    python -m e2e.server_kills [--short] [--seed N]

After each kill the next process goes on. In the end: each accepted start has one run, no run ever had two drivers at
once, each run stands where its acts have brought it, each time of a schedule was decided once, and has one run if it
started one, and each act has its line in the audit.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from e2e.server.hosted import Hosted
from e2e.server.scheduled import Scheduled
from seatunnel_py.control.run_commands import RunStateError, UnknownRunError
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.intents import IntentState
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.control.requests import RequestKind

RUNS_MAX = 3
SETTLE_SECONDS = 240.0


@dataclass
class Campaign:
    """``wished``: runs that are to run; ``given_up``: runs that were stopped; ``acts``: how often each was accepted."""

    hosted: Hosted
    luck: random.Random
    wished: set[str] = field(default_factory=set)
    given_up: set[str] = field(default_factory=set)
    acts: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    driver_kills: int = 0
    twice: set[str] = field(default_factory=set)
    ended: bool = False
    definitions: int = 0

    def __post_init__(self) -> None:
        self.scheduled = Scheduled(self.hosted)

    def run(self, minutes: float) -> None:
        watch = threading.Thread(target=self._watch_for_two, daemon=True)
        watch.start()
        until = time.monotonic() + 60 * minutes
        self.scheduled.begin()
        self.hosted.begin()
        while time.monotonic() < until:
            self._act()
            time.sleep(self.luck.uniform(0.0, 3.0))
            self.hosted.kill()
            self.kills += 1
            if self.luck.random() < 0.3:
                self._act()  # found by the next server
            self.hosted.begin()
            time.sleep(self.luck.uniform(0.0, 2.0))
        self.scheduled.end()
        self._settle()
        self.ended = True
        watch.join(10)

    def _act(self) -> None:
        choice = self.luck.random()
        running = sorted(self.wished)
        if len(running) < RUNS_MAX and (choice < 0.5 or not running):
            self._start()
        elif choice < 0.75:
            self._kill_driver(self.luck.choice(running))
        else:
            self._stop(self.luck.choice(running))

    def _start(self) -> None:
        self.definitions += 1
        name = f"d{self.definitions}"
        self.hosted.define(name)
        key = f"key-{self.definitions}"
        runs = {self.hosted.start(name, key) for _ in range(self.luck.choice((1, 2)))}
        assert len(runs) == 1, "a client that asks again gets the same run"
        self.wished |= runs
        self.acts["run.start"] += 1

    def _kill_driver(self, run: str) -> None:
        with suppress(AssertionError):  # it has no driver yet
            self.hosted.kill_driver(run)
            self.driver_kills += 1

    def _stop(self, run: str) -> None:
        kind, act = self.luck.choice(((RequestKind.CANCEL, "run.cancel"), (RequestKind.STOP, "run.stop")))
        self.hosted.index.poll()
        try:
            request = self.hosted.commands.send(run, kind, Act("tester", act), name=f"s{time.monotonic_ns()}")
        except (RunStateError, UnknownRunError):
            return
        self.acts[act] += 1
        self.wished.discard(run)
        self.given_up.add(run)
        with suppress(AssertionError):  # a kill of its driver may have come first
            self.hosted.until("an answer", lambda: self.hosted.commands.answer(run, request), 20)

    def _watch_for_two(self) -> None:
        """No run has two drivers that hold its lock; a second process may come as far as to be refused."""
        while not self.ended:
            for run, pids in self.hosted.drivers().items():
                if len(pids) > 1:
                    time.sleep(20)
                    again = self.hosted.drivers().get(run, [])
                    if set(pids) <= set(again):
                        self.twice.add(run)
            time.sleep(0.2)

    def _settle(self) -> None:
        def holds() -> bool:
            return (
                self.scheduled.settled()
                and all(self.hosted.state(run) == "RUNNING" for run in self.wished)
                and all(self.hosted.intents(run)[-1].state is IntentState.ENDED for run in self.given_up)
            )

        with suppress(AssertionError):
            self.hosted.until("all runs stand as wished", holds, SETTLE_SECONDS)

    def faults(self) -> list[str]:
        found = [f"{run} had two drivers" for run in self.twice]
        drivers = self.hosted.drivers()
        for run in sorted(self.wished):
            if self.hosted.state(run) != "RUNNING" or len(drivers.get(run, ())) != 1:
                found.append(
                    f"{run} is {self.hosted.state(run)} with {drivers.get(run, [])}: {self.hosted.intents(run)}"
                )
        found += [f"{run} runs, and was stopped" for run in sorted(self.given_up) if run in drivers]
        done = Counter(act.act for act in self.every_act() if act.result == "done" and act.actor == "tester")
        found += [
            f"{number} acts {act}, {done[act]} audit lines" for act, number in self.acts.items() if done[act] != number
        ]
        ends = Counter(act.object for act in self.every_act() if act.act == "run.ended")
        for run in self.wished | self.given_up:
            noted = [one for one in self.hosted.intents(run) if one.state is IntentState.ENDED]
            if ends[run] != len(noted):
                found.append(f"{run}: {len(noted)} ends, {ends[run]} audit lines")
        return found + self.scheduled.faults()

    def every_act(self) -> list[Act]:
        return self.hosted.acts("")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        hosted = Hosted(Path(folder))
        campaign = Campaign(hosted, random.Random(given.seed))
        try:
            campaign.run(3.0 if given.short else given.minutes)
            faults = campaign.faults()
        except SeaTunnelError as error:
            faults = [str(error)]
        finally:
            hosted.end()
    started, ends = sum(campaign.acts.values()), len(campaign.given_up)
    print(
        f"seed {given.seed}: {campaign.kills} kills of the server, {campaign.driver_kills} of drivers, {started} acts, "
        f"{campaign.definitions} runs, {ends} stopped, {len(campaign.scheduled.started)} started by schedules: "
        f"{len(faults)} faults"
    )
    for fault in faults:
        print(f"  {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
