"""The lag of a log, and the warnings before it is lost: decisions over the numbers of servers."""

from __future__ import annotations

from seatunnel_connectors.mysql_cdc.dump.log_lag import lag_of as binlog_lag
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.postgres_cdc.replication.slot_lag import SlotRetention
from seatunnel_connectors.postgres_cdc.replication.slot_lag import lag_of as slot_lag
from seatunnel_py.api import LogLag

MB = 1 << 20
FILES = {"log.000007": 100, "log.000008": 50, "log.000009": 25}


def test_a_slot_without_a_limit_has_a_lag_alone() -> None:
    found = SlotRetention(10 * MB, 4 * MB, "reserved", None, "-1")
    assert slot_lag(found, "s", 9 * MB, None) == LogLag(MB, 4 * MB)
    assert slot_lag(found, "s", 0, None) == LogLag(4 * MB, 4 * MB), "the slot's own place counts"
    assert slot_lag(found, "s", 11 * MB, None).bytes == 0, "a standby may be read behind"


def test_a_slot_near_the_limit_of_the_server_is_a_warning() -> None:
    for safe, warns in ((2 * MB, False), (MB // 2, True), (-MB, True)):
        found = slot_lag(SlotRetention(10 * MB, 4 * MB, "extended", safe, "5MB"), "s", 9 * MB, None)
        assert bool(found.warning) is warns and bool(found.remedy) is warns
    assert "max_slot_wal_keep_size = 5MB" in found.warning
    gone = slot_lag(SlotRetention(10 * MB, 4 * MB, "unreserved", None, "5MB"), "s", 9 * MB, None)
    assert "wal_status unreserved" in gone.warning


def test_a_slot_beyond_the_limit_of_the_job_file_is_a_warning() -> None:
    found = SlotRetention(10 * MB, 4 * MB, "reserved", None, "-1")
    assert "slot.max-lag" in slot_lag(found, "s", 9 * MB, 3 * MB).warning
    assert not slot_lag(found, "s", 9 * MB, 4 * MB).warning


def test_the_lag_of_a_binary_log_counts_whole_files() -> None:
    assert binlog_lag(FILES, BinlogPosition("log.000009", 20), 60) == LogLag(5)
    assert binlog_lag(FILES, BinlogPosition("log.000008", 20), 60) == LogLag(55)
    assert binlog_lag(FILES, BinlogPosition("elsewhere.000001", 4), 60) is None


def test_a_place_in_the_oldest_file_is_a_warning_if_the_server_purges() -> None:
    oldest = BinlogPosition("log.000007", 40)
    found = binlog_lag(FILES, oldest, 60)
    assert found is not None and found.bytes == 135 and "log.000007" in found.warning and "60 s" in found.warning
    assert binlog_lag(FILES, oldest, 0) == LogLag(135)
    assert binlog_lag({"log.000007": 100}, oldest, 60) == LogLag(60), "the file that is written is not purged"
