"""A replica of MariaDB takes the primary's place: the job goes on by transaction ids, or stops and names both places."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cdc.mariadb_workload import MariadbWorkload
from e2e.cdc.test_mariadb_cdc import SETTINGS, TABLES, FollowedLog
from e2e.support import failing, finish
from tests.servers.mariadb import MariadbServer
from tests.servers.ports import LOOPBACK
from tests.servers.postgres import PostgresServer
from tests.servers.standby import await_applied, make_primary, replica_of

RESTORES = ("--restore", "latest")
SINKS = pytest.mark.parametrize("sink", ["", ", is_exactly_once = true"], ids=["by key", "two-phase"])


class Replicated(FollowedLog):
    """A primary with a replica; the job's address names both."""

    def __init__(self, home: Path, primary: MariadbServer, replica: MariadbServer, target: PostgresServer) -> None:
        super().__init__(home, primary, target)
        self.primary, self.replica = primary, replica

    @property
    def url(self) -> str:
        return f"jdbc:mariadb://{LOOPBACK}:{self.primary.port},{LOOPBACK}:{self.replica.port}/{self.source}"

    def change(self, seed: int, seconds: float = 2.0) -> None:
        with MariadbWorkload(self.connection(), TABLES, seed):
            time.sleep(seconds)

    def fail_over(self) -> None:
        self.primary.kill9()
        make_primary(self.replica)
        self.server = self.replica


@pytest.fixture
def replicated(tmp_path: Path, postgres: PostgresServer) -> Iterator[Replicated]:
    with MariadbServer.running(settings=SETTINGS) as primary, replica_of(primary, 8) as replica:
        found = Replicated(tmp_path, primary, replica, postgres)
        yield found
        found.end()


@SINKS
def test_the_replica_is_followed_exactly(replicated: Replicated, sink: str) -> None:
    """F-C24: while the driver runs, and when it is restored on the new primary, whose files have other names and
    lengths."""
    replicated.write(sink=sink)
    replicated.run()
    replicated.change(1)
    replicated.wait_equal()
    replicated.run_there("FLUSH LOGS", "FLUSH LOGS")
    replicated.change(2)
    await_applied(replicated.primary, replicated.replica)

    replicated.fail_over()
    replicated.change(3)
    replicated.wait_equal()

    replicated.end()
    replicated.change(4, 1.0)
    replicated.run(*RESTORES)
    replicated.change(5)
    replicated.wait_equal()


def test_a_replica_that_lacks_what_was_read_is_refused(replicated: Replicated) -> None:
    """F-C24: the same numbers belong to other transactions there by now."""
    replicated.write()
    replicated.run()
    replicated.change(1)
    await_applied(replicated.primary, replicated.replica)
    make_primary(replicated.replica)
    replicated.run_there("UPDATE orders SET note = 'lost'", "UPDATE items SET note = 'lost'")
    replicated.wait_equal()
    time.sleep(1.0)  # a checkpoint has them

    replicated.fail_over()
    with MariadbWorkload(replicated.connection(), TABLES, 3):
        time.sleep(2.0)
        said = replicated.wait_failed()

    assert re.search(r"does not have the transactions up to 0-7-\d+, which were read: its own go up to 0-8-\d+", said)
    assert {note for *_, note in replicated.rows_here("orders") or ()} == {"lost"}


def test_a_copy_of_the_lost_primary_is_refused(replicated: Replicated) -> None:
    """F-C24: no log had begun, so the only place that is known is one in the primary's files."""
    replicated.write()
    finish(replicated.run(env=failing("driver.final.durable:kill@3", replicated.home / "points")))
    await_applied(replicated.primary, replicated.replica)

    replicated.fail_over()
    replicated.run(*RESTORES)
    said = replicated.wait_failed()

    assert re.search(
        r"was copied from the server server_id 7, .* is that of the server server_id 8,.*--fresh", said, re.S
    )
