"""Rolls a job back to an older checkpoint, and shows the effect on its targets.

Rules. (1) The effects are known before any change, table by table. (2) A target with a ledger, or with pieces staged
since, has rows that the older checkpoint does not contain: they can neither be removed nor distinguished, so the
rollback is refused. Rows of a sink with keys come again without an effect; rows of any other sink come twice, which the
user must accept. A source that cannot be read twice cannot be rolled back. (3) The rollback acts like a driver: it
takes an incarnation, which fences running drivers (I34), and publishes a claim with the older record; later records are
then not on the chain. (4) Before that it voids the journal, which belongs to units after the newest record. That also
gives the numbers of later batches another name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from seatunnel_py.api.capabilities import Guarantee
from seatunnel_py.errors import BEGIN_ANEW
from seatunnel_py.protocol.commit.claims import RestoreRefusal, claim_from, next_incarnation
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.resume.checkpoint_view import select
from seatunnel_py.runtime.resume.job_claim import NotRestoredError, read_valid
from seatunnel_py.runtime.storage.checkpoint_store import WAYS_ON, CheckpointStore, StoreContents
from seatunnel_py.runtime.storage.journal import JournalFile, graph_line
from seatunnel_py.runtime.targets.prepared_pipeline import prepared_of

REWOUND = "rewound"  # never the name of a graph


@dataclass(frozen=True, slots=True)
class RollbackEffect:
    """Effect on one pipeline. ``again``: targets with keys whose rows come again; ``twice``: targets that will show
    rows twice; ``refused``: why a rollback is impossible, or empty; ``uncommitted``: the checkpoint had still to commit
    rows when it was taken, and the next driver commits them, too."""

    pipeline: str
    newest: int
    to: int
    again: tuple[str, ...] = ()
    twice: tuple[str, ...] = ()
    refused: str = ""
    uncommitted: bool = False

    def lines(self) -> list[str]:
        """The effect in words, as the command line and the page show it."""
        rows = "rows read since then"
        if self.uncommitted:
            rows = "rows read since then, and those that this checkpoint had still to commit,"
        again = f"{rows} are written again by key, which changes nothing"
        twice = f"{rows} are written a second time, and appear twice"
        return [
            f"{self.pipeline}: checkpoint {self.newest} -> {self.to or '?'}",
            *([f"  refused: {self.refused}"] if self.refused else []),
            *(f"  {target}: {twice}" for target in self.twice),
            *(f"  {target}: {again}" for target in self.again),
        ]


def preview(
    contents: StoreContents, plan: Mapping[str, Any], which: int, only: tuple[str, ...] = ()
) -> Iterator[RollbackEffect]:
    """The effects on all pipelines with a later checkpoint; ``only`` restricts them."""
    for key, records in contents.records.items():
        claims = contents.claims.get(key, ())
        newest = select(claims, records, None)
        if newest is None or (only and key not in only):
            continue
        record = select(claims, records, which)
        if record is None:
            yield RollbackEffect(
                key, newest.checkpoint, 0, refused=f"its store does not hold checkpoint {which} any more"
            )
        elif record.checkpoint != newest.checkpoint:
            yield _rewind(key, newest, record, plan.get("pipelines", {}).get(key, {}))


def _rewind(key: str, newest: CheckpointRecord, record: CheckpointRecord, planned: Mapping[str, Any]) -> RollbackEffect:
    targets, promises = planned.get("sinks", {}), planned.get("promises", {})
    found = RollbackEffect(key, newest.checkpoint, record.checkpoint, uncommitted=bool(record.uncommitted))
    if record.kind is RecordKind.ZERO:
        return replace(found, refused=f"checkpoint 0 is its beginning: {BEGIN_ANEW}")
    once = [vertex.id for vertex in record.topology.vertices if not vertex.replayable]
    if once:
        return replace(found, refused=f"{', '.join(once)} cannot be read twice")
    # A plan of an earlier version lacks the guarantees of its sinks.
    setups = prepared_of(record.plan).setups
    counting = [
        targets[node]
        for node in targets
        if promises.get(node) not in (_KEYED, _PLAIN) or node not in setups or setups[node].counted
    ]
    if counting or not targets:
        return replace(found, refused=f"{', '.join(counting) or 'a target'} holds rows up to checkpoint "
                       f"{newest.checkpoint}, and would refuse a job that knows {record.checkpoint} only")  # fmt: skip
    again = tuple(targets[node] for node in targets if promises[node] == _KEYED)
    return replace(found, again=again, twice=tuple(targets[node] for node in targets if promises[node] == _PLAIN))


_KEYED, _PLAIN = Guarantee.IDEMPOTENT.name, Guarantee.AT_LEAST_ONCE.name


def rewind(store: CheckpointStore, which: int, pipelines: tuple[str, ...]) -> int:
    """Make the next driver resume from this checkpoint; return the incarnation of the claim. Raises NotRestoredError if
    the store does not allow it."""
    before = store.read()
    incarnation = next_incarnation(before.owner)
    if not store.take(incarnation, before.lineage):
        raise NotRestoredError("a driver has begun at this moment", "let it end, then try again")
    found, kept = read_valid(store, incarnation)
    claims, rewound = {}, {}
    for key, records in found.records.items():
        previous, at_least = found.claims.get(key, ()), kept.marks.get(key, 0)
        claim, record = claim_from(incarnation, previous, records, at_least), select(previous, records, which)
        if isinstance(claim, RestoreRefusal):
            raise NotRestoredError(f"{key}: {claim.why}", WAYS_ON)
        if key in pipelines and record is not None:
            claim = replace(claim, continues=record.checkpoint, continues_of=record.incarnation)
            rewound[key] = record
        claims[key] = claim
    journal = JournalFile(store.storage, incarnation)
    journal.append([graph_line(key, REWOUND, "") for key in pipelines])
    journal.mark(rewound)
    store.claim(incarnation, claims)
    journal.close()
    return incarnation
