"""Whether a worker's memory stays flat: the peak over all Python workers for N rows and for ten times as many.

    python -m bench.memory [--rows 2500000] [--factor 10]

2.5 M rows are more than 200 MB as the source holds them. What counts is VmHWM, the peak that the kernel keeps,
of every Python process below the command's JVM; a process that ended is remembered. The command's own process
and the JVM are printed beside it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from bench import ours, pairs, pg
from tests.servers.postgres import PostgresServer
from tests.servers.process_tree import descendants, memory_mb, program_of

BAR = 1.1
SAMPLE_S = 0.1
MIB = 1 << 20


class Watch:
    """Peaks of the processes of one run, by kind. A peak of one process is taken once, its last."""

    def __init__(self) -> None:
        self._peaks: dict[tuple[str, int], int] = {}

    def __call__(self, command: int) -> None:
        while self._sample("command", command):
            for pid in descendants(command):
                name = program_of(pid)
                self._sample("jvm" if name == "java" else "workers" if name.startswith("python") else "other", pid)
            time.sleep(SAMPLE_S)

    def _sample(self, kind: str, pid: int) -> bool:
        found = memory_mb(pid, "VmHWM")
        if found is not None:
            self._peaks[kind, pid] = int(found * (1 << 20))
        return found is not None

    def peak(self, kind: str) -> int:
        """The sum over the processes of a kind."""
        return sum(size for (each, _), size in self._peaks.items() if each == kind)

    def total(self) -> int:
        """The sum over all processes."""
        return sum(self._peaks.values())

    def largest(self, kind: str) -> int:
        return max((size for (each, _), size in self._peaks.items() if each == kind), default=0)

    def count(self, kind: str) -> int:
        return sum(1 for each, _ in self._peaks if each == kind)


def measure(server: PostgresServer, rows: int, place: Path) -> Watch:
    with pg.connect(server) as db:
        db.execute(f"DROP TABLE IF EXISTS {pg.SOURCE}.{pg.BIG_TABLE}")
    pg.drop_targets(server)
    pg.make_big_table(server, rows)
    pg.checkpoint(server)
    watch = Watch()
    ours.run(ours.table_job(server), place, watch)
    pg.expect_copied(server, rows)
    return watch


def show(rows: int, watch: Watch) -> dict[str, float]:
    figures = {
        "rows": rows,
        "workers": watch.count("workers"),
        "workers_mib": watch.peak("workers") / MIB,
        "largest_worker_mib": watch.largest("workers") / MIB,
        "command_mib": watch.peak("command") / MIB,
        "jvm_mib": watch.peak("jvm") / MIB,
        "all_mib": watch.total() / MIB,
    }
    print("   ".join(f"{name} {value:,.0f}" for name, value in figures.items()), flush=True)
    return {name: round(value, 1) for name, value in figures.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_500_000)
    parser.add_argument("--factor", type=int, default=10)
    wanted = parser.parse_args(arguments)
    with pg.server() as server, ours.home() as place:
        found = [show(rows, measure(server, rows, place)) for rows in (wanted.rows, wanted.rows * wanted.factor)]
    print(json.dumps({"benchmark": "memory", "runs": found}))
    few, many = found
    pairs.verdict("workers' peak", many["workers_mib"] / few["workers_mib"], BAR, at_most=True)
    pairs.verdict("largest worker's peak", many["largest_worker_mib"] / few["largest_worker_mib"], BAR, at_most=True)


if __name__ == "__main__":
    main()
