"""The options that every source, transform and sink has; a plugin's own options extend one of these."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from seatunnel_py.api.options import Options, option


class RuleMatchMode(StrEnum):
    """Which of several matching ``table_transform`` rules apply to a table."""

    FIRST_MATCH = "FIRST_MATCH"
    ALL_MATCH = "ALL_MATCH"


class SourceOptions(Options):
    """Base of every source's options."""

    plugin_output: str | None = option(
        None, fallback=("result_table_name",), doc="name under which other steps read these rows"
    )
    parallelism: int | None = option(None, ge=1, doc="parallel readers; default: env.parallelism")
    id: str | None = option(None, doc="id of the step, which its saved state is found by")


class TransformOptions(Options):
    """Base of every transform's options."""

    plugin_input: tuple[str, ...] = option(
        (), fallback=("source_table_name",), doc="names of the steps whose rows are read"
    )
    plugin_output: str | None = option(
        None, fallback=("result_table_name",), doc="name under which other steps read these rows"
    )
    id: str | None = option(None, doc="id of the step, which its saved state is found by")
    table_match_regex: str = option(".*", doc="upstream tables that are transformed; others pass through")
    table_transform: tuple[dict[str, Any], ...] = option(
        (), doc="options for single tables: table_path and what differs; wins over table_match_regex"
    )
    rule_match_mode: RuleMatchMode = option(
        RuleMatchMode.FIRST_MATCH, doc="whether the first matching rule applies, or all"
    )


class SinkOptions(Options):
    """Base of every sink's options."""

    plugin_input: tuple[str, ...] = option(
        (), fallback=("source_table_name",), doc="names of the steps whose rows are written"
    )
    id: str | None = option(None, doc="id of the step, which its saved state is found by")
    multi_table_sink_replica: int = option(1, ge=1, doc="writers per table of a multi-table sink")
