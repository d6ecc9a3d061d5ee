"""A driver that holds the lock of a run and writes its files, and moves no rows: its changes come when a test wants."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from e2e.page.homes import names
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import JobDirectory, write_json
from tests.control.homes import COUNTS, claimed

STEPS = (("in", "source", 10), ("map", "transform", 10), ("mask", "transform", 10), ("out", "sink", 20))
TABLES_OF_A_SOURCE = 3


@dataclass(frozen=True, slots=True)
class ActingDriver:
    """``tables``: each with the text of its target."""

    place: JobDirectory
    name: str
    tables: Sequence[tuple[str, str]]

    def write(self, rows: int) -> float:
        """Each table has read this many rows. Returns the time stamp in the file."""
        return self.write_each([rows] * len(self.tables))

    def write_each(self, rows: Sequence[int]) -> float:
        """The tables have read these numbers of rows. Returns the time stamp in the file."""
        about = {**COUNTS, "state": "RUNNING", "cause": None, "attempts": 0}
        tables = [
            {"table": name, "seconds": 1.0, **about, "rows_read": read, "rows_written": read}
            | {"targets": [{"target": target, "state": "RUNNING", **COUNTS}]}
            for (name, target), read in zip(self.tables, rows, strict=True)
        ]
        whole = {**COUNTS, "rows_read": sum(rows), "rows_written": sum(rows)}
        plain = {"tables": tables, "totals": whole, "this_run": {"rows_read": whole["rows_read"]}, "marks": {}}
        at = time.time()
        about_now = {"run": self.name, "at": at, "checkpoints": {"completed": 0, "failed": 0, "restarts": 0}}
        write_json(self.place.path / "counters.json", {**plain, **about_now}, durable=False)
        return at


@contextmanager
def acting_driver(home: Home, run: str) -> Iterator[ActingDriver]:
    """A driver of a job with 50 steps and 90 edges, which 30 tables pass."""
    place = home.place(run)
    claimed(place, f"driver-{run}", time.time(), job_name="a wide job")
    pipelines = [_pipeline(source, table) for source in range(10) for table in range(TABLES_OF_A_SOURCE)]
    steps = [
        {"id": f"{word}{at}", "kind": kind, "plugin": f"{word.title()}{at}"}
        for word, kind, number in STEPS
        for at in range(number)
    ]
    plan = {"job": run, "steps": steps, "pipelines": pipelines, "isolated": [], "summary": {"tables": len(pipelines)}}
    write_json(place.path / "run_plan.json", plan, durable=False)
    with holding(place, [(one["name"], f"T {one['name']}") for one in pipelines]) as made:
        yield made


@contextmanager
def many_tables(home: Home, run: str, number: int) -> Iterator[ActingDriver]:
    """A driver of a job with many tables."""
    place = home.place(run)
    claimed(place, f"driver-{run}", time.time(), job_name="a job of many tables")
    with holding(place, [(name, f"warehouse.{name}") for name in names(number)]) as made:
        yield made


@contextmanager
def holding(place: JobDirectory, tables: Sequence[tuple[str, str]]) -> Iterator[ActingDriver]:
    """A driver that has the lock of a run. It ends without a receipt."""
    lock = os.open(place.path / "lock", os.O_WRONLY | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        made = ActingDriver(place, f"driver-{place.job_id}", tables)
        made.write(1)
        yield made
    finally:
        os.close(lock)


def _pipeline(source: int, table: int) -> dict[str, Any]:
    name = f"shop.table_{source}_{table}"
    steps = (f"in{source}", f"map{(source + table) % 10}", f"mask{(source + 2 * table) % 10}")
    nodes: list[dict[str, Any]] = [{"id": f"{step}[{name}]", "step": step, "plugin": "X"} for step in steps]
    nodes[0]["table"] = name
    out = f"out{(2 * source + table) % 20}"
    nodes.append({"id": f"{out}[{name}]", "step": out, "plugin": "X", "table": name, "target": f"T {name}"})
    vertex = {"id": nodes[0]["id"], "parallelism": 1, "nodes": nodes, "inputs": [], "outputs": []}
    return {"id": name, "name": name, "vertices": [vertex], "sinks": [], "guarantees": []}
