"""Values change in one place only: no other module casts, rounds or writes them in a way that loses something."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = ("seatunnel_py", "connectors", "plugins")

LOSSY = {
    "safe=False": r"\bsafe\s*=\s*False",
    "default=str": r"\bdefault\s*=\s*str\b",
    ".quantize(": r"\.quantize\(",
    "pc.round": r"\bpc\.round",
    "floor_temporal": r"\bfloor_temporal\b",
    "& 0xFF": r"&\s*0x[fF][fF]\b",
}

EXCEPTIONS = {
    ("seatunnel_py/formats/value_text/decimals.py", ".quantize("): "of a number that has no more digits",
    ("seatunnel_py/formats/value_text/temporal_writer.py", "floor_temporal"): "a pattern of the job file",
    (
        "connectors/seatunnel_connectors/jdbc/mysql/write/silent_changes.py",
        "pc.round",
    ): "finds out what the server would round",
    ("seatunnel_py/templates/connector/my_connector.py", "default=str"): "a template, which its author changes",
    ("plugins/seatunnel_plugins/transforms/rows/validation_rules.py", ".quantize("): "a bound of a rule, no value",
}
"""The places that may, and why."""

OWN_DATA = (
    "seatunnel_py/runtime/",
    "seatunnel_py/work/rows/positions.py",
    "seatunnel_py/cli/",
    "seatunnel_py/web/",
    "seatunnel_py/replay",
)
"""Write what the product says of itself (logs, records, answers of commands and routes): no values of rows."""


@pytest.mark.parametrize("name", LOSSY)
def test_nothing_that_loses_values_stands_elsewhere(name: str) -> None:
    found = []
    for part in PRODUCT:
        for path in sorted((ROOT / part).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if name == "default=str" and place.startswith(OWN_DATA):
                continue
            if re.search(LOSSY[name], path.read_text()) and (place, name) not in EXCEPTIONS:
                found.append(place)
    assert found == []


def test_every_exception_is_still_one() -> None:
    for place, name in EXCEPTIONS:
        assert re.search(LOSSY[name], (ROOT / place).read_text()), (place, name)
