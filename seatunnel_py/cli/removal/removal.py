"""Implements ``seatunnel jobs rm|prune``: removes jobs that have ended, with all of their files."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seatunnel_py.cli.removal.removal_facts import RemovableJob, RemovalFactsReader
from seatunnel_py.cli.removal.removal_rules import DEFAULT_STATES, Consent, EndedJob, KeptJob, PruneRule, age, obstacle
from seatunnel_py.cli.view.numbers import size
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.jobs.job_lookup import JobLocation, KnownJob
from seatunnel_py.jobs.job_rows import about_of, states_of
from seatunnel_py.nouns import counted
from seatunnel_py.runtime.control import job_removal
from seatunnel_py.runtime.control.job_removal import OutsideFiles, RemovedJob
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import JobDirectory

if TYPE_CHECKING:
    from seatunnel_py.config.env import EnvOptions


@dataclass(frozen=True, slots=True)
class RemovalOptions:
    """Options of both commands. ``dry_run``: only report; ``only_here``: leave files in shared places."""

    consent: Consent = field(default_factory=Consent)
    dry_run: bool = False
    only_here: bool = False
    as_json: bool = False


@dataclass(slots=True)
class RemovalReport:
    """``removed``: job, name, state and bytes on the disk of each; ``incomplete``: gone, but files are left."""

    removed: list[dict[str, Any]] = field(default_factory=list)
    kept: list[KeptJob] = field(default_factory=list)
    incomplete: list[KeptJob] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        return sum(one["bytes"] for one in self.removed)


def remove(job_ids: Sequence[str], where: JobLocation, options: RemovalOptions) -> int:
    """Remove these jobs; each that must be kept is reported with its remedy, and makes the exit code 1."""
    home = Home.of_environment()
    remover = _Remover(home, where, options)
    hidden = {one.job_id for one in job_removal.unfinished_removals(home)}
    places = [home.job(one) for one in dict.fromkeys(job_ids) if one not in hidden or home.place(one).path.is_dir()]
    remover.complete()
    for place in places:
        remover.remove(place)
    report = remover.report
    _tell(report, options)
    return ExitCode.FAILED if report.kept or report.incomplete else ExitCode.SUCCESS


def prune(rule: PruneRule, where: JobLocation, options: RemovalOptions) -> int:
    """Remove the jobs of this home that the rule chooses. Jobs that must be kept do not change the exit code."""
    home = Home.of_environment()
    remover = _Remover(home, where, options)
    remover.complete()
    for chosen in rule.chosen(map(_ended, home.jobs()), time.time()):
        remover.remove(home.place(chosen.job_id), rule)
    _tell(remover.report, options)
    return ExitCode.FAILED if remover.report.incomplete else ExitCode.SUCCESS


def prune_rule(older: str | None, keep: int | None, states: Sequence[str]) -> PruneRule:
    """Check the options of `prune`. Raises SeaTunnelError."""
    if older is None and keep is None:
        rules = "--older-than 7d chooses by age, --keep 3 all but the newest of each name; --dry-run shows which"
        raise SeaTunnelError("prune needs a rule", rules)
    seconds = None if older is None else age(older)
    return PruneRule(seconds, keep, states_of(states) if states else DEFAULT_STATES, bool(states))


def _ended(place: JobDirectory, job: KnownJob | None = None) -> EndedJob:
    about = about_of(job or KnownJob(place))
    ended = about["started"] + (about["seconds"] or 0.0)
    return EndedJob(place.job_id, about["job_name"] or place.job_id, about["state"], ended)


class _Remover:
    """Removes jobs one by one, and collects the report."""

    def __init__(self, home: Home, where: JobLocation, options: RemovalOptions) -> None:
        self._home, self._options = home, options
        self._reader = RemovalFactsReader(home, where, only_here=options.only_here)
        self.report = RemovalReport()

    def complete(self) -> None:
        """Complete removals that were interrupted."""
        if self._options.dry_run:
            return
        for one in job_removal.unfinished_removals(self._home):
            try:
                outside = one.outside
                env = self._reader.env(one.directory.read("job") or {}) if outside.needs_job_file else None
            except SeaTunnelError as error:
                self.report.incomplete.append(KeptJob(one.job_id, error.message, error.remedy))
                continue
            self._erase(one, outside, env)

    def remove(self, place: JobDirectory, rule: PruneRule | None = None) -> None:
        """Remove a job, or note why it is kept. ``rule``: its state elsewhere must match this rule, too."""
        try:
            found = self._reader.find(place)
            job = _ended(place, found.job)
            if rule is not None and job.state not in rule.states:
                self.report.kept.append(KeptJob(job.job_id, f"it is {job.state} in its checkpoint.location", ""))
                return
            consent = self._options.consent
            named = rule is not None and rule.named
            kept = obstacle(self._reader.facts(found), Consent(consent.unfinished or named, consent.bad_rows))
            if kept is not None:
                self.report.kept.append(kept)
                return
            freed = _bytes_of(found)
            if not self._options.dry_run:
                self._erase(job_removal.take_away(place, found.outside), found.outside, found.env)
        except SeaTunnelError as error:
            self.report.kept.append(KeptJob(place.job_id, error.message, error.remedy))
            return
        shared = found.outside.location
        line = {"job_id": job.job_id, "job_name": job.name, "state": job.state, "ended": job.ended, "bytes": freed}
        self.report.removed.append({**line, "checkpoint_location": shared})

    def _erase(self, one: RemovedJob, outside: OutsideFiles, env: EnvOptions | None) -> None:
        try:
            if env is not None:
                _erase_shared(one.job_id, outside, env)
            if outside.quarantine is not None and not self._home.place(one.job_id).path.exists():
                shutil.rmtree(outside.quarantine, ignore_errors=True)
        except SeaTunnelError as error:
            self.report.incomplete.append(KeptJob(one.job_id, error.message, "`seatunnel jobs prune` tries it again"))
            return
        one.erase()


def _erase_shared(job_id: str, outside: OutsideFiles, env: EnvOptions) -> None:
    """Delete the checkpoints of a removed job, and its exchanged rows, in shared places."""
    from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
    from seatunnel_py.runtime.storage.local_storage import LocalStorage
    from seatunnel_py.runtime.storage.open_storage import connect, delete_state
    from seatunnel_py.runtime.values.settings import settings_of
    from seatunnel_py.work.segment_files import remove_all

    if env.checkpoint_location is not None:
        storage = connect(env.checkpoint_location, job_id)
        try:
            if CheckpointStore(storage).owner()[1] not in ("", outside.lineage):
                return  # a new job has its id
            delete_state(storage)
            if isinstance(storage, LocalStorage):
                shutil.rmtree(storage.path, ignore_errors=True)
        finally:
            storage.close()
    if env.exchange_location is not None:
        remove_all(settings_of(env, "", job_id).exchange)


def _bytes_of(found: RemovableJob) -> int:
    """Bytes on the disk: of its directory, and of its shared files if they are in a directory."""
    from seatunnel_py.runtime.storage.local_storage import LocalStorage

    paths = [found.job.place.path]
    if found.job.location is not None and isinstance(found.job.storage, LocalStorage):
        paths.append(found.job.storage.path)
    if found.outside.quarantine is not None:
        paths.append(Path(found.outside.quarantine))
    return sum(map(job_removal.bytes_of, paths))


def _tell(report: RemovalReport, options: RemovalOptions) -> None:
    if options.as_json:
        totals = {"dry_run": options.dry_run, "runs": len(report.removed), "bytes": report.bytes}
        others = {"kept": list(map(asdict, report.kept)), "incomplete": list(map(asdict, report.incomplete))}
        say_json({**totals, "removed": report.removed, **others})
        return
    for line in _lines(report, dry_run=options.dry_run):
        say(line)


def _lines(report: RemovalReport, *, dry_run: bool) -> Iterator[str]:
    verb = "would remove" if dry_run else "removed"
    for one in report.removed:
        shared = f", and its checkpoints in {one['checkpoint_location']}" if one["checkpoint_location"] else ""
        yield f"{verb} {one['job_id']} ({one['state']}): {size(one['bytes'])}{shared}"
    yield from _reasons("kept", report.kept)
    yield from _reasons("not complete:", report.incomplete)
    kept = f"; {counted(len(report.kept), 'job')} kept" if report.kept else ""
    jobs, freed = counted(len(report.removed), "job"), size(report.bytes)
    yield f"{jobs} would be removed, {freed} freed{kept}" if dry_run else f"{jobs} removed, {freed} freed{kept}"


def _reasons(verb: str, jobs: Iterable[KeptJob]) -> Iterator[str]:
    for one in jobs:
        remedy = f"; {one.remedy}" if one.remedy else ""
        yield f"{verb} {one.job_id}: {one.why}{remedy}"
