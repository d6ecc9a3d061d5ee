"""Dataclasses as plain data, for JSON. ``dataclasses.asdict`` also copies every value, which took six times as long
for a receipt of some hundred tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

STATE_BYTES_MAX = 2**20
"""Of a position, and of a split's payload: both stand in every checkpoint."""


def plain_data(value: Any) -> Any:
    """Replace every dataclass in the value by a dict, at any depth. Other values are shared, not copied."""
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    names = _field_names(kind)
    if names is not None:
        # Most values of a receipt or an event are plain: a call for each would cost more than all the rest.
        return {name: one if type(one := getattr(value, name)) in _PLAIN else plain_data(one) for name in names}
    if isinstance(value, list | tuple):
        return [plain_data(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain_data(item) for key, item in value.items()}
    return value


_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})


@lru_cache(maxsize=1024)
def _field_names(kind: Any) -> tuple[str, ...] | None:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
