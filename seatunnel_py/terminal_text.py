"""Makes text safe for a terminal: no character of data, names or server errors can control it.

Imports nothing of ours, so that ``--help`` stays fast.
"""

from __future__ import annotations

import re

_STEERS = re.compile("[\0-\b\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls (C0 except tab and line feed, DEL, C1), bidirectional controls, and lone surrogates, which cannot be written
at all."""


def terminal_text(text: str) -> str:
    """Replace every character that could control a terminal by ``\\x1b`` or ``\\u202e``. Data, names and server
    messages may hold any."""
    return _STEERS.sub(lambda match: _escaped(match[0]), text)


def json_text(text: str) -> str:
    """Do the same for a text in JSON, which parses back unchanged."""
    return _STEERS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"
