"""Follows which transaction each message of a stream belongs to, and which ones were taken before a restart."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from seatunnel_connectors.postgres_cdc.pgoutput.elements import EPOCH_MICROSECONDS, LogPosition, Transactions
from seatunnel_connectors.postgres_cdc.pgoutput.errors import MalformedMessageError
from seatunnel_connectors.postgres_cdc.pgoutput.messages import BEGIN, COMMIT, Bytes, Gatherer, Numbers

_BEGIN_BYTES, _COMMIT_BYTES = 21, 26


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction whose commit has not been read. ``changes`` were seen of it."""

    xid: int
    commit: int
    time: int
    changes: int = 0


@dataclass(frozen=True, slots=True)
class Placed:
    """Changes of a part of the stream. ``of`` is each one's transaction in ``transactions``, ``order`` its number in
    it; ``new`` marks those that were not taken before; ``committed`` counts the commits."""

    transactions: Transactions
    of: Numbers
    order: Numbers
    new: npt.NDArray[np.bool_]
    committed: int


@dataclass(slots=True)
class TransactionTracker:
    """``start`` is where an earlier reader stopped: what lies before it is passed over when the server sends it again.
    ``position`` is the one after all that was placed."""

    start: LogPosition = field(default_factory=LogPosition)
    open: OpenTransaction | None = None
    position: LogPosition = field(init=False)

    def __post_init__(self) -> None:
        self.position = self.start

    def place(self, data: Gatherer, letters: Bytes, starts: Numbers, ends: Numbers, changes: Numbers) -> Placed:
        """Follow Begin and Commit messages, and place the changes, which are indexes into the messages."""
        import pyarrow as pa

        begins, commits = np.flatnonzero(letters == BEGIN), np.flatnonzero(letters == COMMIT)
        self._check_order(letters, begins, commits)
        at, until = starts[begins], starts[commits]
        _check_sizes(ends[begins] - at, _BEGIN_BYTES, "Begin")
        _check_sizes(ends[commits] - until, _COMMIT_BYTES, "Commit")
        before = self.open
        commit = _after(before.commit if before else None, data.i8(at + 1))
        if (commit <= 0).any():
            raise MalformedMessageError(f"a transaction commits at the position {int(commit.min())}")
        time = _after(before.time if before else None, data.i8(at + 9))
        xid = _after(before.xid if before else None, data.u4(at + 17))
        end = np.zeros(len(commit), np.int64)
        end[: len(commits)] = data.i8(until + 10)
        if not (data.i8(until + 2) == commit[: len(commits)]).all():
            raise MalformedMessageError("a transaction commits at another position than that of its Begin")
        firsts, counts = self._shares(changes, begins, commits)
        nth = np.repeat(np.arange(len(commit)), counts)
        order = np.arange(len(changes)) - np.repeat(firsts, counts)
        if before is not None and before.changes:
            order[: counts[0]] += before.changes
        new = np.repeat(commit > self.start.commit, counts)
        if self.start.index:
            new &= (commit[nth] != self.start.open_commit) | (order >= self.start.index)
        self._move(commit, end, time, xid, int(counts[-1]) if len(counts) else 0, commits)
        found = Transactions(pa.array(xid), pa.array(commit), pa.array(end), pa.array(time + EPOCH_MICROSECONDS))
        return Placed(found, nth, order, new, len(commits))

    def _move(
        self, commit: Numbers, end: Numbers, time: Numbers, xid: Numbers, last: int, commits: Numbers
    ) -> None:  # fmt: skip
        whole = len(commits)
        if whole and commit[whole - 1] > self.position.commit:
            self.position = LogPosition(int(commit[whole - 1]), int(end[whole - 1]))
        if whole == len(commit):
            self.open = None
            return
        seen = last + (self.open.changes if self.open and not whole else 0)
        self._set_open(OpenTransaction(int(xid[-1]), int(commit[-1]), int(time[-1]), seen))

    def _set_open(self, one: OpenTransaction) -> None:
        """Messages that a server sends again move the position only once they pass it."""
        self.open, last = one, self.position
        if one.commit > last.commit:
            taken = last.index if one.commit == last.open_commit else 0
            self.position = LogPosition(last.commit, last.end, one.commit, max(one.changes, taken))

    def one_change(self) -> bool:
        """Count a change without rows, such as a truncation; return False if it was taken before."""
        if self.open is None:
            raise MalformedMessageError("a change stands outside of a transaction")
        number, commit = self.open.changes, self.open.commit
        self._set_open(OpenTransaction(self.open.xid, commit, self.open.time, number + 1))
        return commit > self.start.commit and (commit != self.start.open_commit or number >= self.start.index)

    def _check_order(self, letters: Bytes, begins: Numbers, commits: Numbers) -> None:
        inside = self.open is not None
        turns = letters[np.sort(np.concatenate([begins, commits]))]
        if len(turns) and ((turns[1:] == turns[:-1]).any() or bool(turns[0] == COMMIT) is not inside):
            raise MalformedMessageError("transactions overlap, or one commits that has not begun")

    def _shares(self, changes: Numbers, begins: Numbers, commits: Numbers) -> tuple[Numbers, Numbers]:
        """The index of the first change of each transaction, and their number."""
        firsts = np.searchsorted(changes, begins)
        if self.open is not None:
            firsts = np.concatenate([np.zeros(1, np.int64), firsts])
        lasts = np.searchsorted(changes, commits)
        if len(lasts) < len(firsts):
            lasts = np.append(lasts, len(changes))
        counts = lasts - firsts
        if counts.sum() != len(changes):
            raise MalformedMessageError("a change stands outside of a transaction")
        return firsts, counts


def _after(first: int | None, others: Numbers) -> Numbers:
    return others if first is None else np.concatenate([np.array([first], np.int64), others])


def _check_sizes(sizes: Numbers, wanted: int, name: str) -> None:
    if not (sizes == wanted).all():
        raise MalformedMessageError(f"a {name} message has another size than {wanted} bytes")
