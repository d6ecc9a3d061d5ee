"""How soon rows come again after a fault, and what the other tables notice of it.

    python -m bench.failover [--pairs 11] [--faults 10] [--rate 2500] [--only error,worker,executor]

A stream of four tables, each of ``rate`` rows a second, into one PostgreSQL server. The commit of a unit is what makes
its rows visible (recipe "direct"). The first table is the victim. *error*: the server ends its unit's session;
*worker*: the Python process of its unit is killed; *executor*: on a standalone cluster the JVM above that; reported.

Rounds of one stream without a fault and one for each kind of fault. *Siblings* are all other tables, those included
that shared a pack with the victim: their rows in the ten seconds after the first fault, against the same seconds of the
round's undisturbed stream. Then ``faults - 1`` more hit the same stream, for a percentile needs many.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import ours, pairs, pg
from bench.failover_stream import (
    Fault,
    by_second,
    end_session,
    kill_executor,
    kill_worker,
    recoveries,
    streaming,
)
from tests.servers.postgres import PostgresServer
from tests.servers.spark_cluster import spark_cluster

CALM = "calm"
FAULTS: dict[str, Fault] = {"error": end_session, "worker": kill_worker, "executor": kill_executor}
BARS_S: dict[str, dict[str, float]] = {"error": {"median": 0.5}, "worker": {"median": 1.5, "p99": 4.0}, "executor": {}}
SIBLINGS_BAR = 0.9
SETTLE_SECONDS, WINDOW_SECONDS, BETWEEN_SECONDS = 5.0, 10, 2.0
EXECUTOR_FAULTS = 5


@dataclass(frozen=True, slots=True)
class Course:
    """One stream: seconds until the victim's rows came again after each fault, and each sibling's rows by second."""

    recoveries: tuple[float, ...]
    siblings: dict[str, list[int]]

    @property
    def rows(self) -> int:
        return sum(map(sum, self.siblings.values()))

    @property
    def silent(self) -> int:
        """Seconds in which a sibling had no rows."""
        return sum(rows == 0 for each in self.siblings.values() for rows in each)


@dataclass(slots=True)
class Found:
    """The streams of each way, round by round."""

    courses: dict[str, list[Course]] = field(default_factory=dict)

    def recoveries(self, way: str) -> list[float]:
        return sorted(seconds for course in self.courses[way] for seconds in course.recoveries)

    def shares(self, way: str) -> list[float]:
        """Of the siblings' rows in the undisturbed stream of the same round."""
        return [hit.rows / calm.rows for hit, calm in zip(self.courses[way], self.courses[CALM], strict=True)]

    def silent(self, way: str) -> int:
        return sum(course.silent for course in self.courses[way])


def one(
    server: PostgresServer, place: Path, rate: int, kind: str, faults: int, env: str = "",
    command: Sequence[str] = ours.PLAIN,
) -> Course:  # fmt: skip
    """One stream with so many faults of a kind; none where it is calm."""
    fault = FAULTS.get(kind)
    with streaming(server, place, rate, env, command) as stream:
        time.sleep(SETTLE_SECONDS)
        began = stream.strike(fault) if fault else time.time()
        time.sleep(max(0.0, began + WINDOW_SECONDS + 1 - time.time()))
        hits = [began] if fault else []
        while fault and len(hits) < faults:
            hits.append(stream.strike(fault))
            time.sleep(BETWEEN_SECONDS)
        course = Course(tuple(recoveries(stream, hits)), by_second(stream, began, WINDOW_SECONDS))
    took = " ".join(f"{each:.2f}" for each in course.recoveries)
    print(f"  {kind}: {took}  siblings {course.siblings}", file=sys.stderr, flush=True)
    return course


def percentile(values: Sequence[float], share: float) -> float:
    return values[min(len(values) - 1, int(share * len(values)))]


def report(found: Found, kind: str) -> None:
    """A fault's figures and its bars, if it has any."""
    seconds = found.recoveries(kind)
    figures = {"median": statistics.median(seconds), "p99": percentile(seconds, 0.99), "max": seconds[-1]}
    print(f"{kind}: {len(seconds)} faults, rows again after " + ", ".join(f"{k} {v:.2f} s" for k, v in figures.items()))
    for name, bar in BARS_S[kind].items():
        pairs.verdict(f"{kind}, {name}", figures[name], bar, at_most=True)
    silent = f"{kind}, seconds in which a sibling had no rows"
    if not BARS_S[kind]:
        print(f"{silent}: {found.silent(kind)}")
        return
    shares = found.shares(kind)
    spread = f"{len(shares)} pairs, {min(shares):.3f} - {max(shares):.3f}"
    pairs.verdict(f"{kind}, siblings' rows ({spread})", statistics.median(shares), SIBLINGS_BAR)
    print(f"{silent}: {found.silent(CALM)} without a fault")
    pairs.verdict(silent, found.silent(kind), 0, at_most=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.failover", description=__doc__)
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--faults", type=int, default=10)
    parser.add_argument("--rate", type=int, default=2_500)
    parser.add_argument("--only", default=",".join(FAULTS))
    wanted = parser.parse_args(arguments)
    kinds = wanted.only.split(",")
    if unknown := set(kinds) - set(FAULTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(FAULTS)}")
    found = Found()
    with pg.server(track_commit_timestamp="on") as server, ours.home() as place:
        local = [kind for kind in kinds if kind != "executor"]
        for _ in range(wanted.pairs if local else 0):
            for kind in (CALM, *local):
                course = one(server, place, wanted.rate, kind, wanted.faults)
                found.courses.setdefault(kind, []).append(course)
        if "executor" in kinds:
            with spark_cluster(Path(tempfile.mkdtemp(dir=place))) as cluster:
                env = f', spark.master = "{cluster.url}"'
                found.courses["executor"] = [one(server, place, wanted.rate, "executor", EXECUTOR_FAULTS, env)]
    for kind in kinds:
        report(found, kind)
    seconds = {kind: found.recoveries(kind) for kind in kinds}
    shares = {kind: found.shares(kind) for kind in local}
    print(json.dumps({"benchmark": "failover", "seconds": seconds, "siblings": shares}))


if __name__ == "__main__":
    main()
