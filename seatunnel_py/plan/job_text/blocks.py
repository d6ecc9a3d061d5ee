"""Renders a job of one source and one sink in HOCON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

LINE_ENTRIES = 3
"""A longer list has a line for each entry."""
NamedStep: TypeAlias = tuple[str, Mapping[str, Any]]
"""A plugin with its options."""


def job_text(env: Mapping[str, Any], source: NamedStep, sink: NamedStep) -> str:
    """The whole text."""
    read, written = (_block(*step, indent=2) for step in (source, sink))
    return "\n".join([_block("env", env), f"source {{\n{read}}}\n", f"sink {{\n{written}}}\n"])


def option_value(text: str) -> Any:
    """Parse lists and objects as JSON; anything else stays text, which options of other types understand."""
    try:
        return json.loads(text) if text[:1] in ("[", "{") else text
    except ValueError:
        return text


def _block(name: str, options: Mapping[str, Any], indent: int = 0) -> str:
    space = " " * indent
    lines = [f"{space}  {key} = {_value(value, space)}\n" for key, value in options.items()]
    return f"{space}{name} {{\n{''.join(lines)}{space}}}\n"


def _value(value: Any, space: str) -> str:
    """Texts, numbers and lists are as in JSON."""
    if not isinstance(value, list) or len(value) <= LINE_ENTRIES:
        return json.dumps(value, ensure_ascii=False)
    entries = "".join(f"{space}    {json.dumps(one, ensure_ascii=False)},\n" for one in value)
    return f"[\n{entries.removesuffix(f',{chr(10)}')}\n{space}  ]"
