"""Jobs that copy and follow three tables, by recipe: where their rows come from, and where they go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from e2e.cdc import test_mariadb_cdc, test_postgres_cdc
from e2e.cdc_sweep.sources import MariadbSource, PostgresSource, Source
from e2e.cdc_sweep.targets import ChangeFiles, MariadbTables, PostgresTables, Target, Topics
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
    """A job in ``home``. ``appends``: its target keeps every change, and is neither emptied nor altered."""

    home: Path
    source: Source
    target: Target
    appends: bool

    def difference(self, table: str) -> str:
        """The first rows that only one side has; empty if there are none."""
        return self.target.difference(self.source, table)

    def left_behind(self) -> list[str]:
        return [*self.source.left_behind(), *self.target.left_behind(self.source.tables)]


def job_of(recipe: str, home: Path, number: int, server: Servers) -> FollowingJob:
    """Make the tables, and write the job file."""
    source: PostgresSource | MariadbSource
    more = ONCE if "two-phase" in recipe else ""
    if recipe.startswith("postgres"):
        source = PostgresSource(home, _postgres(server, "source"), number)
        into = PostgresTables(_postgres(server, "source"), "source", source.followed.pair.target, more)
    else:
        source = MariadbSource(home, _mariadb(server), _postgres(server, "target"))
        into = PostgresTables(source.followed.target, "target", source.followed.into, more)
    appends, target = True, _appending(recipe, home, number, server)
    if target is None:
        appends = False
        target = MariadbTables(_mariadb(server), f"into{number}", more) if recipe.endswith("to mariadb") else into
    if appends:
        source.note_history()
    head = source.head(f'{ENV}, guarantee = "exactly-once"' if appends else ENV)
    write_job(home, f"{head} sink {{ {target.sink()} }}")
    return FollowingJob(home, source, target, appends)


def _appending(recipe: str, home: Path, number: int, server: Servers) -> Target | None:
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
