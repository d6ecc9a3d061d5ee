"""Implements ``seatunnel changes list|show|approve|reject``: changes of tables' schemas that wait for a person."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from seatunnel_py.cli.jobs import job_control
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import ExitCode
from seatunnel_py.jobs.job_lookup import JobLocation, KnownJob, known
from seatunnel_py.runtime.control.requests import ControlRequest, RequestKind, request_id

if TYPE_CHECKING:
    from seatunnel_py.protocol.model.records import CheckpointRecord
    from seatunnel_py.runtime.control.change_decisions import WaitingChange
    from seatunnel_py.runtime.storage.journal import Journal

_FIELDS = (
    "change", "table", "statement", "waits", "since_checkpoint", "why", "remedy", "verdict", "by", "at", "checkpoint",
)  # fmt: skip
_VERDICTS = {"approve": "approved", "reject": "rejected"}


def listing(job_id: str, where: JobLocation, *, as_json: bool) -> int:
    """All changes that wait, and those about which persons have decided."""
    found = _changes(known(job_id, where, stored=True))
    if as_json:
        say_json(found)
        return ExitCode.SUCCESS
    if not found:
        say(f"no change of a schema waits in the job {job_id!r}")
    for one in found:
        say(f"{one['change']}  {one['table']}  {one['statement']}")
        say(f"  {_state(one)}")
    return ExitCode.SUCCESS


def show(job_id: str, change: str, where: JobLocation, *, as_json: bool) -> int:
    """One change: its statement, the cause of the stop, and the decision."""
    from seatunnel_py.runtime.control import change_decisions

    changes = {one["change"]: one for one in _changes(known(job_id, where, stored=True))}
    one = changes[change_decisions.known_id(change, changes)]
    if as_json:
        say_json(one)
        return ExitCode.SUCCESS
    say(f"{one['change']}: {_state(one)}")
    for name in ("table", "statement", "why", "remedy"):
        if one[name]:
            say(f"  {name}: {one[name]}")
    return ExitCode.SUCCESS


def decide(
    job_id: str, change: str, where: JobLocation, *, approves: bool, by: str | None, seconds: float, as_json: bool
) -> int:
    """Approve or reject a change: now if the job runs, else at its next start."""
    from seatunnel_py.runtime.control import change_decisions

    job = known(job_id, where, stored=True)
    wish = RequestKind.APPROVE if approves else RequestKind.REJECT
    request = ControlRequest(request_id(), wish, "", change, (), seconds, by=by or person())
    one = change_decisions.found(change_decisions.waiting_in(records(job)), change)
    at_start = change_decisions.effect_of(request, one)
    return job_control.at_next_start(job, request, f"{at_start}, at the next start of the job", as_json=as_json)


def person() -> str:
    """The person who decides, unless the command names one."""
    return f"{os.environ.get('USER') or os.getuid()}@{socket.gethostname()}"


def kept(job: KnownJob) -> Journal:
    """The journal of the job, with all decisions and rules."""
    from seatunnel_py.runtime.storage import journal
    from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore

    if not _has_state(job):
        return journal.Journal()
    owner, _ = CheckpointStore(job.storage).owner()
    return journal.newest(job.storage, owner + 1)[1]


def _changes(job: KnownJob) -> list[dict[str, Any]]:
    from seatunnel_py.runtime.control import change_decisions

    decisions = {name: one for own in kept(job).decisions.values() for name, one in own.items()}
    waiting = {one.id: one for one in change_decisions.waiting_in(records(job))}
    return [_plain(name, waiting.get(name), decisions.get(name)) for name in dict.fromkeys([*decisions, *waiting])]


def _plain(change: str, waiting: WaitingChange | None, decision: Mapping[str, Any] | None) -> dict[str, Any]:
    plain: dict[str, Any] = dict.fromkeys(_FIELDS)
    if waiting is not None:
        about = asdict(waiting)
        plain |= {name: about[name] for name in ("table", "statement", "why", "remedy")}
        plain |= {"since_checkpoint": waiting.checkpoint}
    return {**plain, **(decision or {}), "change": change, "waits": waiting is not None}


def _state(one: Mapping[str, Any]) -> str:
    waits = f"waits since checkpoint {one['since_checkpoint']}" if one["waits"] else "done"
    if one["verdict"] is None:
        return waits
    at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(one["at"]))
    decided = f"{_VERDICTS[one['verdict']]} by {one['by']} at {at}, checkpoint {one['checkpoint']}"
    return f"{decided}; {waits}"


def records(job: KnownJob) -> dict[str, CheckpointRecord]:
    """The newest record of each pipeline."""
    from seatunnel_py.protocol.commit.claims import RestoreRefusal, newest
    from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore

    if not _has_state(job):
        return {}
    contents = CheckpointStore(job.storage).read()
    found = {key: newest(contents.claims.get(key, ()), own) for key, own in contents.records.items()}
    return {key: one for key, one in found.items() if one is not None and not isinstance(one, RestoreRefusal)}


def _has_state(job: KnownJob) -> bool:
    """Whether the job has checkpoints."""
    return job.location is not None or (job.place.checkpoints / "records").is_dir()
