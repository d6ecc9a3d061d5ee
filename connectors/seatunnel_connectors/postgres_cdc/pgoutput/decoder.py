"""Decodes a stream of pgoutput messages: rows as Arrow batches, and the other messages in between.

Messages come in large pieces. Two messages that change how the others are read (a table that looks different, a
truncation) enclose a ``Block``, or several with very many rows (``parts``). Its rows are grouped by table and decoded a
column at a time. Relation messages without a difference do not divide it.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from seatunnel_connectors.postgres_cdc.pgoutput.changes import Before, DecodedRows, TableUnreadableError, to_rows
from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block, LogElement, LogicalMessage, TableRows, Truncation
from seatunnel_connectors.postgres_cdc.pgoutput.errors import MalformedMessageError
from seatunnel_connectors.postgres_cdc.pgoutput.held import BRACKETS, HeldTransactions
from seatunnel_connectors.postgres_cdc.pgoutput.messages import (
    BEGIN,
    COMMIT,
    DELETE,
    INSERT,
    MESSAGE,
    ORIGIN,
    RELATION,
    TRUNCATE,
    TYPE,
    UPDATE,
    Bytes,
    Fields,
    Gatherer,
    Messages,
    Numbers,
    malformed,
)
from seatunnel_connectors.postgres_cdc.pgoutput.parts import ROWS_MIN, ends_of_parts
from seatunnel_connectors.postgres_cdc.pgoutput.relations import (
    RelationCache,
    TableRefused,
    TableVersion,
    parse_relation,
)
from seatunnel_connectors.postgres_cdc.pgoutput.transactions import Placed, TransactionTracker

_ROWS = (INSERT, UPDATE, DELETE)
_IS_ROW = np.isin(np.arange(256), _ROWS)
_COMMON = np.isin(np.arange(256), (BEGIN, COMMIT, *_ROWS))
_CASCADE, _RESTART_IDENTITY = 1, 2
_ROW_BYTES_MIN = 8  # letter, table, kind of the row, count of columns


@dataclass(slots=True)
class PgoutputDecoder:
    """One stream. ``tracker`` holds the position after all elements so far; feed messages in order, and take all
    elements of a piece before the next one. After an error a decoder is of no more use."""

    relations: RelationCache
    tracker: TransactionTracker = field(default_factory=TransactionTracker)
    before: Before = Before.PAIRS
    held: HeldTransactions = field(default_factory=HeldTransactions)

    def decode(self, messages: Messages) -> Iterator[LogElement]:
        """The elements of these messages. Raises MalformedMessageError, HeldTooMuchError."""
        if not len(messages):
            return
        if not (messages.ends > messages.starts).all():
            raise MalformedMessageError("a message of the stream is empty")
        data = Gatherer(messages.buffer)
        letters = data.u1(messages.starts)
        first = (yield from self._hold(messages, 0)) if self.held.collecting else 0
        for at in np.flatnonzero(~_COMMON[letters]).tolist():
            if at < first:
                continue  # it belonged to a held transaction
            message = messages.bytes_of(at)
            if not self._divides(message):
                continue
            yield from self._blocks(messages, data, letters, first, at)
            if message[0] in BRACKETS:
                first = yield from self._hold(messages, at)
            else:
                first = at + 1
                yield from self._other(message)
        yield from self._blocks(messages, data, letters, first, len(messages))

    def _divides(self, message: bytes) -> bool:
        """Whether the rows before the message and those after it cannot be in one block."""
        letter = message[0]
        if letter == RELATION:
            return not self.relations.same(parse_relation(message))
        if letter == ORIGIN:
            fields = Fields(message)
            fields.i8(), fields.text()
            fields.finish()
        elif letter == TYPE:
            fields = Fields(message)
            fields.u4(), fields.text(), fields.text()
            fields.finish()
        return letter not in (ORIGIN, TYPE)

    # ---------------------------------------------------------------- what is no row

    def _other(self, message: bytes) -> Iterator[LogElement]:
        letter = message[0]
        if letter == RELATION:
            found = self.relations.put(parse_relation(message))
            if found is not None:
                yield found
        elif letter == TRUNCATE:
            yield from self._truncate(Fields(message))
        elif letter == MESSAGE:
            yield from self._message(Fields(message))
        else:
            raise malformed(message, "its kind is unknown")

    def _truncate(self, fields: Fields) -> Iterator[Truncation]:
        count, options = fields.u4(), fields.u1()
        if count * 4 != len(fields.message) - fields.at:
            raise fields.wrong(f"it names {count} tables in {len(fields.message)} bytes")
        tables = [self._known(oid) for oid in (fields.u4() for _ in range(count))]
        if self.tracker.one_change():
            yield Truncation(
                tuple(table for table in tables if table), bool(options & _CASCADE),
                bool(options & _RESTART_IDENTITY), self.tracker.position,
            )  # fmt: skip

    def _message(self, fields: Fields) -> Iterator[LogicalMessage]:
        transactional, lsn, prefix, length = fields.u1(), fields.i8(), fields.text(), fields.u4()
        content = fields.raw(length)
        fields.finish()
        if not transactional or self.tracker.one_change():
            yield LogicalMessage(bool(transactional), lsn, prefix, content, self.tracker.position)

    def _known(self, oid: int) -> TableVersion | None:
        table = self.relations.tables.get(oid)
        if table is None and oid not in self.relations.ignored:
            raise MalformedMessageError(f"rows of table {oid} came before its description")
        return table

    # ---------------------------------------------------------------- transactions whose outcome is open

    def _hold(self, messages: Messages, at: int) -> Generator[LogElement, None, int]:
        """Hold messages from ``at`` on, as long as they belong to such a transaction; give those of one that commits.
        Return the first message that does not belong to the transaction."""
        while at < len(messages):
            message = messages.bytes_of(at)
            if self.held.preparing and message[0] == RELATION:
                yield from self._describe_early(message)
            decided = self.held.take(message)
            at += 1
            if decided:
                yield from self.decode(Messages.of(decided))
            if not self.held.collecting:
                break
        return at

    def _describe_early(self, message: bytes) -> Iterator[LogElement]:
        """A server describes a table once, be it in a prepared transaction that never commits. A description that such
        a transaction changes waits for its commit: until then it has locked the table."""
        relation = parse_relation(message)
        if relation.oid not in self.relations.tables and relation.oid not in self.relations.ignored:
            found = self.relations.put(relation)
            if isinstance(found, TableRefused):
                yield found

    # ---------------------------------------------------------------- rows

    def _blocks(
        self, messages: Messages, data: Gatherer, letters: Bytes, first: int, last: int
    ) -> Iterator[Block | TableRefused]:
        """The rows of these messages, in parts that do not take much memory; each is decoded when it is asked for."""
        if last - first > ROWS_MIN:
            rows = np.flatnonzero(_IS_ROW[letters[first:last]]) + first
            for part in ends_of_parts(data.u4(messages.starts[rows] + 1), self._width):
                end = int(rows[part])
                yield from self._block(messages, data, letters, first, end)
                first = end
        yield from self._block(messages, data, letters, first, last)

    def _width(self, oid: int) -> int:
        table = self.relations.tables.get(oid)
        return 0 if table is None else len(table.relation.columns)

    def _block(
        self, messages: Messages, data: Gatherer, letters: Bytes, first: int, last: int
    ) -> Iterator[Block | TableRefused]:
        if first >= last:
            return
        kinds, starts, ends = letters[first:last], messages.starts[first:last], messages.ends[first:last]
        changes = np.flatnonzero(_IS_ROW[kinds])
        if (ends[changes] - starts[changes] < _ROW_BYTES_MIN).any():
            raise MalformedMessageError("a row ends before its columns")
        placed = self.tracker.place(data, kinds, starts, ends, changes)
        found: list[TableRows] = []
        refusals: list[TableRefused] = []
        left_out = 0
        for oid, chosen in _by_table(data.u4(starts[changes] + 1)):
            table = self._known(oid)
            chosen = chosen[placed.new[chosen]]
            if table is None or not len(chosen):
                left_out += len(chosen) if oid in self.relations.refused else 0
                continue
            at = changes[chosen]
            rows, refused, given = _up_to_a_fault(table, data, kinds[at], (starts[at], ends[at]), self.before)
            if rows is not None:
                found.append(_placed_rows(table, rows, placed, chosen[:given]))
            if refused is not None:
                left_out += len(chosen) - given
                refusals.append(self.relations.refuse(oid, refused))
        if found or left_out or placed.committed:
            yield Block(tuple(found), placed.transactions, self.tracker.position, left_out)
        yield from refusals


def _up_to_a_fault(
    table: TableVersion, data: Gatherer, letters: Bytes, bounds: tuple[Numbers, Numbers], before: Before
) -> tuple[DecodedRows | None, TableRefused | None, int]:
    """The rows before the first one that cannot be given, why it cannot, and how many changes the rows came from: the
    same rows, however the stream is divided into pieces."""
    refused, given = None, len(letters)
    starts, ends = bounds
    while given:
        try:
            return to_rows(table, data, letters[:given], starts[:given], ends[:given], before), refused, given
        except TableUnreadableError as error:
            refused, given = TableRefused(table.path, str(error), error.remedy), error.row
    return None, refused, 0


def _by_table(oids: Numbers) -> Iterator[tuple[int, Numbers]]:
    """Indexes of the changes of each table, in order."""
    if not len(oids):
        return
    if (oids == oids[0]).all():
        yield int(oids[0]), np.arange(len(oids))
        return
    order = np.argsort(oids, kind="stable")
    found, firsts = np.unique(oids[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, firsts[1:]), strict=True)


def _placed_rows(table: TableVersion, rows: DecodedRows, placed: Placed, chosen: Numbers) -> TableRows:
    of, order = placed.of[chosen], placed.order[chosen]
    return TableRows(
        table, rows.data, rows.kinds, rows.absent, pa.array(of[rows.messages]), pa.array(order[rows.messages])
    )
