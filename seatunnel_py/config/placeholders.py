"""Fills in the placeholders of a sink, once for each upstream table: ``table = "ods_${table_name}"``.

In an option that names the target (``Naming``) each substituted name stays one name. A value is quoted in a dotted
path, and refused in a file's path if it would leave the directory. A placeholder without a value is refused there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from seatunnel_py.api.names import Naming, filled
from seatunnel_py.api.options import Options, describe
from seatunnel_py.config.variables import COMMENT, FILLED, VARIABLE, references, replaced

T = TypeVar("T")
O = TypeVar("O", bound=Options)  # noqa: E741 - O for options


@dataclass(frozen=True, slots=True)
class UpstreamNames:
    """Facts about an upstream table. ``unique_key`` holds the columns of the first unique constraint."""

    database: str = ""
    schema: str = ""
    table: str = ""
    primary_key: tuple[str, ...] = ()
    unique_key: tuple[str, ...] = ()
    field_names: tuple[str, ...] = ()
    partition_keys: tuple[str, ...] = ()
    comment: str = ""

    def text(self, placeholder: str, naming: Naming | None = None) -> str:
        """Value of a placeholder: names joined by dots, columns joined by commas, or nothing."""
        names = self.names(placeholder)
        if any(names):
            return filled(naming, *names)
        return self.comment if placeholder == COMMENT else ",".join(self.columns(placeholder))

    def names(self, placeholder: str) -> tuple[str, ...]:
        """Names that a placeholder represents, or none if it represents something else."""
        names = {
            "database_name": (self.database,),
            "schema_name": (self.schema,),
            "table_name": (self.table,),
            "schema_full_name": (self.database, self.schema),
            "table_full_name": (self.database, self.schema, self.table),
        }
        return names.get(placeholder, ())

    def columns(self, placeholder: str) -> tuple[str, ...]:
        """Columns that a placeholder represents, or none if it represents something else."""
        columns = {
            "primary_key": self.primary_key,
            "unique_key": self.unique_key,
            "field_names": self.field_names,
            "partition_keys": self.partition_keys,
        }
        return columns.get(placeholder, ())


def expand(value: T, names: UpstreamNames) -> T:
    """Fill in the placeholders in a text, and in the texts of a list, a map or an options model.

    ``${name:default}`` takes the default if the table has no value for it; without a default it stays as written, and
    so does every name that is not a placeholder. A list that is just ``["${primary_key}"]`` (or another placeholder of
    columns) becomes the list of these columns.
    """
    expanded: Any = _expanded(value, names)
    return expanded  # type: ignore[no-any-return]


def expand_options(options: O, names: UpstreamNames) -> O:
    """Return the options with the placeholders of all their texts filled in, except in secrets. Raises ValueError with
    the option in which a name is not allowed."""
    changed = {}
    for info in describe(type(options)):
        old = getattr(options, info.name)
        if type(old) in _WITHOUT_TEXT:
            continue
        try:
            new = _expanded(old, names, info.naming)
        except ValueError as error:
            raise ValueError(f"{info.key}: {error}") from None
        if new != old:
            changed[info.name] = new
    return options.model_copy(update=changed) if changed else options


_WITHOUT_TEXT = frozenset({bool, int, float, type(None)})
"""Types of most options: skipped, for a job of a thousand tables expands as many options."""


def follows_tables(value: Any) -> bool:
    """Whether a text holds a placeholder, so that it differs between tables."""
    texts = value.values() if isinstance(value, Mapping) else [value]
    return any(match[1].strip() in FILLED for text in texts if isinstance(text, str) for match in references(text))


def _expanded(value: Any, names: UpstreamNames, naming: Naming | None = None) -> Any:
    if isinstance(value, str):
        return replaced(value, lambda match: _replacement(match, names, naming))
    if isinstance(value, list | tuple):
        columns = _columns(value, names)
        return type(value)(columns or (_expanded(item, names, naming) for item in value))
    if isinstance(value, Mapping):
        return {key: _expanded(item, names, naming) for key, item in value.items()}
    return expand_options(value, names) if isinstance(value, Options) else value


def _columns(items: list[Any] | tuple[Any, ...], names: UpstreamNames) -> tuple[str, ...]:
    if len(items) != 1 or not isinstance(items[0], str):
        return ()
    match = VARIABLE.fullmatch(items[0].strip())
    return names.columns(match[1].strip()) if match else ()


def _replacement(match: re.Match[str], names: UpstreamNames, naming: Naming | None) -> str:
    placeholder = match[1].strip()
    if placeholder not in FILLED:
        return match[0]
    text = names.text(placeholder, naming)
    if text or match[2] is not None:
        return text or match[2][1:].strip()
    if naming is not None:
        raise ValueError(f"the table has no value for ${{{placeholder}}}; write ${{{placeholder}:...}} with a default")
    return match[0]
