"""Values as text, for transforms that work on text whatever the column's type."""

from __future__ import annotations

import pyarrow as pa
import pytest

from seatunnel_plugins.transforms.shared.texts import as_text
from seatunnel_py.api import Column, parse_type, to_arrow


@pytest.mark.parametrize(
    ("kind", "ticks", "text"),
    [
        ("date", 11_248_738, "+32768-01-01"),
        ("timestamp", 253_402_300_800_000_000, "+10000-01-01T00:00"),
        ("timestamp(9)", 1, "1970-01-01T00:00:00.000000001"),
    ],
)
def test_moments_of_every_year_have_a_text(kind: str, ticks: int, text: str) -> None:
    """T9: `<value out of range>`, and an OverflowError."""
    dtype = parse_type(kind)
    values = pa.array([ticks, None], pa.int32() if kind == "date" else pa.int64()).cast(to_arrow(dtype))
    assert as_text(values, Column("v", dtype)).to_pylist() == [text, None]
