"""Transactions of one sink and table, each of another epoch, and the fence in front of them.

Rules. (1) A transactional id names lineage, step, table and incarnation, so that an older driver that still lives can
disturb itself only. (2) Each commit begins with ``init_transactions``, which ends whatever an earlier one of the same
id has left open and raises its epoch: a word that comes late ("commit", a record) is refused by the cluster. (3) An
older incarnation is fenced in the same way, through its own id.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from confluent_kafka import KafkaException

from seatunnel_connectors.kafka.client.client import Cluster
from seatunnel_connectors.kafka.sink.sender import Sender, explained
from seatunnel_py.api import FatalError, Plain, TablePath

CALL_SECONDS = 30.0  # for one word of the transaction's protocol
_ABORT_SECONDS = 5.0  # a cluster that is away ends it by itself
TIMEOUT_MIN_MS = 60_000
MS_PER_ROW = 2  # many times what a row takes: a time-out is for drivers that never come back
_LOOK_AT = 0.25  # of the time that a transaction may take: the rest is foreseen from there


def transactional_id(prefix: str, lineage: str, step: str, table: TablePath, incarnation: int) -> str:
    """The id that ``incarnation`` writes this sink and table with."""
    return "/".join((prefix, lineage, step, str(table), str(incarnation)))


def timeout_for(rows: int, setup: Mapping[str, Plain]) -> int:
    """How long a transaction of so many rows may take. What a dead driver has left open hides from committed readers
    what comes behind it, so it is no more than needed; a job file that says how long has its will."""
    limit = int(str(setup["timeout_ms"]))
    return limit if setup["timeout_given"] else min(limit, max(TIMEOUT_MIN_MS, rows * MS_PER_ROW))


class Transaction:
    """One transaction: ``begin``, ``sender.send`` …, ``commit``; whatever was not committed is aborted by ``close``."""

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
        """Only what the cluster has confirmed is committed. That it says so is not enough: read the ledger."""
        self.sender.confirm()
        with explained(f"{self.sender.what}: committing a transaction"):
            self.sender.producer.commit_transaction(CALL_SECONDS)
        self._open = False

    def close(self) -> None:
        """Must not raise: what is left open is ended by the next commit, or by the cluster."""
        with suppress(KafkaException, SystemError):
            if self._open:
                self.sender.producer.purge(blocking=False)
                self.sender.producer.abort_transaction(_ABORT_SECONDS)
        self.sender.close()


def fence(what: str, cluster: Cluster, name: str, timeout_ms: int) -> None:
    """From now on nothing that a writer of this id has begun becomes visible."""
    Transaction(what, cluster, name, timeout_ms).close()


class Pace:
    """Whether a transaction will be through before the cluster ends it."""

    def __init__(self, what: str, rows: int, timeout_ms: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._rows, self._limit = what, rows, timeout_ms / 1000
        self._clock = clock
        self._began = clock()

    def check(self, done: int) -> None:
        """FatalError where it will not: foreseen, so that nobody waits for it."""
        spent = self._clock() - self._began
        if spent < self._limit * _LOOK_AT or not done:
            return
        needed = spent * self._rows / done
        if needed > self._limit:
            raise FatalError(
                f"{self._what}: one transaction of {self._rows} rows would take {needed:.0f} s, and the cluster ends "
                f"transactions after {self._limit:.0f} s",
                "set checkpoint.interval, so that fewer rows are committed at once, or raise the brokers' "
                "transaction.max.timeout.ms (and transaction.timeout.ms in kafka.config, where it is set)",
            )
