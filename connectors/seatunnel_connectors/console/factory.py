"""Console's factory and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from seatunnel_py.api import (
    Guarantee,
    Plain,
    Shorthand,
    SinkCapabilities,
    SinkFactory,
    SinkOptions,
    StepContext,
    TableSchema,
    option,
)

if TYPE_CHECKING:
    from seatunnel_connectors.console.sink import ConsoleSink


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


class ConsoleSinkFactory(SinkFactory[ConsoleOptions]):
    name = "Console"
    summary = "Prints rows on the terminal that the job was started from"
    options = ConsoleOptions

    def from_shorthand(self, end: Shorthand) -> Mapping[str, Plain] | None:
        return {} if end.address == "console:" else None

    def capabilities(self, options: ConsoleOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return SinkCapabilities(Guarantee.AT_LEAST_ONCE, "a printed line cannot be taken back")

    def create(self, options: ConsoleOptions, table: TableSchema, context: StepContext) -> ConsoleSink:
        from seatunnel_connectors.console.sink import ConsoleSink

        return ConsoleSink(options, table)
