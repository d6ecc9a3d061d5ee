"""Texts for a terminal: no character of data, names or server errors steers it.

Imports nothing of ours, so that ``--help`` pays for nothing else.
"""

from __future__ import annotations

import re

_STEERS = re.compile("[\0-\b\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls (C0 but for tab and line feed, DEL, C1), what turns the direction of writing round, and half characters,
which cannot be written at all."""


def terminal_text(text: str) -> str:
    """The text with every character that could steer a terminal in its place as ``\\x1b`` or ``\\u202e``. Data, names
    and what servers say may hold any."""
    return _STEERS.sub(lambda match: _escaped(match[0]), text)


def json_text(text: str) -> str:
    """The same for a text in JSON, which is read back unchanged."""
    return _STEERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"
