"""Options that all sources, transforms or sinks have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

from pydantic import ModelWrapValidatorHandler, field_validator, model_validator

from seatunnel_py.api.options.model import Options, describe, option
from seatunnel_py.api.options.values import of_older_spelling


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


ALL_TABLES = ".*"
NO_TABLE = "(?!)"
"""A pattern that matches no table."""


class TransformOptions(Options):
    """Base of every transform's options."""

    plugin_input: tuple[str, ...] = option(
        (), fallback=("source_table_name",), doc="names of the steps whose rows are read"
    )
    plugin_output: str | None = option(
        None, fallback=("result_table_name",), doc="name under which other steps read these rows"
    )
    id: str | None = option(None, doc="id of the step, which its saved state is found by")
    table_match_regex: str = option(ALL_TABLES, doc="upstream tables that are transformed; others pass through")
    table_transform: tuple[dict[str, Any], ...] = option(
        (), doc="options for single tables, each with its table_path; none of the step's own hold for these"
    )
    rule_match_mode: RuleMatchMode = option(
        RuleMatchMode.FIRST_MATCH, doc="whether the first matching rule applies, or all"
    )
    retry_rejected: int = option(
        0, ge=0, le=100, doc="how often a row that this step rejects comes back to it before it counts as a bad row"
    )

    @field_validator("table_match_regex")
    @classmethod
    def _match_is_a_pattern(cls, text: str) -> str:
        from seatunnel_py.api.text.java_regex import name_pattern

        name_pattern(text)
        return text

    @field_validator("table_transform")
    @classmethod
    def _rules_name_their_tables(cls, rules: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        for number, rule in enumerate(rules, 1):
            if not isinstance(rule.get("table_path"), str) or not rule["table_path"]:
                raise ValueError(f"rule {number} has no table_path, the full name of the table that it is for")
        return rules

    @model_validator(mode="wrap")
    @classmethod
    def _of_single_tables_only(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """With ``table_transform`` as the only option, only the tables that it names are transformed."""
        if not isinstance(data, Mapping) or not data.get("table_transform"):
            return handler(data)
        keys = {"table_path"} | {key for info in describe(cls) for key in (info.key, *info.fallback)}
        data = {**data, "table_transform": of_older_spelling(data["table_transform"], keys)}
        common = {key for info in describe(TransformOptions) for key in (info.name, info.key, *info.fallback)}
        first = data["table_transform"][0] if isinstance(data["table_transform"], Sequence) else None
        if data.keys() <= common and isinstance(first, Mapping):
            own = {key: value for key, value in first.items() if key != "table_path"}
            data = {**own, **data, "table_match_regex": data.get("table_match_regex", NO_TABLE)}
        return handler(data)


class SinkOptions(Options):
    """Base of every sink's options."""

    plugin_input: tuple[str, ...] = option(
        (), fallback=("source_table_name",), doc="names of the steps whose rows are written"
    )
    id: str | None = option(None, doc="id of the step, which its saved state is found by")
    multi_table_sink_replica: int = option(1, ge=1, doc="accepted; parallelism says how many write a table")
    parallelism: int | None = option(None, ge=1, doc="accepted for older job files; a sink is as parallel as its input")
