"""How long a start takes: `seatunnel check`, and the first row and the whole of a job of one small table.

    python -m bench.start [--rounds 7]

The class-data archive is built, as after the first run on a machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench import ours, pairs, pg
from tests.servers.postgres import PostgresServer

CHECK_BAR_S = 0.5
FIRST_ROW_BAR_S = 5.0
FIGURES = ("check", "first row", "data", "whole command")


def check_seconds(job: Path, command: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run([*command, "check", str(job)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def measure(server: PostgresServer, table: str, place: Path, command: Sequence[str] = ours.PLAIN) -> dict[str, float]:
    pg.drop_targets(server)
    pg.checkpoint(server)
    text = ours.table_job(server, table)
    job = place / "check.conf"
    job.write_text(text)
    checked = check_seconds(job, command)
    result = ours.run(text, place, command=command)
    pg.expect_copied(server, pg.SMALL_ROWS, table)
    first = result.first_row_seconds
    if first is None:
        raise AssertionError("the receipt does not say when the first row was there")
    return dict(zip(FIGURES, (checked, first, result.data_seconds, result.wall_seconds), strict=True))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args(arguments).rounds
    found: dict[str, list[float]] = {name: [] for name in FIGURES}
    with pg.server() as server, ours.home() as place:
        (table,) = pg.make_small_tables(server, 1)
        for _ in range(rounds):
            for name, seconds in measure(server, table, place).items():
                found[name].append(seconds)
    for name, taken in found.items():
        print(f"{name:14} median {median(taken):6.2f} s   {min(taken):.2f} - {max(taken):.2f}")
    print(json.dumps({"benchmark": "start", "seconds": found}))
    pairs.verdict("check", median(found["check"]), CHECK_BAR_S, at_most=True)
    pairs.verdict("first row", median(found["first row"]), FIRST_ROW_BAR_S, at_most=True)


if __name__ == "__main__":
    main()
