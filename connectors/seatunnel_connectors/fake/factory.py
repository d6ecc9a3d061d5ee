"""Declares FakeSource: its name, options and guarantees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_connectors.fake.options import FakeGeneration, FakeOptions
from seatunnel_py.api import Determinism, JobMode, SourceCapabilities, SourceFactory

if TYPE_CHECKING:
    from seatunnel_connectors.fake.source import FakeSource
    from seatunnel_py.api import StepContext


class FakeSourceFactory(SourceFactory[FakeOptions]):
    name = "FakeSource"
    summary = "Generates rows: typed, random, repeatable"
    options = FakeOptions

    def capabilities(self, options: FakeOptions, context: StepContext) -> SourceCapabilities:
        return SourceCapabilities(bounded=context.mode is JobMode.BATCH, determinism=Determinism.DETERMINATE)

    def create(self, options: FakeOptions, context: StepContext) -> FakeSource:
        from seatunnel_connectors.fake.source import FakeSource, fake_table
        from seatunnel_py.formats.schema_option import check_unique, table_schema

        outer = generation_of(options)
        described = [(options.declared, outer)]
        if options.declared and options.table_names:
            described = [(options.declared.model_copy(update={"table": name}), outer) for name in options.table_names]
        if options.tables_configs:
            described = [(entry.declared, outer.model_copy(update=_given(entry))) for entry in options.tables_configs]
        tables = [
            fake_table(table_schema(declared, options.plugin_output), generation) for declared, generation in described
        ]
        check_unique(table.schema.path for table in tables)
        return FakeSource(
            step=context.step,
            parallelism=context.parallelism,
            streaming=context.mode is JobMode.STREAMING,
            fakes=tuple(tables),
        )


def generation_of(options: FakeGeneration) -> FakeGeneration:
    """Only the options of row generation, without schema and wiring."""
    return FakeGeneration.model_construct(
        options.model_fields_set & FakeGeneration.model_fields.keys(),
        **{name: getattr(options, name) for name in FakeGeneration.model_fields},
    )


def _given(options: FakeGeneration) -> dict[str, object]:
    given = options.model_fields_set & FakeGeneration.model_fields.keys()
    return {name: getattr(options, name) for name in given}
