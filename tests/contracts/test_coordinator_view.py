"""The runtime looks into a coordinator by its view only."""

from __future__ import annotations

import re
from pathlib import Path

RUNTIME = Path(__file__).parents[2] / "seatunnel_py" / "runtime"
PARTS = re.compile(r"coordinator\.(shared|recovery|checkpoints|committing|beginning|leaving|ending|failing)\b")


def test_no_module_of_the_runtime_touches_the_parts_of_a_coordinator() -> None:
    """They change with every event: ``CoordinatorView`` holds between two of them."""
    assert list(RUNTIME.rglob("*.py"))
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in sorted(RUNTIME.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PARTS.search(line) and "import" not in line
    ]
    assert found == []
