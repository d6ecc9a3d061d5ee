"""MariaDB to PostgreSQL, one table into a new keyed one: ours by the public command line against the servers' programs.

    python -m bench.mariadb_to_pg [--rows 1000000] [--pairs 5]

The reference is two pipes `mariadb --batch --quick | psql COPY`, by key halves, into a table that has its key: batch
output and COPY's text agree about tabs, line breaks and backslashes. Not about nulls, hence the columns have none.
After each measurement the digest of the target's rows is that of the source's.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pymysql

from bench import content, ours, pairs, pg, pipes
from tests.servers import mariadb
from tests.servers.mariadb import MariadbServer
from tests.servers.ports import LOOPBACK
from tests.servers.postgres import DATABASE, PostgresServer

ROWS = 1_000_000
SETTINGS = {"innodb_buffer_pool_size": "1G", "innodb_log_file_size": "1G"}
TABLE = pg.BIG_TABLE
RELATION = f"{pg.TARGET}.{TABLE}"
COLUMNS = """
    id bigint NOT NULL PRIMARY KEY,
    name text NOT NULL,
    quantity int NOT NULL,
    price double NOT NULL,
    happened_at datetime(6) NOT NULL,
    digest text NOT NULL
"""
# Each hundredth name holds what the text formats must escape.
ROWS_QUERY = r"""
    SELECT seq, CONCAT('customer ', seq, IF(seq % 100 = 0, 'tab\tback\\slash\nNULL, \\N, ä', '')), seq * 7919 % 100000,
           seq * 0.37e0, TIMESTAMP '2020-01-01 00:00:00' + INTERVAL seq * 1000001 MICROSECOND, MD5(seq)
    FROM seq_1_to_{rows}
"""
# MariaDB's datetime has no zone.
TARGET_COLUMNS = pg.COLUMNS.format(key=" PRIMARY KEY").replace("timestamptz", "timestamp")


class Bench:
    """Both servers, and what the target must hold."""

    def __init__(self, source: MariadbServer, target: PostgresServer, rows: int, place: Path) -> None:
        self.source = source
        self.target = target
        self.rows = rows
        self.place = place
        self.whole: list[float] = []
        with pymysql.connect(**source.connection(), autocommit=True) as db:
            make_source(db, rows)
            self.wanted = content.of_mariadb(db, TABLE)

    def pipes(self) -> float:
        pg.drop_targets(self.target)
        with pg.connect(self.target) as db:
            db.execute(f"CREATE TABLE {RELATION} ({TARGET_COLUMNS})".encode())
        pg.checkpoint(self.target)
        write = pipes.psql(self.target, f"COPY {RELATION} FROM STDIN")
        ranges = pipes.key_ranges(1, self.rows, pipes.PIPES)
        seconds = pipes.run_pipes([(self.read(low, high), write) for low, high in ranges])
        self.done()
        return seconds

    def read(self, low: int, high: int) -> list[str]:
        return [
            str(mariadb.find("mariadb")), "--no-defaults", "--protocol=tcp", f"--host={LOOPBACK}",
            f"--port={self.source.port}", f"--user={mariadb.USER}", "--default-character-set=utf8mb4",
            "--batch", "--quick", "--skip-column-names", mariadb.DATABASE,
            f"--execute=SELECT * FROM {TABLE} WHERE id >= {low} AND id < {high}",
        ]  # fmt: skip

    def ours(self) -> float:
        pg.drop_targets(self.target)
        pg.checkpoint(self.target)
        result = ours.run(job(self.source, self.target), self.place)
        self.done()
        self.whole.append(result.wall_seconds)
        return result.data_seconds

    def done(self) -> None:
        content.expect(content.of_postgres(self.target, RELATION), self.wanted, RELATION)
        if not pg.has_primary_key(self.target):
            raise AssertionError("the target has no primary key")


def make_source(db: Any, rows: int) -> None:
    with db.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {TABLE} ({COLUMNS}) CHARACTER SET utf8mb4")
        cursor.execute(f"INSERT INTO {TABLE} {ROWS_QUERY.format(rows=rows)}")
        cursor.execute(f"ANALYZE TABLE {TABLE}")


def job(source: MariadbServer, target: PostgresServer) -> str:
    return f"""env {{ job.mode = "BATCH", parallelism = 2, guarantee = "exactly-once" }}
source {{
  Jdbc {{
    url = "{source.jdbc_url()}"
    driver = "org.mariadb.jdbc.Driver"
    user = "{mariadb.USER}"
    table_path = "{mariadb.DATABASE}.{TABLE}"
  }}
}}
sink {{
  Jdbc {{
{ours.connection(target)}
    generate_sink_sql = true
    database = "{DATABASE}"
    table = "{RELATION}"
    schema_save_mode = "RECREATE_SCHEMA"
  }}
}}
"""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.mariadb_to_pg", description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--pairs", type=int, default=5)
    wanted = parser.parse_args(arguments)
    with (
        MariadbServer.running(settings=SETTINGS) as source,
        pg.server() as target,
        ours.home() as place,
    ):
        bench = Bench(source, target, wanted.rows, place)
        seconds: dict[str, list[float]] = pairs.interleave({"pipes": bench.pipes, "ours": bench.ours}, wanted.pairs)
    seconds["ours, whole command"] = bench.whole
    pairs.report("MariaDB to PostgreSQL, new target with key", seconds, base="pipes", rows=wanted.rows)


if __name__ == "__main__":
    main()
