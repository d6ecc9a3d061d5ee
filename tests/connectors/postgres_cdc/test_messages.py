"""Every kind of message of pgoutput, from bytes; and malformed ones, which are errors with a name."""

from __future__ import annotations

import pickle

import pytest

from seatunnel_connectors.postgres_cdc.pgoutput.changes import Before
from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block, LogicalMessage, LogPosition, Truncation
from seatunnel_connectors.postgres_cdc.pgoutput.errors import HeldTooMuchError, MalformedMessageError
from seatunnel_connectors.postgres_cdc.pgoutput.held import HeldTransactions
from seatunnel_connectors.postgres_cdc.pgoutput.messages import Messages
from seatunnel_connectors.postgres_cdc.pgoutput.relations import RelationChange, TableRefused
from tests.connectors.postgres_cdc import encoder as pg
from tests.connectors.postgres_cdc.encoder import UNCHANGED, Column
from tests.connectors.postgres_cdc.reading import (
    ABSENT,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    all_rows,
    decoder,
    elements,
    rows,
)

T = pg.relation(16400, "t", [Column("id", INT8, key=True), Column("name", TEXT)])
FULL = pg.relation(16400, "t", [Column("id", INT8, key=True), Column("name", TEXT, key=True)], identity="f")

# As PostgreSQL 15 sent them for: CREATE TABLE t (id int PRIMARY KEY, a text); INSERT INTO t VALUES (1, 'x').
GOLDEN = [
    bytes.fromhex("42 00000000015056c0 0003041fe010cd2d 000002d5"),
    bytes.fromhex("52 00004000 7075626c696300 7400 64 0002 01 696400 00000017 ffffffff 00 6100 00000019 ffffffff"),
    bytes.fromhex("49 00004000 4e 0002 74 00000001 31 74 00000001 78"),
    bytes.fromhex("43 00 00000000015056c0 00000000015056f0 0003041fe010cd2d"),
]


def one(*messages: bytes, lsn: int = 10) -> list[bytes]:
    """A transaction of its own."""
    return [pg.begin(lsn), *messages, pg.commit(lsn, lsn + 2)]


def test_recorded_bytes() -> None:
    (block,) = elements(GOLDEN)

    assert isinstance(block, Block)
    assert all_rows([block]) == [("t", "+I", (1, "x"))]
    assert block.transactions.xid.to_pylist() == [725]
    assert block.transactions.commit.to_pylist() == [0x15056C0]
    assert block.transactions.end.to_pylist() == [0x15056F0]
    assert block.transactions.time.to_pylist() == [0x3041FE010CD2D + 946_684_800_000_000]
    assert block.position == LogPosition(0x15056C0, 0x15056F0)


def test_the_encoder_of_the_tests_gives_what_was_recorded() -> None:
    columns = [Column("id", INT4, key=True), Column("a", TEXT)]
    time = 0x3041FE010CD2D

    assert [
        pg.begin(0x15056C0, time, 725),
        pg.relation(16384, "t", columns),
        pg.insert(16384, ["1", "x"]),
        pg.commit(0x15056C0, 0x15056F0, time),
    ] == GOLDEN


def test_inserts_updates_and_deletes_in_log_order() -> None:
    changes = [pg.insert(16400, ["1", "a"]), pg.update(16400, ["1", "b"]), pg.delete(16400, ["1", None])]

    assert rows(one(T, *changes)) == [
        ("t", "+I", (1, "a")),
        ("t", "+U", (1, "b")),
        ("t", "-D", (1, ABSENT)),
    ]


def test_a_null_of_an_old_key_is_no_value() -> None:
    """F-C12: only the columns of the identity are read."""
    moved = pg.update(16400, ["2", "x"], ["1", None], "K")

    assert rows(one(T, moved)) == [("t", "-U", (1, ABSENT)), ("t", "+U", (2, "x"))]


@pytest.mark.parametrize(
    ("after", "before", "wanted"),
    [
        (["1", "b"], ["1", "a"], [("t", "+U", (1, "b"))]),
        (["2", "a"], ["1", "a"], [("t", "-D", (1, "a")), ("t", "+I", (2, "a"))]),
    ],
)
def test_moves_alone_are_divided_for_keyed_sinks(after: list[str], before: list[str], wanted: list[object]) -> None:
    """F-C46: a row whose key changes is taken away under the old one and inserted under the new one. F-C60: under FULL
    the key is what the catalog says, not every flagged column."""
    reader = decoder(before=Before.MOVES, keys=lambda path: ("id",))

    assert rows(one(FULL, pg.update(16400, after, before)), reader) == wanted


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        (pg.update(16400, ["1", "b"], ["1", "a"]), [("t", "-U", (1, "a")), ("t", "+U", (1, "b"))]),
        (pg.update(16400, ["2", "a"], ["1", "a"]), [("t", "-D", (1, "a")), ("t", "+I", (2, "a"))]),
        (pg.update(16400, ["1", UNCHANGED], ["1", "a"]), [("t", "-U", (1, "a")), ("t", "+U", (1, "a"))]),
        (pg.update(16400, ["1", "b"]), [("t", "+U", (1, "b"))]),
    ],
    ids=["the key stays", "the key changes", "a value stays", "the log has no row before"],
)
def test_targets_that_store_rows_before_updates_get_them(message: bytes, wanted: list[object]) -> None:
    reader = decoder(before=Before.IMAGES, keys=lambda path: ("id",))

    assert rows(one(FULL, message), reader) == wanted


def test_a_row_before_that_holds_its_key_alone_is_no_image() -> None:
    moved = pg.update(16400, ["2", "b"], ["1", None], "K")
    stays = pg.update(16400, ["1", "b"], ["1", None], "K")
    reader = decoder(before=Before.IMAGES, keys=lambda path: ("id",))

    assert rows(one(T, moved), reader) == [("t", "-D", (1, ABSENT)), ("t", "+I", (2, "b"))]
    assert rows(one(T, stays), decoder(before=Before.IMAGES)) == [("t", "+U", (1, "b"))]


def test_a_move_without_all_cells_stays_an_update() -> None:
    """Nothing may be inserted of which a cell is missing."""
    moved = pg.update(16400, ["2", UNCHANGED], ["1", None], "K")

    assert rows(one(T, moved), decoder(before=Before.MOVES)) == [
        ("t", "-U", (1, ABSENT)),
        ("t", "+U", (2, ABSENT)),
    ]


def test_unchanged_values_are_absent_or_taken_from_the_row_before() -> None:
    """F-C11: neither null nor a placeholder."""
    assert rows(one(T, pg.update(16400, ["1", UNCHANGED]))) == [("t", "+U", (1, ABSENT))]
    assert rows(one(FULL, pg.insert(16400, ["0", "z"]), pg.update(16400, ["1", UNCHANGED], ["1", "long"]))) == [
        ("t", "+I", (0, "z")),
        ("t", "-U", (1, "long")),
        ("t", "+U", (1, "long")),
    ]


def test_an_unchanged_key_without_the_old_one_refuses_the_table() -> None:
    found = elements(one(T, pg.update(16400, [UNCHANGED, "x"])))

    (refused,) = [each for each in found if isinstance(each, TableRefused)]

    assert "'id'" in refused.message
    assert "REPLICA IDENTITY FULL" in refused.remedy


def test_truncations_and_messages_stand_between_rows() -> None:
    other = pg.relation(16401, "u", [Column("id", INT8, key=True)])
    found = elements(
        one(T, other, pg.insert(16400, ["1", "a"]), pg.truncate([16400, 16401], 3), pg.logical_message("p", b"\0x"))
    )

    assert all_rows(found[:1]) == [("t", "+I", (1, "a"))]
    assert isinstance(found[1], Truncation)
    assert [table.path.table for table in found[1].tables] == ["t", "u"]
    assert (found[1].cascade, found[1].restart_identity, found[1].position.index) == (True, True, 2)
    assert found[2] == LogicalMessage(True, 5, "p", b"\0x", LogPosition(0, 0, 10, 3))


def test_a_message_outside_of_transactions_moves_nothing() -> None:
    found = elements([pg.logical_message("beat", b"", transactional=False)])

    assert found == [LogicalMessage(False, 5, "beat", b"", LogPosition())]


def test_origins_and_types_are_passed_over() -> None:
    messages = one(pg.origin(7, "other"), pg.type_of(99_999, "public", "mood"), T, pg.insert(16400, ["1", "a"]))

    assert rows(messages) == [("t", "+I", (1, "a"))]


def test_tables_keep_their_order_and_their_places_in_the_transaction() -> None:
    other = pg.relation(16401, "u", [Column("id", INT8, key=True)])
    changes = [pg.insert(16400, ["1", "a"]), pg.insert(16401, ["7"]), pg.insert(16400, ["2", "b"])]
    blocks = [each for each in elements(one(T, other, *changes)) if isinstance(each, Block) and each.rows]

    assert {part.table.path.table: part.order.to_pylist() for part in blocks[0].rows} == {"t": [0, 2], "u": [1]}


# ---------------------------------------------------------------- relations


def test_the_same_relation_again_divides_nothing() -> None:
    """Servers send it after each invalidation, changed or not."""
    found = elements(one(T, pg.insert(16400, ["1", "a"]), T, pg.insert(16400, ["2", "b"])))

    assert len([each for each in found if isinstance(each, Block) and each.rows]) == 1


def test_a_changed_relation_closes_the_batch_before_it() -> None:
    """F-C20, F-C59: rows are read with the columns of their own time, by name."""
    wider = pg.relation(16400, "t", [Column("id", INT4, key=True), Column("note", TEXT), Column("name2", TEXT)])
    found = elements(one(T, pg.insert(16400, ["1", "a"]), wider, pg.insert(16400, ["2", "n", "b"])))
    (change,) = [each for each in found if isinstance(each, RelationChange)]

    assert (change.added, change.dropped, change.retyped) == (("note", "name2"), ("name",), ("id",))
    assert (change.before.number, change.after.number) == (0, 1)
    assert all_rows(found[: found.index(change)]) == [("t", "+I", (1, "a"))]
    assert all_rows(found[found.index(change) :]) == [("t", "+I", (2, "n", "b"))]


def test_a_table_that_is_renamed_or_created_anew_is_named_so() -> None:
    renamed = pg.relation(16400, "t2", [Column("id", INT8, key=True), Column("name", TEXT)])
    anew = pg.relation(16409, "t", [Column("id", INT8, key=True), Column("name", TEXT)])

    for message, wanted in ((renamed, (True, False)), (anew, (False, True))):
        (change,) = [each for each in elements(one(T, message)) if isinstance(each, RelationChange)]
        assert (change.renamed, change.recreated) == wanted


def test_a_table_whose_type_is_gone_is_refused_and_the_others_go_on() -> None:
    """F-C56: only that table is concerned."""
    odd = pg.relation(16401, "u", [Column("id", INT8, key=True), Column("mood", 99_999)])
    found = elements(one(odd, T, pg.insert(16401, ["1", "x"]), pg.insert(16400, ["1", "a"])))
    (refused,) = [each for each in found if isinstance(each, TableRefused)]

    assert "'mood'" in refused.message
    assert all_rows(found) == [("t", "+I", (1, "a"))]
    assert sum(each.left_out for each in found if isinstance(each, Block)) == 1


def test_a_value_without_counterpart_refuses_its_table_by_name() -> None:
    numbers = pg.relation(16401, "u", [Column("n", NUMERIC, ((10 << 16) | 2) + 4, key=True)])
    found = elements(one(numbers, T, pg.insert(16401, ["NaN"]), pg.insert(16400, ["1", "a"])))

    (refused,) = [each for each in found if isinstance(each, TableRefused)]

    assert "table public.u, column 'n': 'NaN'" in refused.message
    assert all_rows(found) == [("t", "+I", (1, "a"))]


@pytest.mark.parametrize("size", [1, 3, 100])
def test_rows_before_the_one_that_is_refused_are_given(size: int) -> None:
    """The same ones, however the stream is divided."""
    reader, found = decoder(), []
    messages = one(
        T, *[pg.insert(16400, [value, "a"]) for value in ("1", "2", "x", "4", "5")], pg.delete(16400, ["1", None])
    )
    for first in range(0, len(messages), size):
        found += reader.decode(Messages.of(messages[first : first + size]))

    assert [row[2][0] for row in all_rows(found)] == [1, 2]
    assert [each.path.table for each in found if isinstance(each, TableRefused)] == ["t"]
    assert sum(each.left_out for each in found if isinstance(each, Block)) == 4


def test_unwanted_tables_are_left_out_without_a_word() -> None:
    reader = decoder(wanted=lambda path, _: path.table != "t")

    assert rows(one(T, pg.insert(16400, ["1", "a"])), reader) == []


# ---------------------------------------------------------------- restarts


def test_what_was_taken_before_a_restart_is_passed_over() -> None:
    """F-C5, F-C37: by commit, then by the place in the transaction; the server sends whole transactions again."""
    messages = [
        *one(T, pg.insert(16400, ["1", "a"]), lsn=10),
        *one(pg.insert(16400, ["2", "b"]), pg.insert(16400, ["3", "c"]), pg.insert(16400, ["4", "d"]), lsn=30),
        *one(pg.insert(16400, ["5", "e"]), lsn=40),
    ]
    whole = [row[2][0] for row in rows(messages)]
    for size in (1, 2, 3, 100):
        for index in range(4):
            start = LogPosition(10, 12, 30, index) if index else LogPosition(10, 12)
            reader = decoder(start)
            found = []
            for first in range(0, len(messages), size):
                found += all_rows([*reader.decode(Messages.of(messages[first : first + size]))])
            assert [row[2][0] for row in found] == whole[1 + index :]
            assert reader.tracker.position == LogPosition(40, 42)


def test_positions_inside_of_a_transaction_count_what_was_taken() -> None:
    """F-C3: what may be confirmed is the end of the last whole transaction."""
    reader = decoder()
    elements([*one(T, lsn=10), pg.begin(30), pg.insert(16400, ["2", "b"])], reader)
    assert reader.tracker.position == LogPosition(10, 12, 30, 1)

    elements([pg.truncate([16400]), pg.commit(30, 33)], reader)
    assert reader.tracker.position == LogPosition(30, 33)


# ---------------------------------------------------------------- versions 2 to 4


def piece(xid: int, *messages: bytes, first: bool = True, sub: int = 0) -> list[bytes]:
    inside = [pg.in_stream(message, sub or xid) for message in messages]
    return [pg.stream_start(xid, first=first), *inside, pg.STREAM_STOP]


def test_streamed_transactions_count_when_they_commit() -> None:
    """F-C15: the last row of each piece is there, rows of aborted subtransactions are not."""
    reader = decoder()
    messages = [
        *piece(5, T, pg.insert(16400, ["1", "a"]), pg.insert(16400, ["2", "b"])),
        *piece(6, pg.insert(16400, ["9", "z"])),
        *piece(5, pg.insert(16400, ["3", "c"]), first=False, sub=7),
        pg.stream_abort(5, 7),
        *one(T, pg.insert(16400, ["8", "x"]), lsn=20),
        pg.stream_abort(6, 6, b"\0" * 16),
        pg.stream_commit(5, 30, 31),
    ]

    found = [row for message in messages for row in rows([message], reader)]

    assert [row[2][0] for row in found] == [8, 1, 2]
    assert reader.tracker.position == LogPosition(30, 31)
    assert (reader.held.empty, reader.held.bytes_held) == (True, 0)
    assert [row[2][0] for row in rows(messages)] == [8, 1, 2]


def test_prepared_transactions_count_when_they_are_committed() -> None:
    reader = decoder()
    messages = [
        pg.begin_prepare("g", 5), T, pg.insert(16400, ["1", "a"]), pg.prepare("g", 5),
        pg.begin_prepare("h", 6), pg.insert(16400, ["2", "b"]), pg.prepare("h", 6),
        pg.rollback_prepared("h", 6), pg.commit_prepared("g", 5, 30, 31),
        *piece(9, pg.insert(16400, ["3", "c"])), pg.stream_prepare("s", 9), pg.commit_prepared("s", 9, 40, 41),
    ]  # fmt: skip

    assert [row[2][0] for row in rows(messages, reader)] == [1, 3]
    assert (reader.held.empty, reader.held.bytes_held) == (True, 0)


def test_open_transactions_are_held_up_to_a_limit() -> None:
    reader = decoder()
    reader.held = HeldTransactions(bytes_max=100)

    with pytest.raises(HeldTooMuchError, match="streaming = off"):
        elements(piece(5, T, *[pg.insert(16400, ["1", "a" * 50])] * 3), reader)


# ---------------------------------------------------------------- malformed


MALFORMED = {
    "empty message": [b""],
    "unknown letter": [b"?"],
    "row outside of a transaction": [T, pg.insert(16400, ["1", "a"])],
    "row of an unknown table": one(pg.insert(16400, ["1", "a"])),
    "begin twice": [pg.begin(1), pg.begin(2)],
    "commit without begin": [pg.commit(1, 2)],
    "commit elsewhere": [pg.begin(1), pg.commit(2, 3)],
    "short begin": [pg.begin(1)[:-1]],
    "long commit": [pg.begin(1), pg.commit(1, 2) + b"\0"],
    "too few columns": one(T, pg.insert(16400, ["1"])),
    "too many columns": one(T, pg.insert(16400, ["1", "a", "b"])),
    "cut row": one(T, pg.insert(16400, ["1", "abc"])[:-1]),
    "long row": one(T, pg.insert(16400, ["1", "abc"]) + b"\0"),
    "length beyond everything": one(T, pg.insert(16400, ["1", "abc"])[:-7] + b"\xff\xff\xff\xffabc"),
    "unknown cell": one(T, pg.insert(16400, ["1", None])[:-1] + b"x"),
    "binary cell": one(T, pg.insert(16400, ["1", None])[:-1] + b"b\0\0\0\0"),
    "insert of an old row": one(T, pg.insert(16400, ["1", "a"]).replace(b"N", b"O")),
    "update without a new row": one(T, pg.update(16400, ["1", "a"], ["1", "a"])[:-16] + b"X"),
    "delete of a new row": one(T, pg.delete(16400, ["1", "a"], "N")),
    "row without columns": one(T, b"I\0\0\x40\x10N"),
    "cut relation": one(T[:-3]),
    "relation with bytes behind it": one(T + b"\0"),
    "relation without the end of a name": one(b"R\0\0\0\1public"),
    "relation with an unknown identity": one(T.replace(b"t\0d", b"t\0?")),
    "relation with a column twice": one(pg.relation(1, "t", [Column("a", INT4), Column("a", INT4)])),
    "relation whose name is not UTF-8": one(T.replace(b"name", b"n\xffme")),
    "truncation of more than it names": one(T, pg.truncate([16400])[:-1]),
    "truncation of an unknown table": one(pg.truncate([1])),
    "truncation outside of a transaction": [pg.truncate([])],
    "cut message": one(pg.logical_message("p", b"abc")[:-1]),
    "cut origin": one(pg.origin(1, "x")[:-1]),
    "cut type": one(pg.type_of(1, "a", "b")[:-1]),
    "piece in a piece": [pg.stream_start(1, first=True), pg.stream_start(2, first=True)],
    "piece that is not the first": [pg.stream_start(1, first=False)],
    "first piece twice": [*piece(1), *piece(1)],
    "end of no piece": [pg.STREAM_STOP],
    "commit of nothing streamed": [pg.stream_commit(1, 2, 3)],
    "abort of nothing streamed": [pg.stream_abort(1, 1)],
    "prepared and never begun": [pg.prepare("g", 1)],
    "begin in a prepared transaction": [pg.begin_prepare("g", 1), pg.begin(1)],
    "prepared before the start": [pg.commit_prepared("g", 1, 2, 3)],
    "cut message of a piece": [pg.stream_start(1, first=True), b"I\0"],
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_messages_are_typed_errors(name: str) -> None:
    with pytest.raises(MalformedMessageError) as error:
        elements(MALFORMED[name])

    assert error.value.message
    assert error.value.remedy
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
