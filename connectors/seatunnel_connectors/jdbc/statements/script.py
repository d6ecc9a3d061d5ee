"""Splits a script of SQL, such as ``custom_sql``, into its statements."""

from __future__ import annotations

import re


def split_statements(text: str) -> list[str]:
    """A script as single statements; semicolons inside quotes and comments do not end one."""
    token = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|;", re.S)
    cuts = [match.start() for match in token.finditer(text) if match.group(0) == ";"]
    parts = [
        text[start:end].strip() for start, end in zip([0, *(at + 1 for at in cuts)], [*cuts, len(text)], strict=True)
    ]
    return [part for part in parts if part]
