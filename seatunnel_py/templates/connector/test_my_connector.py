"""Tests the guarantees that the plugins declare with the conformance kit: repeated attempts, positions, leftovers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from my_connector import Lines, Numbers

from seatunnel_py.testing import SinkTarget, SourceTarget, check_sink, check_source


def test_the_source_keeps_its_promises() -> None:
    """The last argument is a side door: what there is to read, found out without the plugin."""
    report = check_source(SourceTarget(Numbers(), {"rows": 250}, lambda: [(number,) for number in range(250)]))

    assert not report.broken, report.text


def test_the_sink_keeps_its_promises(tmp_path: Path) -> None:
    """Each promise is tested on its own target. The side doors: the written rows, and the leftovers."""

    def fresh(number: int) -> SinkTarget:
        folder = tmp_path / str(number)

        def rows() -> list[tuple[Any, ...]]:
            lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
            return [tuple(json.loads(line).values()) for line in lines]

        def left_behind() -> list[str]:
            return [path.name for path in folder.glob("*.tmp")]

        return SinkTarget(Lines(), {"directory": str(folder)}, rows, left_behind)

    report = check_sink(fresh)

    assert not report.broken, report.text
