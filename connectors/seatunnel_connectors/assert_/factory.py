"""Declares Assert: its name and options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_connectors.assert_.options import AssertOptions
from seatunnel_py.api import Guarantee, SinkCapabilities, SinkFactory

if TYPE_CHECKING:
    from seatunnel_connectors.assert_.sink import AssertSink
    from seatunnel_py.api import StepContext, TableSchema


class AssertSinkFactory(SinkFactory[AssertOptions]):
    name = "Assert"
    summary = "Fails the job when rows, their number or their table break a rule"
    options = AssertOptions

    def capabilities(self, options: AssertOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return SinkCapabilities(Guarantee.TWO_PHASE_COMMIT, "rows are counted from committed pieces", spans_tables=True)

    def create(self, options: AssertOptions, table: TableSchema, context: StepContext) -> AssertSink:
        from seatunnel_connectors.assert_.sink import AssertSink
        from seatunnel_connectors.assert_.values import field_checks

        rules = options.rule_set.of(table.path.full_name)
        return AssertSink(options.rule_set, table, field_checks(rules.field_rules, table))
