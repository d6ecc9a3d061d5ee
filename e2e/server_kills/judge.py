"""Compares what clients were told with the runs, the audit, the schedules and the rows that are there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cached_property
from sqlite3 import Row as DatabaseRow
from sqlite3 import connect
from typing import TYPE_CHECKING, Any

from e2e.server_kills.batch_operator import BatchOperator
from e2e.server_kills.judge_rows import row_faults
from e2e.server_kills.judge_schedules import schedule_faults
from e2e.server_kills.retrying_client import RetryingClient
from seatunnel_py.control.store.places.sqlite_file import database_file
from seatunnel_py.runtime.storage.home import Home

if TYPE_CHECKING:
    from e2e.server_kills.campaign import Campaign

OPEN = ("WAITING", "STARTING", "STARTED")


class Judge:
    """Reads the database by itself, without the code of the server."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.home = Home(campaign.server.home)

    def rows(self, query: str, *values: Any) -> Sequence[Mapping[str, Any]]:
        with closing(connect(database_file(self.home.path))) as connection:
            connection.row_factory = DatabaseRow
            return [dict(one) for one in connection.execute(query, values)]

    def open_starts(self) -> Sequence[Mapping[str, Any]]:
        return self.rows("SELECT * FROM intent WHERE state IN (?, ?, ?)", *OPEN)

    @cached_property
    def intents(self) -> Mapping[str, list[Mapping[str, Any]]]:
        """The starts of each run, oldest first."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for one in self.rows("SELECT * FROM intent ORDER BY id"):
            found.setdefault(one["run"], []).append(one)
        return found

    def faults(self) -> list[str]:
        campaign = self.campaign
        found = [trouble for one in campaign.operators for trouble in one.troubles]
        found += [f"the server has ended by itself: {tail}" for tail in campaign.server.refused]
        found += [f"{run} had two drivers" for run in sorted(campaign.watch.twice)]
        if campaign.watch.most > campaign.max_running:
            found.append(f"{campaign.watch.most} runs had drivers, and at most {campaign.max_running} may")
        found += [f"a start is {one['state']}: {one}" for one in self.open_starts()]
        found += self._runs()
        found += self._audit()
        found += self._ends()
        for one in campaign.operators:
            if isinstance(one, BatchOperator):
                found += schedule_faults(self, one.job, set(one.asked))
            found += row_faults(self, one)
        return found

    def _runs(self) -> list[str]:
        """Each accepted start has one run, and each run was asked for."""
        campaign = self.campaign
        asked = Counter(campaign.answer_log.objects("run.start"))
        fired = Counter(one["run"] for one in self.rows("SELECT run FROM schedule_fire WHERE outcome = 'started'"))
        found = [f"{run} was answered for {times} starts" for run, times in (asked + fired).items() if times > 1]
        wanted = asked.keys() | fired.keys()
        found += [f"{run} was accepted, and has no start" for run in sorted(wanted - self.intents.keys())]
        found += [f"{run} was started, and not asked for" for run in sorted(self.intents.keys() - wanted)]
        places = {one.name for one in (self.home.path / "jobs").iterdir() if not one.name.startswith(".")}
        found += [f"{run} has a directory, and no start" for run in sorted(places - self.intents.keys())]
        for run, starts in self.intents.items():
            found += self._run(run, starts)
        keys = Counter(one["key"] for starts in self.intents.values() for one in starts if one["key"])
        return found + [f"the key {key} has made {times} starts" for key, times in keys.items() if times > 1]

    def _run(self, run: str, starts: Sequence[Mapping[str, Any]]) -> list[str]:
        """Its drivers, as its own events tell them, are those of its starts."""
        dropped = [one for one in starts if one["state"] in ("DROPPED", "NOT_STARTED")]
        if not (self.home.place(run).path / "job.json").exists():
            return [] if len(dropped) == len(starts) else [f"{run} has no directory: {list(starts)}"]
        begun = [one for one in starts if one not in dropped]
        lines = (self.home.place(run).path / "events.jsonl").read_text().splitlines()
        drivers = [one["driver"] for one in map(json.loads, lines) if one["event"] == "job_started"]
        found = []
        if drivers != sorted(set(drivers)):
            found.append(f"{run} has the drivers {drivers}")
        if len(drivers) > len(begun):
            found.append(f"{run} had {len(drivers)} drivers for {len(begun)} starts")
        return found

    def _audit(self) -> list[str]:
        """Each act that was answered has its line, and no line has no act."""
        lines: Counter[tuple[str, str]] = Counter()
        refused: Counter[tuple[str, str]] = Counter()
        for row in self.rows("SELECT * FROM audit WHERE actor NOT IN ('supervisor', 'first-start')"):
            if not row["actor"].startswith("schedule:"):
                key = row["act"], row["object"]
                lines[key] += row["result"] == "done"
                refused[key] += row["result"].startswith("refused")
        done: Counter[tuple[str, str]] = Counter()
        unsure: Counter[tuple[str, str]] = Counter()
        for one in self.campaign.answer_log.acts:
            done[one.act, one.object] += one.done
            unsure[one.act, one.object] += one.unsure
        found = []
        for key in lines.keys() | done.keys():
            more = unsure[key] * 5  # the same act may have been done at each try of one without a key
            least = done[key] if not unsure[key] else min(done[key], 1)
            if not least <= lines[key] <= done[key] + more:
                found.append(f"{key}: {done[key]} answers, {unsure[key]} unsure, {lines[key]} audit lines")
        return found

    def _ends(self) -> list[str]:
        """Each end of a driver is in the audit once."""
        lines = Counter(one["object"] for one in self.rows("SELECT object FROM audit WHERE act = 'run.ended'"))
        found = []
        for run, starts in self.intents.items():
            ended = sum(one["state"] == "ENDED" for one in starts)
            if lines[run] != ended:
                found.append(f"{run}: {ended} ends, {lines[run]} audit lines")
        killed = self.rows("SELECT object FROM audit WHERE act = 'run.ended' AND result LIKE 'killed%'")
        kills = sum(one.driver_kills for one in self.campaign.operators)
        if len(killed) > kills:
            found.append(f"{len(killed)} drivers were killed, and clients have killed {kills}")
        return found


def told_of(campaign: Campaign) -> str:
    """What a campaign has done, before its database is deleted."""
    judge, acts = Judge(campaign), campaign.answer_log.acts
    outcomes = Counter(one["outcome"] for one in judge.rows("SELECT outcome FROM schedule_fire"))
    stopped = sum(one.done and one.act in ("run.stop", "run.cancel") for one in acts)
    restored = sum(one.done and one.act == "run.restore" for one in acts)
    ready = sorted(campaign.server.ready_seconds)
    return (
        f"{len(campaign.jobs)} jobs, {campaign.kills} kills of the server ({campaign.early_kills} during its start), "
        f"{sum(one.driver_kills for one in campaign.operators)} of drivers; {len(acts)} acts answered, "
        f"{campaign.answer_log.lost_answers} answers lost; {len(judge.intents)} runs with "
        f"{sum(map(len, judge.intents.values()))} starts, {stopped} stops, {restored} restores; times: {dict(outcomes)}; "
        f"at most {campaign.watch.most} of {campaign.max_running} at once; "
        f"{sum(len(one.job.written()) for one in campaign.operators)} rows compared; "
        f"ready after {ready[len(ready) // 2]:.2f} s in the middle"
    )


def states_of_runs(client: RetryingClient) -> Mapping[str, str]:
    """All runs that the server lists."""
    found: dict[str, str] = {}
    after = ""
    while True:
        page = client.ask("GET", f"/runs?limit=200&after={after}").data
        found |= {row["job_id"]: row["state"] for row in page["runs"]}
        if not page["next"]:
            return found
        after = page["next"]
