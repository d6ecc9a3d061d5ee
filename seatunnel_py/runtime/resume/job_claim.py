"""Claims a job for a driver: fence, then read, then decide (I38).

Rules. (1) The driver takes its incarnation first: from then on the writes of other drivers are void (I34). (2) So its
later reads are complete. (3) The claim that names the records to resume from is durable before any other effect. (4)
Then older records are deleted, except savepoints of users, records to resume from, and records that isolated sinks
need. (5) A recovery pipeline of an isolated sink has its own claim and records. (6) A store with less data about the
job than this machine expects (emptied, an older copy, another location) is refused, because rows would be read again.
(7) A missing journal, or a journal with a record that the store lacks, is refused too: journal and records prove each
other (``journal.py``). (8) A record that the journal calls void is deleted, and not restored, even if it is the newest.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from seatunnel_py.errors import BEGIN_ANEW, SeaTunnelError, worded
from seatunnel_py.protocol.commit.claims import Claim, RestoreRefusal, Stored, claim_from, newest, next_incarnation
from seatunnel_py.protocol.failover.isolated_recovery import scopes_left_out
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.storage import journal
from seatunnel_py.runtime.storage.checkpoint_store import WAYS_ON, CheckpointStore, StoreContents
from seatunnel_py.runtime.storage.savepoint_names import OWN
from seatunnel_py.runtime.storage.savepoint_store import INCARNATIONS_APART
from seatunnel_py.runtime.values import failpoints

SEEN = "store"  # the key in plan.json
TRIES_MAX = 20  # after each lost race another driver has just started


class NotRestoredError(SeaTunnelError):
    """The job cannot resume from its store."""


@dataclass(frozen=True, slots=True)
class KnownStore:
    """Facts that this machine keeps about the store of its last driver: lineage, number of drivers, and location."""

    lineage: str
    driver: int
    where: str = ""

    @classmethod
    def of(cls, plan: Mapping[str, Any] | None, file: str) -> KnownStore | None:
        """Read it from a plan in ``file``; None if the job has not run here, or only under an older version."""
        found = (plan or {}).get(SEEN)
        if not found:
            return None
        try:
            return cls(str(found["lineage"]), int(found["driver"]), str(found["where"]))
        except (KeyError, TypeError, ValueError) as error:
            raise NotRestoredError(f"{file} does not name the store of the job: {worded(error)}", WAYS_ON) from error

    def require(self, store: CheckpointStore, where: str, file: str) -> None:
        """Raise NotRestoredError if the store has less data, or belongs to another job. After ``--fresh`` on another
        machine a user must decide, because it looks the same. ``file`` holds these facts, and may be the wrong part."""
        owner, lineage = store.owner()
        if lineage not in ("", self.lineage):
            raise NotRestoredError(
                f"{where} is of another job: its lineage is {lineage}, and that of the job here is {self.lineage} "
                f"(by {file})",
                "restore the store of the job, or the old value of checkpoint.location; if the job was started again "
                "with --fresh on another machine, remove SEATUNNEL_HOME/jobs/ID here, and resume it",
            )
        if owner >= self.driver:
            _require_journal(store, journal.newest(store.storage, owner + 1)[0], self.driver)
            return
        knows = f"only driver {owner}" if owner else "nothing"
        moved = "" if self.where == where else f"; that one was {self.where}"
        raise NotRestoredError(
            f"{where} knows {knows} of the job, of which driver {self.driver} has run here (by {file}): it is not "
            f"the store that the job had, or has lost files{moved}; resuming would read rows again that arrived",
            f"restore the complete store, or the old value of checkpoint.location; or {BEGIN_ANEW}",
        )


def require_no_records(store: CheckpointStore, plan: str) -> None:
    """Raise NotRestoredError if the store has records but the plan is missing, which identifies the store and its
    expected content."""
    if _writer(store.read()):
        there = store.storage.describe("records")
        text = f"{plan} is gone, and the job has checkpoints in {there}: without it, they cannot be checked"
        raise NotRestoredError(text, WAYS_ON)


def _require_journal(store: CheckpointStore, found: int, wanted: int) -> None:
    """Raise NotRestoredError if the newest complete journal is older than the newest driver that has started one."""
    if found >= wanted:
        return
    place = store.storage.describe(journal.FOLDER)
    torn = [name for name in store.storage.names(journal.FOLDER) if name.startswith(f"{wanted:08}-")]
    only = f", and has one of driver {found} only" if found else ""
    why = f": {store.storage.describe(f'{journal.FOLDER}/{torn[-1]}')} is not whole" if torn else ""
    raise NotRestoredError(f"{place} has lost the journal of driver {wanted} of the job{only}{why}", WAYS_ON)


@dataclass(frozen=True, slots=True)
class JobClaim:
    """Identity of the driver, and the records to resume from, by pipeline; none: from nothing. ``apart``: recovery
    pipelines of isolated sinks, by commit scope; ``stood_at``: records that isolated sinks need, by pipeline
    and number; ``begins_lineage``: this is the first driver of the lineage."""

    incarnation: int
    lineage: str
    claims: Mapping[str, Claim]
    records: Mapping[str, CheckpointRecord]
    apart: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stood_at: Mapping[str, Mapping[int, CheckpointRecord]] = field(default_factory=dict)
    begins_lineage: bool = False


def _take_incarnation(store: CheckpointStore) -> tuple[StoreContents, str, int]:
    """Take the next incarnation; return the earlier content of the store, the lineage, and the incarnation."""
    for _ in range(TRIES_MAX):
        before = store.read()
        lineage = before.lineage or secrets.token_hex(16)
        incarnation = next_incarnation(before.owner)
        if store.take(incarnation, lineage):
            return before, lineage, incarnation
    raise NotRestoredError("other drivers of the job keep starting")


def claim_job(store: CheckpointStore, pipelines: Iterable[str]) -> JobClaim:
    """Take the next incarnation of a job. Raises NotRestoredError, naming every pipeline that cannot resume, and
    StoreError for a damaged file."""
    before, lineage, incarnation = _take_incarnation(store)
    failpoints.TAKEN.hit()
    found, kept = read_valid(store, incarnation)
    claims: dict[str, Claim] = {}
    records: dict[str, CheckpointRecord] = {}
    problems = []
    waiting = [*pipelines]
    apart: dict[str, dict[str, str]] = {}
    for pipeline in waiting:
        previous, stored = found.claims.get(pipeline, ()), found.records.get(pipeline, ())
        at_least = max(kept.marks.get(pipeline, 0), _seeded(previous))
        claim = claim_from(incarnation, previous, stored, at_least)
        record = newest(previous, stored, at_least)
        if isinstance(claim, RestoreRefusal):
            problems.append(f"{pipeline}: {claim.why}")
            continue
        claims[pipeline] = claim
        if isinstance(record, CheckpointRecord):
            records[pipeline] = record
            if scopes := scopes_left_out(record):
                apart[pipeline] = {scope: _name_apart(pipeline, scope, record) for scope in scopes}
                waiting += apart[pipeline].values()
    if problems:
        raise NotRestoredError(
            f"the job cannot resume from its checkpoints in {store.storage.describe('records')} and the claims of its "
            f"drivers in {store.storage.describe('claims')}:\n  " + "\n  ".join(problems),
            WAYS_ON,
        )
    for pipeline, others in apart.items():
        for name in others.values():  # its numbers are above those of its former pipeline (AP5)
            claims[name] = replace(claims[name], first=max(claims[name].first, claims[pipeline].first))
    store.claim(incarnation, claims)
    failpoints.CLAIMED.hit()
    for pipeline, record in records.items():
        for checkpoint in kept.void_records.get(pipeline, ()):
            store.delete(pipeline, checkpoint)
        if record.topology.detached:
            continue  # isolated tables need an older record (LE5)
        for one in found.records[pipeline]:
            if one != record and not (isinstance(one, CheckpointRecord) and one.name and one.name not in OWN):
                store.delete(pipeline, one.checkpoint, one.incarnation)
    stood_at = {pipeline: _stood_at(record, found.records[pipeline]) for pipeline, record in records.items()}
    return JobClaim(incarnation, lineage, claims, records, apart, stood_at, not before.lineage)


def read_valid(store: CheckpointStore, incarnation: int) -> tuple[StoreContents, journal.Journal]:
    """The content of the store, without records that the journal of earlier drivers calls void, and that journal.
    Raises NotRestoredError if it is lost."""
    found = store.read()
    of_driver, kept = journal.newest(store.storage, incarnation)
    _require_journal(store, of_driver, _writer(found))
    valid = {
        pipeline: tuple(one for one in records if not kept.is_void(pipeline, one.checkpoint))
        for pipeline, records in found.records.items()
    }
    return replace(found, records=valid), kept


def _writer(found: StoreContents) -> int:
    """The newest driver that has written a record; the savepoint that a job starts with needs no journal."""
    writers = (one.incarnation for records in found.records.values() for one in records)
    return max((number for number in writers if number % INCARNATIONS_APART), default=0)


def _seeded(claims: Iterable[Claim]) -> int:
    """The checkpoint of the savepoint that the job started with, which is older than its claim."""
    return max((one.first - 1 for one in claims if one.incarnation % INCARNATIONS_APART == 0), default=0)


def _name_apart(pipeline: str, scope: str, ended: CheckpointRecord) -> str:
    """Name of the recovery pipeline of an isolated scope; another one if its pipeline is rolled back and ends again."""
    return f"{pipeline} -> {scope} @ {ended.checkpoint}"


def _stood_at(record: CheckpointRecord, stored: Iterable[Stored]) -> Mapping[int, CheckpointRecord]:
    if not record.topology.detached:
        return {}
    numbers = {one.since for at, one in record.snapshots.items() if at.vertex in record.topology.detached}
    return {one.checkpoint: one for one in stored if isinstance(one, CheckpointRecord) and one.checkpoint in numbers}
