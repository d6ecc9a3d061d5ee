"""Streams of several tables into one server, faults that hit the first of them, and what the server says of it later.

Rules. (1) When rows became visible is the server's own word: it keeps the time of every commit. Nobody looks at the
tables while the stream runs. (2) A fault hits a unit at work: a lock holds that up while its worker is looked for, and
goes with the fault. (3) What counts as applied after a fault is the first commit since the driver has settled the unit
that was hit. It is tried again; or, for a worker may outlive its executor, it is done, and the next one counts. (4)
Rows are counted: a stream that lost some measures nothing.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bench import ours, pg
from tests.servers.postgres import DATABASE, PostgresServer
from tests.servers.process_tree import parent_of_each, words_of

TABLES = ("t0", "t1", "t2", "t3")
VICTIM, SIBLINGS = TABLES[0], TABLES[1:]
SPLIT_ROWS, SPLITS = 500, 600  # a unit reads one split
START_SECONDS_MAX, FIND_SECONDS_MAX, RECOVERY_SECONDS_MAX = 180.0, 30.0, 60.0
LOOK_SECONDS = 0.002
SETTLED = ("unit_retried", "rows_moved")
EXECUTOR = "CoarseGrainedExecutorBackend"
WAITING = "SELECT pid, client_port FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
COMMITS = (
    f"SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8, count(*) FROM {pg.TARGET}.{{}} GROUP BY 1"
)
COUNTS = f"SELECT count(*), count(DISTINCT id) FROM {pg.TARGET}.{{}}"

SOURCE = """
  FakeSource {{
    plugin_output = {table}, row.num = {rows}, split.num = {splits}, split.read-interval = 0, string.length = 64
    bigint.fake.mode = range, auto.increment.enabled = true
    schema {{ table = {table}, fields {{ id = bigint, name = string }}
             primaryKey {{ name = pk, columnNames = [id] }} }}
  }}"""
SINK = """
  Jdbc {{
    plugin_input = {table}
{connection}
    generate_sink_sql = true, database = "{database}", table = "{target}.{table}"
    schema_save_mode = RECREATE_SCHEMA, create_index = false, is_exactly_once = true, exactly_once_recipe = direct
  }}"""


@dataclass(frozen=True, slots=True)
class Session:
    """A unit's session with the server: the server's process, and the port of its other end."""

    pid: int
    port: int


Fault = Callable[[PostgresServer, Session], float]


@dataclass(frozen=True, slots=True)
class Stream:
    """The job that runs, its log and its server."""

    server: PostgresServer
    job: ours.Stream

    def settled(self) -> list[float]:
        """When the driver has said of units of the victim that they are done, or will be tried again."""
        lines = [line for log in self.job.home.glob("jobs/*/events.jsonl") for line in log.read_text().splitlines(True)]
        events = [json.loads(line) for line in lines if line.endswith("\n")]
        told = [one["time"] for one in events if one["event"] in SETTLED and one["table"] == VICTIM]
        return [datetime.fromisoformat(time).timestamp() for time in told]

    def strike(self, fault: Fault) -> float:
        """Let a fault hit a unit of the victim, and wait until rows come again; the moment at which it did."""
        with pg.connect(self.server) as lock, pg.connect(self.server) as look, lock.transaction():
            lock.execute(f"LOCK TABLE {pg.TARGET}.{VICTIM} IN ACCESS EXCLUSIVE MODE")
            blocker = [lock.info.backend_pid]
            found = self.job.wait(
                "a unit", lambda: look.execute(WAITING, blocker).fetchone(), FIND_SECONDS_MAX, LOOK_SECONDS
            )
            at = fault(self.server, Session(*found))
        self.job.wait("rows", lambda: sum(told > at for told in self.settled()) > 1, RECOVERY_SECONDS_MAX, 0.1)
        return at

    def stop(self) -> None:
        """End it behind a savepoint, and compare what it says with what the target holds."""
        written = self.job.stop()["totals"]["rows_written"]
        with pg.connect(self.server) as db:
            counts = [db.execute(COUNTS.format(table)).fetchone() for table in TABLES]
        there, different = (sum(int(str(count[at])) for count in counts if count) for at in (0, 1))
        if not there == different == written:
            raise RuntimeError(f"the target holds {there} rows, {different} different ones, of {written} written")

    def commits(self, table: str) -> list[tuple[float, int]]:
        """When how many rows of a table became visible, in order."""
        with pg.connect(self.server) as db:
            return sorted((float(str(at)), int(str(rows))) for at, rows in db.execute(COMMITS.format(table)))


def job(server: PostgresServer, rate: int, env: str) -> str:
    """Tables that share nothing but the engine and the server, each of ``rate`` rows a second."""
    rows, connection = SPLIT_ROWS * SPLITS, ours.connection(server)
    sources = [SOURCE.format(table=table, rows=rows, splits=SPLITS) for table in TABLES]
    about = {"connection": connection, "database": DATABASE, "target": pg.TARGET}
    sinks = [SINK.format(table=table, **about) for table in TABLES]
    limits = f"checkpoint.interval = 1000, read_limit.rows_per_second = {rate}"
    return f"""env {{ job.mode = STREAMING, log.level = DEBUG, {limits} {env} }}
source {{{"".join(sources)}
}}
sink {{{"".join(sinks)}
}}
"""


@contextmanager
def streaming(
    server: PostgresServer, place: Path, rate: int, env: str = "", command: Sequence[str] = ours.PLAIN
) -> Iterator[Stream]:
    """The job, once rows of every table are visible; it has ended well when this has."""
    pg.drop_targets(server)
    pg.checkpoint(server)
    with ours.streaming(job(server, rate, env), place, command) as running:
        stream = Stream(server, running)
        running.wait("rows of every table", lambda: _flows(server), START_SECONDS_MAX)
        yield stream
        stream.stop()


def _flows(server: PostgresServer) -> bool:
    with pg.connect(server) as db:
        names = [f"{pg.TARGET}.{table}" for table in TABLES]
        if any(db.execute("SELECT to_regclass(%s)", [name]).fetchone() == (None,) for name in names):
            return False
        return all(db.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for name in names)


# ---------------------------------------------------------------- faults


def end_session(server: PostgresServer, session: Session) -> float:
    """An error in the midst of a unit: its connection is gone. As the others it returns the moment."""
    with pg.connect(server) as db:
        at = time.time()
        db.execute("SELECT pg_terminate_backend(%s)", [session.pid])
    return at


def kill_worker(server: PostgresServer, session: Session) -> float:
    """The Python process that runs the unit dies."""
    return _kill(holder(server, session))


def kill_executor(server: PostgresServer, session: Session) -> float:
    """The JVM above it dies."""
    pid, parents = holder(server, session), parent_of_each()
    while not any(EXECUTOR in word for word in words_of(pid)):
        pid = parents[pid]
    return _kill(pid)


def _kill(pid: int) -> float:
    at = time.time()
    os.kill(pid, signal.SIGKILL)
    return at


def holder(server: PostgresServer, session: Session) -> int:
    """The process of this machine at the other end of a session."""
    lines = (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    ends = {(_port(line[1]), _port(line[2])): line[9] for line in lines}
    socket = f"socket:[{ends[session.port, server.port]}]"
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):  # it ended while we looked
            if str(link.readlink()) == socket:
                return int(link.parts[2])
    raise RuntimeError(f"nobody holds the session {session}")


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


# ---------------------------------------------------------------- what the server says


def recoveries(stream: Stream, faults: Sequence[float]) -> list[float]:
    """Seconds from each fault to the first commit of the victim that followed."""
    told, commits = stream.settled(), [at for at, _ in stream.commits(VICTIM)]
    found = []
    for fault in faults:
        again = min(at for at in told if at > fault)
        after = [at for at in commits if at > again]
        if not after:
            raise RuntimeError("nothing of the victim was applied after a fault")
        found.append(after[0] - fault)
    return found


def by_second(stream: Stream, begin: float, seconds: int) -> dict[str, list[int]]:
    """The siblings' rows in each second since ``begin``."""
    found = {}
    for table in SIBLINGS:
        found[table] = [0] * seconds
        for at, rows in stream.commits(table):
            if 0 <= at - begin < seconds:
                found[table][int(at - begin)] += rows
    return found
