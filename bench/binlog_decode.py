"""Decoding MariaDB's log to Arrow, against the server's own program that prints it: bar 4 of issue 25 wants >= 0.6.

    python -m bench.binlog_decode [--rows 300000] [--pairs 7]

Both read the same log from the same server, over the same address, alternately in one run: the library as a replica
does, `mariadb-binlog -vv` into nothing. Its seconds hold its start; the library's do not hold that of Python. Rows are
counted on our side each time; one log for each kind of change, and one of transactions of a single row.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pymysql

from bench import pairs
from seatunnel_connectors.jdbc.url import parse_url
from seatunnel_connectors.mysql_cdc.dump.commands import DumpRequest
from seatunnel_connectors.mysql_cdc.dump.session import DumpSession
from seatunnel_connectors.mysql_cdc.reading.changes import LogChange, RowsBlock
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.reading.log_reader import LogReader
from seatunnel_connectors.mysql_cdc.schema.history import TableHistory
from tests.servers import mariadb
from tests.servers.mariadb import DATABASE, MariadbServer
from tests.servers.ports import LOOPBACK

SETTINGS = {
    "log_bin": "log", "binlog_format": "ROW", "binlog_row_metadata": "FULL", "server_id": "7",
    "max_binlog_size": "1G", "innodb_buffer_pool_size": "1G", "innodb_log_file_size": "1G",
}  # fmt: skip
FILE = "log.000001"
SERVER_ID = 4_000_002
BATCH = 2_000
COLUMNS = "id BIGINT PRIMARY KEY, name TEXT, quantity INT, price DOUBLE, at DATETIME(6), digest VARCHAR(64)"
VALUES = (
    "SELECT seq, CONCAT('customer ', seq), seq * 7919 % 100000, seq * 0.37e0, "
    "TIMESTAMP '2020-01-01 00:00:00' + INTERVAL seq * 1000001 MICROSECOND, MD5(seq) FROM seq_{}_to_{}"
)


@dataclass(frozen=True, slots=True)
class Load:
    """A log: what is done, and how many row images it holds."""

    name: str
    fill: Callable[[Any, int], None]
    images: Callable[[int], int]


def insert(cursor: Any, rows: int) -> None:
    for first in range(1, rows + 1, BATCH):
        cursor.execute(f"INSERT INTO t {VALUES.format(first, min(first + BATCH - 1, rows))}")


def update(cursor: Any, _: int) -> None:
    cursor.execute("UPDATE t SET quantity = quantity + 1")


def delete(cursor: Any, _: int) -> None:
    cursor.execute("DELETE FROM t")


def insert_apart(cursor: Any, rows: int) -> None:
    for number in range(rows // 10):
        cursor.execute(f"INSERT INTO t (id, name) VALUES ({number}, 'x')")


LOADS = (
    Load("inserts", insert, lambda rows: rows),
    Load("updates", update, lambda rows: 2 * rows),
    Load("deletes", delete, lambda rows: rows),
    Load("transactions of one row", insert_apart, lambda rows: rows // 10),
)


def decoded(server: MariadbServer, wanted: int) -> float:
    began = time.perf_counter()
    address = parse_url(f"jdbc:mysql://{LOOPBACK}:{server.port}/{DATABASE}?useSSL=false")
    dump = DumpSession(address, DumpRequest(SERVER_ID, FILE, bounded=True))
    history = TableHistory({}, lambda name: True, mariadb=True, server_version=dump.server.version)
    reader = LogReader(history, BinlogPosition(FILE, 4))
    found: list[LogChange] = []
    rows = 0
    while not dump.ended:
        found = list(reader.read(dump.read(1.0)))
        rows += counted(found)
    rows += counted(list(reader.flush()))
    dump.close()
    seconds = time.perf_counter() - began
    if rows != wanted:
        raise AssertionError(f"{rows} row images were decoded, not {wanted}")
    return seconds


def counted(changes: Sequence[LogChange]) -> int:
    return sum(block.rows.data.num_rows for one in changes if isinstance(one, RowsBlock) for block in one.tables)


def printed(server: MariadbServer) -> float:
    command = [
        str(mariadb.find("mariadb-binlog")), "--no-defaults", "-vv", "--base64-output=decode-rows",
        "--read-from-remote-server", f"--host={LOOPBACK}", f"--port={server.port}", f"--user={mariadb.USER}", FILE,
    ]  # fmt: skip
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.binlog_decode", description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--pairs", type=int, default=7)
    wanted = parser.parse_args(arguments)
    with (
        MariadbServer.running(settings=SETTINGS) as server,
        pymysql.connect(**server.connection(), autocommit=True) as db,
        db.cursor() as cursor,
    ):
        cursor.execute(f"CREATE TABLE t ({COLUMNS}) CHARACTER SET utf8mb4")
        for load in LOADS:
            cursor.execute("RESET MASTER")
            load.fill(cursor, wanted.rows)
            images = load.images(wanted.rows)
            ways = {"mariadb-binlog -vv": partial(printed, server), "ours": partial(decoded, server, images)}
            seconds = pairs.interleave(ways, wanted.pairs)
            pairs.report(f"MariaDB's log to Arrow, {load.name}", seconds, base="mariadb-binlog -vv", rows=images)


if __name__ == "__main__":
    main()
