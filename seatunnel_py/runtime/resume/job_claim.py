"""How a driver becomes the one: fence, then read, then decide (I38).

Rules. (1) The incarnation is taken first: from then on nobody else's write counts (I34). (2) What is read afterwards is
therefore all there is. (3) The claim that says from where it goes on is durable before anything is done. (4) What older
drivers left is of no use then: records that are no savepoint and not gone on from are deleted, but those at which sinks
stand that were left out. (5) What finishes these is a pipeline with a claim and records of its own. (6) A store that
knows less of the job than the machine that ran it (emptied, an older copy, another place) is none to go on from: rows
would come again. (7) So is one whose journal is missing, or names a record that is not there: each says what the other
must hold (``journal.py``).
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
from seatunnel_py.runtime.storage.savepoint_store import INCARNATIONS_APART
from seatunnel_py.runtime.values import failpoints

SEEN = "store"  # the key in a plan that is kept
TRIES_MAX = 20  # each lost race means that another driver has just started


class NotRestoredError(SeaTunnelError):
    """The job cannot go on from its store."""


@dataclass(frozen=True, slots=True)
class KnownStore:
    """What a machine remembers of the store that the last driver there had: whose it was, how many drivers it knew, and
    where it was, for people."""

    lineage: str
    driver: int
    where: str = ""

    @classmethod
    def of(cls, plan: Mapping[str, Any] | None, file: str) -> KnownStore | None:
        """As it stands beside a plan, in ``file``; None where the job has not run here, or an older version ran it."""
        found = (plan or {}).get(SEEN)
        if not found:
            return None
        try:
            return cls(str(found["lineage"]), int(found["driver"]), str(found["where"]))
        except (KeyError, TypeError, ValueError) as error:
            raise NotRestoredError(f"{file} does not say which store the job had: {worded(error)}", WAYS_ON) from error

    def require(self, store: CheckpointStore, where: str, file: str) -> None:
        """Raises NotRestoredError where the store knows less, or is another job's. One that another machine has begun
        anew looks the same: a person has to say so. ``file`` is where this stands: it may be the one that is wrong."""
        owner, lineage = store.owner()
        if lineage not in ("", self.lineage):
            raise NotRestoredError(
                f"{where} is of another job: its lineage is {lineage}, and that of the job here is {self.lineage}, as "
                f"{file} says",
                "give the store back that the job had, or checkpoint.location its old value; where the job was begun "
                "anew with --fresh on another machine, remove SEATUNNEL_HOME/jobs/ID here, and go on",
            )
        if owner >= self.driver:
            _require_journal(store, journal.newest(store.storage, owner + 1)[0], self.driver)
            return
        knows = f"only driver {owner}" if owner else "nothing"
        moved = "" if self.where == where else f"; that one was {self.where}"
        raise NotRestoredError(
            f"{where} knows {knows} of the job, of which driver {self.driver} has run here, as {file} says: it is not "
            f"the store that the job had, or has lost something{moved}; going on would read rows again that arrived",
            f"give the store back, whole, or checkpoint.location its old value; or {BEGIN_ANEW}",
        )


def require_no_records(store: CheckpointStore, plan: str) -> None:
    """Raises NotRestoredError where a driver has gone on since it wrote its plan, and the plan is not there: it says of
    which job the store is, and how much it has to know."""
    if _writer(store.read()):
        there = store.storage.describe("records")
        text = f"{plan} is gone, and the job has checkpoints in {there}: nothing says whether they are all, or of it"
        raise NotRestoredError(text, WAYS_ON)


def _require_journal(store: CheckpointStore, found: int, wanted: int) -> None:
    """Raises NotRestoredError where the newest whole journal is of an older driver than has begun one there."""
    if found >= wanted:
        return
    place = store.storage.describe(journal.FOLDER)
    torn = [name for name in store.storage.names(journal.FOLDER) if name.startswith(f"{wanted:08}-")]
    only = f", and has one of driver {found} only" if found else ""
    why = f": {store.storage.describe(f'{journal.FOLDER}/{torn[-1]}')} is not whole" if torn else ""
    raise NotRestoredError(f"{place} has lost the journal of driver {wanted} of the job{only}{why}", WAYS_ON)


@dataclass(frozen=True, slots=True)
class JobClaim:
    """Who the driver is, and from which records it goes on, by pipeline; none: from nothing. ``apart``: for pipelines
    that have ended without some of their sinks, what finishes each of these, by commit scope; ``stood_at``: by pipeline
    and number, the records at which sinks stand that were left out; ``begins_lineage``: no driver had it before."""

    incarnation: int
    lineage: str
    claims: Mapping[str, Claim]
    records: Mapping[str, CheckpointRecord]
    apart: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    stood_at: Mapping[str, Mapping[int, CheckpointRecord]] = field(default_factory=dict)
    begins_lineage: bool = False


def _take_incarnation(store: CheckpointStore) -> tuple[StoreContents, str, int]:
    """The store as it was before, the job's lineage, and the incarnation that is ours now."""
    for _ in range(TRIES_MAX):
        before = store.read()
        lineage = before.lineage or secrets.token_hex(16)
        incarnation = next_incarnation(before.owner)
        if store.take(incarnation, lineage):
            return before, lineage, incarnation
    raise NotRestoredError("the job is started again and again by somebody else")


def claim_job(store: CheckpointStore, pipelines: Iterable[str]) -> JobClaim:
    """Take the next incarnation of a job. Raises NotRestoredError, naming every pipeline that cannot go on, and
    StoreError where a file is damaged."""
    before, lineage, incarnation = _take_incarnation(store)
    failpoints.TAKEN.hit()
    found = store.read()
    kept = kept_journal(store, found, incarnation)
    claims: dict[str, Claim] = {}
    records: dict[str, CheckpointRecord] = {}
    problems = []
    waiting = [*pipelines]
    apart: dict[str, dict[str, str]] = {}
    for pipeline in waiting:
        known, stored = found.claims.get(pipeline, ()), found.records.get(pipeline, ())
        at_least = max(kept.marks.get(pipeline, 0), _seeded(known))
        claim = claim_from(incarnation, known, stored, at_least)
        record = newest(known, stored, at_least)
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
            f"the job cannot go on from its checkpoints in {store.storage.describe('records')} and the claims of its "
            f"drivers in {store.storage.describe('claims')}:\n  " + "\n  ".join(problems),
            WAYS_ON,
        )
    for pipeline, others in apart.items():
        for name in others.values():  # its numbers are above those of the pipeline that it left (AP5)
            claims[name] = replace(claims[name], first=max(claims[name].first, claims[pipeline].first))
    store.claim(incarnation, claims)
    failpoints.CLAIMED.hit()
    for pipeline, record in records.items():
        if record.topology.detached:
            continue  # tables that were left out stand where an older record says (LE5)
        for one in found.records[pipeline]:
            if one != record and not (isinstance(one, CheckpointRecord) and one.name):
                store.delete(pipeline, one.checkpoint, one.incarnation)
    stood_at = {pipeline: _stood_at(record, found.records[pipeline]) for pipeline, record in records.items()}
    return JobClaim(incarnation, lineage, claims, records, apart, stood_at, not before.lineage)


def kept_journal(store: CheckpointStore, found: StoreContents, incarnation: int) -> journal.Journal:
    """What the drivers before this one have left in the journal. Raises NotRestoredError where it is lost."""
    of_driver, kept = journal.newest(store.storage, incarnation)
    _require_journal(store, of_driver, _writer(found))
    return kept


def _writer(found: StoreContents) -> int:
    """The newest driver that has written a record. A savepoint that a job begins with needs no journal."""
    writers = (one.incarnation for records in found.records.values() for one in records)
    return max((number for number in writers if number % INCARNATIONS_APART), default=0)


def _seeded(claims: Iterable[Claim]) -> int:
    """The checkpoint of the savepoint that the job has begun with, which was there before its claim was."""
    return max((one.first - 1 for one in claims if one.incarnation % INCARNATIONS_APART == 0), default=0)


def _name_apart(pipeline: str, scope: str, ended: CheckpointRecord) -> str:
    """What finishes a scope that this record shows to be out; should its pipeline go back and end again, another."""
    return f"{pipeline} -> {scope} @ {ended.checkpoint}"


def _stood_at(record: CheckpointRecord, stored: Iterable[Stored]) -> Mapping[int, CheckpointRecord]:
    if not record.topology.detached:
        return {}
    numbers = {one.since for at, one in record.snapshots.items() if at.vertex in record.topology.detached}
    return {one.checkpoint: one for one in stored if isinstance(one, CheckpointRecord) and one.checkpoint in numbers}
