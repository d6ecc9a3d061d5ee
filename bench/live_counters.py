"""What the live numbers of a run cost its driver: their share of the processor time of its Python process and its JVM.

    python -m bench.live_counters [--tables 1000] [--rows 1000] [--rounds 3]

The job copies so many tables of so many rows from PostgreSQL to PostgreSQL, with a checkpoint every second. Bar: issue
26, bar 2.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from statistics import median

from bench import ours, pairs, pg, timed_driver

BAR = 0.01
COMMAND = (str(ours.COMMAND.with_name("python")), "-m", "bench.timed_driver")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.live_counters", description=__doc__)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=pg.SMALL_ROWS, help="of each table")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    shares = []
    with pg.server() as server, ours.home() as place:
        names = pg.make_small_tables(server, given.tables, given.rows)
        job = ours.tables_job(server, names, env="checkpoint.interval = 1000")
        os.environ |= {timed_driver.VARIABLE: str(place / "times.json"), "PYTHONPATH": str(ours.ROOT)}
        for _ in range(given.rounds):
            pg.drop_targets(server)
            pg.checkpoint(server)
            run = ours.run(job, place, command=COMMAND)
            if run.rows_written != given.tables * given.rows:
                raise AssertionError(f"{run.rows_written} rows were written")
            found = json.loads((place / "times.json").read_text())
            shares.append(found["live"] / (found["python"] + found["jvm"]))
            print(
                f"in {run.data_seconds:.1f} s: python {found['python']:.2f} s, jvm {found['jvm']:.2f} s, live "
                f"{found['live']:.3f} s ({found['live'] / found['python']:.4f} of python)"
            )
            print("  ms: " + ", ".join(f"{name} {1000 * one:.1f}" for name, one in found["parts"].items()))
    print(json.dumps({"benchmark": "live counters", "tables": given.tables, "rows": given.rows, "shares": shares}))
    pairs.verdict(f"live numbers / driver, {given.tables} tables", median(shares), BAR, at_most=True)


if __name__ == "__main__":
    main()
