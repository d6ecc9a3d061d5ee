"""A mutation campaign: makes cases by seed and ordinal, judges each, and reports failures and slow ones.

A failure prints the seed and the ordinal, which make the same case again, and the case itself.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

CPU_SECONDS_MAX = 1.0


@dataclass(slots=True)
class Report:
    """``verdicts``: how many cases were judged so; ``slowest``: CPU seconds; ``failures``: what must not happen."""

    verdicts: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Report) -> None:
        self.verdicts += other.verdicts
        self.slowest = max(self.slowest, other.slowest)
        self.failures += other.failures


@dataclass(frozen=True, slots=True)
class Campaign:
    """``make`` makes the case of a seed and an ordinal; ``judge`` returns a verdict, or raises for anything that must
    not happen; ``show`` prints a case; ``prepare`` runs once in each process, outside of the measured time. All are
    functions of a module, because processes are spawned."""

    make: Callable[[int, int], Any]
    judge: Callable[[Any], str]
    show: Callable[[Any], str] = str
    prepare: Callable[[], object] = int

    def run(self, count: int, seed: int, processes: int | None = None) -> Report:
        """Judge ``count`` cases, on as many processes as there are cores (or as asked)."""
        processes = processes or min(os.cpu_count() or 1, 1 + count // 2_000)
        parts = [(self, seed, range(start, count, processes)) for start in range(processes)]
        report = Report()
        if processes == 1:
            report.add(_part(parts[0]))
            return report
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            for part in pool.imap_unordered(_part, parts):
                report.add(part)
        return report

    def main(self, doc: str | None) -> int:
        """Command line; ``doc`` describes it."""
        parser = argparse.ArgumentParser(description=doc)
        parser.add_argument("--count", type=int, default=10_000)
        parser.add_argument("--seed", type=int, default=int(time.time()))
        arguments = parser.parse_args()
        before = time.monotonic()
        report = self.run(arguments.count, arguments.seed)
        print("\n".join(_lines(report, arguments.count, arguments.seed, time.monotonic() - before)))
        return 1 if report.failures else 0


def _part(work: tuple[Campaign, int, range]) -> Report:
    campaign, seed, ordinals = work
    report = Report()
    campaign.prepare()
    for ordinal in ordinals:
        case = campaign.make(seed, ordinal)
        before = time.process_time()
        try:
            report.verdicts[campaign.judge(case)] += 1
        except Exception as error:  # noqa: BLE001 - whatever else is raised is what is looked for
            told = f"seed {seed}, ordinal {ordinal}: {type(error).__name__}: {error}\n{campaign.show(case)}"
            report.failures.append(told)
        seconds = time.process_time() - before
        report.slowest = max(report.slowest, seconds)
        if seconds > CPU_SECONDS_MAX:
            report.failures.append(f"seed {seed}, ordinal {ordinal}: {seconds:.2f} s of CPU\n{campaign.show(case)}")
    return report


def _lines(report: Report, count: int, seed: int, seconds: float) -> Iterator[str]:
    yield f"{count} cases, seed {seed}: {dict(report.verdicts)}, slowest {report.slowest:.3f} s, {seconds:.0f} s"
    for failure in report.failures[:5]:
        yield f"FAILED {failure}"
    if len(report.failures) > 5:
        yield f"... and {len(report.failures) - 5} more"
