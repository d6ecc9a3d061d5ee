"""Placeholders of a sink, filled in once for each upstream table: ``table = "ods_${table_name}"``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from seatunnel_py.api.options import Options
from seatunnel_py.config.variables import COMMENT, FILLED, VARIABLE, replaced

T = TypeVar("T")
O = TypeVar("O", bound=Options)  # noqa: E741 - O for options


@dataclass(frozen=True, slots=True)
class Names:
    """What is known of an upstream table. ``unique_key`` is the first unique constraint's columns."""

    database: str = ""
    schema: str = ""
    table: str = ""
    primary_key: tuple[str, ...] = ()
    unique_key: tuple[str, ...] = ()
    field_names: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    comment: str = ""

    def text(self, placeholder: str) -> str:
        """What a placeholder stands for: names joined by dots, columns by commas, or nothing."""
        texts = {
            "database_name": self.database,
            "schema_name": self.schema,
            "table_name": self.table,
            "schema_full_name": ".".join(filter(None, (self.database, self.schema))),
            "table_full_name": ".".join(filter(None, (self.database, self.schema, self.table))),
            COMMENT: self.comment,
        }
        return texts.get(placeholder) or ",".join(self.columns(placeholder))

    def columns(self, placeholder: str) -> tuple[str, ...]:
        """The columns that a placeholder stands for, or none where it does not stand for columns."""
        columns = {
            "primary_key": self.primary_key,
            "unique_key": self.unique_key,
            "field_names": self.field_names,
            "partition_keys": self.partition_keys,
        }
        return columns.get(placeholder, ())


def expand(value: T, names: Names) -> T:
    """Fill in the placeholders in a text, and in the texts of a list, a map or an options model.

    ``${name:default}`` takes the default where the table has nothing for it; without a default it stays as
    written, and so does every name that is no placeholder. A list that is just ``["${primary_key}"]`` (or
    another placeholder of columns) becomes the list of these columns.
    """
    expanded: Any = _expanded(value, names)
    return expanded  # type: ignore[no-any-return]


def expand_options(options: O, names: Names) -> O:
    """The options with the placeholders of all their texts filled in; secrets are not looked into."""
    given = {name: getattr(options, name) for name in type(options).model_fields}
    changed = {name: new for name, old in given.items() if (new := _expanded(old, names)) != old}
    return options.model_copy(update=changed) if changed else options


def _expanded(value: Any, names: Names) -> Any:
    if isinstance(value, str):
        return replaced(value, lambda match: _replacement(match, names))
    if isinstance(value, list | tuple):
        columns = _columns(value, names)
        return type(value)(columns or (_expanded(item, names) for item in value))
    if isinstance(value, Mapping):
        return {key: _expanded(item, names) for key, item in value.items()}
    return expand_options(value, names) if isinstance(value, Options) else value


def _columns(items: list[Any] | tuple[Any, ...], names: Names) -> tuple[str, ...]:
    if len(items) != 1 or not isinstance(items[0], str):
        return ()
    match = VARIABLE.fullmatch(items[0].strip())
    return names.columns(match[1].strip()) if match else ()


def _replacement(match: re.Match[str], names: Names) -> str:
    placeholder = match[1].strip()
    if placeholder not in FILLED:
        return match[0]
    return names.text(placeholder) or (match[0] if match[2] is None else match[2][1:].strip())
