"""A client of a bounded job with a schedule: starts it beside its times, drops and moves starts, kills its drivers."""

from __future__ import annotations

from dataclasses import dataclass, field

from e2e.server_kills.operator_base import JobOperator


@dataclass
class BatchOperator(JobOperator):
    """``asked``: the runs that it has started itself. Only jobs that may overlap are started beside their times."""

    asked: list[str] = field(default_factory=list)

    def work(self) -> None:
        while not self.over.is_set():
            self.pause(10.0, 40.0)
            if self.over.is_set():
                break
            choice = self.luck.random()
            if self.job.overlaps:  # a wish keeps the newest run of a definition only: none of them is killed
                self._start()
            elif choice < 0.6:
                self._kill_one()
            elif choice < 0.8:
                self._switch()
        self._schedule("pause")

    def _kill_one(self) -> None:
        found = self.client.ask("GET", f"/runs?q={self.job.name}-&state=running&limit=20").data["runs"]
        if found:
            self.kill_driver(self.luck.choice(found)["job_id"])

    def _switch(self) -> None:
        """Times that pass meanwhile are no times of the schedule."""
        self._schedule("pause")
        self._schedule("resume")

    def _schedule(self, act: str) -> None:
        name = self.job.name
        found = self.client.act(f"schedule.{act}", name, "POST", f"/schedules/{name}/{act}", {}, keyed=False)
        self.expect(200, found)

    def _start(self) -> None:
        name = self.job.name
        if self.luck.random() < 0.5:
            found = self.client.act("run.start", "", "POST", f"/schedules/{name}/runs", {})
        else:
            body = {"priority": self.luck.choice((-5, 0, 5))}
            found = self.client.act("run.start", "", "POST", f"/definitions/{name}/runs", body)
        run = self.expect(202, found).data["job_id"]
        self.asked.append(run)
        choice = self.luck.random()
        if choice < 0.3:
            self.client.act("queue.prioritise", run, "PATCH", f"/queue/{run}", {"priority": 9}, keyed=False)
        elif choice < 0.6:
            self.client.act("queue.drop", run, "DELETE", f"/queue/{run}", keyed=False)
