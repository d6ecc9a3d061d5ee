"""Delivers the bad rows of a job after a fix: runs an ordinary job whose sources are files of the quarantine.

Rules. (1) A replay has its own job id, and claims its files before it starts. The next call resumes an interrupted
replay, so that each row is delivered once. (2) It uses the current job file. (3) Rows that fail again are bad rows of
the replay, in the same quarantine, and the replay fails. (4) Records that no reader could decode are not replayed: they
stay in the quarantine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py import app
from seatunnel_py.errors import ExitCode, SeaTunnelError

if TYPE_CHECKING:
    from seatunnel_py.runtime.observe.events import JobEvent
    from seatunnel_py.runtime.observe.receipt import Receipt
    from seatunnel_py.runtime.storage.home import Home
    from seatunnel_py.runtime.storage.quarantine_store import QuarantineFile


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """``path`` is the job file, by default the one with which the job was started; ``table`` restricts the replay to
    the bad rows of one table."""

    variables: Mapping[str, str]
    path: Path | None = None
    table: str | None = None
    local: bool = False


def location(home: Home, job_id: str) -> Path:
    """Directory of a job's quarantine."""
    from seatunnel_py.runtime.storage import quarantine_store

    about = home.job(job_id).read("job") or {}
    return quarantine_store.location_of(about.get("error_location"), home.path / "jobs", job_id)


def held(home: Home, job_id: str) -> tuple[QuarantineFile, ...]:
    """Files of bad rows of a job."""
    from seatunnel_py.runtime.storage import quarantine_store

    return quarantine_store.held(location(home, job_id), home.finished)


def replay(
    job_id: str,
    options: ReplayOptions,
    home: Home,
    listen: Callable[[JobEvent], None],
    on_driver: Callable[[Any], None],
) -> Receipt:
    """Deliver the quarantined rows of a job. Raises NothingToDoError if there are none."""
    from seatunnel_py.runtime.control.driver_liveness import silent_driver
    from seatunnel_py.runtime.resume import quarantine_pipelines
    from seatunnel_py.runtime.storage import quarantine_store

    path = options.path or home.job(job_id).job_file
    job = quarantine_pipelines.appending(app.check(path, options.variables))
    name, files, again = _claimed(home, job_id, options.table)
    silent = silent_driver(home, name, job.file.env.checkpoint_location, listen) if again else None
    place = app.claim(job, home, name, fresh=not again, restore=again, silent=silent)
    with app.JobSession((job,), place.path, local=options.local, began=app.PROCESS_STARTED) as session:
        pick = partial(quarantine_pipelines.replayed, files=_by_entrance(files))
        receipt = session.run(job, place, listen, on_driver, pick=pick)
    if receipt.exit_code == ExitCode.SUCCESS:
        quarantine_store.end(location(home, job_id), name)
    return replace(receipt, failed_again=receipt.total("rows_rejected"))


def _claimed(home: Home, job_id: str, table: str | None) -> tuple[str, Sequence[QuarantineFile], bool]:
    """The replay to run, its files, and whether it was started before."""
    from seatunnel_py.runtime.storage import quarantine_store

    place = location(home, job_id)
    files = held(home, job_id)
    for replay_of in (one.replay for one in files if one.replay and not one.delivered):
        return replay_of, [one for one in files if one.replay == replay_of], True
    mine = [one for one in files if table in (None, one.table)]
    files = tuple(one for one in mine if not one.replay and one.decoded)
    if not files:
        which = f"of {table} " if table else ""
        stay = sum(one.undecoded for one in mine)
        why = f"; {stay} could not be decoded, and stay: `seatunnel quarantine show {job_id}`" if stay else ""
        raise app.NothingToDoError(f"the quarantine of {job_id} holds no rows {which}that can be delivered{why}")
    return quarantine_store.claim(place, job_id, files), files, False


def _by_entrance(files: Sequence[QuarantineFile]) -> dict[tuple[str, str], list[str]]:
    """Group files by the step and table at which their rows enter the pipeline again."""
    from seatunnel_py.work.bad_rows import quarantine_file

    found: dict[tuple[str, str], list[str]] = {}
    for one in files:
        for about, bad in quarantine_file.read(str(one.path)):
            if not bad.raw:
                paths = found.setdefault((about.step, str(bad.batch.table)), [])
                if str(one.path) not in paths:
                    paths.append(str(one.path))
    return found


def check_table(held: Sequence[QuarantineFile], table: str | None) -> None:
    """Raises SeaTunnelError if the table has no bad rows."""
    known = sorted({one.table for one in held})
    if table is not None and table not in known:
        has = ", ".join(known) or "no table"
        raise SeaTunnelError(f"the quarantine has no rows of {table}", f"it has rows of {has}")
