"""Commits staged records: one transaction per commit, with the ledger inside it.

Rules. (1) Announce, fence, read, decide (I38): an incarnation announces itself in the ledger, ends all transactions
that older ones left open, and only then trusts what it reads. (2) Write records, then the ledger's record, each
confirmed, then commit. (3) The client's answer to a commit is not trusted: the ledger is read back. (4) Files are
deleted when the ledger holds their checkpoint, never before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass

from seatunnel_connectors.kafka import failpoints
from seatunnel_connectors.kafka.client.client import Cluster
from seatunnel_connectors.kafka.client.topics import topic_id
from seatunnel_connectors.kafka.sink.ledger import Entries, Ledger
from seatunnel_connectors.kafka.sink.sender import Sender
from seatunnel_connectors.kafka.sink.staging import Attempt, StagedFile, StagingPlace, attempt_of, place_of, staged_file
from seatunnel_connectors.kafka.sink.target_topics import create, partitions_of
from seatunnel_connectors.kafka.sink.transactions import (
    TIMEOUT_MIN_MS,
    CommitTimer,
    Transaction,
    fence,
    timeout_for,
    transactional_id,
)
from seatunnel_py.api import (
    CommitContext,
    CommitLostError,
    Committer,
    FatalError,
    Piece,
    RetriableError,
    TablePath,
    counted,
)


@dataclass(frozen=True, slots=True)
class KafkaCommitter(Committer):
    """Commits one sink and table, on the driver."""

    cluster: Cluster
    topic: str
    ledger_topic: str
    prefix: str
    table: TablePath
    one_topic: bool = True
    """All records go to ``topic``; False: each row names its topic."""

    @property
    def what(self) -> str:
        return f"topic {self.topic}, table {self.table}"

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        files = [staged_file(piece.data) for piece in pieces if piece.data]
        place = place_of(context, self.table)
        failpoints.BEFORE.hit()
        if files or context.final:
            with self._at_work(context, sum(file.records for file in files)) as (ledger, transaction):
                entries = self._own(ledger, context)
                if not self._is_done(entries, context, files):
                    self._expect_topic(entries)
                    failpoints.FENCED.hit()
                    self._apply(files, place, ledger, transaction, context)
        self._clean(files, place, context)
        failpoints.AFTER.hit()

    def begin(self, context: CommitContext, *, fresh: bool) -> str | None:
        """Return another lineage that has rows in this topic and did not finish."""
        if not partitions_of(self.what, self.cluster, self.ledger_topic):
            return None
        with closing(self._ledger(context)) as ledger:
            if fresh:
                self._forget_others(ledger, context)
            return next((other.lineage for other in ledger.read().others), None)

    def sweep(self, context: CommitContext) -> Sequence[str]:
        """Delete the staged files of this job's other lineages: the staging location belongs to this job alone.
        ``begin`` ends the transactions that their drivers have open."""
        mine = place_of(context, self.table)
        removed = sum(place.delete_counted() for place in mine.of_other_lineages())
        said = [f"removed {counted(removed, 'staged file')} of earlier runs"] if removed else []
        if partitions_of(self.what, self.cluster, self.ledger_topic):
            with closing(self._ledger(context)) as ledger:
                rows = sum(other.rows for other in ledger.look().others)
            if rows:
                said.append(
                    f"records of earlier runs of this job ({rows} in the last commit) are in topic {self.topic} and "
                    "stay visible: if they must not be there twice, stop this run, delete them "
                    "(kafka-delete-records.sh, or the topic), and begin with --fresh again"
                )
        return said

    def _forget_others(self, ledger: Ledger, context: CommitContext) -> None:
        """Forget other lineages in the order used for incarnations: announce it, then end their open transactions."""
        fenced: set[tuple[str, int]] = set()
        while others := (entries := ledger.look()).strangers - fenced:
            lineages = sorted({lineage for lineage, _ in others})
            self._tell(ledger, *(ledger.forgotten(lineage, entries) for lineage in lineages))
            for lineage, incarnation in sorted(others):
                fence(self.what, self.cluster, self._name(context, incarnation, lineage), TIMEOUT_MIN_MS)
            fenced |= others

    def recover(self, context: CommitContext) -> int | None:
        """Return the last committed checkpoint. From here on older incarnations can make nothing visible."""
        with self._at_work(context) as (ledger, _):
            last = self._own(ledger, context).last
        return last.checkpoint if last else None

    def last_committed(self, context: CommitContext) -> int | None:
        if not partitions_of(self.what, self.cluster, self.ledger_topic):
            return None
        with closing(self._ledger(context)) as ledger:
            last = ledger.read().last
        return last.checkpoint if last else None

    def ledger(self, context: CommitContext) -> Hashable:
        """The partition of the ledger's topic for this job, step and table: it is always read as a whole."""
        return "kafka", self.cluster, self.ledger_topic, self._ledger(context).partition

    def lineage_ended(self, context: CommitContext, keep_days: int) -> None:
        with closing(self._ledger(context)) as ledger:
            ledger.read()
            if expired := ledger.expired(keep_days):
                self._tell(ledger, *expired)

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        place = place_of(context, self.table)
        for piece in pieces:
            if piece.data:
                place.delete(staged_file(piece.data).name)
        if context.final:
            self._sweep(place, lambda attempt: attempt.incarnation <= context.incarnation)

    # ------------------------------------------------------------ deciding

    @contextmanager
    def _at_work(self, context: CommitContext, rows: int = 0) -> Iterator[tuple[Ledger, Transaction]]:
        """Open the ledger and this incarnation's producer, which ends the transaction that it had left open."""
        if not partitions_of(self.what, self.cluster, self.ledger_topic):
            create(self.what, self.cluster, self.ledger_topic, ledger=True)
        timeout_ms = self._timeout_ms(context, rows)
        with (
            closing(self._ledger(context)) as ledger,
            closing(Transaction(self.what, self.cluster, self._name(context), timeout_ms)) as transaction,
        ):
            yield ledger, transaction

    def _own(self, ledger: Ledger, context: CommitContext) -> Entries:
        """Read the ledger once no other writer can add to it. An open transaction of an older writer hides later
        records: each writer that is found is fenced, until everything can be read."""
        if context.incarnation not in self._not_refused(ledger.look(), context).writers:
            self._tell(ledger, ledger.writer(context))
        fenced: set[int] = set()
        while True:
            entries = self._not_refused(ledger.look(), context)
            if not (older := entries.writers - {context.incarnation} - fenced):
                entries = self._not_refused(ledger.read(), context)
                if not (older := entries.writers - {context.incarnation} - fenced):
                    break
            for incarnation in sorted(older):
                fence(self.what, self.cluster, self._name(context, incarnation), TIMEOUT_MIN_MS)
            fenced |= older
        if fenced:
            self._tell(ledger, *map(ledger.gone, fenced))
        return entries

    def _tell(self, ledger: Ledger, *records: tuple[bytes, bytes | None]) -> None:
        """Write to the ledger outside of any transaction: a crash would leave a transaction open."""
        sender = Sender(self.what, self.cluster)
        for key, value in records:
            sender.put(ledger.topic, value, key, partition=ledger.partition)
        sender.confirm()
        sender.close()

    def _not_refused(self, entries: Entries, context: CommitContext) -> Entries:
        """Raise FatalError if another incarnation or lineage owns these rows."""
        if entries.last is not None and entries.last.forgotten:
            raise FatalError(f"{self.what}: this job was started again with --fresh; this run of it is fenced off")
        if entries.writers and max(entries.writers) > context.incarnation:
            raise FatalError(f"{self.what}: a newer run of this job has taken over; this one is fenced off")
        if entries.others:
            other = entries.others[0]
            raise FatalError(
                f"{self.what}: the cluster knows the job {other.job_id!r} under another lineage, {other.lineage}, with "
                f"checkpoint {other.checkpoint} (staged in {other.staging}); this run is {context.lineage} "
                f"(staged in {context.staging}) and would write its rows a second time",
                "use the checkpoint location of the other lineage, or another --job-id, or another topic",
            )
        return entries

    def _is_done(self, entries: Entries, context: CommitContext, files: Sequence[StagedFile]) -> bool:
        last = entries.last
        if last is not None and last.checkpoint == context.checkpoint and last.digest != _digest(files):
            raise FatalError(
                f"{self.what}: the ledger holds other rows under checkpoint {context.checkpoint} than this run has",
                "the job's store was changed; run the job under another --job-id",
            )
        return last is not None and last.checkpoint >= context.checkpoint

    def _topic_id(self) -> str:
        return topic_id(self.cluster, self.topic) if self.one_topic else ""

    def _expect_topic(self, entries: Entries) -> None:
        """Raise LOST if this run has records in a topic that no longer has this name."""
        before = entries.last.topic_id if entries.last is not None else ""
        if before and before != self._topic_id():
            raise CommitLostError(
                f"LOST: {self.what}: the topic was deleted and created again during the run: the records written "
                "to it before no longer exist",
                f"delete the records of this run in topic {self.topic} (kafka-delete-records.sh, or the topic itself), "
                "then run the job again with --fresh",
            )

    # ------------------------------------------------------------ doing

    def _apply(
        self,
        files: Sequence[StagedFile],
        place: StagingPlace,
        ledger: Ledger,
        transaction: Transaction,
        context: CommitContext,
    ) -> None:
        rows = sum(file.records for file in files)
        pace = CommitTimer(self.what, rows, self._timeout_ms(context, rows))
        sender = transaction.sender
        transaction.begin()
        for file in files:
            for records in place.read(file):
                sender.send(records, self.topic)
                pace.check(sender.sent)
        sender.confirm()
        if sender.sent != rows:
            raise CommitLostError(
                f"LOST: {self.what}: {rows} records were staged, {sender.sent} were sent: the transaction is aborted",
                "run the job again with --fresh",
            )
        failpoints.WRITTEN.hit()
        key, value = ledger.commit(context, rows, _digest(files), self._topic_id())
        sender.put(ledger.topic, value, key, partition=ledger.partition)
        sender.confirm()
        failpoints.INSIDE.hit()
        transaction.commit()
        failpoints.COMMITTED.hit()
        if not self._is_done(ledger.read(), context, files):
            raise RetriableError(
                f"{self.what}: the client reported a commit that the cluster has not made (checkpoint "
                f"{context.checkpoint})"
            )

    def _clean(self, files: Sequence[StagedFile], place: StagingPlace, context: CommitContext) -> None:
        """Delete the files that are committed, and those that no commit will name (I33): earlier attempts at the same
        rows, and, as soon as this incarnation has staged rows of its own, all files of older incarnations."""
        for file in files:
            place.delete(file.name)
        if context.final:
            place.delete_all()
            return
        attempts = [attempt for file in files if (attempt := attempt_of(file.name))]
        accepted = {attempt.rows: attempt.order for attempt in attempts}
        newest = max((attempt.incarnation for attempt in attempts), default=0)

        def is_orphan(attempt: Attempt) -> bool:
            order = accepted.get(attempt.rows)
            return attempt.incarnation < newest or (order is not None and attempt.order < order)

        self._sweep(place, is_orphan)

    def _sweep(self, place: StagingPlace, wanted: Callable[[Attempt], bool]) -> None:
        for name in place.names():
            attempt = attempt_of(name)
            if attempt is not None and wanted(attempt):
                place.delete(name)

    # ------------------------------------------------------------ what the set-up decided

    def _name(self, context: CommitContext, incarnation: int = 0, lineage: str = "") -> str:
        """The transactional id of this incarnation, or of another one."""
        number = incarnation or context.incarnation
        return transactional_id(self.prefix, lineage or context.lineage, context.step, self.table, number)

    def _timeout_ms(self, context: CommitContext, rows: int) -> int:
        return timeout_for(rows, context.setup)

    def _ledger(self, context: CommitContext) -> Ledger:
        """Open the ledger. Its partition count was fixed at set-up: with another count, records would be looked up in
        another partition."""
        partitions = int(str(context.setup["ledger_partitions"]))
        return Ledger(self.what, self.cluster, self.ledger_topic, partitions, context, self.table, self.topic)


def _digest(files: Sequence[StagedFile]) -> str:
    """Digest that identifies the content of a commit."""
    text = " ".join(f"{file.crc32:08x}.{file.size}.{file.records}" for file in files)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
