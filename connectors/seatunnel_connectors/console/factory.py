"""Declares Console and its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from seatunnel_connectors.console.options import ConsoleOptions
from seatunnel_py.api import (
    Guarantee,
    SinkCapabilities,
    SinkFactory,
)

if TYPE_CHECKING:
    from seatunnel_connectors.console.sink import ConsoleSink
    from seatunnel_py.api import (
        Plain,
        Shorthand,
        StepContext,
        TableSchema,
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
