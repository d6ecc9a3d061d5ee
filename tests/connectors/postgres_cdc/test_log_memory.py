"""The memory of reading a log: the same for a transaction of any size, and for tables of any shape."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block
from seatunnel_connectors.postgres_cdc.pgoutput.messages import Messages
from seatunnel_connectors.postgres_cdc.pgoutput.parts import CELLS_MAX, ROWS_MIN, ends_of_parts
from seatunnel_connectors.postgres_cdc.replication.connection import Received
from seatunnel_connectors.postgres_cdc.replication.read_ahead import AHEAD_BYTES, TOGETHER_BYTES, ReadAhead
from tests.connectors.postgres_cdc.encoder import Column, begin, delete, insert, relation
from tests.connectors.postgres_cdc.reading import INT8, TEXT, all_rows, decoder

OID, MB = 5, 1 << 20
NARROW = [Column("id", INT8, key=True), *(Column(f"c{at}", TEXT) for at in range(5))]
WIDE = [Column("id", INT8, key=True), *(Column(f"w{at}", INT8) for at in range(199))]
CELL_BYTES = 80
_POOLS = list[pa.MemoryPool]()
"""Never freed: an array may outlive its measurement."""


class Peaks:
    """The most that was allocated at a time: by Python and numpy, and by Arrow."""

    def __init__(self) -> None:
        self.python = self.arrow = 0


@contextmanager
def peaks() -> Iterator[Peaks]:
    found, usual = Peaks(), pa.default_memory_pool()
    counting = pa.proxy_memory_pool(usual)
    _POOLS.append(counting)
    pa.set_memory_pool(counting)
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        yield found
        found.python = tracemalloc.get_traced_memory()[1] - before
        found.arrow = counting.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(usual)


class OneTransaction:
    """A log of so many pieces of one transaction, each in a buffer of its own."""

    def __init__(self, pieces: int) -> None:
        self.left = pieces
        self.rows = [insert(OID, [str(at), *["some text"] * 5]) for at in range(4_000)]
        self.size = sum(map(len, self.rows))

    def receive(self, seconds: float) -> Received:
        self.left -= 1
        return Received(Messages.of(self.rows), 1, None, self.left == 0)

    def confirm(self, position: int) -> None: ...
    def keep_alive(self) -> None: ...
    def expect(self, tables: int) -> None: ...
    def interrupt(self) -> None: ...
    def stop(self) -> None: ...


@pytest.mark.parametrize("pieces", [20, 400])
def test_a_transaction_of_any_size_is_read_in_the_same_memory(pieces: int) -> None:
    """F-C15."""
    log = OneTransaction(pieces)
    reader = decoder()
    list(reader.decode(Messages.of([begin(100), relation(OID, "t", NARROW)])))
    rows, ended, ahead = 0, False, ReadAhead(log)
    with peaks() as found:
        ahead.begin(1)
        while not ended:
            received = ahead.receive(10.0)
            ended = received.ended
            for block in reader.decode(received.messages):
                assert isinstance(block, Block)
                rows += sum(part.data.num_rows for part in block.rows)
        ahead.stop()

    assert rows == pieces * 4_000
    waiting, given = AHEAD_BYTES + log.size, 2 * (TOGETHER_BYTES + log.size)
    assert found.python < waiting + given + CELL_BYTES * CELLS_MAX
    assert found.arrow < 3 * CELL_BYTES * CELLS_MAX // 2


Rows = Callable[[int], bytes]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (NARROW, lambda at: insert(OID, [str(at), *["some text"] * 5])),
        (NARROW, lambda at: delete(OID, [str(at), *[None] * 5])),
        (WIDE, lambda at: insert(OID, [str(at), *[None] * 199])),
        (WIDE, lambda at: insert(OID, [str(at), *["123456"] * 199])),
    ],
    ids=["texts", "deletes", "nulls", "wide"],
)
def test_a_large_piece_is_decoded_part_by_part(columns: list[Column], message: Rows) -> None:
    """Short values and nulls have many cells in few bytes. The rows are those of small pieces."""
    messages = [message(at) for at in range(4 * MB // len(message(1)))]
    small, large = decoder(), decoder()
    for reader in (small, large):
        list(reader.decode(Messages.of([begin(100), relation(OID, "t", columns)])))
    whole, blocks = Messages.of(messages), list[int]()
    cells = max(CELLS_MAX, ROWS_MIN * len(columns))
    with peaks() as found:
        for block in large.decode(whole):
            assert isinstance(block, Block)
            blocks.append(sum(part.data.num_rows for part in block.rows))

    assert sum(blocks) == len(messages)
    assert max(blocks) <= cells // len(columns)
    assert found.python < CELL_BYTES * cells + 30 * len(messages)  # and what each message of the piece has
    few = Messages.of(messages[:1_000])
    again = [one for at in range(0, 1_000, 100) for one in small.decode(few.part(at, at + 100))]
    fresh = decoder()
    list(fresh.decode(Messages.of([begin(100), relation(OID, "t", columns)])))
    assert all_rows(again) == all_rows([*fresh.decode(whole)])[:1_000]


def test_a_batch_keeps_no_memory_of_columns_that_it_does_not_hold() -> None:
    """What is gathered for a sink is bounded by the bytes of its rows."""
    reader = decoder()
    list(reader.decode(Messages.of([begin(100), relation(OID, "t", [*NARROW, *WIDE[1:]])])))
    rows = [insert(OID, [str(at), *["text"] * 5, *["123456789"] * 199]) for at in range(300)]
    (block,) = reader.decode(Messages.of(rows))
    assert isinstance(block, Block)
    (part,) = block.rows

    assert part.data.get_total_buffer_size() < 1.1 * part.data.nbytes


WIDTHS = st.lists(st.integers(0, 1_600), min_size=1, max_size=6)


@given(WIDTHS, st.data())
def test_no_part_has_more_rows_of_a_table_than_may_be_decoded_together(widths: list[int], data: st.DataObject) -> None:
    runs = data.draw(st.lists(st.tuples(st.integers(0, len(widths) - 1), st.integers(1, 30_000)), max_size=8))
    oids = np.repeat(np.array([table for table, _ in runs], np.int64), np.array([count for _, count in runs], np.int64))
    if data.draw(st.booleans()):
        np.random.default_rng(len(oids)).shuffle(oids)

    ends = ends_of_parts(oids, widths.__getitem__)

    bounds = [0, *ends, len(oids)]
    assert all(first < last for first, last in pairwise(bounds)) or not len(oids)
    for first, last in pairwise(bounds):
        counts = np.bincount(oids[first:last], minlength=len(widths))
        for count, width in zip(counts.tolist(), widths, strict=True):
            assert count <= max(ROWS_MIN, CELLS_MAX // max(width, 1))
