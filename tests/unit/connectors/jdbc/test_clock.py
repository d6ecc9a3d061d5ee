"""Times and years as databases have them."""

from __future__ import annotations

import pyarrow as pa

from seatunnel_connectors.jdbc import date_ranges


def test_the_end_of_the_day_is_a_time() -> None:
    """Arrow calls it out of range in its own text."""
    times = pa.array([0, 86_400_000_000, None, 45_296_500_000], pa.time64("us"))

    assert date_ranges.time_text(times).to_pylist() == ["00:00:00.000000", "24:00:00", None, "12:34:56.500000"]


def test_years_of_four_digits() -> None:
    days = pa.array([-719529, -719528, 2932896, 2932897, None], pa.date32())

    assert date_ranges.in_years(days).to_pylist() == [False, True, True, False, None]
    moments = days.cast(pa.int32()).cast(pa.int64())
    moments = pa.array(
        [None if one is None else one * 86_400_000_000 for one in moments.to_pylist()], pa.timestamp("us")
    )
    assert date_ranges.in_years(moments).to_pylist() == [False, True, True, False, None]
    assert date_ranges.in_years(pa.array([0, None], pa.timestamp("ns"))).to_pylist() == [True, None]
    assert (date_ranges.shown(days[0]), date_ranges.shown(pa.scalar("x"))) == ("-719529", "x")
