"""Runs the transactions of one sink and table, each in a new epoch, after fencing older writers.

Rules. (1) A transactional id names lineage, step, table and incarnation, so an older driver that still runs can disturb
only itself. (2) Each commit begins with ``init_transactions``, which ends what an earlier transaction of the same id
left open and raises its epoch: the cluster refuses late messages of it (a commit, a record). (3) An older incarnation
is fenced in the same way, through its own id.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from confluent_kafka import KafkaException

from seatunnel_connectors.kafka.client.client import Cluster
from seatunnel_connectors.kafka.sink.sender import Sender, explained
from seatunnel_py.api import FatalError, Plain, TablePath

CALL_SECONDS = 30.0  # for one call of the transaction protocol
_ABORT_SECONDS = 5.0  # an unreachable cluster ends the transaction by itself
TIMEOUT_MIN_MS = 60_000
MS_PER_ROW = 2  # many times the time of a row: the time-out is for drivers that never come back
_LOOK_AT = 0.25  # fraction of the timeout after which the remaining time is extrapolated


def transactional_id(prefix: str, lineage: str, step: str, table: TablePath, incarnation: int) -> str:
    """The id that ``incarnation`` writes this sink and table with."""
    return "/".join((prefix, lineage, step, str(table), str(incarnation)))


def timeout_for(rows: int, setup: Mapping[str, Plain]) -> int:
    """Milliseconds that a transaction of ``rows`` rows may take. A transaction that a dead driver left open hides later
    records from committed readers, so the timeout is no longer than needed. A timeout in the job file wins."""
    limit = int(str(setup["timeout_ms"]))
    return limit if setup["timeout_given"] else min(limit, max(TIMEOUT_MIN_MS, rows * MS_PER_ROW))


class Transaction:
    """One transaction: ``begin``, ``sender.send`` …, ``commit``. ``close`` aborts whatever is not committed."""

    def __init__(self, what: str, cluster: Cluster, name: str, timeout_ms: int) -> None:
        self.sender = Sender(what, cluster, transactional_id=name, transaction_timeout_ms=timeout_ms)
        self._open = False
        with explained(f"{what}: taking the transactional id {name}"):
            self.sender.producer.init_transactions(CALL_SECONDS)

    def begin(self) -> None:
        self.sender.begin()
        with explained(f"{self.sender.what}: beginning a transaction"):
            self.sender.producer.begin_transaction()
        self._open = True

    def commit(self) -> None:
        """Commit what the cluster has confirmed. The cluster's answer is not proof: read the ledger."""
        self.sender.confirm()
        with explained(f"{self.sender.what}: committing a transaction"):
            self.sender.producer.commit_transaction(CALL_SECONDS)
        self._open = False

    def close(self) -> None:
        """Must not raise: the next commit, or the cluster, ends what is left open."""
        with suppress(KafkaException, SystemError):
            if self._open:
                self.sender.producer.purge(blocking=False)
                self.sender.producer.abort_transaction(_ABORT_SECONDS)
        self.sender.close()


def fence(what: str, cluster: Cluster, name: str, timeout_ms: int) -> None:
    """Fence a transactional id: nothing that its writers have begun becomes visible from now on."""
    Transaction(what, cluster, name, timeout_ms).close()


class CommitTimer:
    """Predicts whether a transaction will finish before the cluster ends it."""

    def __init__(self, what: str, rows: int, timeout_ms: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._rows, self._limit = what, rows, timeout_ms / 1000
        self._clock = clock
        self._began = clock()

    def check(self, done: int) -> None:
        """Raise FatalError if it will not: predicted early, so that users need not wait for the failure."""
        spent = self._clock() - self._began
        if spent < self._limit * _LOOK_AT or not done:
            return
        needed = spent * self._rows / done
        if needed > self._limit:
            raise FatalError(
                f"{self._what}: one transaction of {self._rows} rows would take {needed:.0f} s, and the cluster ends "
                f"transactions after {self._limit:.0f} s",
                "set checkpoint.interval (and source.consistency = per-split, for a copy that a log follows), so that "
                "fewer rows are committed at once, or raise the brokers' transaction.max.timeout.ms (and "
                "transaction.timeout.ms in kafka.config, where it is set)",
            )
