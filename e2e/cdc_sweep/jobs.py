"""Jobs that copy and follow three tables, by recipe: where their rows come from, and where they go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from e2e.cdc import test_mariadb_cdc, test_postgres_cdc
from e2e.cdc_sweep import kinds
from e2e.cdc_sweep.kinds import WideTable
from e2e.cdc_sweep.sources import MariadbSource, PostgresSource, Source
from e2e.cdc_sweep.targets import ChangeFiles, ChangeLog, MariadbTables, PostgresTables, Target, Topics
from e2e.support import write_job
from tests.servers.kafka import KafkaServer
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer
from tests.servers.private import PrivateServer

ENV = ", job.retry.times = 60, job.retry.interval.seconds = 1"
ONCE = ", is_exactly_once = true"
MAKERS: dict[str, Callable[[], PrivateServer]] = {
    "source": lambda: PostgresServer(settings=test_postgres_cdc.SETTINGS | {"deadlock_timeout": "50ms"}),
    "log": lambda: MariadbServer(settings=test_mariadb_cdc.SETTINGS),
    "target": PostgresServer,
    "kafka": KafkaServer,
}
Servers = Callable[[str], PrivateServer]


@dataclass(frozen=True, slots=True)
class FollowingJob:
    """A job in ``home``. ``wide``: one more table, with columns of all types. ``appends``: its target keeps every
    change, and is not emptied."""

    home: Path
    source: Source
    target: Target
    wide: WideTable | None
    appends: bool

    @property
    def tables(self) -> tuple[str, ...]:
        return self.source.tables if self.wide is None else (*self.source.tables, kinds.TABLE)

    def difference(self, table: str) -> str:
        """The first rows that only one side has; empty if there are none."""
        if self.wide is not None and table == kinds.TABLE:
            return self.wide.difference()
        return self.target.difference(self.source, table)

    def left_behind(self) -> list[str]:
        return [*self.source.left_behind(), *self.target.left_behind(self.tables)]


def job_of(recipe: str, home: Path, number: int, server: Servers, *, wide: bool = False) -> FollowingJob:
    """Make the tables, and write the job file. ``wide``: with the wide table, if the target is a database."""
    source: PostgresSource | MariadbSource
    more = ONCE if "two-phase" in recipe else ""
    if recipe.startswith("postgres"):
        source = PostgresSource(home, _postgres(server, "source"), number)
        into = PostgresTables(_postgres(server, "source"), "source", source.followed.pair.target, more)
    else:
        source = MariadbSource(home, _mariadb(server), _postgres(server, "target"))
        into = PostgresTables(source.followed.target, "target", source.followed.into, more)
    log = _log(recipe, home, number, server)
    if log is not None:
        source.note_history()
        env = ENV if source.repeats else f'{ENV}, guarantee = "exactly-once"'
        return _written(FollowingJob(home, source, log, None, appends=True), env)
    target = MariadbTables(_mariadb(server), f"into{number}", more) if recipe.endswith("to mariadb") else into
    table = _wide_table(source, target, number) if wide else None
    return _written(FollowingJob(home, source, target, table, appends=False), ENV)


def _written(job: FollowingJob, env: str) -> FollowingJob:
    write_job(job.home, f"{job.source.head(env, job.tables)} sink {{ {job.target.sink()} }}")
    return job


def _wide_table(source: PostgresSource | MariadbSource, target: PostgresTables | MariadbTables, seed: int) -> WideTable:
    ends = ("mariadb" if isinstance(one, MariadbSource | MariadbTables) else "postgres" for one in (source, target))
    columns = kinds.columns(*ends)
    as_text = isinstance(source, PostgresSource) and isinstance(target, PostgresTables)
    table = WideTable(source.connect, target.connect, columns, as_text)
    table.create(seed)
    return table


def _log(recipe: str, home: Path, number: int, server: Servers) -> ChangeLog | None:
    if recipe.endswith("to files"):
        return ChangeFiles(home / "files")
    if recipe.endswith("to kafka"):
        broker = server("kafka")
        assert isinstance(broker, KafkaServer)
        return Topics(broker, f"case{number}", home)
    return None


def _postgres(server: Servers, name: str) -> PostgresServer:
    found = server(name)
    assert isinstance(found, PostgresServer)
    return found


def _mariadb(server: Servers) -> MariadbServer:
    found = server("log")
    assert isinstance(found, MariadbServer)
    return found
