"""How long a scrape takes: `seatunnel jobs metrics` of a home with 100 runs, of twenty tables each.

    python -m bench.scrape [--rounds 7] [--runs 100] [--tables 20]

Half of the runs have ended, and half are alive: their locks are held.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench import ours, pairs
from seatunnel_py.jobs.home_metrics import metrics_of
from seatunnel_py.runtime.diagnosis.checkpoint_totals import CheckpointTotals
from seatunnel_py.runtime.observe.events import CheckpointCommitted, CheckpointDone, CheckpointFacts
from seatunnel_py.runtime.observe.metric_text import text_of
from seatunnel_py.runtime.observe.run_record import COUNTERS
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import write_json

SCRAPE_BAR_S, TEXT_BAR_BYTES = 0.05, 2 * 2**20


def checkpoints() -> dict[str, Any]:
    """Sums with every kind and every phase."""
    totals = CheckpointTotals({})
    for number, kind in enumerate(("periodic", "savepoint", "final")):
        facts = CheckpointFacts(kind, "", 1.0, 1.5, "", 1_000, 5)
        totals.saw(CheckpointDone("p", "p", number, "", (), 2.0, None, facts))
        totals.saw(CheckpointCommitted("p", "p", number, 3.0))
    return totals.plain


def make_run(home: Home, number: int, tables: int) -> None:
    """A run as a driver leaves it; every second one is alive."""
    job_id = f"run-{number:05}"
    about = {"job_file": "shop.conf", "job_name": f"shop {number}", "config": "x" * 5_000}
    place = home.claim(job_id, fresh=False, about=about)
    names = [f"shop.public.table_{one:03}" for one in range(tables)]
    rows = [
        {"table": name, "state": "RUNNING", "targets": [{"target": name}], **dict.fromkeys(COUNTERS, number)}
        for name in names
    ]
    live = {"run": place.driver, "at": time.time(), "tables": rows, "marks": {}, "labelled": names}
    write_json(place.path / "counters.json", {**live, "checkpoints": checkpoints(), "mode": "STREAMING"})
    if number % 2:
        return
    ended = {"job_id": job_id, "run": place.driver, "state": "SUCCESS", "exit_code": 0, "tables": rows}
    write_json(place.path / "receipt.json", ended)
    place.release()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scrape", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--tables", type=int, default=20)
    given = parser.parse_args(arguments)
    scraped, commands, text = [], [], ""
    with tempfile.TemporaryDirectory() as directory:
        home = Home(Path(directory))
        for number in range(given.runs):
            make_run(home, number, given.tables)
        for _ in range(given.rounds):
            began = time.perf_counter()
            text = text_of(metrics_of(home, home.jobs(), whole=True))
            scraped.append(time.perf_counter() - began)
            began = time.perf_counter()
            command = [*ours.PLAIN, "jobs", "metrics"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={"SEATUNNEL_HOME": directory})
            commands.append(time.perf_counter() - began)
    print(f"scrape   median {median(scraped) * 1000:6.1f} ms   {min(scraped) * 1000:.1f} - {max(scraped) * 1000:.1f}")
    print(
        f"command  median {median(commands) * 1000:6.1f} ms   {min(commands) * 1000:.1f} - {max(commands) * 1000:.1f}"
    )
    print(f"text     {len(text):,} bytes")
    print(json.dumps({"benchmark": "scrape", "seconds": scraped, "command": commands, "bytes": len(text)}))
    pairs.verdict("scrape", median(scraped), SCRAPE_BAR_S, at_most=True)
    pairs.verdict("text", len(text), TEXT_BAR_BYTES, at_most=True)


if __name__ == "__main__":
    main()
