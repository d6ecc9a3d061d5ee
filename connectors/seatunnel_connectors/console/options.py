"""Options of the Console sink."""

from __future__ import annotations

from seatunnel_py.api import SinkOptions, option


class ConsoleOptions(SinkOptions):
    print_data: bool = option(True, key="log.print.data", doc="print the rows; the row type is printed anyway")
    delay_ms: int = option(0, key="log.print.delay.ms", ge=0, doc="milliseconds between two printed rows")
    rows_max: int = option(
        1000,
        key="log.print.max-rows",
        ge=0,
        le=100_000,
        doc="rows printed of each piece of work (up to unit.rows rows); the others are only counted",
    )
