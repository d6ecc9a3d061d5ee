"""Schedules in a campaign of kills, and the check of what they have started."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from e2e.server.hosted import Hosted
from seatunnel_py.control.schedule import stored_schedules
from seatunnel_py.control.schedule.decision import FireOutcome, Schedule
from seatunnel_py.control.schedule.stored_schedules import StoredFire
from seatunnel_py.control.schedule.terms import terms_of
from seatunnel_py.control.store import intents
from seatunnel_py.control.store.audit import Act
from seatunnel_py.control.store.intents import Intent, IntentState

BATCH = """
source { FakeSource { row.num = 20, schema { table = "shop.people", fields { id = bigint } } } }
sink { Console {} }
"""
TERMS = {
    "often": {"every": 10, "overlap": "skip"},
    "queued": {"every": 15, "overlap": "queue", "missed": "once"},
    "minutes": {"cron": "* * * * *", "zone": "Europe/Berlin", "overlap": "skip"},
}
ACT = Act("tester", "schedule.create")


@dataclass
class Scheduled:
    """Definitions of small jobs, each with a schedule of its name."""

    hosted: Hosted
    started: list[str] = field(default_factory=list)

    def begin(self) -> None:
        for name, terms in TERMS.items():
            self.hosted.define(name, text=BATCH)
            self.hosted.schedules.create(name, name, terms_of(**terms), {}, "tester", ACT)  # type: ignore[arg-type]

    def end(self) -> None:
        for name in TERMS:
            self.hosted.schedules.pause(name, ACT)

    def settled(self) -> bool:
        return all(one.state not in intents.OPEN for name in TERMS for one in self.asked(name))

    def asked(self, name: str) -> list[Intent]:
        """The starts of a definition: only its schedule makes them."""
        with self.hosted.database.reading() as connection:
            return list(intents.of_definition(connection, name, limit=1_000))

    def faults(self) -> list[str]:
        return [fault for name in TERMS for fault in self._faults_of(name)]

    def _faults_of(self, name: str) -> list[str]:
        with self.hosted.database.reading() as connection:
            schedule = stored_schedules.found(connection, name)
            fires = list(reversed(stored_schedules.fires(connection, name, limit=1_000)))
        started = [one.fire for one in fires if one.fire.outcome is FireOutcome.STARTED]
        self.started += [fire.run for fire in started]
        runs = Counter(fire.run for fire in started)
        found = [f"{name}: {run} was started for {times} times" for run, times in runs.items() if times > 1]
        asked = {intent.run for intent in self.asked(name)}
        found += [f"{name}: no start of {run}, which a fire names" for run in runs.keys() - asked]
        found += [f"{name}: {run} was started by no fire" for run in asked - runs.keys()]
        acts = [act for act in self.hosted.acts("run.start") if act.actor == f"schedule:{name}"]
        lines = Counter(act.object for act in acts if act.result == "done")
        found += [f"{name}: {run} has {lines[run]} audit lines" for run in runs if lines[run] != 1]
        found += [f"{name}: {act.object}: {act.result}" for act in acts if act.result != "done"]
        found += [f"{name}: {run} is {self.hosted.state(run)}" for run in runs if not self._done(run)]
        return found + _undecided(schedule, fires)

    def _done(self, run: str) -> bool:
        last = self.hosted.intents(run)[-1]
        return self.hosted.state(run) == "SUCCESS" and last.state is IntentState.ENDED


def _undecided(schedule: Schedule, fires: list[StoredFire]) -> list[str]:
    """Times without a fire. A fire of missed times stands for those until the next fire."""
    outcomes = {one.fire.due: one.fire.outcome for one in fires}
    found, covered = [], False
    moment = schedule.timing.after(schedule.created_at)
    last = max(outcomes, default=schedule.created_at)
    while moment is not None and moment <= last:
        covered = outcomes[moment] is FireOutcome.MISSED if moment in outcomes else covered
        if moment not in outcomes and not covered:
            found.append(f"{schedule.id}: the time {moment} has no fire")
        moment = schedule.timing.after(moment)
    return found
