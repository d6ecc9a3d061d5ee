"""Captured tables are quiet while others are written: how much of its log the server keeps for them (F-C4).

    python -m e2e.cdc.quiet_tables [--minutes 10] [--megabytes 5] [--kept 1]

A job follows three tables of PostgreSQL, in which no row changes. Another table gets so many megabytes of log a second.
Each second the server is asked how far the job's slot is behind. The bar is 3 x interval of checkpoints x rate (issue
25, bar 9), for a job that keeps one checkpoint: the log since the oldest kept one is needed to go back to it. In the end
one row is changed, which has to arrive.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from e2e.cdc.background import Background
from e2e.cdc.test_postgres_cdc import SETTINGS, TABLES, Followed
from e2e.support import kill_driver
from tests.servers.postgres import PostgresServer

INTERVAL_SECONDS = 10.0  # of checkpoints; the server itself moves the place of a restart on every 15 seconds
SETTLE_SECONDS = 30.0
TIMES_MAX = 3.0
PAUSE_SECONDS = 0.2
ROW_BYTES = 1_000
ROWS_MAX = 100_000
LAG = """
SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint,
       pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::bigint,
       pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint
FROM pg_replication_slots WHERE database = current_database() AND NOT temporary
"""


class NoiseWriter(Background):
    """Writes rows of a table that is not captured, at a rate of the log."""

    def __init__(self, followed: Followed, megabytes: float) -> None:
        super().__init__("writer of noise")
        self._followed = followed
        self._rows = int(megabytes * 1_000_000 * PAUSE_SECONDS / ROW_BYTES)

    def work(self) -> None:
        with self._followed.pair.connect(self._followed.pair.source) as db:
            db.execute("CREATE TABLE noise (t text)")
            due, rows = time.monotonic(), 0
            while not self.stopped.wait(max(0.0, due - time.monotonic())):
                due, rows = due + PAUSE_SECONDS, rows + self._rows
                db.execute(
                    "INSERT INTO noise SELECT repeat('x', %s) FROM generate_series(1, %s)", [ROW_BYTES, self._rows]
                )
                if rows > ROWS_MAX:
                    db.execute("TRUNCATE noise")
                    rows = 0


@dataclass(frozen=True, slots=True)
class RetainedLog:
    """The rate in bytes a second, the largest lags in bytes: of the place where a restart would begin, which the server
    keeps, and of the confirmed position."""

    rate: float
    retained: int
    unconfirmed: int

    @property
    def times(self) -> float:
        """The retained log, in intervals at this rate."""
        return self.retained / (self.rate * INTERVAL_SECONDS)


def measured(followed: Followed, seconds: float, megabytes: float, kept: int = 1) -> RetainedLog:
    """Follow the tables for so long, and check that a row still arrives. ``kept``: checkpoints of the job."""
    followed.write(env=f", checkpoint.max-retained = {kept}", interval=INTERVAL_SECONDS)
    followed.run()
    followed.wait_followed()
    found: list[tuple[int, int, int]] = []
    with NoiseWriter(followed, megabytes), followed.pair.connect(followed.pair.source) as db:
        time.sleep(SETTLE_SECONDS)
        began = time.monotonic()
        while (spent := time.monotonic() - began) < seconds:
            [row] = db.execute(LAG.encode()).fetchall()
            found.append(row)
            time.sleep(1.0)
    followed.execute(followed.pair.source, f"UPDATE {TABLES[0]} SET note = 'changed' WHERE id = 7")
    followed.wait_equal()
    rate = (found[-1][2] - found[0][2]) / spent
    return RetainedLog(rate, max(one for one, _, _ in found), max(one for _, one, _ in found))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m e2e.cdc.quiet_tables", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--megabytes", type=float, default=5.0, help="of the log of other tables, a second")
    parser.add_argument("--kept", type=int, default=1, help="checkpoints of the job")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, PostgresServer.running(settings=SETTINGS) as server:
        followed = Followed(Path(directory), server, 1)
        try:
            found = measured(followed, given.minutes * 60, given.megabytes, given.kept)
        finally:
            if followed.process is not None and followed.process.poll() is None:
                kill_driver(followed.process)
    held = found.times <= TIMES_MAX
    print(json.dumps({"quiet tables": asdict(found), "minutes": given.minutes}))
    print(
        f"{found.rate / 1e6:.1f} MB/s, {found.retained / 1e6:.0f} MB retained, {found.unconfirmed / 1e6:.0f} MB unconfirmed"
    )
    print(
        f"{'MET' if held else 'NOT REACHED'}  retained log: {found.times:.2f} intervals, bar: at most {TIMES_MAX:.0f}"
    )
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
