"""The table of a conformance run, for people and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from e2e.conformance.runner import Judged, Result

_COLOURS = {
    Result.EXPECTED: "green",
    Result.IMPROVED: "green",
    Result.LEFT_OVER: "red",
    Result.SKIPPED: "dim",
}
WIDTH_MIN = 150


def totals(judged: Sequence[Judged]) -> str:
    """One line of numbers."""
    count = Counter(each.result for each in judged)
    run = len(judged) - count[Result.SKIPPED]
    return (
        f"{len(judged)} jobs: {run} run, {count[Result.EXPECTED]} as expected, {count[Result.IMPROVED]} as expected by "
        f"a documented improvement, {count[Result.LEFT_OVER]} left over; {count[Result.SKIPPED]} skipped"
    )


def show(judged: Sequence[Judged]) -> None:
    """Print the table: what was run first, in the order of the index; then what was skipped, and why."""
    console = Console(width=max(Console().width, WIDTH_MIN))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("job", overflow="fold", ratio=5)
    table.add_column("result", no_wrap=True)
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold", ratio=4)
    for each in sorted(judged, key=lambda each: each.result is Result.SKIPPED):
        time = f"{each.seconds:.1f} s" if each.result is not Result.SKIPPED else ""
        job = each.job.removeprefix("jobs/")
        table.add_row(job, Text(each.result.value, _COLOURS[each.result]), time, Text(each.reason))
    console.print(table)
    console.print(totals(judged))


def write_json(judged: Sequence[Judged], path: Path) -> None:
    """The same for machines."""
    count = Counter(each.result.value for each in judged)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"totals": count, "jobs": [asdict(each) for each in judged]}, indent=1) + "\n")
