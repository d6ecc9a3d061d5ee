"""Implements ``seatunnel state show|diff|rewind``: shows and compares the checkpoints of a job, and resumes from an
older one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from seatunnel_py.cli.view.numbers import and_more, count, rows
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.jobs.driver_question import explained
from seatunnel_py.jobs.job_lookup import JobLocation, KnownJob, known
from seatunnel_py.nouns import counted
from seatunnel_py.runtime.observe.receipt import position_text
from seatunnel_py.runtime.storage.home import JobIdError

if TYPE_CHECKING:
    from seatunnel_py.protocol.model.records import CheckpointRecord
    from seatunnel_py.runtime.resume.rollback import RollbackEffect
    from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore

SPLITS_SHOWN_MAX = 10


def show(job_id: str, where: JobLocation, *, as_json: bool) -> int:
    """Show all valid records; on a terminal the positions of each table's newest one."""
    from seatunnel_py.runtime.resume.checkpoint_view import describe

    contents = _store(known(job_id, where, stored=True)).read()
    found = {key: describe(contents.claims.get(key, ()), records) for key, records in contents.records.items()}
    found = {key: records for key, records in found.items() if records}
    if as_json:
        say_json(found)
        return ExitCode.SUCCESS
    for pipeline, records in found.items():
        say(pipeline)
        for record in records:
            name = f" {record['name']}" if record.get("name") else ""
            say(f"  checkpoint {record['checkpoint']}  {record['kind']}{name}  of driver {record['driver']}")
        _tell_newest(records[-1])
    return ExitCode.SUCCESS


def _store(job: KnownJob) -> CheckpointStore:
    """Raises SeaTunnelError if the job has no state there."""
    from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore

    if job.location is None and not (job.place.checkpoints / "records").is_dir():
        raise SeaTunnelError(
            f"there are no checkpoints in {job.place.checkpoints}",
            "checkpoints are deleted when a job has finished, and a job that has just begun has none yet",
        )
    return CheckpointStore(job.storage)


def _tell_newest(record: dict[str, Any]) -> None:
    for vertex in record.get("vertices", ()):
        if "splits" not in vertex:
            continue
        read = f"{rows(vertex['rows_read'])}, {vertex['finished']} of {counted(vertex['splits'], 'split')} to the end"
        say(f"    {vertex['vertex']}: {read}, {counted(vertex['subtasks'], 'subtask')}, epoch {vertex['epoch']}")
        largest = f"position {count(vertex['position_bytes'])}, payload {count(vertex['payload_bytes'])}"
        say(f"      largest of a split, in bytes: {largest}")
        for split, position in list(vertex["at"].items())[:SPLITS_SHOWN_MAX]:
            say(f"      {split} at {position_text(position)}")
        for line in and_more(len(vertex["at"]), SPLITS_SHOWN_MAX):
            say(f"      {line}")
    for commit in record.get("uncommitted", ()):
        say(f"    still to commit when it was taken: {commit['scope']}, checkpoint {commit['checkpoint']}")


# ---------------------------------------------------------------- diff


def diff(first: str, second: str, where: JobLocation, *, as_json: bool) -> int:
    """Compare two checkpoints or savepoints."""
    from seatunnel_py.runtime.resume.checkpoint_view import difference

    one, other = _records(first, where), _records(second, where)
    both = {key: difference(record, other[key]) for key, record in one.items() if key in other}
    lonely = {"only_in_first": sorted(one.keys() - other.keys()), "only_in_second": sorted(other.keys() - one.keys())}
    if as_json:
        say_json({**lonely, "tables": both})
        return ExitCode.SUCCESS
    for name, which in (("only_in_first", first), ("only_in_second", second)):
        for key in lonely[name]:
            say(f"{key}: in {which} only")
    for key, found in both.items():
        say(f"{key}: checkpoint {found['checkpoint'][0]} -> {found['checkpoint'][1]}")
        _tell_difference(found)
    return ExitCode.SUCCESS


def _tell_difference(found: Mapping[str, Any]) -> None:
    for fate in ("added", "removed"):
        for edge in found["edges"][fate]:
            say(f"  connection {fate}: {edge}")
    for name, vertex in found["vertices"].items():
        plain = [
            f"{key} {_some(vertex[key])}" for key in ("rows_read", "finished", "subtasks", "epoch") if key in vertex
        ]
        say(f"  {name}: {vertex.get('fate') or ', '.join(plain) or 'its splits'}")
        for key, word in (("splits_added", "added"), ("splits_removed", "removed")):
            splits = vertex.get(key, [])
            if splits:
                more = f" and {len(splits) - SPLITS_SHOWN_MAX} more" if len(splits) > SPLITS_SHOWN_MAX else ""
                say(f"    splits {word}: {', '.join(splits[:SPLITS_SHOWN_MAX])}{more}")
        positions = vertex.get("positions", {})
        for split, (was, now) in list(positions.items())[:SPLITS_SHOWN_MAX]:
            before, after = position_text(was) or "not begun or at its end", position_text(now) or "at its end"
            say(f"    {split}: {before} -> {after}")
        for line in and_more(len(positions), SPLITS_SHOWN_MAX):
            say(f"    {line}")
    for scope, pair in found["ledgers"].items():
        say(f"  ledger of {scope}: {_some(pair)}")


def _records(name: str, where: JobLocation) -> Mapping[str, CheckpointRecord]:
    """Resolve ``JOB``, ``JOB@17``, ``JOB@-1``, or a savepoint by its name or place."""
    from seatunnel_py.runtime.resume.checkpoint_view import select
    from seatunnel_py.runtime.storage.savepoint_store import SavepointError

    job_id, which = _reference(name)
    try:
        job = known(job_id, where, stored=True)
    except JobIdError as unknown:
        try:
            return where.savepoints().read(name).records
        except SavepointError as missing:
            raise SeaTunnelError(
                f"{name} is neither a job nor a savepoint", f"{unknown.remedy}; {missing.remedy}"
            ) from None
    contents = _store(job).read()
    found = {key: select(contents.claims.get(key, ()), kept, which) for key, kept in contents.records.items()}
    records = {key: record for key, record in found.items() if record is not None}
    if not records:
        raise SeaTunnelError(f"no table has the checkpoint {name}", f"`seatunnel state show {job_id}` lists them")
    return records


def _reference(name: str) -> tuple[str, int | None]:
    job_id, at, number = name.rpartition("@")
    if at and number.removeprefix("-").isdecimal():
        return job_id, int(number)
    return name, None


def _some(pair: list[Any]) -> str:
    return " -> ".join("none" if one is None else str(one) for one in pair)


# ---------------------------------------------------------------- rewind


def rewind(name: str, tables: tuple[str, ...], where: JobLocation, *, yes: bool, as_json: bool) -> int:
    """Report the consequences of going back, and with ``yes`` let the next run start there."""
    from seatunnel_py.runtime.resume import rollback
    from seatunnel_py.runtime.resume.job_claim import read_valid

    job_id, which = _reference(name)
    if which is None:
        raise SeaTunnelError(
            "rewind needs to know how far", f"{name}@-1 is one checkpoint back, {name}@17 is number 17"
        )
    job = known(job_id, where, stored=True)
    if job.here or (job.location is not None and explained(job)[0] is not None):
        raise SeaTunnelError(f"the job {job_id!r} is running", f"`seatunnel jobs cancel {job_id}` ends it")
    receipt = job.receipt or {}
    if receipt.get("exit_code") == ExitCode.SUCCESS and not receipt.get("goes_on"):
        raise SeaTunnelError(f"the job {job_id!r} has finished: there is nothing to resume", "--fresh starts again")
    store = _store(job)
    contents, _ = read_valid(store, store.owner()[0] + 1)
    if unknown := [table for table in tables if table not in contents.records]:
        raise SeaTunnelError(f"no checkpoint is of {', '.join(unknown)}", f"there are: {', '.join(contents.records)}")
    found = list(rollback.preview(contents, job.plan or {}, which, tables))
    refused = [one for one in found if one.refused]
    told: dict[str, Any] = {"tables": [asdict(one) for one in found], "changes": _lines(found)}
    if as_json and (refused or not yes or not found):
        say_json({"done": False, **told})
        return ExitCode.SUCCESS if yes and not refused else ExitCode.FAILED
    if not as_json:
        for line in _lines(found):
            say(line)
    if refused:
        others = "; --table names those that can be rewound" if len(refused) < len(found) else ""
        remedy = f"--fresh starts again, into emptied targets; a savepoint starts a new job{others}"
        raise SeaTunnelError(f"{len(refused)} of {len(found)} tables cannot be rewound; nothing was done", remedy)
    if not found:
        say("nothing to do: all tables stand there")
        return ExitCode.SUCCESS
    if not yes:
        raise SeaTunnelError("nothing was done yet", "--yes does it")
    incarnation = rollback.rewind(store, which, tuple(one.pipeline for one in found))
    if as_json:
        say_json({"done": True, "driver": incarnation, **told})
    else:
        say(f"done: `seatunnel run JOB --job-id {job_id} --restore latest` goes on from there")
    return ExitCode.SUCCESS


def _lines(found: list[RollbackEffect]) -> list[str]:
    return [line for one in found for line in one.lines()]
