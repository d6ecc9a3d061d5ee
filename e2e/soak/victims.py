"""Who is killed, by the seed: processes of the job, of the cluster, and servers."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from e2e.crash_sweep.place import Lane
from e2e.soak.operator import Operator
from e2e.support import kill9, python_workers
from tests.servers.process_tree import jvms_below
from tests.servers.spark_cluster import SparkCluster

DRIVER_SHARE = 0.4  # of the time: behind it no driver is killed
FOUND_SECONDS = 15.0  # what was killed a moment ago may be about to be there again
AWAY_SECONDS_MAX = 3.0


class Victim(StrEnum):
    DRIVER = "driver"
    WORKER = "Python worker"
    EXECUTOR = "executor JVM"
    DAEMON = "Spark worker daemon"
    POSTGRES = "postgres"
    MARIADB = "mariadb"
    KAFKA = "kafka"


SERVERS = (Victim.POSTGRES, Victim.MARIADB, Victim.KAFKA)


@dataclass(frozen=True, slots=True)
class Kill:
    """``at`` seconds from the beginning; ``choice`` says which of several, and how long a server stays away."""

    at: float
    victim: Victim
    choice: float


def kills(seed: int, seconds: float, every: float) -> Iterator[Kill]:
    """All of a soak."""
    chance = random.Random(seed)
    for number in range(1, int(seconds / every)):
        at = number * every
        victims = [one for one in Victim if one is not Victim.DRIVER or at <= DRIVER_SHARE * seconds]
        yield Kill(at, chance.choice(victims), chance.random())


@dataclass(frozen=True, slots=True)
class Killer:
    """Finds victims and kills them."""

    operator: Operator
    cluster: SparkCluster
    lane: Lane

    def kill(self, kill: Kill) -> bool:
        """Whether there was anybody to be killed."""
        match kill.victim:
            case Victim.DRIVER:
                return self._process(kill, lambda: [self.operator.driver] if self.operator.driver else [])
            case Victim.WORKER:
                return self._process(kill, lambda: self._below(python_workers))
            case Victim.EXECUTOR:
                return self._process(kill, self.executors)
            case Victim.DAEMON:
                number = int(kill.choice * len(self.cluster.workers))
                self.cluster.kill_worker(number)
                self.cluster.start_worker(number)
            case _:
                self.lane.kill(kill.victim)
                time.sleep(kill.choice * AWAY_SECONDS_MAX)
                self.lane.server(kill.victim)
        return True

    def executors(self) -> list[int]:
        return self._below(lambda daemon: jvms_below(daemon, "CoarseGrainedExecutorBackend"))

    def _below(self, find: Callable[[int], list[int]]) -> list[int]:
        return [pid for daemon in self.cluster.workers.values() for pid in find(daemon.pid)]

    def _process(self, kill: Kill, find: Callable[[], list[int]]) -> bool:
        until = time.monotonic() + FOUND_SECONDS
        while time.monotonic() < until:
            if found := find():
                try:
                    kill9(found[int(kill.choice * len(found))])
                except ProcessLookupError:
                    continue  # it went by itself
                return True
            time.sleep(0.1)
        return False
