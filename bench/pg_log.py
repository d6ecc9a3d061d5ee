"""PostgreSQL's log to Arrow, against `pg_recvlogical` receiving a copy of the same slot to /dev/null.

python -m bench.pg_log [--rows 300000] [--pairs 7] [--kinds insert update delete]
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from bench import pairs, pg
from seatunnel_connectors.jdbc.postgres.connection.copy_stream import CopyStream
from seatunnel_connectors.postgres_cdc.catalog_types import CatalogTypes
from seatunnel_connectors.postgres_cdc.pgoutput.decoder import PgoutputDecoder
from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block
from seatunnel_connectors.postgres_cdc.pgoutput.relations import RelationCache
from seatunnel_connectors.postgres_cdc.replication.connection import (
    ReplicationConnection,
    StreamOptions,
    session_info,
)
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_of, lsn_text
from seatunnel_connectors.postgres_cdc.replication.query_changes import ChangesQuery, query_changes
from tests.servers.postgres import PostgresServer, find

BAR = 0.85
TRANSACTION_ROWS = 2_000
PUBLICATION = "bench"
TABLE = f"{pg.SOURCE}.{pg.BIG_TABLE}"
KINDS = {
    "insert": f"INSERT INTO {TABLE} {pg.ROWS_QUERY}",
    "update": f"UPDATE {TABLE} SET quantity = quantity + 1, price = price * 2 WHERE id BETWEEN {{first}} AND {{last}}",
    "delete": f"DELETE FROM {TABLE} WHERE id BETWEEN {{first}} AND {{last}}",
}
_numbers = itertools.count(1)


@dataclass
class Recorded:
    """The changes of one kind, in a slot that nothing moves: each measurement reads a copy of it. Those of the next
    kind follow: the last piece may hold some of them."""

    server: PostgresServer
    slot: str
    rows: int
    end: int

    def copy(self) -> str:
        name = f"{self.slot}_{next(_numbers)}"
        with pg.connect(self.server) as db:
            db.execute("SELECT pg_copy_logical_replication_slot(%s, %s)", [self.slot, name])
        return name

    def drop(self, name: str) -> None:
        with pg.connect(self.server) as db:
            while db.execute("SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active", [name]).fetchone():
                time.sleep(0.02)
            db.execute("SELECT pg_drop_replication_slot(%s)", [name])

    def by_recvlogical(self) -> float:
        slot = self.copy()
        command = [
            str(find("pg_recvlogical")),
            "-d",
            self.server.dsn,
            "--slot",
            slot,
            "--start",
            "--no-loop",
            "-F",
            "0",
        ]
        command += ["-E", lsn_text(self.end), "-o", "proto_version=1", "-o", f"publication_names={PUBLICATION}"]
        began = time.perf_counter()
        subprocess.run([*command, "-f", "/dev/null"], check=True)
        seconds = time.perf_counter() - began
        self.drop(slot)
        return seconds

    def by_stream(self, *, through_libpq: bool, decode: bool = True) -> float:
        slot = self.copy()
        began = time.perf_counter()
        connection = ReplicationConnection(self.server.dsn)
        options = StreamOptions(slot, (PUBLICATION,))
        found = 0
        with pg.connect(self.server) as db:
            stream = connection.start(options, through_libpq=through_libpq)
            decoder = PgoutputDecoder(RelationCache(CatalogTypes(db)))
            while found < self.rows:
                messages = stream.receive(1.0).messages
                if decode:
                    found += sum(part.data.num_rows for one in decoder.decode(messages) for part in _parts(one))
                else:
                    found += len(messages)
        seconds = time.perf_counter() - began
        stream.stop()
        connection.close()
        self.drop(slot)
        return self.checked(seconds, found if decode else self.rows)

    def by_peek(self) -> float:
        slot = self.copy()
        began = time.perf_counter()
        with closing(CopyStream(session_info(self.server.dsn))) as db, pg.connect(self.server) as other:
            decoder = PgoutputDecoder(RelationCache(CatalogTypes(other)))
            options = ChangesQuery(slot, (PUBLICATION,), until=self.end)
            pieces = (decoder.decode(messages) for messages in query_changes(db, options))
            found = sum(part.data.num_rows for elements in pieces for one in elements for part in _parts(one))
        seconds = time.perf_counter() - began
        self.drop(slot)
        return self.checked(seconds, found)

    def checked(self, seconds: float, found: int) -> float:
        """A measurement that lost rows is worth nothing."""
        if found < self.rows:
            raise AssertionError(f"{found} rows instead of {self.rows}")
        return seconds


def _parts(element: object) -> tuple[object, ...]:
    return element.rows if isinstance(element, Block) else ()


def record(server: PostgresServer, kind: str, rows: int) -> Recorded:
    """Make the changes, in transactions of TRANSACTION_ROWS; their log stays in a slot."""
    slot = f"bench_{kind}"
    with pg.connect(server) as db:
        db.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [slot])
        for first in range(1, rows + 1, TRANSACTION_ROWS):
            db.execute(KINDS[kind].format(first=first, last=min(first + TRANSACTION_ROWS - 1, rows)).encode())
        row = db.execute("SELECT pg_current_wal_lsn()::text").fetchone()
    assert row is not None
    return Recorded(server, slot, rows, lsn_of(str(row[0])))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.pg_log", description=__doc__)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--kinds", nargs="+", default=[*KINDS], choices=[*KINDS])
    parser.add_argument("--all", action="store_true", help="libpq, framing alone and SQL peek as well")
    wanted = parser.parse_args(arguments)
    met = True
    with pg.server(wal_level="logical", max_replication_slots="20") as server:
        with pg.connect(server) as db:
            db.execute(f"CREATE TABLE {TABLE} ({pg.COLUMNS.format(key=' PRIMARY KEY')})")
            db.execute(f"CREATE PUBLICATION {PUBLICATION} FOR TABLE {TABLE}")
        recorded = {kind: record(server, kind, wanted.rows) for kind in KINDS}
        for kind in wanted.kinds:
            one = recorded[kind]
            ways = {
                "pg_recvlogical": one.by_recvlogical,
                "ours": lambda one=one: one.by_stream(through_libpq=False),  # type: ignore[misc]
            }
            if wanted.all:
                ways |= {
                    "ours, libpq": lambda one=one: one.by_stream(through_libpq=True),  # type: ignore[misc]
                    "frames alone": lambda one=one: one.by_stream(through_libpq=False, decode=False),  # type: ignore[misc]
                    "peek": one.by_peek,
                }
            pg.checkpoint(server)
            seconds = pairs.interleave(ways, wanted.pairs)
            pairs.report(f"log to Arrow, {kind}", seconds, base="pg_recvlogical", rows=wanted.rows)
            met &= pairs.verdict_of_pairs(seconds, "ours", "pg_recvlogical", BAR, kind)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
