"""Keeps the ledger: a compacted topic in the target's own cluster that records which commits arrived.

The ledger holds two records for each (lineage, sink step, table): the writer (one per incarnation, until a newer one
has fenced it) and the last commit, written inside the transaction that it describes. All lineages of a job, step and
table share one partition, which is read from beginning to end.

Rule. The end is the high watermark, and only committed records count: while another transaction is open in the
partition, reading waits for it, because an incomplete answer would be wrong.
"""

from __future__ import annotations

import json
import time
import zlib
from dataclasses import asdict, dataclass, replace
from typing import Any

from confluent_kafka import Consumer, IsolationLevel, KafkaError, TopicPartition
from confluent_kafka.admin import OffsetSpec

from seatunnel_connectors.kafka.client.client import Cluster
from seatunnel_connectors.kafka.sink.sender import explained, failure
from seatunnel_py.api import CommitContext, FatalError, RetriableError, TablePath

VERSION = 1  # format version of the records
_DAY_SECONDS = 24 * 3600
SECONDS = 30.0  # how long to wait for another writer's open transaction
_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LedgerCommit:
    """The last commit of one lineage, according to the ledger."""

    job_id: str
    lineage: str
    step: str
    table: str
    target: str
    checkpoint: int
    incarnation: int
    rows: int
    digest: str
    finished: bool
    staging: str
    at: float
    forgotten: bool = False
    version: int = VERSION
    topic_id: str = ""
    """Id of the target topic, which a later topic of the same name does not have; empty: unknown."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Content of the ledger: last commit and writers of this lineage, and the same for other lineages of this job that
    have not finished and write to the same target."""

    last: LedgerCommit | None
    writers: frozenset[int]
    others: tuple[LedgerCommit, ...]
    strangers: frozenset[tuple[str, int]]


class Ledger:
    """The records of one sink and table; read repeatedly during a commit."""

    def __init__(
        self,
        what: str,
        cluster: Cluster,
        topic: str,
        partitions: int,
        context: CommitContext,
        table: TablePath,
        target: str,
    ) -> None:
        self.what = what
        self.topic = topic
        self.target = target
        self._cluster = cluster
        self._who = (context.lineage, context.step, str(table))
        self._own = (context.job_id, context.step, str(table))
        self._known: dict[bytes, dict[str, Any]] = {}
        self._position = 0
        self.partition = zlib.crc32("\0".join(self._own).encode()) % partitions
        self._consumer: Consumer | None = None

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()

    def _assigned(self) -> Consumer:
        """A consumer at the first unread record. Assigning right after creation avoids a delay of one second."""
        settings = self._cluster.settings(
            group_id="seatunnel-ledger",  # required but unused: the partition is assigned, no offset is stored
            enable_auto_commit=False,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_partition_eof=True,
            fetch_wait_max_ms=10,
            check_crcs=True,
        )
        self._consumer = self._consumer or Consumer(settings)
        self._consumer.assign([TopicPartition(self.topic, self.partition, self._position)])
        return self._consumer

    # ------------------------------------------------------------ reading

    def read(self) -> Entries:
        """Read everything committed before this call. Raises RetriableError if an open transaction hides records."""
        end, deadline = self._end(), time.monotonic() + SECONDS
        while self._position < end:
            self.look()
            if self._position < end and time.monotonic() > deadline:
                raise RetriableError(
                    f"{self.what}: the ledger {self.topic} cannot be read to its end: a transaction is open there",
                    "it ends with its driver's next start, or by its time-out",
                )
        return self._entries()

    def look(self) -> Entries:
        """Read what is readable now: up to the first open transaction."""
        with explained(f"{self.what}: reading the ledger {self.topic}"):
            consumer = self._assigned()
            while (message := consumer.poll(_POLL_SECONDS)) is not None:
                error, offset = message.error(), message.offset()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise failure(f"{self.what}: reading the ledger {self.topic}", error)
                assert offset is not None
                self._position = max(self._position, offset + (error is None))
                if error is not None:
                    break
                self._take(message.key(), message.value())
        return self._entries()

    def _end(self) -> int:
        """The offset after the last record, committed or not."""
        where = TopicPartition(self.topic, self.partition)
        with explained(f"{self.what}: reading the ledger {self.topic}"), self._cluster.admin() as admin:
            asked = admin.list_offsets(
                {where: OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=SECONDS
            )
            return int(asked[where].result().offset)

    def _take(self, key: Any, value: Any) -> None:
        if value is None:
            self._known.pop(key, None)
        else:
            self._known[key] = json.loads(value)

    def _entries(self) -> Entries:
        last, others, writers, strangers = None, {}, set(), set()
        for key, value in self._known.items():
            kind, lineage, *rest = json.loads(key)
            if value.get("version") != VERSION:
                self._refuse_own((lineage, *rest[:2]))
            elif (lineage, *rest[:2]) == self._who:
                if kind == "writer":
                    writers.add(int(rest[2]))
                else:
                    last = LedgerCommit(**value)
            elif (value["job_id"], *rest[:2], value["target"]) == (*self._own, self.target):
                if kind == "writer":
                    strangers.add((lineage, int(rest[2])))
                else:
                    others[lineage] = LedgerCommit(**value)
        ended = {lineage for lineage, commit in others.items() if commit.finished}
        return Entries(
            last,
            frozenset(writers),
            tuple(commit for commit in others.values() if not commit.finished),
            frozenset((lineage, number) for lineage, number in strangers if lineage not in ended),
        )

    def _refuse_own(self, who: tuple[str, ...]) -> None:
        """Refuse records of another format version in this lineage. Another version of this package may write other
        lineages, but this lineage's records must be understood."""
        if who == self._who:
            raise FatalError(
                f"{self.what}: the ledger {self.topic} was written by another version of seatunnel-py",
                "go on with that version",
            )

    # ------------------------------------------------------------ what is to be written

    def writer(self, context: CommitContext) -> tuple[bytes, bytes]:
        """The record that announces this incarnation as the writer."""
        about = {
            "job_id": context.job_id,
            "target": self.target,
            "staging": context.staging,
            "at": time.time(),
            "version": VERSION,
        }
        return self._writer_key(context.incarnation), _text(about)

    def gone(self, incarnation: int) -> tuple[bytes, None]:
        """The tombstone for a fenced writer."""
        return self._writer_key(incarnation), None

    def commit(self, context: CommitContext, rows: int, digest: str, topic_id: str) -> tuple[bytes, bytes]:
        """The record of a commit."""
        lineage, step, table = self._who
        commit = LedgerCommit(
            context.job_id, lineage, step, table, self.target, context.checkpoint, context.incarnation, rows,
            digest, context.final, context.staging, time.time(), topic_id=topic_id,
        )  # fmt: skip
        return _text(["commit", *self._who]), _text(asdict(commit))

    def forgotten(self, lineage: str, entries: Entries) -> tuple[bytes, bytes]:
        """The record that ends another lineage of this job, at the user's request."""
        job_id, step, table = self._own
        known = next((commit for commit in entries.others if commit.lineage == lineage), None)
        ended = known or LedgerCommit(job_id, lineage, step, table, self.target, 0, 0, 0, "", True, "", time.time())
        ended = replace(ended, finished=True, forgotten=True, at=time.time())
        return _text(["commit", lineage, step, table]), _text(asdict(ended))

    def expired(self, keep_days: int) -> list[tuple[bytes, None]]:
        """Tombstones for lineages that ended more than ``keep_days`` ago: they will not be restored."""
        limit = time.time() - keep_days * _DAY_SECONDS
        of = {key: tuple(json.loads(key)[1:4]) for key in self._known}
        ended = {
            of[key]
            for key, value in self._known.items()
            if value.get("version") == VERSION and value.get("finished") and value["at"] < limit
        }
        return [(key, None) for key in self._known if of[key] in ended - {self._who}]

    def _writer_key(self, incarnation: int) -> bytes:
        return _text(["writer", *self._who, incarnation])


def _text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
