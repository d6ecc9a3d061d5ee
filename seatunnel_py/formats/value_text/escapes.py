"""Escapes containers in the text of one field, so that null, an empty text and an empty container stay distinct.

A container's values have separators between them, as in SeaTunnel, one separator for each level of nesting. Everything
that this form cannot express is escaped by one control character, DLE, which texts do not contain:

- DLE and a letter of ``@`` to ``_``: the control character 64 below it, a separator or DLE itself
- DLE and ``"``: nothing; it marks the rest as a text, so that an empty text is not null
- DLE and the level's digit, alone: a container without values
- DLE and the level's small letter, alone: a container of one value, which is null
"""

from __future__ import annotations

import re
from typing import Any

from seatunnel_py.formats.value_text.arrays import holds_any, mended

SEPARATORS = ("\x02", "\x03", "\x04", "\x05", "\x06", "\x07", "\x08")
"""Separators of container values, one for each level of nesting below the field delimiter."""

DLE = "\x10"
TEXT = DLE + '"'
_SPECIAL = "".join(SEPARATORS) + DLE
_TO_ESCAPE = re.compile(f"[{_SPECIAL}]")
_ESCAPED = re.compile(f'{DLE}(["@-_])')
_ESCAPED_PATTERN = f"[{_SPECIAL}]"


def nothing(level: int) -> str:
    """The text of a container without values."""
    return DLE + str(level)


def one_null(level: int) -> str:
    """The text of a container of one value, which is null."""
    return DLE + "abcdefg"[level]


def escape(texts: Any, null_text: str) -> Any:
    """Escape texts inside of a container; ``null_text`` represents null there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if holds_any(texts, _SPECIAL.encode()):
        mask = pc.fill_null(pc.match_substring_regex(texts, _ESCAPED_PATTERN), False)
        texts = mended(texts, mask, lambda text: _TO_ESCAPE.sub(lambda found: DLE + chr(ord(found[0]) + 64), text))
    blank = pc.is_in(texts, pa.array(sorted({"", null_text})))
    if pc.any(blank).as_py():
        texts = pc.if_else(blank, pc.binary_join_element_wise(TEXT, texts, ""), texts)
    return texts


def unescape(texts: Any) -> Any:
    """Undo ``escape``."""
    import pyarrow.compute as pc

    if not holds_any(texts, DLE.encode()):
        return texts
    mask = pc.fill_null(pc.match_substring(texts, DLE), False)
    return mended(texts, mask, lambda text: _ESCAPED.sub(_meant, text))


def _meant(found: re.Match[str]) -> str:
    return "" if found[1] == '"' else chr(ord(found[1]) - 64)
