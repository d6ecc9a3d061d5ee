"""Implements ``seatunnel reconcile --repair``: shows the rows that would change, and has the job read them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seatunnel_py.cli.jobs.job_control import asked_of_tables
from seatunnel_py.cli.view.terminal import say
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.jobs.job_lookup import JobLocation, known
from seatunnel_py.nouns import counted
from seatunnel_py.reconcile.repairs import TableRepair
from seatunnel_py.runtime.control.requests import ControlAnswer, ControlRequest, RequestKind, request_id
from seatunnel_py.runtime.storage.home import Home

SECONDS = 900.0
LATER = "repaired at the next start of the job: `seatunnel run JOB --job-id ID --restore latest`"


@dataclass(frozen=True, slots=True)
class Repaired:
    """The repairs of one comparison, and the answers of the job to those that it was asked for; none: it was not."""

    repairs: tuple[TableRepair, ...]
    answers: tuple[ControlAnswer, ...] = ()

    @property
    def wanted(self) -> tuple[TableRepair, ...]:
        return tuple(one for one in self.repairs if one.wish is not None)

    @property
    def later(self) -> bool:
        """Whether the job repairs them at its next start only."""
        return any(one.about.get("later") for one in self.answers)

    @property
    def rows(self) -> int:
        """Rows that were repaired."""
        pairs = zip(self.wanted, self.answers, strict=False)
        return sum(one.rows for one, answer in pairs if answer.done and not answer.about.get("later"))

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that were repaired, and are compared again."""
        return () if self.later else tuple(one.table for one in (self.wanted if self.answers else ()))

    def to_plain(self) -> dict[str, Any]:
        """The repair as data for JSON."""
        answers = {one.table: answer for one, answer in zip(self.wanted, self.answers, strict=False)}
        tables = []
        for one in self.repairs:
            plain = one.to_plain()
            if answer := answers.get(one.table):
                plain |= {"done": answer.done, "text": answer.text, "remedy": answer.remedy, **answer.about}
            tables.append(plain)
        return {"asked": bool(self.answers), "later": self.later, "rows": self.rows, "tables": tables}


def job_of(path: Path, given: str | None) -> str:
    """The job of this job file that is repaired. Raises SeaTunnelError if it is not clear which."""
    if given is not None:
        return given
    found = []
    for place in Home.of_environment().jobs():
        about = place.read("job") or {}
        if about.get("job_file") and Path(str(about["job_file"])).resolve() == path.resolve():
            found.append(place.job_id)
    if len(found) == 1:
        return found[0]
    several = f"{len(found)} jobs were started from {path}" if found else f"no job was started from {path}"
    raise SeaTunnelError(f"--repair needs a job: {several}", "add --job-id ID; `seatunnel jobs list`")


def repair(job_id: str, repairs: Sequence[TableRepair], *, yes: bool, quiet: bool) -> Repaired:
    """Show the repairs, and perform them if the user has agreed."""
    if not quiet:
        for one in repairs:
            say(_line(one))
    found = Repaired(tuple(repairs))
    if not found.wanted:
        return found
    if not yes:
        if not quiet:
            say("nothing was changed; --yes repairs these rows")
        return found
    requests = [
        ControlRequest(request_id(), RequestKind.REFRESH, "", "", (one.table,), SECONDS, one.wish.rows_plain())
        for one in found.wanted
        if one.wish is not None
    ]
    answers = asked_of_tables(known(job_id, JobLocation()), requests, LATER, quiet=quiet)
    if not quiet:
        for text in dict.fromkeys(f"{one.text}{f' ({one.remedy})' * bool(one.remedy)}" for one in answers):
            say(text)
    return replace(found, answers=tuple(answers))


def _line(one: TableRepair) -> str:
    parts = ((one.inserts, "insert"), (one.updates, "update"), (one.deletes, "delete"))
    counts = ", ".join(counted(number, noun) for number, noun in parts if number)
    where = f"{one.table} -> {one.target}"
    if one.wish is None:
        return f"not repaired: {where}: {one.reason}\n  remedy: {one.remedy}"
    return f"repair {where}: {counts}"
