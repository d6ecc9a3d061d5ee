"""Dataclasses as plain data, for JSON. ``dataclasses.asdict`` also copies every value, which took six times as long
for a receipt of some hundred tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

STATE_BYTES_MAX = 2**20
"""Of a position, and of a split's payload: both stand in every checkpoint."""


def plain_data(value: Any) -> Any:
    """Replace every dataclass in the value by a dict, at any depth. Other values are shared, not copied."""
    kind: Any = type(value)
    replaced = _way(kind)
    return value if replaced is None else replaced(value)


@lru_cache(maxsize=1024)
def _way(kind: Any) -> Callable[[Any], Any] | None:
    """How values of a type are replaced; None: they are plain."""
    if is_dataclass(kind):
        return _dataclass_way(tuple(field.name for field in fields(kind)))
    if issubclass(kind, list | tuple):
        return lambda value: [plain_data(item) for item in value]
    if issubclass(kind, Mapping):
        return lambda value: {key: plain_data(item) for key, item in value.items()}
    return None


def _dataclass_way(names: tuple[str, ...]) -> Callable[[Any], dict[str, Any]]:
    def replaced(value: Any) -> dict[str, Any]:
        # Most values of a receipt or an event are plain: a call for each would cost more than all the rest.
        return {name: one if type(one := getattr(value, name)) in _PLAIN else plain_data(one) for name in names}

    return replaced


_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
