"""Masks what a row holds: its values by type and length, and the values that an error message quotes.

For readers who may know that and why rows were refused, but not their values. A message keeps names of columns; every
value of the row, every other quoted text and every number in it are masked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.text.shown import literal_text, value_text

if TYPE_CHECKING:
    import pyarrow as pa

MASK = "…"
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"|`([^`]*)`")
_NUMBER = re.compile(r"\d(?:[\d.,:eE+-]*\d)?")


def masked_values(values: Mapping[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """A row with the type, and the length, in place of each value; null stays null."""
    return {name: _masked(value, str(schema.field(at).type)) for at, (name, value) in enumerate(values.items())}


def _masked(value: Any, kind: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, str) and "string" in kind:
        return f"<{kind}, {len(value):,} characters>"
    if isinstance(value, bytes):
        return f"<{kind}, {len(value):,} bytes>"
    if isinstance(value, list | dict):
        return f"<{kind.partition('<')[0]}, {len(value):,} values>"
    return f"<{kind}>"


def masked_error(error: str, values: Mapping[str, Any]) -> str:
    """An error message without any value of its row."""
    texts = {form(value) for value in values.values() if value is not None for form in (value_text, literal_text, str)}
    for text in sorted((one for one in texts if len(one) > 1), key=len, reverse=True):
        error = error.replace(text, MASK)
    names = set(values)

    def quoted(match: re.Match[str]) -> str:
        inner = next(part for part in match.groups() if part is not None)
        return match[0] if inner in names else f"{match[0][0]}{MASK}{match[0][-1]}"

    return _NUMBER.sub(MASK, _QUOTED.sub(quoted, error))
