"""MariaDB's log into a keyed table of PostgreSQL, exactly once, against SeaTunnel's MySQL-CDC on the same log.

python -m bench.binlog_to_table [--rows 300000] [--pairs 5] [--kinds insert update delete]

The changes are in the log before a measurement begins. It begins when the server sends its log to a reader, and ends
when the target shows the last change: for both sides by the same look at the servers. Both begin with the same rows in
the target, and after each measurement the digest of its rows is that of the source's. SeaTunnel's engine is up before
and stays up; its sink writes at-least-once, which is its default.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pymysql

from bench import content, ours, pairs, pg
from bench.mariadb_to_pg import COLUMNS, TARGET_COLUMNS
from bench.peer import jobs
from bench.peer.engine import PeerEngine
from tests.servers import mariadb
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import DATABASE, PostgresServer
from tests.servers.process_tree import kill_tree

BAR, GOAL = 5.0, 10.0
MARK = -1  # the key of the last change
TRANSACTION_ROWS = 2_000
SECONDS_MAX = 600.0
SETTINGS = {
    "log_bin": "log", "binlog_format": "ROW", "binlog_row_metadata": "FULL", "server_id": "7", "max_binlog_size": "1G",
    "innodb_buffer_pool_size": "1G", "innodb_log_file_size": "1G",
}  # fmt: skip
TABLE = pg.BIG_TABLE
RELATION = f"{pg.TARGET}.{TABLE}"
# The rows of `pg.ROWS_QUERY`.
ROWS = """
    INSERT INTO big SELECT seq, CONCAT('customer ', seq), seq * 7919 % 100000, seq * 0.37e0,
           TIMESTAMP '2020-01-01 00:00:00' + INTERVAL seq SECOND, MD5(seq)
    FROM seq_{first}_to_{last}
"""
KINDS = {
    "insert": ROWS,
    "update": "UPDATE big SET quantity = quantity + 1, price = price * 2 WHERE id BETWEEN {first} AND {last}",
    "delete": "DELETE FROM big WHERE id BETWEEN {first} AND {last}",
}
DUMPS = "SELECT count(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
JOB = """env {{ job.mode = STREAMING, checkpoint.interval = 500 }}
source {{ MariaDB-CDC {{ url = "{url}", username = "{user}", table-names = ["{database}.{table}"],
    startup.mode = specific, startup.specific-offset.file = "{file}", startup.specific-offset.pos = {offset} }} }}
sink {{ Jdbc {{ {into} generate_sink_sql = true, database = "{target}", table = "{relation}",
    is_exactly_once = true, exactly_once_recipe = direct }} }}
"""
_numbers = itertools.count(1)


class Drain:
    """The changes of one kind, in the log of a table that nothing else changes."""

    def __init__(self, source: MariadbServer, target: PostgresServer, kind: str, rows: int) -> None:
        self.source, self.target, self.kind, self.rows = source, target, kind, rows
        with pymysql.connect(**source.connection(), autocommit=True) as db, db.cursor() as cursor:
            cursor.execute(f"TRUNCATE {TABLE}")
            if kind != "insert":
                cursor.execute(ROWS.format(first=1, last=rows))
            cursor.execute("FLUSH BINARY LOGS")
            cursor.execute("SHOW MASTER STATUS")
            self.start = _place(cursor.fetchone())
            for first in range(1, rows + 1, TRANSACTION_ROWS):
                cursor.execute(KINDS[kind].format(first=first, last=min(first + TRANSACTION_ROWS - 1, rows)))
            cursor.execute(f"INSERT INTO {TABLE} VALUES ({MARK}, 'mark', 0, 0, '2020-01-01 00:00:00', 'mark')")
            self.wanted = content.of_mariadb(db, TABLE)

    def ready(self) -> None:
        """The target as the source was before the changes."""
        with pg.connect(self.target) as db:
            db.execute("SET timezone = UTC")
            db.execute(f"DROP TABLE IF EXISTS {RELATION}".encode())
            db.execute(f"CREATE TABLE {RELATION} ({TARGET_COLUMNS})".encode())
            if self.kind != "insert":
                db.execute(f"INSERT INTO {RELATION} {pg.ROWS_QUERY.format(first=1, last=self.rows)}".encode())
            db.execute(f"VACUUM (ANALYZE) {RELATION}".encode())
        pg.checkpoint(self.target)

    def by_ours(self, place: Path) -> float:
        self.ready()
        file, offset = self.start
        home = place / f"home{next(_numbers)}"
        job = JOB.format(
            url=self.source.jdbc_url(), user=mariadb.USER, database=mariadb.DATABASE, table=TABLE, file=file,
            offset=offset, into=ours.connection(self.target), target=DATABASE, relation=RELATION,
        )  # fmt: skip
        process = ours.begin(job, place, home)
        try:
            seconds = self._measured(lambda: process.poll() is None)
        finally:
            kill_tree(process)
        ours.until_gone(home)
        return self._checked(seconds)

    def by_seatunnel(self, engine: PeerEngine) -> float:
        self.ready()
        with engine.streaming(jobs.binlog(self.source, self.target, self.start, RELATION)):
            seconds = self._measured(lambda: True)
        return self._checked(seconds)

    def _measured(self, alive: Callable[[], bool]) -> float:
        """Seconds from the first reader of the log to the last change in the target."""
        deadline = time.monotonic() + SECONDS_MAX
        with pymysql.connect(**self.source.connection(), autocommit=True) as db, db.cursor() as cursor:
            began = _awaited(lambda: _dumps(cursor), alive, deadline, "no reader of the log has come")
        with pg.connect(self.target) as look:
            look.execute("SET enable_seqscan = off")  # the look must not cost what it measures
            mark = f"SELECT 1 FROM {RELATION} WHERE id = {MARK}".encode()
            ended = _awaited(lambda: look.execute(mark).fetchone(), alive, deadline, "the changes did not arrive")
        return ended - began

    def _checked(self, seconds: float) -> float:
        """A measurement that lost rows is worth nothing, and one whose reader stays disturbs the next."""
        content.expect(content.of_postgres(self.target, RELATION), self.wanted, RELATION)
        with pymysql.connect(**self.source.connection(), autocommit=True) as db, db.cursor() as cursor:
            deadline = time.monotonic() + SECONDS_MAX
            _awaited(lambda: not _dumps(cursor), lambda: True, deadline, "a reader of the log stays")
        return seconds


def _dumps(cursor: Any) -> int:
    """The number of readers of the log."""
    cursor.execute(DUMPS)
    return int(cursor.fetchone()[0])


def _awaited(reached: Callable[[], object], alive: Callable[[], bool], deadline: float, failure: str) -> float:
    """The time at which it is reached."""
    while not reached():
        if time.monotonic() > deadline or not alive():
            raise RuntimeError(failure)
        time.sleep(0.01)
    return time.monotonic()


def _place(row: Any) -> tuple[str, int]:
    return str(row[0]), int(row[1])


@contextmanager
def servers() -> Iterator[tuple[MariadbServer, PostgresServer]]:
    """Both servers; the source has its table, and the user that SeaTunnel connects as."""
    with MariadbServer.running(settings=SETTINGS) as source, pg.server() as target:
        with pymysql.connect(**source.connection(), autocommit=True) as db, db.cursor() as cursor:
            cursor.execute(f"CREATE TABLE {TABLE} ({COLUMNS}) CHARACTER SET utf8mb4")
            cursor.execute(f"CREATE USER '{jobs.CDC_USER}'@'%' IDENTIFIED BY '{jobs.CDC_USER}'")
            cursor.execute(f"GRANT ALL ON *.* TO '{jobs.CDC_USER}'@'%'")
        yield source, target


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.binlog_to_table", description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--kinds", nargs="+", default=[*KINDS], choices=[*KINDS])
    wanted = parser.parse_args(arguments)
    met = True
    with servers() as (source, target), ours.home() as place, PeerEngine() as engine:
        for kind in wanted.kinds:
            drain = Drain(source, target, kind, wanted.rows)
            ways = {"SeaTunnel": partial(drain.by_seatunnel, engine), "ours": partial(drain.by_ours, place)}
            seconds = pairs.interleave(ways, wanted.pairs)
            pairs.report(f"MariaDB's log to table, {kind}", seconds, base="SeaTunnel", rows=wanted.rows)
            met &= pairs.verdict_of_pairs(seconds, "ours", "SeaTunnel", BAR, kind)
            pairs.verdict_of_pairs(seconds, "ours", "SeaTunnel", GOAL, f"{kind}, goal")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
