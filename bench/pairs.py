"""The method of every benchmark: interleaved pairs (A, B, A, B, ...), medians, spread, ratio per pair.

The machine drifts (neighbours, caches, disk); two ways measured one after the other under the same drift
give a ratio that holds, two medians of different hours do not.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from rich.console import Console
from rich.table import Table

Part = TypeVar("Part")
Way = Callable[[], float]
Seconds = Mapping[str, Sequence[float]]


def interleave(ways: Mapping[str, Way], rounds: int) -> dict[str, list[float]]:
    """Run every way once per round, in turn; each returns the seconds that count for it. Each round begins with another
    one: whoever always followed the same way would always find the machine as that one left it."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for number in range(1, rounds + 1):
        first = (number - 1) % len(names)
        for name in names[first:] + names[:first]:
            taken = ways[name]()
            seconds[name].append(taken)
            print(f"  round {number}/{rounds}  {name}: {taken:.3f} s", file=sys.stderr, flush=True)
    return seconds


def at_a_time(task: Callable[[Part], object], parts: Sequence[Part]) -> float:
    """The seconds that a process for each part takes, all at a time; that they start is not counted."""
    with ProcessPoolExecutor(len(parts)) as processes:
        list(processes.map(abs, range(len(parts))))
        began = time.perf_counter()
        list(processes.map(task, parts))
        return time.perf_counter() - began


def ratios(seconds: Seconds, way: str, base: str) -> list[float]:
    """Speed of `way` relative to `base`, pair by pair: 2.0 is twice as fast."""
    return [b / a for a, b in zip(seconds[way], seconds[base], strict=True)]


def summary(seconds: Seconds, *, base: str, rows: int | None = None) -> dict[str, dict[str, float]]:
    """Median and spread of every way, and its median ratio to the base."""
    found = {}
    for way, taken in seconds.items():
        against = ratios(seconds, way, base)
        figures = {
            "pairs": len(taken),
            "seconds_median": statistics.median(taken),
            "seconds_min": min(taken),
            "seconds_max": max(taken),
            "ratio_median": statistics.median(against),
            "ratio_min": min(against),
            "ratio_max": max(against),
        }
        if rows is not None:
            figures["rows_per_second"] = rows / statistics.median(taken)
        found[way] = {name: round(value, 4) for name, value in figures.items()}
    return found


def report(title: str, seconds: Seconds, *, base: str, rows: int | None = None) -> dict[str, dict[str, float]]:
    """Print the table for people and, last, one JSON line for programs."""
    figures = summary(seconds, base=base, rows=rows)
    table = Table(title=f"{title} (ratio: speed relative to {base})", title_justify="left")
    for heading in ("way", "median s", "min - max", "rows/s", "ratio", "min - max"):
        table.add_column(heading, justify="left" if heading == "way" else "right")
    for way, each in figures.items():
        table.add_row(
            way,
            f"{each['seconds_median']:.3f}",
            f"{each['seconds_min']:.3f} - {each['seconds_max']:.3f}",
            f"{each['rows_per_second']:,.0f}" if rows is not None else "",
            f"{each['ratio_median']:.3f}",
            f"{each['ratio_min']:.3f} - {each['ratio_max']:.3f}",
        )
    Console(width=110).print(table)
    print(json.dumps({"benchmark": title, "base": base, "rows": rows, "ways": figures}))
    return figures


def verdict_of_pairs(seconds: Seconds, way: str, base: str, bar: float, name: str = "") -> bool:
    """Whether the median ratio of a way to its base meets a bar."""
    found = ratios(seconds, way, base)
    spread = f"{min(found):.3f} - {max(found):.3f}"
    return verdict(f"{name}: {way} / {base} ({spread})".removeprefix(": "), statistics.median(found), bar)


def verdict(name: str, value: float, bar: float, *, at_most: bool = False) -> bool:
    """Print whether a bar is met, and return it."""
    met = value <= bar if at_most else value >= bar
    limit = f"{'at most' if at_most else 'at least'} {bar:g}"
    print(f"{'MET' if met else 'NOT REACHED':11}  {name}: {value:.3f}, bar: {limit}")
    return met
