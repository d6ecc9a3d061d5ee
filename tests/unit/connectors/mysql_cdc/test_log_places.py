"""Places in a log: their order, the request for the log from there, and the split that holds them."""

from __future__ import annotations

import json
from random import Random

import pytest

from seatunnel_connectors.jdbc.url import parse_url
from seatunnel_connectors.mysql_cdc.dump.commands import DumpRequest
from seatunnel_connectors.mysql_cdc.log.gtid_list import GtidList
from seatunnel_connectors.mysql_cdc.log.gtid_set import GtidSet
from seatunnel_connectors.mysql_cdc.log_places import oldest
from seatunnel_connectors.mysql_cdc.log_split import BinlogPlace
from seatunnel_connectors.mysql_cdc.reader import request_from
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.reading.table_starts import TableStarts
from seatunnel_connectors.mysql_cdc.schema.definitions import ColumnDefinition, TableDefinition
from seatunnel_connectors.mysql_cdc.schema.history import TableHistory
from seatunnel_connectors.mysql_cdc.server_checks import require_settings
from seatunnel_py.api import FatalError

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
IN_ORDER = [
    BinlogPosition("log.000009", 4),
    BinlogPosition("log.000009", 700),
    BinlogPosition("log.000009", 700, events=1),
    BinlogPosition("log.000009", 9_000_000_000),
    BinlogPosition("log.000010", 4),
    BinlogPosition("log.999999", 4),
    BinlogPosition("log.1000000", 4),
]


def test_places_are_in_the_order_of_the_log() -> None:
    """Also where the number of a file gets another digit."""
    mixed = Random(1).sample(IN_ORDER, len(IN_ORDER))

    assert sorted(mixed, key=lambda one: one.place) == IN_ORDER
    assert oldest(mixed) == IN_ORDER[0]


def test_sets_of_transactions_are_ordered_by_inclusion() -> None:
    """F-C24: not by their texts or ends."""
    sets = [BinlogPosition("", 0, GtidSet.parse(f"{UUID}:1-{last}")) for last in (30, 10, 20)]

    assert oldest(sets) is sets[1]


def test_the_log_is_asked_for_by_transactions_where_an_offset_is_too_large() -> None:
    gtids, executed = GtidList.parse("0-7-90"), GtidSet.parse(f"{UUID}:1-5")

    assert request_from(BinlogPosition("log.2", 700, gtids, events=3), 9) == DumpRequest(9, "log.2", 700)
    assert request_from(BinlogPosition("log.2", 1 << 32, gtids), 9) == DumpRequest(9, gtids=gtids)
    assert request_from(BinlogPosition("", 0, executed), 9) == DumpRequest(9, gtids=executed)


TABLE = TableDefinition(
    "shop", "orders",
    (
        ColumnDefinition("id", "int", "int(11)", nullable=False),
        ColumnDefinition("state", "enum", "enum('a','b')", True, "utf8mb4", ("a", "b"), True, "a", "words"),
    ),
    ("id",), "utf8mb4", "a comment",
)  # fmt: skip


def test_a_split_holds_places_and_definitions() -> None:
    """F-C19, F-C21: a restored job looks up nothing."""
    starts = {("shop", "orders"): IN_ORDER[1], ("shop", "lines"): IN_ORDER[4]}
    place = BinlogPlace("server_id 7, gtid_domain_id 0", IN_ORDER[1], starts, {TABLE.name: TABLE})

    split = place.split()

    assert BinlogPlace.of(json.loads(json.dumps(split.payload))) == place


def test_a_table_counts_from_its_place_on() -> None:
    """F-C18, F-C44: one comparison for each transaction, none for each row."""
    names = [("shop", "orders"), ("shop", "lines")]
    starts = TableStarts({names[0]: IN_ORDER[0], names[1]: IN_ORDER[4]}, {TABLE.name: TABLE})
    history = TableHistory({}, starts.captured, mariadb=True, server_version=101119)

    assert not any(map(starts.captured, names))
    assert starts.reach(9, 4, history)
    assert list(map(starts.captured, names)) == [True, False]
    assert not starts.reach(9, 9_000_000_000, history)
    assert starts.reach(10, 4, history)
    assert all(map(starts.captured, names)) and not starts.captured(("shop", "others"))


def test_a_table_counts_from_a_place_inside_of_a_transaction_on() -> None:
    """F-C23: its first events of that transaction were given before, and so were rows of the next one."""
    name = ("shop", "orders")
    starts = TableStarts({name: BinlogPosition("log.000009", 700, events=2, rows=5)}, {TABLE.name: TABLE})
    history = TableHistory({}, starts.captured, mariadb=True, server_version=101119)

    assert not starts.reach(9, 600, history) and not starts.captured(name)
    for _ in range(2):  # a reader that begins there reaches it twice: when it opens, and with its first event
        starts.reach(9, 700, history)
        assert starts.captured(name)
        assert [starts.given(name, event) for event in (1, 2, 3, 4)] == [None, None, 5, 0]
        assert starts.given(("shop", "lines"), 1) == 0
    starts.reach(9, 900, history)
    assert starts.captured(name) and starts.given(name, 1) == 0


@pytest.mark.parametrize(
    ("settings", "told", "remedy"),
    [
        ({"log_bin": "OFF"}, "writes no binary log", "log_bin = binlog"),
        ({}, "writes no binary log", "log_bin = binlog"),
        ({"log_bin": "ON", "binlog_format": "MIXED"}, "binlog_format = MIXED", "SET GLOBAL binlog_format = ROW"),
        ({"log_bin": "ON", "binlog_row_image": "MINIMAL"}, "row_image = MINIMAL", "SET GLOBAL binlog_row_image = FULL"),
    ],
)
def test_a_log_without_whole_rows_is_refused(settings: dict[str, str], told: str, remedy: str) -> None:
    with pytest.raises(FatalError, match=told) as raised:
        require_settings(parse_url("jdbc:mysql://host/db"), settings)
    assert remedy in raised.value.remedy
