"""Converts booleans to and from text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.api import DataType
from seatunnel_py.formats.value_text.rules import MisfitError, not_a

if TYPE_CHECKING:
    import pyarrow as pa

TRUE = ("true", "t", "1", "yes", "y", "on")
FALSE = ("false", "f", "0", "no", "n", "off")
WORDS = dict.fromkeys(TRUE, True) | dict.fromkeys(FALSE, False)
"""Words for true and false, in small letters; any other text is neither."""


def parse_booleans(texts: pa.Array, dtype: DataType) -> pa.Array:
    """Parse booleans. Raises MisfitError for the first text that is not one of the words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.equal(texts, "true")
    if pc.all(pc.or_(found, pc.equal(texts, "false"))).as_py():
        return found
    words = pc.ascii_lower(texts)
    found = pc.is_in(words, pa.array(TRUE))
    known = pc.or_(found, pc.is_in(words, pa.array((*FALSE, None), pa.string())))
    at = pc.index(known, pa.scalar(False)).as_py()
    if at >= 0:
        raise MisfitError(at, not_a(texts[at].as_py(), dtype))
    return pc.if_else(texts.is_null(), pa.scalar(None, pa.bool_()), found)
