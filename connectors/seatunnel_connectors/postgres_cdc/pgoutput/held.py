"""Holds the messages of transactions whose outcome is open: streamed in pieces, or prepared for a two-phase commit.

The source asks for neither (``streaming`` and ``two_phase`` stay off: the server then spills large transactions to its
own disk, and this side needs constant memory). A stream that has them is read correctly all the same, up to a limit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from seatunnel_connectors.postgres_cdc.pgoutput.errors import HeldTooMuchError, MalformedMessageError
from seatunnel_connectors.postgres_cdc.pgoutput.messages import (
    BEGIN,
    BEGIN_PREPARE,
    COMMIT,
    COMMIT_PREPARED,
    ORIGIN,
    PREPARE,
    ROLLBACK_PREPARED,
    STREAM_ABORT,
    STREAM_COMMIT,
    STREAM_PREPARE,
    STREAM_START,
    STREAM_STOP,
    Fields,
    malformed,
)

BRACKETS = frozenset(
    {STREAM_START, STREAM_STOP, STREAM_COMMIT, STREAM_ABORT, BEGIN_PREPARE, PREPARE, COMMIT_PREPARED}
    | {ROLLBACK_PREPARED, STREAM_PREPARE}
)
"""Letters of the messages that begin or end a held part, or decide about it."""

BYTES_MAX = 1 << 28
_XID_BYTES = 4


@dataclass(slots=True)
class HeldTransactions:
    """``streamed`` are pieces by transaction, each message with its subtransaction; ``prepared`` whole transactions by
    their global id. ``take`` returns the messages of a transaction that commits, as if it had not been held."""

    bytes_max: int = BYTES_MAX
    bytes_held: int = 0
    _streamed: dict[int, list[tuple[int, bytes]]] = field(default_factory=dict)
    _prepared: dict[str, tuple[int, list[bytes]]] = field(default_factory=dict)
    _piece: int | None = None
    _preparing: tuple[str, int] | None = None

    @property
    def collecting(self) -> bool:
        """True inside of a piece: every message belongs to it."""
        return self._piece is not None or self._preparing is not None

    @property
    def preparing(self) -> bool:
        return self._preparing is not None

    @property
    def empty(self) -> bool:
        return not self._streamed and not self._prepared

    def take(self, message: bytes) -> list[bytes]:
        """Take a message of BRACKETS, or any message while ``collecting``; return what is decided by it."""
        letter = message[0]
        if self._piece is not None and letter != STREAM_STOP:
            if letter in BRACKETS:
                raise malformed(message, "it stands inside of a piece of a streamed transaction")
            self._keep(message)
            return []
        if self._preparing is not None and letter != PREPARE:
            if letter in BRACKETS or letter in (BEGIN, COMMIT):
                raise malformed(message, "it stands inside of a prepared transaction")
            self._prepared[self._preparing[0]][1].append(message)
            self._grow(message)
            return []
        return self._bracket(letter, message)

    def _bracket(self, letter: int, message: bytes) -> list[bytes]:
        fields = Fields(message)
        match letter:
            case _ if letter == STREAM_START:
                self._start(fields)
            case _ if letter == STREAM_STOP:
                if self._piece is None:
                    raise fields.wrong("no piece has begun")
                self._piece = None
            case _ if letter == STREAM_COMMIT:
                return self._stream_commit(fields)
            case _ if letter == STREAM_ABORT:
                self._abort(fields)
            case _ if letter == BEGIN_PREPARE:
                _, _, _, xid, gid = fields.i8(), fields.i8(), fields.i8(), fields.u4(), fields.text()
                self._prepared[gid] = xid, []
                self._preparing = gid, xid
            case _ if letter == PREPARE:
                self._prepare(fields)
            case _ if letter == STREAM_PREPARE:
                _, _, _, _, xid, gid = fields.u1(), fields.i8(), fields.i8(), fields.i8(), fields.u4(), fields.text()
                self._prepared[gid] = xid, [one for _, one in self._pop(fields, xid)]
            case _ if letter == COMMIT_PREPARED:
                return self._commit_prepared(fields)
            case _:
                self._rollback_prepared(fields)
        if letter != STREAM_ABORT:
            fields.finish()
        return []

    def _start(self, fields: Fields) -> None:
        xid, first = fields.u4(), fields.u1()
        if bool(first) == (xid in self._streamed):
            raise fields.wrong(f"a piece calls transaction {xid} {'new' if first else 'known'}, which it is not")
        self._streamed.setdefault(xid, [])
        self._piece = xid

    def _keep(self, message: bytes) -> None:
        """A message of a piece holds its subtransaction after the letter; only an origin does not."""
        if message[0] == ORIGIN:
            return
        subxid = Fields(message).u4()
        assert self._piece is not None
        plain = message[:1] + message[1 + _XID_BYTES :]
        self._streamed[self._piece].append((subxid, plain))
        self._grow(plain)

    def _stream_commit(self, fields: Fields) -> list[bytes]:
        xid, _, lsn, end, time = fields.u4(), fields.u1(), fields.i8(), fields.i8(), fields.i8()
        fields.finish()
        return committed(xid, lsn, end, time, [one for _, one in self._release(fields, xid)])

    def _abort(self, fields: Fields) -> None:
        xid, subxid = fields.u4(), fields.u4()
        if len(fields.message) > fields.at:  # version 4 with streaming = parallel
            fields.i8(), fields.i8()
        fields.finish()
        kept = self._pop(fields, xid)
        if xid != subxid:
            self._streamed[xid] = [one for one in kept if one[0] != subxid]
            kept = [one for one in kept if one[0] == subxid]
        self.bytes_held -= sum(len(one) for _, one in kept)

    def _prepare(self, fields: Fields) -> None:
        _, _, _, _, xid, gid = fields.u1(), fields.i8(), fields.i8(), fields.i8(), fields.u4(), fields.text()
        if self._preparing != (gid, xid):
            raise fields.wrong(f"transaction {gid!r} is not being prepared")
        self._preparing = None

    def _commit_prepared(self, fields: Fields) -> list[bytes]:
        _, lsn, end, time, xid, gid = fields.u1(), fields.i8(), fields.i8(), fields.i8(), fields.u4(), fields.text()
        fields.finish()
        return committed(xid, lsn, end, time, self._decided(fields, gid))

    def _rollback_prepared(self, fields: Fields) -> None:
        fields.u1(), fields.i8(), fields.i8(), fields.i8(), fields.i8(), fields.u4()
        gid = fields.text()
        if gid in self._prepared:  # one whose beginning lies before the start of the stream is not there
            self._decided(fields, gid)

    def _decided(self, fields: Fields, gid: str) -> list[bytes]:
        if gid not in self._prepared:
            raise MalformedMessageError(
                f"the prepared transaction {gid!r} commits, but its rows lie before the start of the stream",
                "start before the PREPARE, or turn two_phase off for the slot: then rows come with their commit",
            )
        _, messages = self._prepared.pop(gid)
        self.bytes_held -= sum(map(len, messages))
        return messages

    def _release(self, fields: Fields, xid: int) -> list[tuple[int, bytes]]:
        kept = self._pop(fields, xid)
        self.bytes_held -= sum(len(one) for _, one in kept)
        return kept

    def _pop(self, fields: Fields, xid: int) -> list[tuple[int, bytes]]:
        kept = self._streamed.pop(xid, None)
        if kept is None:
            raise fields.wrong(f"nothing was streamed of transaction {xid}")
        return kept

    def _grow(self, message: bytes) -> None:
        self.bytes_held += len(message)
        if self.bytes_held > self.bytes_max:
            raise HeldTooMuchError(
                f"transactions whose outcome is open are larger than {self.bytes_max} bytes",
                "start the replication with streaming = off and without two_phase: the server then keeps them",
            )


def committed(xid: int, lsn: int, end: int, time: int, messages: list[bytes]) -> list[bytes]:
    """The messages between a Begin and a Commit."""
    head = bytes([BEGIN]) + _int64(lsn) + _int64(time) + xid.to_bytes(4, "big")
    return [head, *messages, bytes([COMMIT, 0]) + _int64(lsn) + _int64(end) + _int64(time)]


def _int64(number: int) -> bytes:
    return number.to_bytes(8, "big", signed=True)
