"""A log that is read again from an earlier place for one table gives each change of each table exactly once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from seatunnel_connectors.mysql_cdc.failures import PurgedLogError
from seatunnel_connectors.mysql_cdc.log_enumerator import gone_back
from seatunnel_connectors.mysql_cdc.log_split import BinlogPlace, definition_plain
from seatunnel_connectors.mysql_cdc.reader import BinlogReader
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.schema.definitions import DecodeOptions
from seatunnel_connectors.mysql_cdc.schema.schema_changes import DEFINITION
from seatunnel_py.api import COPY_AGAIN, BegunLog, FatalError, Position, ReadContext, SourceTable, TablePath
from tests.connectors.mysql_cdc.log_place import DATABASE, SERVER_ID, LogPlace
from tests.connectors.mysql_cdc.test_following import (
    ELSEWHERE,
    Follower,
    Row,
    by_table,
    identity_here,
    make,
    places_of,
    rows_of,
    workload,
)

TABLES = ("t", "u", "v")


def path(table: str) -> TablePath:
    return TablePath(DATABASE, "", table)


def read(log: LogPlace, begun: BegunLog, tables: Sequence[SourceTable], until: Position) -> list[Row]:
    reader = BinlogReader(log.address, tables, SERVER_ID, DecodeOptions(), None)
    elements = reader.read(begun.split, begun.position, ReadContext(until))
    return [row for element in elements for row in rows_of(element)]


def begun_log(log: LogPlace, tables: Sequence[str]) -> BegunLog:
    here = identity_here(log)
    begin = replace(log.start, server=here)
    place = BinlogPlace(
        here, begin, dict.fromkeys(((DATABASE, one) for one in tables), begin), log.definitions(*tables)
    )
    return BegunLog(place.split(), None, "log")


def start_of(begun: BegunLog, table: str) -> BinlogPosition:
    return BinlogPlace.of(begun.split.payload).starts[DATABASE, table]


@pytest.mark.parametrize("seed", range(4))
def test_each_change_is_given_once(log: LogPlace, seed: int) -> None:
    """Tables stop at any place, also inside of transactions and statements (F-C23), and go on from there in any order,
    also while the log is still behind."""
    random = Random(seed)
    make(log)
    log.run("CREATE TABLE v (id INT PRIMARY KEY, n INT)")
    log.start = log.end()
    workload(log, seed, 40)
    log.run(
        "BEGIN", "INSERT INTO v SELECT seq, seq FROM seq_1_to_4000", "INSERT INTO t SELECT seq, seq FROM seq_101_to_4000",
        "UPDATE v SET n = 0 WHERE id > 1000", "DELETE FROM t WHERE id > 2000", "COMMIT",
    )  # fmt: skip
    workload(log, seed + 50, 40)
    follower = Follower(log, TABLES)
    whole = by_table([row for element in follower.to_the_end() for row in rows_of(element)])
    here = identity_here(log)
    places = [replace(one, server=here) for one in places_of(log, follower)]
    assert sum(one.events > 1 for one in places) > 20
    sources = {table: log.source(table)[0] for table in TABLES}
    begun, taken = begun_log(log, TABLES), {table: list[Row]() for table in TABLES}
    stopped: dict[str, BinlogPosition] = {}

    def read_to(until: BinlogPosition) -> BegunLog:
        found = read(log, begun, [sources[one] for one in TABLES if one not in stopped], Position(until.to_plain()))
        for table, rows in by_table(found).items():
            taken[table] += rows
        return replace(begun, position=Position(until.to_plain()))

    for _ in range(10):
        at = places[0] if begun.position is None else BinlogPosition.of(begun.position.value)
        begun = read_to(random.choice([one for one in places if one.place >= at.place][:150]))
        assert begun.position is not None
        now = BinlogPosition.of(begun.position.value)
        running = [one for one in TABLES if one not in stopped and start_of(begun, one).place <= now.place]
        if len(stopped) < 2 and running and random.random() < 0.6:
            stopped[random.choice(running)] = now
        elif stopped:
            table = random.choice(sorted(stopped))
            begun = gone_back(log.address, begun, path(table), stopped.pop(table))
    for table in sorted(stopped):
        begun = gone_back(log.address, begun, path(table), stopped.pop(table))
    read_to(places[-1])

    assert taken == whole
    assert begun.state == "log"


def test_a_table_that_was_altered_meanwhile_is_not_read_under_its_new_columns(log: LogPlace) -> None:
    """F-C20: rows of the other tables before their places are passed over, whatever their columns were then."""
    make(log)
    begun, here = begun_log(log, ("t", "u")), identity_here(log)
    log.run("INSERT INTO t VALUES (1, 1)", "INSERT INTO u VALUES (1, 1)")
    waits = replace(log.end(), server=here)
    log.run(
        "INSERT INTO u VALUES (2, 2)", "INSERT INTO t VALUES (2, 2)", "ALTER TABLE u DROP COLUMN n, ADD COLUMN more DATE",
        "INSERT INTO u VALUES (3, '2026-01-02')",
    )  # fmt: skip
    now = replace(log.end(), server=here)
    log.run("INSERT INTO t VALUES (3, 3)", "INSERT INTO u VALUES (4, NULL)")
    hints = {DEFINITION: definition_plain(log.definitions("u")[DATABASE, "u"])}
    tables = [log.source("t")[0], replace(log.source("u")[0], log_hints=hints)]

    begun = gone_back(log.address, replace(begun, position=Position(now.to_plain())), path("t"), waits)
    found = by_table(read(log, begun, tables, Position(replace(log.end(), server=here).to_plain())))

    assert [row for _, _, row in found["t"]] == [(2, 2), (3, 3)]
    assert [row for _, _, row in found["u"]] == [(4, None)]


def test_a_place_that_was_purged_is_refused(log: LogPlace) -> None:
    """F-C9, F-C21: with both places, and for this table alone: the log itself is further on."""
    make(log)
    here = identity_here(log)
    waits = replace(log.end(), server=here)
    log.run("FLUSH LOGS", "INSERT INTO t VALUES (1, 1)", "FLUSH LOGS")
    newest = str(log.ask("SHOW BINARY LOGS")[-1][0])

    while log.ask("SHOW BINARY LOGS")[0][0] != newest:
        # A file stays until the server has noted that a recovery does not need it, and that its last reader is gone.
        log.run(f"PURGE BINARY LOGS TO '{newest}'")
        time.sleep(0.05)
    now = Position(replace(log.end(), server=here).to_plain())
    begun = replace(begun_log(log, ("t", "u")), position=now)

    with pytest.raises(PurgedLogError, match=f"{waits.file}:{waits.offset} was purged.*begins at {newest}:4") as raised:
        gone_back(log.address, begun, path("t"), waits)
    assert raised.value.remedy == COPY_AGAIN


def test_a_place_on_another_server_is_refused(log: LogPlace) -> None:
    """F-C24: places of two servers have no order."""
    make(log)
    now = replace(log.end(), server=identity_here(log))
    begun = replace(begun_log(log, ("t", "u")), position=Position(now.to_plain()))

    with pytest.raises(FatalError, match="of the server server_id 8.*the log of the server server_id 7") as raised:
        gone_back(log.address, begun, path("t"), replace(log.start, server=ELSEWHERE))
    assert raised.value.remedy == COPY_AGAIN


def test_a_log_that_has_ended_goes_back_too(log: LogPlace) -> None:
    """The next run of a bounded job begins at the place of the table, and the state has the places of the others."""
    make(log)
    here = identity_here(log)
    waits = replace(log.end(), server=here)
    log.run("INSERT INTO u VALUES (1, 1)")
    now = replace(log.end(), server=here)
    begun = begun_log(log, ("t", "u"))
    begun = replace(begun, state={"place": begun.split.payload, "run": 2, "ended": now.to_plain()})

    found = gone_back(log.address, begun, path("t"), waits)

    assert found.position is None and isinstance(found.state, dict) and isinstance(found.state["place"], dict)
    assert found.state["ended"] == waits.to_plain() and found.state["run"] == 2
    assert BinlogPlace.of(found.state["place"]).starts == {(DATABASE, "t"): waits, (DATABASE, "u"): now}
